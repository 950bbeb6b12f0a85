#!/usr/bin/env node
// The plugin that the tests call.

import { setTimeout as sleep } from "node:timers/promises";
import { inspect } from "node:util";
import { InvalidArguments, Plugin, Result, ToolError, image, resource, text } from "toolhost";

const any = { type: "object" };
const plugin = new Plugin("fixture", "1.2.3");
plugin.dynamic = true;
let setting = {};

plugin.configure({ type: "object", properties: { greeting: { type: "string" } }, additionalProperties: false }, (config) => {
  if (config.greeting === "bad") throw new ToolError("BadGreeting", "greeting must be kind", { details: { path: "greeting" } });
  setting = { greeting: "Hello", ...config };
});

plugin.tool({
  name: "hello", description: "Greets a person.", schema: { ...any, properties: { name: { type: "string" } } },
  title: "Greeting", category: "test", timeoutMs: 1500, hints: { readOnly: true, idempotent: true },
  preview: ({ name }) => ({ content: [text(`would greet ${name}`)], effect: "ask", reason: "it greets", structured: { kind: "greeting" } }),
}, ({ name }) => `${setting.greeting}, ${name}.`);

plugin.tool({ name: "echo", description: "Returns its arguments.", schema: any, outputSchema: any }, (args) => args);
plugin.tool({ name: "raw", description: "Returns the bytes of its arguments.", schema: any },
  (_, call) => call.rawArguments.toString());

plugin.tool({ name: "fail", description: "Fails.", schema: any }, ({ how }) => {
  if (how === "tool") {
    throw new ToolError("NotFound", "there is no such thing",
      { suggestion: "Ask for another.", retryable: true, details: { known: ["a"] }, outcomeUnknown: true });
  }
  if (how === "arguments") throw new InvalidArguments("how is wrong");
  if (how === "json") return { n: 1n };
  if (how === "reject") return Promise.reject(new RangeError("too far"));
  throw "a string";
});

plugin.tool({ name: "report", description: "Reports what a call can report.", schema: any }, (_, call) => {
  console.log("printed");
  for (let i = 1; i <= 3; i++) call.progress(i, 3, `step ${i}`);
  call.log("logged", { level: "warn", n: 1 });
  call.output("out");
  call.output(Buffer.from([0x65, 0xff]), "stderr");
  return new Result({ content: [text("done"), image(Buffer.from([0, 255]), "image/png"), resource("file:///a", "b", "text/plain")],
    structured: { workdir: call.workdir, session: call.sessionId, attempt: call.attempt,
      trace: [call.traceParent, call.traceState] } });
});

plugin.tool({ name: "flood", description: "Sends many events.", schema: any }, ({ events }, call) => {
  for (let i = 0; i < events; i++) call.progress(i);
});

plugin.tool({ name: "large", description: "Returns a text of a size.", schema: any }, ({ size }) => "é".repeat(size / 2));

plugin.tool({ name: "print_line", description: "Prints a long line.", schema: any }, ({ size }) => {
  console.log("x".repeat(size));
  return "printed";
});

plugin.tool({ name: "wait", description: "Waits until the call is canceled.", schema: any }, async ({ ignore }, call) => {
  call.progress(0);
  await sleep(60_000, undefined, { signal: call.signal }).catch(() => {});
  if (ignore) await sleep(3000);
  call.signal.throwIfAborted();
});

plugin.tool({ name: "ask", description: "Asks before it goes on.", schema: any }, (_, call) => {
  if (!call.inputResponses.name) {
    return new Result({ questions: { name: { method: "elicitation/create", params: { message: "Who?" } } }, state: "s1" });
  }
  return `${call.inputResponses.name.content.name} ${call.requestState}`;
});

plugin.tool({ name: "add_tool", description: "Adds a tool while the plugin runs.", schema: any }, () => {
  plugin.notices.push("one is late");
  plugin.problems.push("another failed");
  plugin.tool({ name: "late", description: "Was added later.", schema: any }, () => "new");
});

// What handlers return and throw by mistake; inspect.custom of the last one throws while it is logged.
const loop = {};
loop.loop = loop;
const odd = {
  nan: () => ({ a: NaN }), infinity: () => [Infinity], map: () => new Map([[1, 2]]), set: () => ({ a: new Set() }), bytes: () => Buffer.from("a"),
  array: () => new Uint8Array(1), bigint: () => 1n, symbol: () => Symbol("s"), function: () => ({ f: () => 1 }), generator: function* () {},
  pattern: () => ({ a: /x/ }), date: () => new Date(NaN), promise: () => ({ a: Promise.resolve(1) }), loop: () => loop,
  toJSON: () => ({ toJSON() { throw new Error("no"); } }), content: () => { const r = new Result(); r.content = "x"; return r; },
  part: () => new Result({ content: ["x"] }), null: () => new Result({ content: [null] }), type: () => new Result({ content: [{ text: "x" }] }),
  number: () => new Result({ content: [{ type: "text", text: 5 }] }), base64: () => new Result({ content: [{ type: "image", data: "YQ==" }] }),
  structured: () => new Result({ structured: { a: NaN } }), question: () => new Result({ questions: { a: { a: 1n } } }),
};
const thrown = {
  object: { a: 1 }, null: null, undefined: undefined, bare: Object.create(null), getter: { get message() { throw new Error("no"); } },
  details: new ToolError("Failed", "with a loop", { details: loop }), named: Object.assign(new Error("named"), { name: 5 }),
  custom: { [inspect.custom]() { throw new Error("no"); } },
};
plugin.tool({ name: "odd", description: "Returns what it should not.", schema: any }, ({ what }) => odd[what]());
plugin.tool({ name: "odd_names", description: "Lists the mistakes.", schema: any }, () => [Object.keys(odd), Object.keys(thrown)]);
plugin.tool({ name: "throw", description: "Throws what it should not.", schema: any }, ({ what }) => { throw thrown[what]; });
plugin.tool({ name: "returned", description: "Returns an error.", schema: any }, () => new RangeError("returned"));
plugin.tool({ name: "parts", description: "Returns parts.", schema: any }, ({ many }) => (many ? [text("a"), text("b")] : text("a")));
plugin.tool({ name: "taken_out", description: "Reports without this.", schema: any }, (_, { progress, log, output }) => {
  progress(1);
  log("big", { n: 1n });
  output("x");
});
plugin.tool({ name: "typo", description: "Makes a typing mistake.", schema: any }, ({ what }) => {
  if (what === "result") return new Result({ contents: [] });
  if (what === "image") return image("YQ==", "image/png");
  throw new ToolError("Failed", "it failed", { sugestion: "Ask." });
});

plugin.atEnd(() => {
  throw new Error("no end");
});
plugin.atEnd(() => console.error("cleaned up"));
plugin.serve();
console.log("printed behind serve");
