// Tests of the kit: a plugin in a process of its own, called as a host calls it. Run: npm test

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text as readAll } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import grpc from "@grpc/grpc-js";
import loader from "@grpc/proto-loader";
import { Plugin } from "toolhost";

const file = (name) => fileURLToPath(new URL(name, import.meta.url));
const definition = loader.loadSync(file("../../proto/plugin.proto"), { longs: Number, defaults: true, oneofs: true });
const Client = grpc.makeClientConstructor(definition["toolhost.plugin.v1.PluginService"], "PluginService");
const token = (...values) => {
  const m = new grpc.Metadata();
  for (const v of values) m.add("toolhost-token", v);
  return m;
};

// A Process is a plugin that runs, and a connection to it.
class Process {
  static async start() {
    const p = new Process();
    p.dir = mkdtempSync(join(tmpdir(), "kit"));
    p.child = spawn(process.execPath, [file("fixture.js")], { env: { ...process.env, PLUGIN_UNIX_SOCKET_DIR: p.dir,
      TOOLHOST_PLUGIN: "9b1f3c5e-toolhost-plugin-v1", TOOLHOST_LIFELINE: "stdin", TOOLHOST_TOKEN: "t0" } });
    p.exit = once(p.child, "exit");
    p.stderr = readAll(p.child.stderr);
    p.handshake = /^.*\n?/.exec(String((await once(p.child.stdout, "data"))[0]))[0]; // the fixture prints more
    p.child.stdout.resume();
    p.client = new Client("unix:" + p.handshake.split("|")[3], grpc.credentials.createInsecure(),
      { "grpc.max_receive_message_length": -1 });
    return p;
  }

  unary(method, request, metadata = token("t0")) {
    return new Promise((resolve, reject) =>
      this.client[method](request, metadata, (err, answer) => (err ? reject(err) : resolve(answer))));
  }

  call(tool, args, { deadline, ...fields } = {}) {
    const bytes = Buffer.from(typeof args === "string" ? args : JSON.stringify(args));
    return this.client.Call({ tool, arguments: bytes, ...fields }, token("t0"), deadline ? { deadline } : {});
  }

  async events(tool, args, fields) {
    const out = [];
    for await (const e of this.call(tool, args, fields)) out.push(e);
    return out;
  }

  async result(tool, args, fields) {
    return (await this.events(tool, args, fields)).at(-1).result;
  }

  async close() {
    this.client.close();
    this.child.stdin.end();
    const [code] = await this.exit;
    rmSync(this.dir, { recursive: true });
    return code;
  }
}

describe("a plugin that serves", { timeout: 60_000 }, () => {
  let p;
  before(async () => {
    p = await Process.start();
    assert.deepEqual((await p.unary("Configure", { config: Buffer.from('{"greeting":"Hi"}') })).error, null);
  });
  after(() => p.close());

  test("prints the handshake alone", () => assert.match(p.handshake, /^1\|1\|unix\|\/.+\|grpc\|\n$/));

  test("describes itself", async () => {
    const d = await p.unary("Describe", {});
    assert.deepEqual([d.name, d.version, d.sdk], ["fixture", "1.2.3", "node/0.1.0"]);
    const hello = d.tools.find((t) => t.name === "hello");
    assert.deepEqual([hello.title, hello.category, hello.timeoutMs, hello.previews], ["Greeting", "test", 1500, true]);
    assert.deepEqual([hello.hints.readOnly, hello.hints.idempotent, "destructive" in hello.hints], [true, true, false]);
    assert.equal(JSON.parse(d.configSchema).properties.greeting.type, "string");
  });

  test("returns JSON and text", async () => {
    assert.equal(String((await p.result("hello", { name: "Ada" })).content[0].text), "Hi, Ada.");
    const value = { s: "<ü\u0000>", z: 1, a: { b: [null, true] } };
    assert.equal(String((await p.result("echo", value)).structured), JSON.stringify(value));
    const raw = '{"n": 12345678901234567890123}';
    assert.equal(String((await p.result("raw", raw)).content[0].text), raw);
  });

  test("reports", async () => {
    const events = await p.events("report", {}, { workdir: "/work", sessionId: "s", attempt: 2,
      traceParent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", traceState: "a=1" });
    assert.deepEqual(events.map((e) => e.event),
      ["started", "progress", "progress", "progress", "log", "output", "output", "result"]);
    assert.deepEqual([events[4].log.level, String(events[4].log.attributes)], ["warn", '{"n":1}']);
    assert.deepEqual([events[6].output.stream, [...events[6].output.data]], ["stderr", [0x65, 0xff]]);
    const { content, structured } = events.at(-1).result;
    assert.deepEqual(content.map((c) => c.type), ["text", "image", "resource"]);
    assert.deepEqual(JSON.parse(structured), { workdir: "/work", session: "s", attempt: 2,
      trace: ["00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "a=1"] });
  });

  test("fails with data", async () => {
    const e = (await p.result("fail", { how: "tool" })).error;
    assert.deepEqual([e.name, e.message, e.suggestion, e.retryable, e.outcomeUnknown, String(e.details)],
      ["NotFound", "there is no such thing", "Ask for another.", true, true, '{"known":["a"]}']);
    assert.equal((await p.result("fail", { how: "arguments" })).error.code, "E_TOOL_INVALID_ARGS");
    assert.equal((await p.result("fail", { how: "json" })).error.name, "BadResult");
    const { name, message } = (await p.result("fail", { how: "reject" })).error;
    assert.equal(name, "RangeError");
    assert.match(message, /^too far \(fixture\.js:\d+\)$/);
    assert.equal((await p.result("fail", {})).error.message, "a string");
    assert.equal((await p.result("nothing", {})).error.code, "E_TOOL_NOT_FOUND");
    assert.equal((await p.result("echo", "{")).error.name, "SyntaxError");
  });

  test("fails a call alone, whatever it returns or throws", async () => {
    const [returned, thrown] = JSON.parse((await p.result("odd_names", {})).structured);
    for (const what of returned) {
      const { error } = await p.result("odd", { what });
      assert.deepEqual([error?.name, error?.outcomeUnknown], ["BadResult", true], what);
      assert.match(error.message, /^the tool odd has run, but its result cannot be sent: ./);
    }
    for (const what of thrown) assert.ok((await p.result("throw", { what })).error.message, what);
    const { error } = await p.result("throw", { what: "details" });
    assert.deepEqual([error.name, error.message], ["Failed", "with a loop"]);
    assert.match(JSON.parse(error.details).error, /no JSON form/);
    assert.match((await p.result("returned", {})).error.message, /^returned \(fixture\.js:\d+\)$/);
    for (const [what, said] of [["error", /no sugestion; there are suggestion/], ["result", /no contents; there are content/],
      ["image", /must be bytes/]]) {
      assert.match((await p.result("typo", { what })).error.message, said);
    }
  });

  test("takes parts as content, and reports without this", async () => {
    for (const many of [false, true]) {
      const { content, structured } = await p.result("parts", { many });
      assert.deepEqual([content.map((c) => String(c.text)), structured.length], [many ? ["a", "b"] : ["a"], 0]);
    }
    assert.deepEqual((await p.events("taken_out", {})).map((e) => e.event), ["started", "progress", "log", "output", "result"]);
  });

  test("marks large parts of a result over the limit, if its host takes them", async () => {
    for (const [size, maxLargeBytes, large] of [[5 << 20, 64 << 20, true], [5 << 20, 0, false], [3 << 20, 64 << 20, false]]) {
      assert.equal((await p.events("large", { size }, { maxLargeBytes })).find((e) => e.part).part.large, large);
    }
  });

  test("previews", async () => {
    const got = await p.unary("Preview", { tool: "hello", arguments: Buffer.from('{"name":"A"}') });
    assert.deepEqual([String(got.content[0].text), got.effect, got.reason, String(got.structured)],
      ["would greet A", "ask", "it greets", '{"kind":"greeting"}']);
  });

  test("sends large results in pieces", async () => {
    const piece = 256 << 10;
    for (const size of [1000, piece + 2, 3 << 20]) {
      const whole = [];
      for (const e of await p.events("large", { size })) {
        if (e.part) assert.equal(e.part.size, size);
        const bytes = e.part?.content.text ?? e.more?.data;
        if (bytes) assert.ok(bytes.length <= piece);
        whole.push(bytes ?? Buffer.alloc(0), ...(e.result?.content ?? []).map((c) => c.text));
      }
      assert.ok(Buffer.concat(whole).equals(Buffer.from("é".repeat(size / 2))));
    }
  });

  test("stops handlers of canceled calls", async () => {
    const overdue = async () => (await p.unary("Overdue", {})).handlers;
    for (const ignore of [false, true]) {
      const call = p.call("wait", { ignore });
      await new Promise((resolve) => call.on("error", () => {}).on("data", (e) => e.progress && resolve()));
      call.cancel();
      while (ignore && (await overdue()) === 0);
      while ((await overdue()) > 0);
    }
  });

  test("ends calls at their deadline", async () => {
    await assert.rejects(p.events("wait", {}, { deadline: Date.now() + 300 }), { code: grpc.status.DEADLINE_EXCEEDED });
  });

  test("does not run a repeat", async () => {
    await p.result("hello", { name: "A" }, { runId: "r1", callId: "c" });
    await assert.rejects(p.result("hello", { name: "A" }, { runId: "r1", callId: "c" }), { code: grpc.status.ALREADY_EXISTS });
    await p.result("hello", { name: "A" }, { runId: "r2", callId: "c" });
  });

  test("answers its host only", async () => {
    for (const metadata of [token(), token("t1"), token("t0", "t0")]) {
      await assert.rejects(p.unary("Describe", {}, metadata), { code: grpc.status.UNAUTHENTICATED });
    }
  });

  test("runs calls in parallel", async () => {
    const all = await Promise.all(Array.from({ length: 32 }, (_, i) => p.result("echo", { i })));
    all.forEach((r, i) => assert.deepEqual(JSON.parse(r.structured), { i }));
  });

  test("drops events over the limits", async () => {
    const events = await p.events("flood", { events: 20_000 });
    assert.ok(events.length < 15_000);
    assert.match(events.at(-2).log.message, /^\d+ events were over the limits/);
    assert.equal(events.at(-1).event, "result");
  });

  test("asks questions", async () => {
    const first = await p.result("ask", {});
    assert.equal(JSON.parse(first.inputRequired.requests.name).method, "elicitation/create");
    const second = await p.result("ask", {}, { requestState: first.inputRequired.state,
      inputResponses: { name: Buffer.from('{"action":"accept","content":{"name":"Ada"}}') } });
    assert.equal(String(second.content[0].text), "Ada s1");
  });
});

test("a wrong configuration is refused", async () => {
  const p = await Process.start();
  const { error } = await p.unary("Configure", { config: Buffer.from('{"greeting":"bad"}') });
  assert.deepEqual([error.name, String(error.details)], ["BadGreeting", '{"path":"greeting"}']);
  assert.equal(await p.close(), 0);
});

test("added tools are announced", async () => {
  const p = await Process.start();
  const watch = p.client.Watch({}, token("t0")).on("error", () => {});
  await once(watch, "data");
  const [announced] = await Promise.all([once(watch, "data"), p.result("add_tool", {})]);
  assert.ok(announced[0].toolsChanged);
  const d = await p.unary("Describe", {});
  assert.ok(d.dynamic && d.tools.some((t) => t.name === "late"));
  assert.deepEqual([d.notices, d.noticeKinds], [["another failed", "one is late"], ["problem", "remark"]]);
  assert.equal(String((await p.result("late", {})).content[0].text), "new");
  watch.cancel();
  await p.close();
});

test("it ends with its host, and by SIGTERM", async () => {
  for (const end of [(p) => p.child.stdin.end(), (p) => p.child.kill("SIGTERM")]) {
    const p = await Process.start();
    const call = p.call("wait", { ignore: true }).on("error", () => {});
    await once(call, "data");
    end(p);
    assert.deepEqual((await p.exit)[0], 0);
    assert.match(await p.stderr, /no end[^]*cleaned up|cleaned up[^]*no end/);
    p.client.close();
    rmSync(p.dir, { recursive: true });
  }
});

test("run by hand it says what it is", () => {
  const { TOOLHOST_PLUGIN, ...env } = process.env;
  const out = spawnSync(process.execPath, [file("fixture.js")], { env });
  assert.deepEqual([out.status, String(out.stdout)], [2, ""]);
  assert.match(String(out.stderr), /is a toolhost plugin/);
});

test("mistakes in definitions are named", () => {
  const p = new Plugin("p");
  const right = { name: "same", description: "Does.", schema: { type: "object" } };
  for (const [change, said] of [[{ name: "a b" }, /must match/], [{ name: "a__b" }, /must match/], [{ description: "" }, /no description/],
    [{ schema: undefined }, /JSON Schema/], [{ schema: undefined, inputSchema: {} }, /called schema, not inputSchema/]]) {
    assert.throws(() => p.tool({ ...right, ...change }, () => {}), said);
  }
  for (const [change, said] of [[{ readOnly: true }, /there is no readOnly; there are name/], [{ timeout: 1 }, /no timeout/],
    [{ timeoutMs: "1s" }, /timeoutMs must be of type number/], [{ timeoutMs: NaN }, /timeoutMs/], [{ title: {} }, /title/],
    [{ description: 5 }, /description must be of type string/], [{ name: 5 }, /name must be of type string/],
    [{ hints: { readonly: true } }, /hints: there is no readonly/], [{ hints: { readOnly: "yes" } }, /readOnly must be of type boolean/],
    [{ hints: ["readOnly"] }, /hints: there is no 0/], [{ preview: 5 }, /preview must be of type function/], [{ outputSchema: 5 }, /outputSchema/],
    [{ schema: { type: "object", parse() {} } }, /schema has no JSON form: its member parse/], [{ schema: [] }, /JSON Schema/],
    [{ handler() {} }, /no handler/]]) {
    assert.throws(() => p.tool({ ...right, ...change }, () => {}), said);
  }
  const serving = new Plugin("p").tool(right, () => {});
  Object.assign(serving, { server: {}, dynamic: true });
  serving.tool({ ...right, name: "late" }, () => {}).remove("late");
  serving.dynamic = false;
  assert.throws(() => serving.tool({ ...right, name: "late" }, () => {}), /tool "late" comes after serve.*dynamic = true/);
  assert.throws(() => serving.remove("same"), /dynamic = true/);
  for (const wrong of [undefined, null, "same"]) assert.throws(() => p.tool(wrong, () => {}), /must be an object/);
  assert.throws(() => p.configure(), /JSON Schema/);
  assert.throws(() => p.configure({ type: "object" }), /function/);
  assert.throws(() => p.configure({ type: "object" }, () => {}).configure({ type: "object" }, () => {}), /twice/);
  assert.throws(() => p.atEnd(), /function/);
  assert.throws(() => p.tool(right), /no handler/);
  p.tool(right, () => {});
  assert.throws(() => p.tool(right, () => {}), /"same" is there twice/);
  assert.throws(() => p.tool({ ...right, name: "SAME" }, () => {}), /letter case/);
  assert.throws(() => new Plugin("No Capitals"), /must match/);
});
