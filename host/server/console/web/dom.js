// Elements are made here and nowhere else. Strings become text nodes: there is no way to pass HTML.

const attributes = new Set([
  "class",
  "id",
  "type",
  "role",
  "for",
  "name",
  "value",
  "placeholder",
  "title",
  "tabindex",
  "rows",
  "cols",
  "min",
  "max",
  "step",
  "scope",
  "colspan",
  "autocomplete",
  "spellcheck",
  "disabled",
  "checked",
  "hidden",
  "open",
  "selected",
  "multiple",
  "readonly",
  "required",
  "alt",
  "datetime",
  "width",
  "height",
  "inputmode",
  "lang",
  "autofocus",
  "wrap",
  "list",
  "enterkeyhint",
  "download",
]);

// h makes an element. Properties that start with "on" are listeners, "aria-" and "data-" and those above attributes;
// href is for fragments of this page and blobs that the page made. Children are nodes, strings, numbers, or arrays.
export function h(tag, properties, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
    else if (name === "href" && /^(#|blob:)/.test(value)) e.setAttribute("href", value);
    else if (attributes.has(name) || /^(aria|data)-[a-z-]+$/.test(name))
      e.setAttribute(name, value === true ? "" : value);
    else throw new Error(`no attribute ${name} here`);
  }
  append(e, children);
  return e;
}

function append(e, children) {
  for (const c of children) {
    if (Array.isArray(c)) append(e, c);
    else if (c instanceof Node) e.append(c);
    else if (c !== undefined && c !== null && c !== false) e.append(visible(String(c)));
  }
}

// Characters that change the order of what stands beside them, or that nobody sees, are shown by their number: they can
// make a text look like another one.
const unseen =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

export function visible(text) {
  return text.replace(unseen, (c) => `\u2423U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}\u2423`);
}

export function replace(e, ...children) {
  e.replaceChildren();
  append(e, children);
  return e;
}

// redraw is replace for what is drawn again and again: the link or button that has the focus keeps it.
export function redraw(e, ...children) {
  const at = document.activeElement;
  const name = (b) => `${b.tagName} ${b.getAttribute("href") ?? b.getAttribute("aria-label") ?? b.textContent}`;
  const had = e !== at && e.contains(at) && name(at);
  replace(e, ...children);
  if (had) [...e.querySelectorAll("a,button,[tabindex]")].find((b) => name(b) === had)?.focus({ preventScroll: true });
  return e;
}

// reveal scrolls what has come up into view: all of it, or its beginning. When there is more of it, who has scrolled
// since the first time is left where they are.
const revealed = new WeakMap();

export function reveal(e, first = false) {
  if (!e.isConnected) return;
  if (!first && revealed.has(e) && revealed.get(e) !== scrollY) return;
  e.scrollIntoView({ block: "nearest" });
  revealed.set(e, scrollY);
}

// bringUp scrolls to what was chosen in a list beside it when that is out of sight, as on a phone, where it is below.
export function bringUp(e) {
  const { top } = e.getBoundingClientRect();
  if (top < 0 || top > innerHeight * 0.6) e.scrollIntoView({ block: "start" });
}

// setText changes a text node's owner only when the text differs, so that screen readers are not disturbed.
export function setText(e, text) {
  const shown = visible(String(text));
  if (e.textContent !== shown) e.textContent = shown;
}

// table makes a table from names of columns and rows of cells. Its caption is for screen readers.
export function table(caption, columns, rows) {
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h(
      "table",
      {},
      h("caption", { class: "sr" }, caption),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          columns.map((c) => h("th", { scope: "col" }, c)),
        ),
      ),
      h(
        "tbody",
        {},
        rows.map((r) =>
          h(
            "tr",
            {},
            r.map((c) => h("td", {}, c)),
          ),
        ),
      ),
    ),
  );
}

// facts is a list of names and values; those without a value are left out.
export function facts(pairs) {
  return h(
    "dl",
    { class: "facts" },
    pairs
      .filter(([, v]) => v !== undefined && v !== null && v !== "" && v !== false && v !== 0)
      .map(([k, v]) => h("div", {}, h("dt", {}, k), h("dd", {}, v))),
  );
}

// linkTo is the address at which a page shows what has that id.
export function linkTo(page, id) {
  return `#/${page}/${encodeURIComponent(id)}`;
}

// button makes a button that does nothing while what it began last, a promise, has not ended.
export function button(label, onclick, options = {}) {
  let busy = false;
  const press = async (event) => {
    if (busy) return;
    busy = true;
    try {
      await onclick(event);
    } finally {
      busy = false;
    }
  };
  return h("button", { type: "button", onclick: press, ...options }, label);
}

// printout is a box of lines that come one after another. change has work add and take away lines: the end stays in
// sight for who looks at it.
export function printout(label, options) {
  const lines = h("pre", {});
  const box = h(
    "div",
    { class: "code scroll live", tabindex: "0", role: "log", "aria-label": label, ...options },
    lines,
  );
  const change = (work) => {
    const atEnd = box.scrollTop + box.clientHeight > box.scrollHeight - 30;
    work();
    if (atEnd) box.scrollTop = box.scrollHeight;
  };
  return { box, lines, change };
}

// announce tells screen readers, and shows a line at the bottom for five seconds.
export function announce(text, kind = "info") {
  const area = document.getElementById("announcements");
  const line = h("p", { class: `toast ${kind}` }, text);
  area.append(line);
  while (area.children.length > 4) area.firstChild.remove();
  setTimeout(() => line.remove(), kind === "error" ? 12000 : 5000);
}

// pill is a small word with a colour and a shape, so that colour alone says nothing.
export function pill(text, kind = "") {
  return h("span", { class: `pill ${kind}` }, text);
}

export function empty(text) {
  return h("p", { class: "empty" }, text);
}
