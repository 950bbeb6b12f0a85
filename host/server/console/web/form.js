// A form from a tool's input schema, by json-editor. Schemas are written by plugins, and json-editor does much that a
// schema asks for: it compiles templates, follows links and references, loads editors, and compiles patterns. So the
// form never sees the plugin's schema, but one that is built here from the keywords below. What does not fit becomes a field
// for JSON, and the host checks the arguments in any case.
import { h } from "./dom.js";
import { exact, exactNumber } from "./format.js";

const limits = { depth: 8, nodes: 600, choices: 500, text: 2000 };
const numbers = [
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
];

let library;

// editor loads json-editor at its first use, and gives it our theme and our field for JSON.
function editor() {
  library ??= import("./third_party/jsoneditor.js").then((module) => prepare(module.JSONEditor));
  return library;
}

function prepare(JSONEditor) {
  const Theme = JSONEditor.AbstractTheme;
  const text = (s) => String(s ?? "");
  Theme.prototype.cleanText = text;
  JSONEditor.AbstractEditor.prototype.cleanText = text;
  // Inline style attributes are refused by the content security policy; a class hides as well.
  const hide = (e) => {
    e?.classList.add("sr");
    return e;
  };
  Theme.prototype.visuallyHidden = hide;
  Theme.prototype.getHiddenText = (s) => hide(h("span", {}, text(s)));
  Theme.prototype.getHiddenLabel = (s) => hide(h("label", {}, text(s)));
  Theme.prototype.getOptInCheckbox = () => ({
    label: h("label"),
    checkbox: h("input", { type: "checkbox" }),
    container: h("span"),
  });
  class ConsoleTheme extends Theme {
    constructor(jsoneditor) {
      super(jsoneditor, { disable_theme_rules: true });
    }
    getFormInputLabel(label, required) {
      return h("label", { class: required ? "required" : "" }, text(label));
    }
    getHeader(content) {
      return content instanceof Node
        ? h("div", { class: "je-header" }, content)
        : h("div", { class: "je-header" }, text(content));
    }
    getDescription(s) {
      return h("p", { class: "hint" }, text(s));
    }
    getFormInputDescription(s) {
      return this.getDescription(s);
    }
    getCheckboxDescription(s) {
      return this.getDescription(s);
    }
    getErrorMessage(s) {
      return h("p", { class: "fielderror", role: "alert" }, text(s));
    }
    addInputError(input, message) {
      input.errmsg ??= h("p", { class: "fielderror", id: `${input.id}-error` });
      if (!input.errmsg.isConnected) (input.closest(".form-control") ?? input.parentNode)?.append(input.errmsg);
      input.errmsg.textContent = text(message);
      input.errmsg.hidden = false;
      input.setAttribute("aria-invalid", "true");
      input.setAttribute("aria-errormessage", input.errmsg.id);
    }
    removeInputError(input) {
      if (input?.errmsg) input.errmsg.hidden = true;
      input?.removeAttribute?.("aria-invalid");
      input?.removeAttribute?.("aria-errormessage");
    }
  }
  JSONEditor.defaults.themes.console = ConsoleTheme;
  const editors = JSONEditor.defaults.editors;
  // What a value does not have becomes empty; json-editor would take the field away, and nobody could fill it in again.
  editors.object = class extends editors.object {
    setValue(value, initial) {
      super.setValue(value, initial);
      for (const name of Object.keys(this.cached_editors)) {
        if (this.editors[name]) continue;
        this.addObjectProperty(name);
        this.editors[name].setValue(this.editors[name].getDefault(), true);
      }
    }
  };
  editors.anyjson = class extends editors.string {
    getDefault() {
      return undefined;
    }
    setValue(value, ...rest) {
      const s = value === undefined ? "" : (verbatim(value) ?? JSON.stringify(value, null, 2));
      return super.setValue(s, ...rest);
    }
    // What JSON.parse would change, or is no JSON, stays as it was written.
    getValue() {
      const s = super.getValue();
      if (s === undefined || s.trim() === "") return undefined;
      return exact(s) ? JSON.parse(s) : mark + s;
    }
  };
  JSONEditor.defaults.resolvers.unshift((schema) => schema.format === "anyjson" && "anyjson");
  return JSONEditor;
}

// A value that begins with the mark stands for the JSON that follows: json-editor has no other place for it.
const mark = `\ue000${[...crypto.getRandomValues(new Uint8Array(12))].join("")}:`;
const verbatim = (value) =>
  typeof value === "string" && value.startsWith(mark) ? value.slice(mark.length) : undefined;

function stringify(value) {
  return JSON.stringify(value).replace(
    /"(?:[^"\\]|\\.)*"/g,
    (s) => (s.includes(mark) ? verbatim(JSON.parse(s)) : s) ?? s,
  );
}

// makeForm throws when the schema is none that a form can show.
export async function makeForm(schemaText) {
  const schema = safeSchema(JSON.parse(schemaText));
  const JSONEditor = await editor();
  const element = h("div", { class: "form" });
  let form;
  async function build() {
    const made = new JSONEditor(element, {
      schema,
      theme: "console",
      iconlib: null,
      ajax: false,
      use_default_values: false,
      required_by_default: false,
      disable_edit_json: true,
      disable_properties: true,
      disable_collapse: true,
      disable_array_delete_all_rows: true,
      disable_array_delete_last_row: true,
      prompt_before_delete: false,
      no_additional_properties: false,
      show_errors: "never",
      array_controls_top: false,
      form_name_root: root,
    });
    await new Promise((resolve) => made.on("ready", resolve));
    made.on("change", () => {
      label(element);
      if (element.classList.contains("checked")) judge();
    });
    label(element);
    form = made;
  }
  await build();
  // Empty texts of required properties, by their paths: sent where a person has emptied the field, or was told of it.
  const empties = new Set(),
    told = [];
  element.addEventListener("input", (e) => {
    const path = e.target.closest("[data-schemapath]")?.dataset.schemapath;
    if (path) empties.add(path);
  });

  const commit = () => {
    const at = document.activeElement;
    if (element.contains(at)) at.dispatchEvent(new Event("change", { bubbles: true })); // it has not lost the focus yet
  };
  const value = () => fill(prune(form.getValue(), schema, true) ?? {}, schema, root, empties);
  function judge() {
    const now = value();
    const errors = form.validate(now).filter((e) => e.property !== "required");
    const none = missing(now, schema, root);
    errors.push(...none, ...unsent(form));
    element.classList.toggle("checked", errors.length > 0);
    form.options.show_errors = errors.length ? "always" : "never";
    form.root.showValidationErrors(errors);
    return { errors, none };
  }
  return {
    element,
    // text is the arguments as JSON.
    text() {
      commit();
      return stringify(value());
    },
    // set fills in the form, and returns the paths of what it cannot show. It is made again, since json-editor keeps
    // parts of what was in it before.
    async set(json) {
      if (!exact(json)) return ["numbers with that many digits, or names that stand twice"];
      const v = JSON.parse(json);
      if (v === null || typeof v !== "object" || Array.isArray(v)) return ["what is no list of named values"];
      form.destroy();
      element.classList.remove("checked");
      await build();
      empties.clear();
      for (const path of emptyTexts(v, root)) empties.add(path);
      try {
        form.setValue(v);
      } catch {
        return ["values of these kinds"];
      }
      return differences(v, JSON.parse(stringify(value())), "");
    },
    // check shows what is wrong beside the fields, from now on, moves to the first, and returns how much there is.
    check() {
      commit();
      for (const path of told.splice(0)) empties.add(path); // who presses again means it
      const { errors, none } = judge();
      told.push(...none.filter((e) => e.empty).map((e) => e.path));
      element.querySelector("[aria-invalid]")?.focus();
      return errors.length;
    },
    close() {
      // the last change of a field comes before the end
      if (element.contains(document.activeElement)) document.activeElement.blur();
      form.destroy();
    },
  };
}

const root = "arguments"; // of paths, and of the names of fields

// unsent lists fields of which the text would not arrive as it was written.
function unsent(form) {
  const errors = [];
  for (const [path, e] of Object.entries(form.editors)) {
    if (!e?.input || !e.input.isConnected) continue;
    const text = e.input.value.trim();
    if (e.schema.format === "anyjson" && verbatim(e.getValue()) !== undefined) {
      try {
        JSON.parse(text);
      } catch (error) {
        errors.push({ path, property: "json", message: `This is no JSON: ${error.message}. A text stands in quotes` });
      }
    } else if (["number", "integer"].includes(e.schema.type) && /^-?\d/.test(text) && !exactNumber(text))
      errors.push({ path, property: "digits", message: "A form cannot send that many digits: write it as JSON" });
  }
  return errors;
}

// missing lists required properties without a value, each at its own field; json-editor says it above all of them.
function missing(value, schema, path) {
  if (Array.isArray(value)) return value.flatMap((v, i) => missing(v, schema.items ?? {}, `${path}.${i}`));
  if (value === null || typeof value !== "object") return [];
  const none = (schema.required ?? []).filter((n) => value[n] === undefined);
  return [
    ...none.map((n) => {
      const empty = mayBeEmpty(schema.properties[n]);
      const message = empty ? "This is required. To send an empty text, press again" : "This is required";
      return { path: `${path}.${n}`, property: "required", message, empty };
    }),
    ...Object.keys(schema.properties ?? {}).flatMap((n) => missing(value[n], schema.properties[n], `${path}.${n}`)),
  ];
}

function mayBeEmpty(schema) {
  return schema.type === "string" && !schema.enum && !(schema.minLength > 0);
}

// fill adds the empty texts that are meant.
function fill(value, schema, path, empties) {
  if (Array.isArray(value)) return value.map((v, i) => fill(v, schema.items ?? {}, `${path}.${i}`, empties));
  if (value === null || typeof value !== "object" || !schema.properties) return value;
  const out = {};
  for (const n of Object.keys(schema.properties)) {
    const at = `${path}.${n}`;
    if (value[n] !== undefined && !(value[n] === "" && schema.required?.includes(n)))
      out[n] = fill(value[n], schema.properties[n], at, empties);
    else if (schema.required?.includes(n) && mayBeEmpty(schema.properties[n]) && empties.has(at)) out[n] = "";
  }
  return out;
}

function emptyTexts(value, path) {
  if (value === "") return [path];
  if (value === null || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([n, v]) => emptyTexts(v, `${path}.${n}`));
}

// differences lists the paths at which two values of JSON differ.
function differences(a, b, path) {
  if (a === b) return [];
  const both = [a, b].every((v) => v !== null && typeof v === "object") && Array.isArray(a) === Array.isArray(b);
  if (!both) return [path || "all of it"];
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  const own = (o, n) => (Object.hasOwn(o, n) ? o[n] : undefined);
  return [...names].flatMap((n) => differences(own(a, n), own(b, n), path ? `${path}.${n}` : n));
}

// prune leaves out what was not filled in: a property that is not required has no value when it is empty.
function prune(value, schema, required) {
  if (Array.isArray(value)) {
    const items = value.map((v) => prune(v, schema.items ?? {}, true)).filter((v) => v !== undefined);
    return items.length || required ? items : undefined;
  }
  if (value !== null && typeof value === "object") {
    if (!schema.properties) return value;
    const out = {};
    for (const [k, v] of Object.entries(value)) {
      const must = schema.required?.includes(k);
      const kept = prune(v, schema.properties[k] ?? {}, must);
      if (kept !== undefined) out[k] = kept;
    }
    return Object.keys(out).length || required ? out : undefined;
  }
  return value === "" && !required ? undefined : value;
}

// label gives the controls that json-editor leaves without a name one, for screen readers.
function label(element) {
  for (const b of element.querySelectorAll("button"))
    if (!b.textContent.trim() && b.title) b.setAttribute("aria-label", b.title);
  for (const s of element.querySelectorAll("select.je-switcher:not([aria-label])"))
    s.setAttribute("aria-label", "Kind of value");
  for (const i of element.querySelectorAll("input,textarea,select")) {
    if (i.errmsg || i.labels?.length || i.hasAttribute("aria-label")) continue;
    i.setAttribute("aria-label", i.name || "value");
  }
}

export class Unsupported extends Error {}

// safeSchema builds what json-editor receives. It throws Unsupported when the arguments are not an object with
// properties of its own, or when the schema is too large for a form.
export function safeSchema(schema) {
  const state = { root: schema, nodes: 0 };
  const out = convert(schema, state, 0, []);
  if (out.type !== "object" || out.format) throw new Unsupported("its arguments are not a list of named properties");
  out.title = "Arguments";
  out.options = { ...out.options, titleHidden: true };
  delete out.description;
  return out;
}

const words = (s) =>
  typeof s === "string"
    ? (s.length > limits.text ? `${s.slice(0, limits.text)}\u2026` : s).replace(/\{\{/g, "{\u200a{")
    : undefined;

function convert(s, state, depth, seen) {
  if (++state.nodes > limits.nodes) throw new Unsupported(`it has more than ${limits.nodes} parts`);
  const json = (from) => ({
    format: "anyjson",
    title: words(from?.title),
    description: [words(from?.description), "As JSON."].filter(Boolean).join(" "),
  });
  if (typeof s !== "object" || s === null || Array.isArray(s) || depth > limits.depth) return json(s);
  if (typeof s.$ref === "string") {
    const target = seen.includes(s.$ref) ? null : resolve(state.root, s.$ref);
    if (!target) return json(s);
    const { $ref, ...beside } = s;
    return convert({ ...target, ...beside }, state, depth, [...seen, $ref]);
  }
  const alternatives = s.oneOf ?? s.anyOf;
  if (Array.isArray(alternatives) && !s.properties) return choice(s, alternatives, state, depth, seen, json);
  if (s.allOf || s.not || s.if || s.oneOf || s.anyOf || s.patternProperties || s.dependentSchemas) {
    if (depth > 0 || !s.properties) return json(s);
  }
  let type = s.type;
  if (Array.isArray(type)) {
    const real = type.filter((t) => t !== "null");
    if (real.length !== 1) return json(s);
    type = real[0];
  }
  if (!type) type = s.properties ? "object" : s.items ? "array" : Array.isArray(s.enum) ? "string" : undefined;
  // What is left empty is not sent, so that a default is only named.
  const standard = s.default === undefined ? "" : `Default: ${JSON.stringify(s.default)}`;
  const out = { title: words(s.title), description: words([s.description, standard].filter(Boolean).join(" ")) };
  for (const k of numbers) if (typeof s[k] === "number") out[k] = s[k];
  const values = s.const !== undefined ? [s.const] : s.enum;
  switch (type) {
    case "string":
      if (Array.isArray(values))
        return select(
          out,
          values.filter((v) => typeof v === "string"),
          json(s),
        );
      return { ...out, type, format: "textarea" };
    case "number":
    case "integer":
      if (Array.isArray(values))
        out.description = words([out.description, `One of ${values.join(", ")}.`].filter(Boolean).join(" "));
      return { ...out, type };
    case "boolean":
    case "null":
      return { ...out, type };
    case "array":
      if (typeof s.items !== "object" || s.prefixItems) return json(s);
      return { ...out, type, items: convert(s.items, state, depth + 1, seen) };
    case "object":
      return object(s, out, state, depth, seen, json);
  }
  return json(s);
}

function select(out, values, otherwise) {
  if (!values.length || values.length > limits.choices) return otherwise;
  return { type: "string", ...out, enum: values, options: { enum_titles: values.map((v) => words(String(v))) } };
}

function object(s, out, state, depth, seen, json) {
  const names = Object.keys(s.properties ?? {});
  if (!names.length && depth > 0) return json(s); // a map: any names
  if (names.some((n) => n in Object.prototype || n.length > 200)) return json(s);
  const required = Array.isArray(s.required) ? s.required.filter((n) => names.includes(n)) : [];
  const properties = {};
  for (const n of names) {
    const p = (properties[n] = convert(s.properties[n], state, depth + 1, seen));
    p.title = words(n); // models and the host use the name, so people see it too
    if (p.enum && !required.includes(n)) {
      // a value for none
      p.enum.unshift("");
      p.options.enum_titles.unshift(" ");
    }
  }
  return { ...out, type: "object", properties, additionalProperties: false, required };
}

function choice(s, alternatives, state, depth, seen, json) {
  const real = alternatives.filter((a) => a?.type !== "null");
  if (real.length === 1) return convert({ ...s, oneOf: undefined, anyOf: undefined, ...real[0] }, state, depth, seen);
  if (!real.length || real.length > 20) return json(s);
  if (real.every((a) => a?.const !== undefined && typeof a.const === "string"))
    return select(
      { title: words(s.title), description: words(s.description) },
      real.map((a) => a.const),
      json(s),
    );
  return {
    title: words(s.title),
    description: words(s.description),
    oneOf: real.map((a, i) => {
      const c = convert(a, state, depth + 1, seen);
      return { ...c, title: c.title || `${c.type} ${i + 1}` };
    }),
  };
}

// resolve follows a reference inside the schema; others are not followed.
function resolve(root, ref) {
  if (!ref.startsWith("#/")) return null;
  let at = root;
  for (const part of ref.slice(2).split("/")) {
    const name = part.replace(/~1/g, "/").replace(/~0/g, "~");
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, name)) return null;
    at = at[name];
  }
  return typeof at === "object" ? at : null;
}
