// Tools: search, definition, a form, preview, and a call with what it sends while it runs.
import { button, empty, facts, h, pill, replace, setText } from "../dom.js";
import { explain, host } from "../api.js";
import { code, renderPreview, renderResult } from "../content.js";
import { renderDecision } from "../decision.js";
import { duration, millis, pretty } from "../format.js";
import { makeForm, Unsupported } from "../form.js";

const maxPrinted = 1_000_000; // characters of output that stay on the page while a call runs

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
  const fill = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = tools.filter((t) =>
      words.every((w) => `${t.name} ${t.title} ${t.description} ${t.category}`.toLowerCase().includes(w)),
    );
    setText(total, words.length ? `${found.length} of ${tools.length} tools` : `${tools.length} tools`);
    replace(
      list,
      found.map((t) =>
        h(
          "li",
          {},
          h(
            "a",
            { href: `#/tools/${encodeURIComponent(t.name)}`, "aria-current": t.name === args[0] ? "true" : undefined },
            h("span", { class: "name" }, t.name),
            h("span", { class: "sub" }, t.title || t.description.split("\n")[0]),
          ),
        ),
      ),
    );
  };
  search.addEventListener("input", fill);
  fill();
  for (const p of problems) body.prepend(h("p", { class: "problem" }, p));
  if (!args[0]) return void replace(detail, empty("Choose a tool."));
  list.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  await showTool(detail, args[0], signal, operator);
}

async function showTool(detail, name, signal, operator) {
  const { tool } = await host.describeTool({ tool: name }, { signal });
  const form = h("div", { class: "arguments" });
  const out = h("div", { class: "output", "aria-live": "polite" });
  const arguments_ = await editor(form, tool.inputSchema, signal);
  const run = button("Run", () => call(out, tool, arguments_, signal, cancel), {
    class: "primary",
    title: "Ctrl+Enter",
    disabled: !operator,
  });
  const cancel = button("Cancel", () => {}, { hidden: true });
  const preview = button("Preview", () => showPreview(out, tool, arguments_, signal), { disabled: !operator });
  detail.addEventListener("keydown", (e) => {
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) {
      e.preventDefault();
      run.click();
    }
  });
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
      cancel,
      preview,
      !operator && h("span", { class: "hint" }, "You need the role operator to run tools."),
    ),
    out,
    definition(tool),
  );
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

// editor shows a form and JSON as two views of the arguments; text() is the arguments as they are sent.
async function editor(place, schema, signal) {
  const area = h("textarea", { rows: "10", spellcheck: "false", "aria-label": "Arguments as JSON", class: "json" });
  const problem = h("p", { class: "fielderror", role: "alert", hidden: true });
  let form = null,
    mode = "form",
    reason = "";
  try {
    form = await makeForm(schema);
  } catch (error) {
    reason = error instanceof Unsupported ? error.message : `the form could not be made (${error.message})`;
  }
  signal.addEventListener("abort", () => form?.close(), { once: true });
  const formTab = h("button", { type: "button", role: "tab", onclick: () => select("form") }, "Form");
  const jsonTab = h("button", { type: "button", role: "tab", onclick: () => select("json") }, "JSON");
  const tabs = h(
    "div",
    {
      role: "tablist",
      class: "tabs",
      "aria-label": "Arguments",
      onkeydown: (e) => {
        if (e.key === "ArrowLeft" || e.key === "ArrowRight") select(mode === "form" ? "json" : "form", true);
      },
    },
    formTab,
    jsonTab,
  );
  const formPanel = h("div", { role: "tabpanel", "aria-label": "Form" }, form?.element);
  const jsonPanel = h("div", { role: "tabpanel", "aria-label": "JSON" }, area, problem);

  function select(next, focus) {
    if (next === "form" && mode === "json") {
      try {
        form.set(JSON.parse(area.value || "{}"));
      } catch (error) {
        problem.hidden = false;
        setText(problem, `This is no JSON: ${error.message}`);
        return;
      }
    }
    if (next === "json" && mode === "form" && form) area.value = pretty(JSON.stringify(form.value()));
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
  return {
    text: () => (mode === "json" ? area.value.trim() || "{}" : JSON.stringify(form.value())),
    valid: () => mode === "json" || form.check() === 0,
  };
}

async function showPreview(out, tool, args, signal) {
  if (!args.valid()) return;
  replace(out, h("p", { class: "hint" }, "Preview\u2026"));
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
    replace(out, h("p", { class: "problem", role: "alert" }, explain(error)));
  }
}

// call runs the tool, and shows its events as they come, then its result.
async function call(out, tool, args, signal, cancel) {
  if (!args.valid()) return;
  const status = h("p", { class: "status", role: "status" }, "Sent");
  const bar = h("progress", { "aria-label": "Progress", hidden: true });
  const stream = h("pre", {});
  const live = h(
    "div",
    { class: "code scroll live", tabindex: "0", role: "log", "aria-label": "Output", hidden: true },
    stream,
  );
  const place = h("div", {});
  const stop = new AbortController();
  const end = () => stop.abort();
  signal.addEventListener("abort", end, { once: true });
  replace(out, h("div", { class: "card" }, h("h3", {}, "Call"), status, bar, live, place));
  out.scrollIntoView({ block: "nearest" });
  cancel.hidden = false;
  cancel.onclick = end;
  const began = performance.now();
  const decoders = {};
  let printed = 0;
  try {
    for await (const { message } of host.call({ tool: tool.name, arguments: args.text() }, { signal: stop.signal })) {
      switch (message.case) {
        case "accepted":
          setText(status, `Accepted as ${message.value.callId}`);
          break;
        case "event":
          event(message.value);
          break;
        case "result":
          setText(
            status,
            `${message.value.status === "ok" ? "Done" : "Failed"} in ${duration(performance.now() - began)}`,
          );
          bar.hidden = true;
          replace(place, renderResult(message.value, signal));
          out.scrollIntoView({ block: "nearest" });
      }
    }
  } catch (error) {
    setText(status, stop.signal.aborted ? "Canceled" : "Failed");
    if (!stop.signal.aborted) replace(place, h("p", { class: "problem", role: "alert" }, explain(error)));
  } finally {
    cancel.hidden = true;
    bar.hidden = true;
    signal.removeEventListener("abort", end);
  }

  function event(e) {
    switch (e.type) {
      case "progress":
        bar.hidden = false;
        if (e.total > 0) {
          bar.max = e.total;
          bar.value = e.done;
        } else bar.removeAttribute("value");
        if (e.message) setText(status, e.message);
        break;
      case "status":
        setText(status, { awaiting_approval: "Waits for approval", calling: "Runs" }[e.message] ?? e.message);
        break;
      case "log":
        print(`${e.level} ${e.message}\n`, "log");
        break;
      case "output":
        decoders[e.stream] ??= new TextDecoder();
        print(decoders[e.stream].decode(e.data, { stream: true }), e.stream);
    }
  }

  function print(content, kind) {
    live.hidden = false;
    const atEnd = live.scrollTop + live.clientHeight > live.scrollHeight - 30;
    stream.append(h("span", { class: kind }, content));
    printed += content.length;
    while (stream.childNodes.length > 3000 || (printed > maxPrinted && stream.childNodes.length > 1)) {
      printed -= stream.firstChild.textContent.length;
      stream.firstChild.remove();
    }
    if (atEnd) live.scrollTop = live.scrollHeight;
  }
}
