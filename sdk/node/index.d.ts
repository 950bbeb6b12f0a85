// Tools for language models as a plugin of toolhost. A whole plugin:
//
//   import { Plugin } from "toolhost";
//
//   new Plugin("greet", "1.0.0")
//     .tool({
//       name: "hello", description: "Greets a person.", hints: { readOnly: true },
//       schema: { type: "object", properties: { name: { type: "string" } }, required: ["name"], additionalProperties: false },
//     }, ({ name }) => `Hello, ${name}.`)
//     .serve();
//
// It needs Node 20 or later, on Linux or macOS.

/** A JSON Schema; libraries that make them work too, such as z.toJSONSchema(…) of zod. */
export type Schema = { [keyword: string]: unknown };

/** What a tool does to the world; a hint that is absent is not known. */
export interface Hints {
  readOnly?: boolean;
  destructive?: boolean;
  idempotent?: boolean;
  openWorld?: boolean;
}

export interface Tool<A> {
  /** ^[A-Za-z0-9][A-Za-z0-9_-]*$ without "__"; names of two tools differ by more than letter case. */
  name: string;
  title?: string;
  /** What it does, when to use it, what it returns: models read it. */
  description: string;
  /** The JSON Schema of the arguments, of type object. The host checks arguments against it before each call. */
  schema: Schema;
  /** The JSON Schema of the structured result. */
  outputSchema?: Schema;
  hints?: Hints;
  category?: string;
  costTier?: "free" | "cheap" | "expensive";
  /** How long a call usually takes at most; 0 or absent is the host's default. */
  timeoutMs?: number;
  maxResultBytes?: number;
  /** The tool works with what earlier calls left in the process. */
  stateful?: boolean;
  /** The schema was written for clients of another kind. */
  foreignSchema?: boolean;
  /** What a call would do, without doing it, for the person who approves it. */
  preview?: (args: A, call: Call) => Preview | string | Promise<Preview | string>;
}

/**
 * A string is a text, a part or a list of parts is content, another value its JSON, undefined nothing. What JSON cannot
 * say, such as NaN, a Map or bytes, fails the call.
 */
export type Handler<A> = (args: A, call: Call) => unknown;

/** A named set of tools. The name must match ^[a-z][a-z0-9-]{0,31}$. */
export class Plugin {
  constructor(name: string, version?: string);
  /** The folder that the host works in; set before the first call when the plugin takes configuration. */
  workdir: string;
  /** Set before serve: the list of tools depends on the configuration, or changes while the plugin runs. */
  dynamic: boolean;
  /** What the operator should know of the tools, such as which are left out and why. */
  notices: string[];
  /** Why tools are missing or old. `toolhost discover` then ends with exit code 4. */
  problems: string[];
  /** Adds a tool, of a dynamic plugin also while serving. TypeError says what is wrong with a definition. */
  tool<A = any>(definition: Tool<A>, handler: Handler<A>): this;
  /** Removes a tool, of a dynamic plugin also while serving. */
  remove(name: string): void;
  /** Takes configuration of this schema, once, before the first call. Its error keeps the plugin from being used. */
  configure<C = any>(schema: Schema, f: (config: C) => void | Promise<void>): this;
  /** Runs f when the plugin stops, for less than a second; not when it is killed. */
  atEnd(f: () => void | Promise<void>): this;
  /** Serves until the host ends the plugin. What is printed goes to the host's log. */
  serve(): void;
}

/** One call of a tool: who asks, where, and ways to report. */
export interface Call {
  readonly tool: string;
  readonly callId: string;
  readonly sessionId: string;
  readonly runId: string;
  /** The folder that the caller works in. */
  readonly workdir: string;
  readonly attempt: number;
  readonly singleCall: boolean;
  readonly leaveOut: string[];
  readonly roots: string[];
  /** The arguments' bytes, exact where JSON.parse rounds integers over 2^53. */
  readonly rawArguments: Buffer;
  /** Aborts when the call is canceled, its deadline has passed, or the plugin stops: a handler returns soon then. */
  readonly signal: AbortSignal;
  /** Answers to the questions of an earlier Result of this call, and its state. */
  readonly inputResponses: { [key: string]: any };
  readonly requestState: string;
  readonly capabilities: any;
  readonly meta: any;
  /** The headers of W3C Trace Context for the work of this call, empty outside of a trace. */
  readonly traceParent: string;
  readonly traceState: string;
  /** Reports done of total, in any unit; a total of 0 is not known. */
  progress(done: number, total?: number, message?: string): void;
  /** Writes a line to the host's log. */
  log(message: string, fields?: { level?: "debug" | "info" | "warn" | "error"; [attribute: string]: unknown }): void;
  /** Sends what the call prints to people who watch; it is not part of the result. */
  output(data: string | Uint8Array, stream?: "stdout" | "stderr"): void;
}

export interface Content {
  type: string;
  text?: Uint8Array | string;
  data?: Uint8Array;
  mimeType?: string;
  uri?: string;
  name?: string;
}
export function text(s: string): Content;
export function image(data: Uint8Array, mimeType: string): Content;
export function audio(data: Uint8Array, mimeType: string): Content;
export function resource(uri: string, data: string | Uint8Array, mimeType?: string): Content;
export function link(uri: string, name: string, mimeType?: string): Content;

/** What a call returns, for handlers that return more than a value. */
export class Result {
  constructor(fields?: Partial<Result>);
  content: Content[];
  structured?: unknown;
  truncated: boolean;
  /** A failure beside the content. */
  error?: ToolError;
  /** MCP's input requests, by keys: the call is made again with Call.inputResponses and Call.requestState. */
  questions?: { [key: string]: { method: string; params: unknown } };
  state?: string;
}

export interface Preview {
  content?: Content[];
  /** It makes the host's decision stricter, never looser. */
  effect?: "" | "allow" | "ask" | "always_ask" | "deny";
  reason?: string;
  structured?: unknown;
  unlessAllowed?: boolean;
}

export interface Failure {
  suggestion?: string;
  retryable?: boolean;
  details?: { [name: string]: unknown };
  helpUrl?: string;
  /** The tool cannot tell whether it has done its work, or a part. */
  outcomeUnknown?: boolean;
}

/** A failure as data that a model can act on: a name of one CamelCase word, and what happened, where. */
export class ToolError extends Error {
  constructor(name: string, message: string, more?: Failure);
}

/** The arguments are wrong in a way that the schema does not say; nothing was done. */
export class InvalidArguments extends ToolError {
  constructor(message: string, more?: Failure);
}
