// Calls: the history with filters in a list of any length, and the whole story of one call.
import { announce, button, empty, facts, h, linkTo, pill, redraw, replace, setText, table, visible } from "../dom.js";
import { explain, history, host, missing, noHistory, repeat, sources, watch, within } from "../api.js";
import { code, renderResult } from "../content.js";
import { effect, renderDecision } from "../decision.js";
import { bytes, clock, count, duration, millis, plain, text } from "../format.js";
import { virtualList } from "../virtual.js";
import { answerLink, follow } from "../waiting.js";

const pageSize = 500;
const newest = 100; // calls that are asked for again and again, to see what is new
let address = "#/calls"; // of the list with the filters that were used last
const sinces = [
  ["", "any time"],
  ["15", "last 15 minutes"],
  ["60", "last hour"],
  ["1440", "last day"],
  ["10080", "last week"],
];

export async function show({ body, args, query, signal, operator }) {
  if (args[0]) return showCall(body, args[0], signal, operator);
  const field = (name, label, placeholder) =>
    h(
      "div",
      {},
      h("label", { for: `f-${name}` }, label),
      h("input", {
        id: `f-${name}`,
        name,
        placeholder,
        type: name === "text" ? "search" : "text",
        spellcheck: "false",
        autocomplete: "off",
      }),
    );
  const choose = (name, label, options) =>
    h(
      "div",
      {},
      h("label", { for: `f-${name}` }, label),
      h(
        "select",
        { id: `f-${name}`, name },
        options.map(([value, t]) => h("option", { value }, t)),
      ),
    );
  const form = h(
    "form",
    {
      class: "filters",
      role: "search",
      "aria-label": "Filters",
      onsubmit: (e) => {
        e.preventDefault();
        load();
      },
    },
    field("text", "Text", "words"),
    field("tool", "Tool", "shell"),
    field("plugin", "Plugin"),
    field("sessionId", "Session"),
    field("caller", "Caller"),
    choose("status", "Outcome", [
      ["", "any"],
      ["ok", "ok"],
      ["error", "error"],
      ["unfinished", "no end"],
    ]),
    field("codes", "Code", "E_DENIED"),
    choose("since", "Time", sinces),
  );
  for (const e of form.elements) if (e.name && query.has(e.name)) e.value = query.get(e.name);
  const total = h("p", { class: "hint", role: "status" });
  const fresh = button("", () => load(), { hidden: true });
  const live = new Map(); // calls that run, by their ids
  const list = virtualList({
    label: "Calls",
    rowHeight: 30,
    more,
    key: (c) => c.callId,
    render: (c) => row(c, live),
    open: (c) => {
      location.hash = linkTo("calls", c.callId);
    },
  });
  list.element.classList.add("calls");
  replace(
    body,
    form,
    h(
      "div",
      { class: "row" },
      total,
      fresh,
      button("Export JSON lines", () => download("jsonl")),
      button("Export CSV", () => download("csv")),
    ),
    h(
      "div",
      { class: "vhead", "aria-hidden": "true" },
      h("span", {}, "Time"),
      h("span", {}, "Tool"),
      h("span", {}, "Outcome"),
      h("span", { class: "num" }, "Took"),
      h("span", { class: "wide" }, "Caller"),
      h("span", { class: "wide" }, "Why"),
    ),
    list.element,
  );
  let calls = [],
    next = "",
    all = "",
    loading = null;
  let typing;
  form.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(load, 250);
  });

  function used() {
    const fields = [...new FormData(form)].map(([name, v]) => [name, v.trim()]);
    return Object.fromEntries(fields.filter(([, v]) => v !== ""));
  }

  function filter() {
    const f = used();
    if (f.tool && !/[*?[]/.test(f.tool)) f.tool = `*${f.tool}*`;
    if (f.codes)
      f.codes = f.codes
        .toUpperCase()
        .split(/[\s,]+/)
        .filter(Boolean);
    if (f.since) f.since = { seconds: BigInt(Math.floor(Date.now() / 1000) - f.since * 60), nanos: 0 };
    return f;
  }

  async function load() {
    loading?.abort();
    calls = [];
    next = "";
    loading = null;
    fresh.hidden = true;
    const filters = new URLSearchParams(used());
    address = `#/calls${filters.size ? `?${filters}` : ""}`;
    if (!signal.aborted) window.history.replaceState(null, "", address);
    await page(true);
  }

  async function page(first) {
    const mine = (loading = within(signal));
    try {
      const r = await history.search(
        { filter: filter(), pageSize, pageToken: next, count: first },
        { signal: mine.signal },
      );
      if (mine.signal.aborted) return;
      calls = calls.concat(r.calls);
      next = r.nextPageToken;
      if (first) list.element.scrollTop = 0;
      loading = null;
      list.set(calls);
      if (first) all = r.totalIsLeast ? `more than ${count(r.total, "call")}` : count(r.total, "call");
      const unread = Number(r.unreadBytes) > 0 ? `; ${bytes(r.unreadBytes)} of the record are not searched yet` : "";
      setText(total, (next ? all : count(calls.length, "call")) + unread);
    } catch (error) {
      if (mine.signal.aborted) return;
      loading = null;
      next = "";
      list.set(calls);
      if (missing(error)) replace(body, h("p", { class: "notice" }, noHistory));
      else setText(total, explain(error));
    } finally {
      mine.abort();
    }
  }

  function more() {
    if (next && !loading) page(false);
  }

  async function download(format) {
    const parts = [];
    try {
      for await (const { data } of history.export({ filter: filter(), format }, { signal })) parts.push(data);
      const url = URL.createObjectURL(new Blob(parts, { type: "application/octet-stream" }));
      const a = h("a", { href: url, download: `calls.${format}` });
      a.click();
      setTimeout(() => URL.revokeObjectURL(url), 10000);
    } catch (error) {
      if (!signal.aborted) announce(explain(error), "error");
    }
  }

  // look shows what is new at once to who looks at the beginning of the list, and says how much it is to others.
  async function look() {
    if (loading) return;
    const before = calls;
    let r;
    try {
      r = await history.search({ filter: filter(), pageSize: newest }, { signal });
    } catch {
      return; // the next search says why
    }
    if (loading || calls !== before) return;
    const state = (list) =>
      list
        .slice(0, r.calls.length)
        .map((c) => `${c.callId} ${c.status}`)
        .join();
    if (state(r.calls) === state(calls)) return;
    if (list.element.scrollTop === 0) return load();
    const known = new Set(calls.map((c) => c.callId));
    const n = r.calls.filter((c) => !known.has(c.callId)).length;
    setText(fresh, n === newest ? `More than ${newest} new calls` : count(n, "new call"));
    fresh.hidden = n === 0;
  }

  await load();
  watch(
    sources.calls,
    (message) => {
      sources.calls.merge(live, message);
      list.set(calls);
    },
    signal,
  );
  repeat(look, 2000, signal);
}

// outcome says how a call ended. One that the record has no end of runs, or its host ended before it.
function outcome(c, live) {
  if (c.status === "ok") return pill("ok", "good");
  if (c.status === "error") return pill(c.code || "error", "bad");
  return live?.has(c.callId) ? pill("running", "warn") : pill("no end");
}

function row(c, live) {
  return [
    h("span", { class: "mono" }, clock(millis(c.ended ?? c.decided))),
    h("span", {}, c.tool),
    h("span", {}, outcome(c, live)),
    h("span", { class: "num" }, c.duration ? duration(millis(c.duration)) : ""),
    h("span", { class: "wide" }, c.caller),
    h("span", { class: "wide hint" }, c.errorReason || c.reason),
  ];
}

// showCall shows a call, and what changes of it until it has ended.
async function showCall(body, id, signal, operator) {
  const place = h("div", {});
  replace(body, h("p", {}, h("a", { href: address }, "All calls")), place);
  const until = within(signal);
  let before = "";
  const look = async () => {
    let story;
    try {
      story = await history.getCall({ callId: id }, { signal });
      story.summary ??= await running(id, signal); // it may have begun after the record was read
    } catch (error) {
      const summary = await running(id, signal);
      if (signal.aborted) return;
      if (!summary && before) return; // it has just ended: the record follows
      if (!summary) {
        until.abort();
        return void replace(place, h("p", { class: "problem", role: "alert" }, explain(error)));
      }
      story = { call: null, summary, records: [], nested: [], events: [], stages: [] };
    }
    const goesOn = !!story.summary && !story.summary.ended && !story.call?.ended;
    const now = JSON.stringify(story, (_, v) => (typeof v === "bigint" ? String(v) : v));
    if (now !== before) drawCall(place, id, story, goesOn, signal, operator);
    before = now;
    // the record of a call that has just ended follows it
    if (!goesOn && (!story.summary || story.call?.status === "ok" || story.call?.status === "error")) until.abort();
  };
  await look();
  const show = () => {
    const asked = place.querySelector(".asked");
    if (asked) replace(asked, answerLink(id));
  };
  follow({ receive: show }, signal);
  repeat(
    async () => {
      await look();
      show();
    },
    1000,
    until.signal,
  );
}

function drawCall(body, id, story, goesOn, signal, operator) {
  const c = story.call,
    s = story.summary;
  const open = [...body.querySelectorAll("details")].map((d) => d.open);
  redraw(
    body,
    h(
      "h2",
      {},
      c?.tool ?? s?.tool ?? id,
      " ",
      goesOn ? pill(states[s.status] ?? s.status, "warn") : c ? outcome(c) : pill(s?.status ?? ""),
    ),
    goesOn &&
      h(
        "p",
        { class: "row" },
        s.progress && h("span", {}, s.progress),
        h("span", { class: "asked" }),
        button(
          "Cancel",
          async () => {
            try {
              await host.cancelCall({ callId: id });
              announce("The call is being canceled");
            } catch (e) {
              announce(explain(e), "error");
            }
          },
          { disabled: !operator, class: "danger" },
        ),
      ),
    story.stages.length > 0 && stages(story.stages),
    h(
      "div",
      { class: "cards" },
      h(
        "div",
        { class: "card" },
        h("h3", {}, "Call"),
        facts([
          ["Id", id],
          ["Plugin", c?.plugin ?? s?.plugin],
          ["Caller", c?.caller ?? s?.caller],
          ["Session", c?.sessionId ?? s?.sessionId],
          ["Folder", c?.workdir],
          [
            "On behalf of",
            (c?.viaCallId || s?.viaCallId) &&
              h(
                "a",
                { href: linkTo("calls", c?.viaCallId || s.viaCallId) },
                `${c?.viaTool || s?.viaTool} ${c?.viaCallId || s?.viaCallId}`,
              ),
          ],
          ["Decided", clock(millis(c?.decided))],
          ["Ended", clock(millis(c?.ended))],
          ["Took", c?.duration && duration(millis(c.duration))],
          ["Attempts", c?.attempts || ""],
          ["Generation", c?.generation || ""],
          ["Arguments", bytes(c?.argumentsBytes)],
          ["Result", bytes(c?.resultBytes)],
          ["Outcome", c?.outcome?.replaceAll("_", " ")],
        ]),
        c?.errorReason && h("p", { class: "problem" }, c.errorReason),
      ),
      h(
        "div",
        { class: "card" },
        h("h3", {}, "Decision"),
        story.decision
          ? renderDecision(story.decision)
          : c?.effect
            ? h(
                "p",
                {},
                effect(c.effect),
                " ",
                [c.rule && `rule ${c.rule}`, c.layer, c.source, c.reason].filter(Boolean).join(", "),
              )
            : empty("None is recorded."),
        c?.approvalAnswer &&
          facts([
            ["Answer", c.approvalAnswer],
            ["By", c.approvalBy],
            ["Covers", c.approvalScope],
          ]),
      ),
    ),
    (c?.arguments || s?.arguments) && [h("h3", {}, "Arguments"), code(c?.arguments || s.arguments, "Arguments")],
    story.result
      ? [h("h3", {}, "Result"), renderResult(story.result, signal)]
      : c?.result && [h("h3", {}, "Result"), code(c.result, "Result")],
    !goesOn &&
      !story.result &&
      !c?.result &&
      c &&
      h(
        "p",
        { class: "hint" },
        "The record has the hashes of the arguments and of the result, not their contents; ",
        "the host keeps results of recent calls only.",
      ),
    story.events.length > 0 && [
      h("h3", {}, "Events"),
      table(
        "Events",
        ["Time", "Kind", "What"],
        story.events
          .slice(0, 500)
          .map((e) => [
            clock(millis(e.time)),
            e.type,
            h(
              "pre",
              {},
              [
                e.stream,
                e.level,
                e.message,
                e.data.length ? plain(text(e.data)) : "",
                e.total ? `${e.done} of ${e.total}` : "",
              ]
                .filter(Boolean)
                .join(" "),
            ),
          ]),
      ),
    ],
    story.nested.length > 0 && [
      h("h3", {}, "Nested calls"),
      table(
        "Nested calls",
        ["Time", "Tool", "Outcome", "Took"],
        story.nested.map((n) => [
          clock(millis(n.ended ?? n.decided)),
          h("a", { href: linkTo("calls", n.callId) }, n.tool),
          outcome(n),
          n.duration && duration(millis(n.duration)),
        ]),
      ),
    ],
    story.records.length > 0 &&
      h(
        "details",
        {},
        h("summary", {}, `Record: ${count(story.records.length, "line")}`),
        story.records.map((r) => code(r, "Line of the record")),
      ),
  );
  body.querySelectorAll("details").forEach((d, i) => {
    d.open = open[i] ?? false;
  });
}

const states = { generated: "running", calling: "running", awaiting_approval: "waits for approval" };

async function running(id, signal) {
  try {
    return (await host.listRunningCalls({}, { signal })).calls.find((c) => c.callId === id);
  } catch {
    return null;
  }
}

// stages is a bar with the parts of a call's time, and the same as words.
function stages(list) {
  const all = list.reduce((sum, s) => sum + millis(s.duration), 0) || 1;
  const bar = h(
    "div",
    { class: "stages", "aria-hidden": "true" },
    list.map((s) => {
      const part = h("span", { title: visible(`${s.name} ${duration(millis(s.duration))}`) });
      part.style.width = `${(millis(s.duration) / all) * 100}%`;
      return part;
    }),
  );
  return h(
    "div",
    { class: "card" },
    h("h3", {}, "Time"),
    bar,
    h(
      "p",
      { class: "row stagewords" },
      list.map((s) =>
        h("span", {}, h("span", { class: "dot", "aria-hidden": "true" }), `${s.name} ${duration(millis(s.duration))}`),
      ),
    ),
  );
}
