// Unified diffs as a table: line numbers of both sides, removed and added lines, and in a pair of them the part that
// differs. It is written here since diff renderers produce HTML as text, and this page accepts none.
import { h } from "./dom.js";

const maxLines = 4000;

export function isDiff(text) {
  return (
    /^(diff --git |--- .*\n\+\+\+ |@@ -\d)/m.test(text.slice(0, 20000)) && /^@@ -\d+(,\d+)? \+\d+(,\d+)? @@/m.test(text)
  );
}

export function renderDiff(text) {
  const lines = text.replace(/\n$/, "").split("\n");
  const body = h("tbody");
  let oldLine = 0,
    newLine = 0,
    oldLeft = 0,
    newLeft = 0;
  for (let i = 0; i < lines.length && i < maxLines; i++) {
    const line = lines[i];
    const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)$/.exec(line);
    if (hunk) {
      [oldLine, oldLeft, newLine, newLeft] = [+hunk[1], +(hunk[2] ?? 1), +hunk[3], +(hunk[4] ?? 1)];
      body.append(row("hunk", "", "", "", line));
    } else if (oldLeft <= 0 && newLeft <= 0) {
      body.append(row("file", "", "", "", line));
    } else if (line.startsWith("-")) {
      const pair = lines[i + 1]?.startsWith("+") && !lines[i - 1]?.startsWith("-") && !lines[i + 2]?.startsWith("+");
      if (pair) {
        const [before, after] = differing(line.slice(1), lines[++i].slice(1));
        body.append(row("del", oldLine++, "", "-", before), row("add", "", newLine++, "+", after));
        newLeft--;
      } else body.append(row("del", oldLine++, "", "-", line.slice(1)));
      oldLeft--;
    } else if (line.startsWith("+")) {
      body.append(row("add", "", newLine++, "+", line.slice(1)));
      newLeft--;
    } else if (line.startsWith("\\")) {
      body.append(row("note", "", "", "", line));
    } else {
      body.append(row("", oldLine++, newLine++, " ", line.slice(1)));
      oldLeft--;
      newLeft--;
    }
  }
  if (lines.length > maxLines)
    body.append(row("note", "", "", "", `${lines.length - maxLines} more lines are not shown`));
  return h(
    "div",
    { class: "scroll changes", tabindex: "0", role: "region", "aria-label": "Changes" },
    h("table", { class: "diff" }, h("caption", { class: "sr" }, "Changes, line by line"), body),
  );
}

function row(kind, oldLine, newLine, sign, content) {
  const said = { del: "removed: ", add: "added: " }[kind];
  return h(
    "tr",
    { class: kind },
    h("td", { class: "n" }, oldLine),
    h("td", { class: "n" }, newLine),
    h(
      "td",
      { class: "code" },
      said && h("span", { class: "sr" }, said),
      sign && h("span", { "aria-hidden": "true" }, sign),
      content,
    ),
  );
}

// differing returns both lines with the part marked that they do not share at their ends.
function differing(a, b) {
  let start = 0,
    end = 0;
  const most = Math.min(a.length, b.length);
  while (start < most && a[start] === b[start]) start++;
  while (end < most - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const mark = (s) => [s.slice(0, start), h("mark", {}, s.slice(start, s.length - end)), s.slice(s.length - end)];
  return [mark(a), mark(b)];
}
