// The plugin's end of the wire: the handshake, the service, and the end of the process. docs/protocol.md specifies it.

import { timingSafeEqual } from "node:crypto";
import { join } from "node:path";
import { tmpdir } from "node:os";
import { inspect } from "node:util";
import grpc from "@grpc/grpc-js";
import loader from "@grpc/proto-loader";
import protobuf from "protobufjs";
import { Part, Result, ToolError, check, json, text } from "./index.js";
import proto from "./proto.js";

const cookie = ["TOOLHOST_PLUGIN", "9b1f3c5e-toolhost-plugin-v1"];
const version = "node/0.1.0";
const cleanup = 1000; // milliseconds that handlers have when the plugin stops
const piece = 256 << 10; // bytes: a result larger than this travels in pieces
const large = 1 << 20; // bytes: of a result over the limit, parts larger than this do not count, if the host takes them
const maxResult = 4 << 20; // bytes
const eventText = 8 << 10; // bytes of a progress message, a log line, or its attributes
const eventData = 64 << 10; // bytes of output in one event
const pending = 8 << 20; // bytes of events that wait for a slow host; more are dropped
const knownRuns = 4096; // calls that have ended and are recognized when they come again

export function serve(plugin) {
  if (process.env[cookie[0]] !== cookie[1]) {
    console.error(`${plugin.name} ${plugin.version} is a toolhost plugin (tools: ${[...plugin.tools.keys()].join(", ")}). ` +
      "To use it, name this file in a plugin block of config.hcl.");
    process.exit(2);
  }
  if (plugin.server) throw new Error("serve is called twice");
  const server = (plugin.server = new Server(plugin));
  if (process.env.TOOLHOST_LIFELINE === "stdin") {
    process.stdin.on("end", () => server.stop()).on("error", () => server.stop()).resume();
  }
  process.on("SIGTERM", () => server.stop());
  process.on("SIGINT", () => {}); // the host decides when the plugin ends
  process.on("SIGPIPE", () => {});
  // What is printed until the handshake comes behind it.
  const [write, printed] = [process.stdout.write, []];
  process.stdout.write = (...line) => printed.push(line) > 0;
  const path = join(process.env.PLUGIN_UNIX_SOCKET_DIR || tmpdir(), `plugin${process.pid}`);
  server.grpc.bindAsync("unix:" + path, grpc.ServerCredentials.createInsecure(), (err) => {
    if (err) throw err;
    process.stdout.write = write;
    process.stdout.write(`1|1|unix|${path}|grpc|\n`);
    for (const line of printed) process.stdout.write(...line);
  });
}

class Server {
  constructor(plugin) {
    this.plugin = plugin;
    this.token = process.env.TOOLHOST_TOKEN ?? "";
    delete process.env.TOOLHOST_TOKEN; // it is not for what the plugin starts
    this.running = new Set();
    this.runs = new Set();
    this.endedRuns = []; // the oldest first
    this.watchers = new Set();
    plugin.changed = () => {
      for (const w of this.watchers) w.write({ toolsChanged: {} });
    };
    const definition = loader.fromJSON(protobuf.parse(proto).root.toJSON(), { longs: Number, defaults: true, oneofs: true });
    this.grpc = new grpc.Server({ "grpc.max_receive_message_length": 64 << 20, "grpc.max_send_message_length": -1 });
    this.grpc.addService(definition["toolhost.plugin.v1.PluginService"], {
      Describe: this.unary(() => this.describe()),
      Configure: this.unary((call) => this.configure(call.request)),
      Preview: this.unary((call) => this.preview(call)),
      Overdue: this.unary((call) => this.overdue(call.request)),
      Call: this.stream((call) => this.call(call)),
      Watch: this.stream((call) => this.watch(call)),
    });
    this.addRaw("grpc.health.v1.Health", "Check", () => Buffer.from([8, 1])); // status: SERVING
    this.addRaw("plugin.GRPCController", "Shutdown", () => (this.stop(), Buffer.alloc(0)));
  }

  addRaw(service, method, answer) {
    const same = (bytes) => bytes;
    this.grpc.addService({ [method]: { path: `/${service}/${method}`, requestStream: false, responseStream: false,
      requestSerialize: same, requestDeserialize: same, responseSerialize: same, responseDeserialize: same } },
    { [method]: this.unary(answer) });
  }

  admits(call) {
    const sent = call.metadata.get("toolhost-token");
    const [want, got] = [Buffer.from(this.token), Buffer.from(String(sent[0] ?? ""))];
    return this.token === "" || (sent.length === 1 && want.length === got.length && timingSafeEqual(want, got));
  }

  unary(method) {
    return (call, callback) => {
      if (!this.admits(call)) return callback(refused);
      Promise.resolve().then(() => method(call)).then((m) => callback(null, m), (err) => callback(err));
    };
  }

  stream(method) {
    return (call) => {
      call.on("error", () => {}); // the host is gone: "cancelled" comes too
      if (this.admits(call)) method(call);
      else call.emit("error", refused);
    };
  }

  async stop() {
    for (const run of this.running) run.end();
    const ends = this.plugin.ends.splice(0).map((f) => Promise.resolve().then(f).catch((err) => logThrown("atEnd", err)));
    const all = Promise.allSettled([...ends, ...[...this.running].map((r) => r.done)]);
    setTimeout(() => process.exit(0), cleanup);
    await all;
    process.exit(0);
  }

  describe() {
    const p = this.plugin;
    return { name: p.name, version: p.version, sdk: version, dynamic: p.dynamic, notices: [...p.problems, ...p.notices],
      noticeKinds: [...p.problems.map(() => "problem"), ...p.notices.map(() => "remark")],
      configSchema: p.configuration ? json(p.configuration.schema) : undefined,
      tools: [...p.tools.values()].map((t) => ({
        name: t.name, title: t.title, description: t.description, category: t.category, costTier: t.costTier,
        inputSchema: json(t.schema), outputSchema: t.outputSchema && json(t.outputSchema), hints: t.hints ?? {},
        timeoutMs: Math.ceil(t.timeoutMs ?? 0), maxResultBytes: t.maxResultBytes, previews: Boolean(t.preview),
        stateful: t.stateful, foreignSchema: t.foreignSchema })) };
  }

  async configure(request) {
    this.plugin.workdir = request.workdir;
    try {
      if (!this.plugin.configuration) throw new ToolError("NoConfiguration", "this plugin takes no configuration");
      await this.plugin.configuration.f(JSON.parse(request.config.toString() || "{}"));
      return {};
    } catch (err) {
      logThrown("configure", err);
      return { error: errorMessage(err) };
    }
  }

  async preview(call) {
    const tool = this.plugin.tools.get(call.request.tool);
    if (!tool?.preview) return {};
    const run = new Run(this, call, () => {});
    try {
      const got = await run.run(() => tool.preview(run.call.arguments, run.call));
      const preview = typeof got === "string" ? { content: [text(got)] } : check("the preview", got ?? {}, previewTypes);
      return { ...preview, content: contentMessage(preview.content), structured: preview.structured && json(preview.structured) };
    } catch (err) {
      logThrown(`the preview of ${call.request.tool}`, err);
      return { error: errorMessage(err) };
    }
  }

  async call(stream) {
    const request = stream.request;
    const id = request.runId || request.callId;
    if (id && this.runs.has(id)) {
      stream.emit("error", { code: grpc.status.ALREADY_EXISTS,
        details: `call ${request.callId} of ${request.tool} is a repeat of one that this plugin has had; it is not run again` });
      return;
    }
    this.runs.add(id);
    stream.write({ started: {} });
    const meter = new Meter(stream);
    let result;
    try {
      const tool = this.plugin.tools.get(request.tool);
      if (!tool) {
        throw Object.assign(new ToolError("ToolNotFound", `plugin ${this.plugin.name} has no tool ${request.tool}`),
          { code: "E_TOOL_NOT_FOUND" });
      }
      const run = new Run(this, stream, (event) => meter.send(event));
      result = resultMessage(await run.run(() => tool.handler(run.call.arguments, run.call)), request.tool);
    } catch (err) {
      logThrown(`the tool ${request.tool}`, err);
      result = { error: errorMessage(err) };
    }
    if (meter.dropped) {
      stream.write({ log: { level: "warn", message: `${meter.dropped} events were over the limits and are left out` } });
    }
    for (const message of resultMessages(result, request.maxLargeBytes)) stream.write(message);
    stream.end();
    this.endedRuns.push(id);
    if (this.endedRuns.length > knownRuns) this.runs.delete(this.endedRuns.shift());
  }

  watch(stream) {
    this.watchers.add(stream);
    stream.on("cancelled", () => this.watchers.delete(stream));
    stream.write({ toolsChanged: {} }); // says that the watch is established
  }

  overdue(request) {
    const late = [...this.running].filter((r) => r.endedAt !== undefined);
    return { handlers: late.length, late: late.filter((r) => Date.now() - r.endedAt >= request.graceMs).length };
  }
}

const refused = { code: grpc.status.UNAUTHENTICATED, details: "this plugin answers only the host that has started it" };

// A Run is a handler that runs.
class Run {
  constructor(server, stream, emit) {
    this.server = server;
    this.abort = new AbortController();
    this.call = new Call(stream.request, this.abort.signal, emit);
    this.done = new Promise((resolve) => (this.finish = resolve));
    stream.on("cancelled", () => this.end());
    server.running.add(this);
  }

  async run(handler) {
    try {
      this.call.arguments = JSON.parse(this.call.rawArguments.toString() || "{}");
      return await handler();
    } finally {
      this.server.running.delete(this);
      this.finish();
    }
  }

  end() {
    if (this.endedAt !== undefined || !this.server.running.has(this)) return;
    this.endedAt = Date.now();
    this.abort.abort(Object.assign(new ToolError("Canceled", "the call was canceled"), { code: "E_CANCELED" }));
  }
}

class Call {
  #emit;

  constructor(request, signal, emit) {
    this.#emit = emit;
    for (const f of ["progress", "log", "output"]) this[f] = this[f].bind(this); // for handlers that take them out of it
    const object = (bytes) => (bytes?.length ? JSON.parse(bytes.toString()) : undefined);
    Object.assign(this, { tool: request.tool, callId: request.callId, sessionId: request.sessionId, runId: request.runId ?? "",
      workdir: request.workdir, attempt: request.attempt || 1, singleCall: request.singleCall, rawArguments: request.arguments,
      leaveOut: (request.leaveOut ?? []).map(String), roots: (request.roots ?? []).map(String), signal,
      inputResponses: Object.fromEntries(Object.entries(request.inputResponses ?? {}).map(([k, v]) => [k, object(v)])),
      requestState: String(request.requestState ?? ""), capabilities: object(request.capabilities), meta: object(request.meta),
      traceParent: request.traceParent ?? "", traceState: request.traceState ?? "" });
  }

  progress(done, total = 0, message = "") {
    if (typeof done !== "number" || typeof total !== "number") throw new TypeError("progress takes numbers: done, total, message");
    this.#emit({ progress: { done, total, message: shorten(message) } });
  }

  log(message, { level = "info", ...attributes } = {}) {
    const raw = Object.keys(attributes).length ? attributesJSON(attributes) : Buffer.alloc(0);
    this.#emit({ log: { level, message: shorten(message), attributes: raw.length <= eventText ? raw : undefined } });
  }

  output(data, stream = "stdout") {
    const bytes = Buffer.from(data);
    for (let i = 0; i < bytes.length; i += eventData) this.#emit({ output: { stream, data: bytes.subarray(i, i + eventData) } });
  }
}

// A Meter drops events that are over the limits: 1000 a second and 2 MiB a second in the long run, 4000 and 8 MiB at once. A
// host drops them too, and ends a call that sends many more.
class Meter {
  constructor(stream) {
    Object.assign(this, { stream, dropped: 0, count: 0, size: 0, last: performance.now(), waiting: 0 });
  }

  send(event) {
    const [body] = Object.values(event);
    const size = 32 + (body.data?.length ?? 0) + Buffer.byteLength(body.message ?? "") + (body.attributes?.length ?? 0);
    const now = performance.now();
    const seconds = (now - this.last) / 1000;
    this.last = now;
    this.count = Math.max(0, this.count - 1000 * seconds);
    this.size = Math.max(0, this.size - (2 << 20) * seconds);
    if (this.stream.cancelled || this.stream.writableEnded) return;
    if (this.count + 1 > 4000 || this.size + size > 8 << 20 || this.waiting + size > pending) {
      this.dropped++;
      return;
    }
    this.count++;
    this.size += size;
    this.waiting += size;
    this.stream.write(event, () => (this.waiting -= size));
  }
}

// attributesJSON shows what has no JSON form: a line of the log must not fail a call.
function attributesJSON(attributes) {
  try {
    return Buffer.from(JSON.stringify(attributes, (_, v) => (typeof v === "bigint" ? String(v) : v)));
  } catch {
    return Buffer.from(JSON.stringify({ attributes: inspect(attributes).slice(0, eventText / 2) }));
  }
}

function shorten(s) {
  const bytes = Buffer.from(String(s));
  return bytes.length <= eventText ? String(s) : new TextDecoder().decode(bytes.subarray(0, eventText)).replace(/\uFFFD$/, "");
}

function resultMessage(value, tool) {
  if (value instanceof Error) throw value; // it was returned
  try {
    const isParts = value instanceof Part || (Array.isArray(value) && value.length > 0 && value.every((v) => v instanceof Part));
    if (isParts) return { content: contentMessage([value].flat()) };
    if (value instanceof Result) {
      return { content: contentMessage(value.content), truncated: value.truncated, error: value.error && errorMessage(value.error),
        structured: value.structured === undefined ? undefined : json(value.structured),
        inputRequired: value.questions && { state: Buffer.from(value.state ?? ""),
          requests: Object.fromEntries(Object.entries(value.questions).map(([k, v]) => [k, json(v)])) } };
    }
    if (value === undefined || value === null) return {};
    if (typeof value === "string") return { content: [text(value)] };
    const raw = json(value);
    return { content: [{ type: "text", text: raw }], structured: typeof value === "object" ? raw : undefined };
  } catch (err) {
    return { error: { name: "BadResult", message: `the tool ${tool} has run, but its result cannot be sent: ${err.message}`,
      outcomeUnknown: true, suggestion: "This is a bug in the plugin. Find out what the call has done before you make it again." } };
  }
}

// contentMessage checks the parts of a result, of which authors may write the objects.
function contentMessage(content) {
  content ??= [];
  if (!Array.isArray(content)) throw new TypeError(`content must be a list of parts, such as [text("…")], not ${inspect(content)}`);
  return content.map((part, i) => {
    if (typeof part?.type !== "string") throw new TypeError(`part ${i + 1} of its content is ${inspect(part)}; use text, image, …`);
    const out = { ...part, ...(typeof part.text === "string" && { text: Buffer.from(part.text) }) };
    for (const key of ["text", "data"]) {
      if ((out[key] ?? undefined) !== undefined && !(out[key] instanceof Uint8Array)) {
        throw new TypeError(`part ${i + 1} of its content: ${key} must be bytes, not ${inspect(out[key])}`);
      }
    }
    return out;
  });
}

const previewTypes = { content: "object", effect: "string", reason: "string", structured: "any", unlessAllowed: "boolean" };

function logThrown(who, err) {
  if (err instanceof ToolError) return;
  try {
    console.error(`${who} threw:`, err);
  } catch {
    console.error(`${who} threw what cannot be shown`);
  }
}

// errorMessage is the error that a model reads of anything that was thrown; it never throws.
function errorMessage(err) {
  if (!(err instanceof ToolError)) {
    try {
      const name = typeof err?.name === "string" && err.name ? err.name : "Error";
      if (!(err instanceof Error)) return { name, message: typeof err === "string" ? err : inspect(err) };
      return { name, message: (String(err.message) || `it threw ${name} without a message`) + placeOf(err) };
    } catch {
      return { name: "Error", message: "it threw what cannot be shown" };
    }
  }
  let details;
  try {
    details = err.details && json(err.details);
  } catch (cause) {
    details = json({ error: `the details have no JSON form: ${cause.message}` });
  }
  return { code: err.code, name: err.name, message: err.message, suggestion: err.suggestion, helpUrl: err.helpUrl,
    retryable: err.retryable, outcomeUnknown: err.outcomeUnknown, details };
}

// notAuthors matches lines of Node, of libraries and of the kit, unless that is bundled with the author's.
const notAuthors = /\bnode:|[/\\]node_modules[/\\]|[/\\](toolhost|sdk[/\\]node)[/\\](index|server)\.js:/;

// placeOf is the innermost line that the author wrote of an error's stack, such as " (plugin.js:7)".
function placeOf(err) {
  for (const line of String(err?.stack ?? "").split("\n")) {
    const place = /^\s+at .*?([^/\\(\s:]+:\d+):\d+\)?$/.exec(line);
    if (place && !notAuthors.test(line)) return ` (${place[1]})`;
  }
  return "";
}

// The messages of a result: a large one is sent part by part, each part in pieces. most is how many bytes the host takes of
// large parts of a result that is over the limit without them.
function* resultMessages(result, most) {
  const size = (c) => (c.text?.length ?? 0) + (c.data?.length ?? 0);
  const total = (result.content ?? []).reduce((n, c) => n + size(c), 0);
  if (total > piece) {
    const rest = result.structured?.length ?? 0;
    const isOver = most > 0 && rest <= maxResult && total + rest > maxResult;
    for (const c of result.content) {
      const field = c.text?.length || c.type === "text" ? "text" : "data";
      const body = c[field] ?? Buffer.alloc(0);
      yield { part: { content: { ...c, [field]: body.subarray(0, piece) }, size: size(c), large: isOver && size(c) > large } };
      for (let i = piece; i < body.length; i += piece) yield { more: { data: body.subarray(i, i + piece) } };
    }
    result = { ...result, content: [] };
  }
  yield { result };
}
