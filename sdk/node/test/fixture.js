#!/usr/bin/env node
// The plugin that the tests call.

import { setTimeout as sleep } from "node:timers/promises";
import { InvalidArguments, Plugin, Result, ToolError, image, resource, text } from "toolhost";

const any = { type: "object" };
const plugin = new Plugin("fixture", "1.2.3");
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

plugin.atEnd(() => console.error("cleaned up"));
plugin.serve();
