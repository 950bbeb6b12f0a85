// Plugins: their processes as they change, with the last crash, the sandbox, and their logs.
import { announce, button, empty, facts, h, pill, printout, replace, setText } from "../dom.js";
import { explain, plugins, repeat, sources, watch, within } from "../api.js";
import { ago, bytes, clock, count, duration, millis, plain } from "../format.js";

const kinds = {
  ready: "good",
  starting: "warn",
  draining: "warn",
  backoff: "warn",
  crashed: "bad",
  quarantined: "bad",
  invalid: "bad",
  stuck: "bad",
};

export function stateOf(p) {
  return pill(p.state, kinds[p.state] ?? "");
}

export async function show({ body, args, signal, operator }) {
  const all = new Map();
  const cards = h("div", { class: "cards" });
  const note = h("div", {});
  replace(body, note, cards);
  const drawn = new Map();

  function draw() {
    const names = [...all.keys()];
    for (const [name, card] of drawn)
      if (!all.has(name)) {
        card.element.remove();
        drawn.delete(name);
      }
    names.forEach((name, i) => {
      if (!drawn.has(name)) drawn.set(name, makeCard(name, signal, operator));
      const card = drawn.get(name);
      card.update(all.get(name));
      if (cards.children[i] !== card.element) cards.insertBefore(card.element, cards.children[i] ?? null);
    });
    if (!names.length) replace(cards, empty("The configuration has no plugins."));
    if (args[0]) drawn.get(args[0])?.element.scrollIntoView();
    args = [];
  }
  // Changes of state come by themselves; figures such as memory are asked for.
  const figures = async () => {
    try {
      for (const p of (await plugins.list({}, { signal })).plugins) all.set(p.name, p);
      draw();
    } catch {
      // the watch says what is wrong
    }
  };
  await new Promise((first) =>
    watch(
      sources.plugins,
      (message) => {
        sources.plugins.merge(all, message);
        draw();
        first();
      },
      signal,
      (state, error) => {
        replace(
          note,
          state !== "live" && h("p", { class: state === "unimplemented" ? "notice" : "problem" }, explain(error)),
        );
        if (state === "unimplemented") first();
      },
    ),
  );
  repeat(figures, 5000, signal);
}

// makeCard keeps what a person opened, such as logs, while its figures change.
function makeCard(name, signal, operator) {
  const state = h("span", {}),
    figures = h("div", {}),
    trouble = h("div", {}),
    status = h("p", { class: "sr", role: "status" });
  const logs = h("div", {}),
    printed = lastLines(name);
  let stop = null;
  const act = (what, done) => async () => {
    try {
      await what();
      announce(done);
    } catch (error) {
      announce(explain(error), "error");
    }
  };
  const reset = button(
    "Reset",
    act(() => plugins.reset({ plugin: name }), `${name} was reset`),
    { disabled: !operator },
  );
  const log = button(
    "Logs",
    () => {
      if (stop) {
        stop.abort();
        stop = null;
        replace(logs);
        log.setAttribute("aria-expanded", "false");
        return;
      }
      stop = within(signal);
      log.setAttribute("aria-expanded", "true");
      follow(name, logs, stop.signal);
    },
    { "aria-expanded": "false" },
  );
  const element = h(
    "section",
    { class: "card", "aria-label": name, id: `plugin-${name}` },
    h("h2", { class: "row" }, name, " ", state),
    status,
    trouble,
    figures,
    printed.element,
    h(
      "div",
      { class: "row actions" },
      button(
        "Reload",
        act(async () => {
          const r = await plugins.reload({ plugins: [name] });
          if (r.failed.length) throw new Error(r.failed.join("; "));
        }, `${name} was reloaded`),
        { disabled: !operator },
      ),
      reset,
      log,
    ),
    logs,
  );
  let before = "";
  return {
    element,
    update(p) {
      replace(state, stateOf(p));
      if (before && before !== p.state) setText(status, `${name} is ${p.state}`);
      before = p.state;
      reset.hidden = !["quarantined", "backoff", "invalid", "crashed"].includes(p.state);
      replace(
        trouble,
        p.reason && h("p", {}, p.reason),
        p.state !== "ready" && p.lastError && p.lastError !== p.reason && h("p", { class: "problem" }, p.lastError),
        p.retryAt &&
          millis(p.retryAt) > Date.now() &&
          h("p", { class: "hint" }, `The next start is at ${clock(millis(p.retryAt))}.`),
        p.notices.map((n, i) => h("p", { class: p.noticeKinds[i] === "problem" ? "problem" : "notice" }, n)),
      );
      replace(
        figures,
        facts([
          ["Since", p.since && ago(millis(p.since))],
          ["Process", p.pid && `${p.pid}${p.standbyPid ? `, standby ${p.standbyPid}` : ""}`],
          [
            "Generation",
            p.generation &&
              [
                p.generation,
                count(p.restarts, "restart"),
                p.crashes && count(p.crashes, "recent crash", "recent crashes"),
              ]
                .filter(Boolean)
                .join(", "),
          ],
          [
            "Calls",
            [
              p.calls && `${p.calls} running`,
              p.draining && `${p.draining} processes draining`,
              p.overdue && `${p.overdue} overdue`,
            ]
              .filter(Boolean)
              .join(", "),
          ],
          ["Tools", p.tools && h("span", {}, String(p.tools), p.dynamic && ", may change")],
          ["Memory", bytes(p.memoryBytes)],
          ["CPU", p.cpu && duration(millis(p.cpu))],
          ["Version", p.version],
          ["Sandbox", p.sandbox && sandbox(p.sandbox)],
          ["Configured", p.source],
        ]),
      );
      const c = p.lastCrash;
      const what = c ? `Last crash ${ago(millis(c.time))}, generation ${c.generation}` : "Last lines of standard error";
      setText(printed.title, what);
      setText(printed.cause, c ? c.error : "");
      setText(printed.lines, plain((c ?? p).stderr.join("\n")) || "It printed nothing on standard error.");
      printed.element.hidden = !c && p.stderr.length === 0;
    },
  };
}

// lastLines is what a process printed before it ended; it stays open while its text changes.
function lastLines(name) {
  const title = h("summary", {}),
    cause = h("p", {}),
    lines = h("pre", {});
  const box = h(
    "div",
    { class: "code scroll", tabindex: "0", role: "region", "aria-label": `Standard error of ${name}` },
    lines,
  );
  return { title, cause, lines, element: h("details", {}, title, cause, box) };
}

function sandbox(s) {
  const less = s.requested && s.requested !== s.effective;
  return h(
    "span",
    {},
    pill(s.effective || "none", less ? "warn" : s.effective === "none" ? "bad" : "good"),
    less && ` ${s.requested} was asked for`,
    s.network && ", network",
    s.missing.length > 0 && h("span", { class: "hint" }, ` ${s.missing.join("; ")}`),
  );
}

function follow(name, place, signal) {
  const { box, lines, change } = printout(`Logs of ${name}`);
  const none = h("p", { class: "hint" }, "Nothing was printed yet.");
  none.hidden = true;
  replace(place, none, box);
  let shown = []; // the lines
  watch(
    sources.logs(name),
    (message) => {
      const old = message.snapshot ? overlap(shown, message.lines) : 0;
      if (message.snapshot && !old) {
        lines.replaceChildren();
        shown = [];
      }
      const fresh = message.lines.slice(old);
      shown = shown.concat(fresh).slice(-5000);
      change(() => {
        none.hidden = shown.length > 0;
        box.hidden = !shown.length;
        for (const line of fresh) lines.append(h("span", {}, plain(line) + "\n"));
        while (lines.childNodes.length > 5000) lines.firstChild.remove();
      });
    },
    signal,
    (state, error) => {
      if (state === "live") return;
      box.hidden = false;
      lines.append(h("span", { class: "log" }, `${explain(error)}\n`));
    },
  );
}

// overlap is how many of the last lines come again at the beginning of others.
function overlap(shown, lines) {
  for (let n = Math.min(shown.length, lines.length); n > 0; n--)
    if (shown.slice(-n).every((line, i) => line === lines[i])) return n;
  return 0;
}
