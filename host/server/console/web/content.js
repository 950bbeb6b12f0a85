// What tools and plugins wrote: texts as text, diffs as diffs, images of four types from bytes, the rest by name.
import { h } from "./dom.js";
import { isDiff, renderDiff } from "./diff.js";
import { bytes, plain, pretty, text } from "./format.js";

const images = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]); // no SVG: it is a document
const maxText = 400_000; // characters of one part
const maxParts = 200;

// renderContent shows the parts of a result. Blobs live until signal is aborted.
export function renderContent(parts, signal) {
  return h(
    "div",
    { class: "content" },
    parts.slice(0, maxParts).map((p) => renderPart(p, signal)),
    parts.length > maxParts && h("p", { class: "hint" }, `${parts.length - maxParts} more parts are not shown`),
  );
}

function renderPart(part, signal) {
  switch (part.type) {
    case "text":
      return renderText(part.text);
    case "image":
      if (images.has(part.mimeType)) return image(part, signal);
      break;
    case "resource":
      if (part.text) return h("div", {}, h("p", { class: "hint" }, `Resource ${part.uri}`), renderText(part.text));
      break;
  }
  return h(
    "p",
    { class: "part" },
    [part.type, part.name, part.uri, part.mimeType, bytes(part.data?.length)].filter(Boolean).join(" \u00b7 "),
    part.raw && code(part.raw),
  );
}

// renderText shows a diff as one, JSON indented, and anything else unchanged.
export function renderText(content) {
  content = plain(content);
  if (isDiff(content)) return renderDiff(content);
  return code(content);
}

export function code(content, label = "Text") {
  let shown = /^\s*[{[]/.test(text(content)) ? pretty(content) : text(content);
  const rest = shown.length - maxText;
  if (rest > 0) shown = shown.slice(0, maxText);
  return h(
    "div",
    { class: "code scroll", tabindex: "0", role: "region", "aria-label": label },
    h("pre", {}, shown),
    rest > 0 && h("p", { class: "hint" }, `${rest.toLocaleString("en")} more characters are not shown`),
  );
}

function image(part, signal) {
  const url = URL.createObjectURL(new Blob([part.data], { type: part.mimeType }));
  signal.addEventListener("abort", () => URL.revokeObjectURL(url), { once: true });
  const img = h("img", { alt: part.name || "Image of the result" });
  img.src = url;
  return h("figure", { class: "image" }, img, h("figcaption", {}, `${part.mimeType}, ${bytes(part.data.length)}`));
}

// renderResult shows a call's result with its error, and what was cut.
export function renderResult(result, signal) {
  const out = [];
  if (result.error) {
    out.push(
      h(
        "div",
        { class: "problem", role: "alert" },
        h("p", {}, h("strong", {}, result.error.code), " ", result.error.message),
        result.error.suggestion && h("p", {}, result.error.suggestion),
        result.error.outcome && h("p", { class: "hint" }, outcomes[result.error.outcome] ?? result.error.outcome),
      ),
    );
  }
  if (result.content.length) out.push(renderContent(result.content, signal));
  if (
    result.structured &&
    !result.content.some((c) => c.type === "text" && pretty(c.text) === pretty(result.structured))
  ) {
    const diff = diffIn(result.structured);
    const shown = diff ?? code(result.structured, "Structured result");
    // the same in another form, as a rule
    if (result.content.length && !diff) out.push(h("details", {}, h("summary", {}, "Structured result"), shown));
    else out.push(h("h3", {}, "Structured result"), shown);
  }
  if (result.truncated) {
    out.push(
      h(
        "p",
        { class: "hint" },
        "The result was cut. ",
        result.keptFiles.length > 0 && `The whole of it is on the host's machine: ${result.keptFiles.join(", ")}`,
      ),
    );
  }
  return h("div", { class: "result" }, out.length ? out : h("p", { class: "empty" }, "The result is empty."));
}

const outcomes = {
  not_sent: "The tool did not run.",
  failed: "The tool ran and failed.",
  outcome_unknown: "The tool may have run.",
};

// diffIn returns the rendered diff that a structured result or preview has as a member.
function diffIn(json) {
  try {
    const value = JSON.parse(json);
    const diff = value?.diff ?? value?.patch;
    return typeof diff === "string" && isDiff(diff) ? renderDiff(diff) : null;
  } catch {
    return null;
  }
}

// renderPreview shows what a plugin says that a call would do.
export function renderPreview(preview, signal) {
  const diff = preview.structured && diffIn(preview.structured);
  const parts = diff ? preview.content.filter((c) => !isDiff(c.text)) : preview.content;
  return h("div", {}, renderContent(parts, signal), diff, preview.reason && h("p", { class: "hint" }, preview.reason));
}
