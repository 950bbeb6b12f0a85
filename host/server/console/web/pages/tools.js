// Tools: search, definition, a form, preview, and a call with what it sends while it runs.
import { bringUp, button, empty, facts, h, linkTo, pill, redraw, replace, reveal, setText } from "../dom.js";
import { callsOf, isRunning, onCalls, startCall } from "../call.js";
import { explain, host, within } from "../api.js";
import { code, renderPreview } from "../content.js";
import { renderDecision } from "../decision.js";
import { duration, millis, pretty } from "../format.js";
import { makeForm, Unsupported } from "../form.js";

export async function show({ body, args, signal, operator }) {
  const search = h("input", {
    type: "search",
    placeholder: "Search tools",
    "aria-label": "Search tools",
    spellcheck: "false",
  });
  const list = h("ul", { class: "list", "aria-label": "Tools" });
  const total = h("p", { class: "hint", role: "status" });
  const detail = h("section", { class: "detail", "aria-label": "Tool" });
  replace(body, h("div", { class: "split" }, h("div", { class: "pane" }, search, total, list), detail));

  const tools = [];
  const problems = new Set();
  for (let token = ""; ;) {
    const page = await host.listTools({ pageToken: token }, { signal });
    tools.push(...page.tools);
    page.problems.forEach((p) => problems.add(p));
    token = page.nextPageToken;
    if (!token) break;
  }
  let chosen = "",
    shown = new AbortController(); // ends what belongs to the tool that is shown
  const fill = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = tools.filter((t) =>
      words.every((w) => `${t.name} ${t.title} ${t.description} ${t.category}`.toLowerCase().includes(w)),
    );
    setText(total, words.length ? `${found.length} of ${tools.length} tools` : `${tools.length} tools`);
    redraw(
      list,
      found.map((t) =>
        h(
          "li",
          {},
          h(
            "a",
            { href: linkTo("tools", t.name), "aria-current": t.name === chosen ? "true" : undefined },
            h("span", { class: "name" }, t.name, isRunning(t.name) && [" ", pill("running", "warn")]),
            h("span", { class: "sub" }, t.title || t.description.split("\n")[0]),
          ),
        ),
      ),
    );
  };
  search.addEventListener("input", fill);
  onCalls(fill, signal);
  for (const p of problems) body.prepend(h("p", { class: "problem" }, p));

  // move shows the tool that the address names; the list and what was searched stay.
  async function move({ args: [name] }) {
    shown.abort();
    const controller = (shown = within(signal));
    chosen = name ?? "";
    const at = list.scrollTop;
    fill();
    list.scrollTop = at;
    if (!name) return void replace(detail, empty("Choose a tool."));
    list.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
    try {
      await showTool(detail, name, controller.signal, operator);
    } catch (error) {
      if (controller.signal.aborted) return;
      replace(detail, h("p", { class: "problem", role: "alert" }, explain(error)));
    }
    if (controller.signal.aborted) return;
    const [call] = callsOf(name); // who comes back looks for it
    if (call) reveal(call.element, true);
    else bringUp(detail);
  }
  await move({ args });
  return move;
}

async function showTool(detail, name, signal, operator) {
  const { tool } = await host.describeTool({ tool: name }, { signal });
  const form = h("div", { class: "arguments" });
  const previewed = h("div", { class: "output", "aria-live": "polite" });
  const out = h("div", { class: "output", "aria-live": "polite" });
  const arguments_ = await editor(form, tool.name, tool.inputSchema, signal);
  signal.throwIfAborted();
  const call = () => {
    if (!arguments_.valid()) return;
    const { element } = startCall(tool.name, arguments_.text());
    replace(previewed);
    out.prepend(element);
    reveal(element);
  };
  const run = button("Run", call, { class: "primary", title: "Ctrl+Enter", disabled: !operator });
  let asking = within(signal);
  const ask = () => {
    asking.abort(); // a preview is of the arguments as they are now
    asking = within(signal);
    showPreview(previewed, tool, arguments_, asking.signal);
  };
  const preview = button("Preview", ask, { disabled: !operator });
  detail.onkeydown = (e) => {
    if (e.key !== "Enter" || !(e.ctrlKey || e.metaKey) || e.isComposing) return;
    e.preventDefault();
    if (!e.repeat) run.click(); // one that is held makes one call
  };
  replace(
    detail,
    h("h2", {}, tool.name),
    hints(tool),
    h(
      "div",
      { class: "description scroll", tabindex: "0", role: "region", "aria-label": "Description" },
      tool.description,
    ),
    form,
    h(
      "div",
      { class: "row actions run" },
      run,
      preview,
      !operator && h("span", { class: "hint" }, "You need the role operator to run tools."),
    ),
    previewed,
    out,
    definition(tool),
  );
  out.append(...callsOf(tool.name).map((c) => c.element)); // those that were started here before
}

function hints(tool) {
  const t = tool.hints ?? {};
  return h(
    "p",
    { class: "pills" },
    pill(tool.plugin),
    tool.category && tool.category !== tool.plugin && pill(tool.category),
    tool.costTier && pill(tool.costTier),
    t.readOnly && pill("read only", "good"),
    t.destructive && pill("destructive", "bad"),
    t.idempotent && pill("idempotent"),
    t.openWorld && pill("open world", "warn"),
    tool.previews && pill("previews"),
    tool.stateful && pill("stateful"),
    tool.hints && !tool.hintsBelieved && pill("hints are not trusted", "warn"),
  );
}

function definition(tool) {
  return h(
    "details",
    { class: "card" },
    h("summary", {}, "Definition"),
    facts([
      ["Title", tool.title],
      ["Aliases", tool.aliases.join(", ")],
      ["Original name", tool.originalName],
      ["Timeout", tool.timeout && duration(millis(tool.timeout))],
      ["Not checked", tool.unchecked.join("; ")],
      ["Invisible characters removed", tool.invisible || ""],
    ]),
    h("h3", {}, "Arguments"),
    code(tool.inputSchema, "Input schema"),
    tool.outputSchema && [h("h3", {}, "Result"), code(tool.outputSchema, "Output schema")],
  );
}

const drafts = new Map(); // arguments that were written for a tool, for when its page is shown again

// editor shows a form and JSON as two views of the arguments; text() is the arguments as they are sent.
async function editor(place, tool, schema, signal) {
  const area = h("textarea", { rows: "10", spellcheck: "false", "aria-label": "Arguments as JSON", class: "json" });
  const problem = h("p", { class: "fielderror", role: "alert", hidden: true });
  let form = null,
    mode = "",
    reason = "";
  try {
    form = await makeForm(schema);
  } catch (error) {
    reason = error instanceof Unsupported ? error.message : `the form could not be made (${error.message})`;
  }
  const keep = () => {
    drafts.set(tool, { mode, text: arguments_.text() });
    form?.close();
  };
  if (signal.aborted) form?.close();
  else signal.addEventListener("abort", keep, { once: true });
  const formTab = h("button", { type: "button", role: "tab", onclick: () => select("form") }, "Form");
  const jsonTab = h("button", { type: "button", role: "tab", onclick: () => select("json") }, "JSON");
  const tabs = h(
    "div",
    {
      role: "tablist",
      class: "tabs",
      "aria-label": "Arguments",
      onkeydown: (e) => {
        if (e.ctrlKey || e.metaKey || e.altKey) return; // Alt and an arrow is the browser's
        if (e.key === "ArrowLeft" || e.key === "ArrowRight") select(mode === "form" ? "json" : "form", true);
      },
    },
    formTab,
    jsonTab,
  );
  const formPanel = h("div", { role: "tabpanel", "aria-label": "Form" }, form?.element);
  const jsonPanel = h("div", { role: "tabpanel", "aria-label": "JSON" }, area, problem);

  async function select(next, focus) {
    if (next === mode) return;
    if (next === "form" && mode === "json") {
      let said = "";
      try {
        JSON.parse(area.value || "{}");
        const lost = await form.set(area.value || "{}");
        const names = `${lost.slice(0, 5).join(", ")}${lost.length > 5 ? `, and ${lost.length - 5} more` : ""}`;
        if (lost.length) said = `The form cannot show ${names}. What is written here is sent unchanged.`;
      } catch (error) {
        said = `This is no JSON: ${error.message}`;
      }
      if (said) {
        problem.hidden = false;
        return setText(problem, said);
      }
    } else if (next === "json" && mode === "form") area.value = pretty(form.text());
    problem.hidden = true;
    mode = next;
    for (const [tab, panel, name] of [
      [formTab, formPanel, "form"],
      [jsonTab, jsonPanel, "json"],
    ]) {
      tab.setAttribute("aria-selected", String(name === mode));
      tab.tabIndex = name === mode ? 0 : -1;
      panel.hidden = name !== mode;
      if (focus && name === mode) tab.focus();
    }
  }
  if (form) {
    replace(place, tabs, formPanel, jsonPanel);
    select("form");
  } else {
    area.value = "{}";
    mode = "json";
    replace(place, h("p", { class: "hint" }, `There is no form for this tool: ${reason}.`), jsonPanel);
  }
  const arguments_ = {
    text: () => (mode === "json" ? area.value.trim() || "{}" : form.text()),
    valid: () => mode === "json" || form.check() === 0,
  };
  const draft = drafts.get(tool);
  if (draft && draft.text !== "{}") {
    await select("json");
    area.value = pretty(draft.text);
    if (draft.mode === "form" && form) await select("form");
  }
  return arguments_;
}

async function showPreview(out, tool, args, signal) {
  if (!args.valid()) return;
  replace(out, h("p", { class: "hint" }, "Preview\u2026"));
  reveal(out, true);
  try {
    const p = await host.preview({ tool: tool.name, arguments: args.text() }, { signal });
    replace(
      out,
      h(
        "div",
        { class: "card" },
        h("h3", {}, "Preview"),
        p.decision && renderDecision(p.decision),
        p.error &&
          h("p", { class: "problem" }, h("strong", {}, p.error.code), " ", p.error.message, " ", p.error.suggestion),
        p.preview
          ? renderPreview(p.preview, signal)
          : !p.error && h("p", { class: "hint" }, "The tool has no preview of this call."),
      ),
    );
  } catch (error) {
    if (!signal.aborted) replace(out, h("p", { class: "problem", role: "alert" }, explain(error)));
  }
  reveal(out);
}
