// Tools for language models as a plugin of toolhost. index.d.ts describes each part.

import { serve } from "./server.js";

const pluginName = /^[a-z][a-z0-9-]{0,31}$/;
const toolName = /^[A-Za-z0-9][A-Za-z0-9_-]*$/;

export class ToolError extends Error {
  constructor(name, message, more = {}) {
    super(message);
    this.name = name;
    this.code = "";
    Object.assign(this, more);
  }
}

export class InvalidArguments extends ToolError {
  constructor(message, more) {
    super("InvalidArguments", message, more);
    this.code = "E_TOOL_INVALID_ARGS";
  }
}

export const text = (s) => ({ type: "text", text: Buffer.from(String(s)) });
export const image = (data, mimeType) => ({ type: "image", data: Buffer.from(data), mimeType });
export const audio = (data, mimeType) => ({ type: "audio", data: Buffer.from(data), mimeType });
export const link = (uri, name, mimeType = "") => ({ type: "resource_link", uri, name, mimeType });
export const resource = (uri, data, mimeType = "") =>
  typeof data === "string"
    ? { type: "resource", uri, mimeType, text: Buffer.from(data) }
    : { type: "resource", uri, mimeType, data: Buffer.from(data) };

export class Result {
  constructor(fields = {}) {
    Object.assign(this, { content: [], structured: undefined, truncated: false, error: undefined }, fields);
  }
}

export class Plugin {
  constructor(name, version = "0.0.0") {
    if (!pluginName.test(name)) throw new TypeError(`plugin name ${JSON.stringify(name)} must match ${pluginName.source}`);
    Object.assign(this, { name, version, workdir: "", dynamic: false, notices: [], problems: [] });
    this.tools = new Map();
    this.ends = [];
    this.changed = () => {}; // replaced by serve
  }

  tool(definition, handler) {
    const { name, description, schema } = definition;
    const who = `tool ${JSON.stringify(name)}`;
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
    const foreign = ["inputSchema", "input_schema", "parameters"].find((key) => key in definition);
    if (!schema && foreign) throw new TypeError(`${who}: the JSON Schema of its arguments is called schema, not ${foreign}`);
    if (schema?.type !== "object") throw new TypeError(`${who}: schema must be a JSON Schema with type: "object"`);
    if (typeof handler !== "function") throw new TypeError(`${who} has no handler`);
    this.tools.set(name, { ...definition, handler });
    this.changed();
    return this;
  }

  remove(name) {
    this.tools.delete(name);
    this.changed();
  }

  configure(schema, f) {
    this.configuration = { schema, f };
    return this;
  }

  atEnd(f) {
    this.ends.push(f);
    return this;
  }

  serve() {
    serve(this);
  }
}
