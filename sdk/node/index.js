// Tools for language models as a plugin of toolhost. index.d.ts describes each part.

import { inspect } from "node:util";
import { serve } from "./server.js";

const pluginName = /^[a-z][a-z0-9-]{0,31}$/;
const toolName = /^[A-Za-z0-9][A-Za-z0-9_-]*$/;
const failure = { suggestion: "string", retryable: "boolean", details: "object", helpUrl: "string", outcomeUnknown: "boolean" };
const result = { content: "object", structured: "any", truncated: "boolean", error: "any", questions: "object", state: "string" };
const hints = { readOnly: "boolean", destructive: "boolean", idempotent: "boolean", openWorld: "boolean" };
const tool = { name: "string", title: "string", description: "string", schema: "object", outputSchema: "object", hints: "object",
  category: "string", costTier: "string", timeoutMs: "number", maxResultBytes: "number", stateful: "boolean",
  foreignSchema: "boolean", preview: "function" };

// check refuses members of an object that have no meaning, and would be lost, and those of other types. It returns the object.
export function check(who, given, types) {
  if (given === null || typeof given !== "object") throw new TypeError(`${who} must be an object, not ${inspect(given)}`);
  for (const [key, value] of Object.entries(given)) {
    const want = Object.hasOwn(types, key) ? types[key] : "";
    if (!want) throw new TypeError(`${who}: there is no ${key}; there are ${Object.keys(types).join(", ")}`);
    if (value === undefined || value === null || want === "any") continue;
    if (typeof value !== want || Number.isNaN(value)) {
      throw new TypeError(`${who}: ${key} must be of type ${want}, not ${inspect(value)}`);
    }
  }
  return given;
}

// json is JSON.stringify, but refuses what that would lose: it writes null for NaN, and {} for a Map.
export function json(value) {
  const out = JSON.stringify(value, function (key, plain) {
    const own = this[key]; // before toJSON
    const v = ArrayBuffer.isView(own) || own instanceof Date ? own : plain;
    const isObject = typeof v === "object" && v !== null && !Array.isArray(v);
    if (["function", "symbol", "bigint"].includes(typeof v) || (typeof v === "number" && !Number.isFinite(v)) ||
      (isObject && (Symbol.iterator in v || Symbol.asyncIterator in v || v instanceof Error || v instanceof Promise ||
        v instanceof RegExp || v instanceof ArrayBuffer || (v instanceof Date && Number.isNaN(v.getTime()))))) {
      throw new TypeError(`${key === "" ? "it" : `its member ${key}`} is ${inspect(v, { depth: 0 }).slice(0, 80)}`);
    }
    return plain;
  });
  if (out === undefined) throw new TypeError("it is undefined");
  return Buffer.from(out);
}

export class ToolError extends Error {
  constructor(name, message, more = {}) {
    super(message);
    this.name = name;
    this.code = "";
    Object.assign(this, check("the third argument of a ToolError", more, failure));
  }
}

export class InvalidArguments extends ToolError {
  constructor(message, more) {
    super("InvalidArguments", message, more);
    this.code = "E_TOOL_INVALID_ARGS";
  }
}

// A Part is a part of a result. Handlers may return one, or a list of them.
export class Part {
  constructor(fields) {
    Object.assign(this, fields);
  }
}

function bytes(data) {
  if (typeof data !== "string") return Buffer.from(data);
  throw new TypeError('data must be bytes, not a string; of base64 they are Buffer.from(data, "base64")');
}

export const text = (s) => new Part({ type: "text", text: Buffer.from(String(s)) });
export const image = (data, mimeType) => new Part({ type: "image", data: bytes(data), mimeType });
export const audio = (data, mimeType) => new Part({ type: "audio", data: bytes(data), mimeType });
export const link = (uri, name, mimeType = "") => new Part({ type: "resource_link", uri, name, mimeType });
export const resource = (uri, data, mimeType = "") =>
  new Part(typeof data === "string"
    ? { type: "resource", uri, mimeType, text: Buffer.from(data) }
    : { type: "resource", uri, mimeType, data: bytes(data) });

export class Result {
  constructor(fields = {}) {
    check("a Result", fields, result);
    Object.assign(this, { content: [], structured: undefined, truncated: false, error: undefined }, fields);
  }
}

function checkSchema(who, schema) {
  if (schema?.type !== "object") throw new TypeError(`${who} must be a JSON Schema with type: "object"`);
  try {
    json(schema);
  } catch (err) {
    throw new TypeError(`${who} has no JSON form: ${err.message}`);
  }
}

export class Plugin {
  constructor(name, version = "0.0.0") {
    if (!pluginName.test(name)) throw new TypeError(`plugin name ${JSON.stringify(name)} must match ${pluginName.source}`);
    Object.assign(this, { name, version, workdir: "", dynamic: false, notices: [], problems: [] });
    this.tools = new Map();
    this.ends = [];
    this.server = undefined; // set by serve
    this.changed = () => {}; // replaced by serve
  }

  tool(definition, handler) {
    if (Object(definition) !== definition) check("the definition of a tool", definition, tool); // it throws
    const { name, description, schema } = definition;
    const who = `tool ${JSON.stringify(name)}`;
    const foreign = ["inputSchema", "input_schema", "parameters"].find((key) => key in definition);
    if (!schema && foreign) throw new TypeError(`${who}: the JSON Schema of its arguments is called schema, not ${foreign}`);
    check(who, definition, tool);
    this.#mustBeSeen(who);
    check(`${who}: hints`, definition.hints ?? {}, hints);
    if (!toolName.test(name ?? "") || name.includes("__")) {
      throw new TypeError(`${who}: the name must match ${toolName.source} and not have "__"`);
    }
    for (const other of this.tools.keys()) {
      if (other.toLowerCase() === name.toLowerCase()) {
        throw new TypeError(other === name ? `${who} is there twice; rename one of them, or leave it out` :
          `${who} and ${JSON.stringify(other)} have names that differ only by letter case; rename one of them`);
      }
    }
    if (!description) throw new TypeError(`${who} has no description; say what it does, and when to use it`);
    checkSchema(`${who}: schema`, schema);
    if (typeof handler !== "function") throw new TypeError(`${who} has no handler; its second argument is the function that makes the call`);
    this.tools.set(name, { ...definition, handler });
    this.changed();
    return this;
  }

  #mustBeSeen(what) {
    if (this.server && !this.dynamic) {
      throw new Error(`${what} comes after serve has begun, so no host sees it; do it before, or set dynamic = true before serve if ` +
        "the tools depend on the configuration or change");
    }
  }

  remove(name) {
    this.#mustBeSeen(`the removal of tool ${JSON.stringify(name)}`);
    this.tools.delete(name);
    this.changed();
  }

  configure(schema, f) {
    if (this.configuration) throw new Error("configure is called twice; take all settings in one function");
    checkSchema("configure: the schema", schema);
    if (typeof f !== "function") throw new TypeError("configure needs the function that takes the settings as second argument");
    this.configuration = { schema, f };
    return this;
  }

  atEnd(f) {
    if (typeof f !== "function") throw new TypeError("atEnd needs the function that cleans up");
    this.ends.push(f);
    return this;
  }

  serve() {
    serve(this);
  }
}
