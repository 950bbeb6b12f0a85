// Plugins: their processes as they change, with the last crash, the sandbox, and their logs.
import { announce, button, empty, facts, h, pill, replace, setText } from "../dom.js";
import { explain, plugins, watch } from "../api.js";
import { ago, bytes, clock, count, duration, millis } from "../format.js";

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
  await new Promise((first) =>
    watch(
      (o) => plugins.watch({}, o),
      (message) => {
        if (message.snapshot) all.clear();
        for (const p of message.plugins) all.set(p.name, p);
        for (const name of message.removed) all.delete(name);
        draw();
        first();
      },
      signal,
      (state, error) => {
        replace(
          note,
          state !== "live" && h("p", { class: state === "unimplemented" ? "notice" : "problem" }, explain(error)),
        );
        if (state !== "live") first();
      },
    ),
  );
}

// makeCard keeps what a person opened, such as logs, while its figures change.
function makeCard(name, signal, operator) {
  const state = h("span", {}),
    figures = h("div", {}),
    trouble = h("div", {}),
    status = h("p", { class: "sr", role: "status" });
  const logs = h("div", {});
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
      stop = new AbortController();
      signal.addEventListener("abort", () => stop?.abort(), { once: true });
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
        p.notices.map((n) => h("p", { class: "notice" }, n)),
      );
      replace(
        figures,
        facts([
          ["Since", p.since && ago(millis(p.since))],
          ["Process", p.pid && `${p.pid}${p.standbyPid ? `, standby ${p.standbyPid}` : ""}`],
          [
            "Generation",
            p.generation &&
              `${p.generation}, ${count(p.restarts, "restart")}${p.crashes ? `, ${count(p.crashes, "recent crash", "recent crashes")}` : ""}`,
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
        p.lastCrash &&
          h(
            "details",
            {},
            h("summary", {}, `Last crash ${ago(millis(p.lastCrash.time))}, generation ${p.lastCrash.generation}`),
            h("p", {}, p.lastCrash.error),
            h(
              "div",
              { class: "code scroll", tabindex: "0", role: "region", "aria-label": "Standard error of the crash" },
              h("pre", {}, p.lastCrash.stderr.join("\n")),
            ),
          ),
        !p.lastCrash &&
          p.stderr.length > 0 &&
          h(
            "details",
            {},
            h("summary", {}, "Last lines of standard error"),
            h(
              "div",
              { class: "code scroll", tabindex: "0", role: "region", "aria-label": "Standard error" },
              h("pre", {}, p.stderr.join("\n")),
            ),
          ),
      );
    },
  };
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

async function follow(name, place, signal) {
  const lines = h("pre", {});
  const box = h(
    "div",
    { class: "code scroll live", tabindex: "0", role: "log", "aria-label": `Logs of ${name}` },
    lines,
  );
  replace(place, box);
  watch(
    (o) => plugins.logs({ plugin: name, lines: 200, follow: true }, o),
    (message) => {
      const atEnd = box.scrollTop + box.clientHeight > box.scrollHeight - 30;
      for (const line of message.lines) lines.append(h("span", {}, line + "\n"));
      while (lines.childNodes.length > 5000) lines.firstChild.remove();
      if (atEnd) box.scrollTop = box.scrollHeight;
    },
    signal,
    (state, error) => {
      if (state === "live") return;
      lines.append(h("span", { class: "log" }, `${explain(error)}\n`));
    },
  );
}
