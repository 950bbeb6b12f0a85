// Overview: how many calls, how long they take, what fails, what waits, and whether the plugins are well.
import { empty, facts, h, linkTo, redraw, replace, setText, table } from "../dom.js";
import { explain, history, host, missing, noHistory, repeat, sources, watch } from "../api.js";
import { ago, clock, count, duration, millis } from "../format.js";
import { plot } from "../plot.js";
import { stateOf } from "./plugins.js";

const spans = [
  ["15 minutes", 15],
  ["1 hour", 60],
  ["6 hours", 360],
  ["24 hours", 1440],
];
const steps = 60;
const sampleEvery = 2000; // milliseconds
const samples = []; // of the calls at work, also from before another page was shown

export async function show({ body, info, signal }) {
  const tiles = Object.fromEntries(
    ["Calls", "Errors", "Median", "Slowest 1 %", "Running", "Waiting"].map((name) => [name, h("dd", {}, "\u2013")]),
  );
  const span = h(
    "select",
    { "aria-label": "Time", onchange: () => refresh() },
    spans.map(([text, minutes]) => h("option", { value: String(minutes), selected: minutes === 60 }, `Last ${text}`)),
  );
  const whole = (n) => Math.round(n).toLocaleString("en");
  const plots = {
    calls: plot("Calls", ["calls"], whole, 4),
    errors: plot("Errors", ["errors"], whole, 4),
    latency: plot("Latency", ["median", "95 %", "99 %"], duration),
    queue: plot("Calls at work", ["running", "queued", "waiting for approval"], whole, 4),
  };
  signal.addEventListener("abort", () => Object.values(plots).forEach((p) => p.close()), { once: true });
  const past = [plots.calls, plots.errors, plots.latency];
  const each = h("span", { class: "hint" });
  const note = h("div", {}),
    notices = h("div", { role: "status" }),
    about = h("div", {}),
    health = h("div", {}),
    running = h("div", {});
  replace(
    body,
    h("div", { class: "row filterrow" }, span, each),
    notices,
    note,
    h(
      "dl",
      { class: "tiles" },
      Object.entries(tiles).map(([name, dd]) => h("div", { class: "tile" }, h("dt", {}, name), dd)),
    ),
    h(
      "div",
      { class: "cards plots" },
      Object.values(plots).map((p) => p.element),
    ),
    h("h2", { class: "section" }, "Plugins"),
    health,
    h("h2", { class: "section" }, "Running calls"),
    running,
    h("h2", { class: "section" }, "Host"),
    about,
  );

  function describe(info) {
    replace(
      about,
      facts([
        ["Version", info.version],
        ["Configuration", info.configuration],
        ["Trusted", info.trusted ? "yes" : "no"],
        ["Folder", info.workdir],
        ["Profile", info.profile],
        ["Approval mode", info.mode.replace("_", " ")],
        ["Started", info.started && `${clock(millis(info.started))} (${ago(millis(info.started))})`],
        ["Process", info.pid || ""],
        ["Listens at", info.addresses.join(", ")],
      ]),
    );
    const said = [
      info.reloadFailure && `The configuration has changed, and is used as it was: ${info.reloadFailure}`,
      info.stopping && "The host is stopping: it waits for its last calls to end.",
      ...info.problems,
    ].filter(Boolean);
    if (said.join() !== notices.dataset.said)
      replace(
        notices,
        said.map((p) => h("p", { class: "notice" }, p)),
      );
    notices.dataset.said = said.join();
  }

  async function refresh() {
    const until = Date.now(),
      since = until - span.value * 60000;
    const at = (ms) => ({ seconds: BigInt(Math.floor(ms / 1000)), nanos: 0 });
    try {
      describe(await host.getInfo({}, { signal }));
      const filter = { since: at(since), until: at(until) };
      const s = await history.stats({ filter, steps }, { signal });
      const times = s.times.map((t) => millis(t) / 1000),
        one = s.series[0];
      const numbers = (list) => times.map((_, i) => Number(list?.[i] ?? 0));
      const calls = numbers(one?.calls);
      const some = (list) => numbers(list).map((v, i) => (calls[i] ? v : null));
      plots.calls.set([times, calls]);
      plots.errors.set([times, numbers(one?.errors)]);
      plots.latency.set([times, some(one?.p50Ms), some(one?.p95Ms), some(one?.p99Ms)]);
      setText(tiles.Calls, Number(s.calls).toLocaleString("en"));
      setText(tiles.Errors, Number(s.errors).toLocaleString("en"));
      const all = (await history.stats({ filter, steps: 1 }, { signal })).series[0];
      const of = (list) => (s.calls > 0n && list?.length ? duration(list.at(-1)) : "\u2013");
      setText(tiles.Median, of(all?.p50Ms));
      setText(tiles["Slowest 1 %"], of(all?.p99Ms));
      setText(each, s.step ? `Each point is ${duration(millis(s.step))}.` : "");
      replace(note);
      past.forEach((p) => (p.element.hidden = false));
    } catch (error) {
      if (signal.aborted) return;
      past.forEach((p) => (p.element.hidden = missing(error)));
      replace(
        note,
        h("p", { class: missing(error) ? "notice" : "problem" }, missing(error) ? noHistory : explain(error)),
      );
    }
  }

  describe(info);

  const live = new Map();
  let known = false; // whether the host says which calls run
  const drawRunning = () => {
    if (!known) {
      for (const name of ["Running", "Waiting"]) setText(tiles[name], "\u2013");
      return void replace(running, empty("Which calls run is not known while the host does not answer."));
    }
    const all = [...live.values()],
      waiting = all.filter((c) => c.status === "awaiting_approval").length;
    setText(tiles.Running, all.length - waiting);
    setText(tiles.Waiting, waiting);
    redraw(
      running,
      all.length
        ? table(
            "Running calls",
            ["Tool", "Status", "Caller", "Session", "For"],
            all
              .slice(0, 50)
              .map((c) => [
                h("a", { href: linkTo("calls", c.callId) }, c.tool),
                c.progress || c.status.replace("_", " "),
                c.caller,
                c.sessionId,
                duration(Date.now() - millis(c.began)),
              ]),
          )
        : empty("No call runs."),
    );
  };
  watch(
    sources.calls,
    (message) => {
      const first = !known;
      known = true;
      sources.calls.merge(live, message);
      drawRunning();
      if (first) sample();
    },
    signal,
    (state, error) => {
      if (state === "live") return;
      known = false;
      live.clear();
      drawRunning();
      if (state === "unimplemented") replace(running, h("p", { class: "notice" }, explain(error)));
    },
  );

  const sample = async () => {
    if (!known) return;
    let queued = null; // not known while the host does not answer
    try {
      queued = (await host.getInfo({}, { signal })).queuedCalls;
    } catch {
      if (signal.aborted) return;
    }
    if (!known) return; // it is no longer
    const waiting = [...live.values()].filter((c) => c.status === "awaiting_approval").length;
    const now = Date.now() / 1000,
      last = samples.at(-1)?.[0] ?? now;
    // nothing is known of the time between
    if (now - last > (3 * sampleEvery) / 1000) samples.push([last + 1, null, null, null]);
    samples.push([now, Math.max(0, live.size - waiting - queued), queued, waiting]);
    if (samples.length > 300) samples.shift();
    plots.queue.set([0, 1, 2, 3].map((i) => samples.map((s) => s[i])));
  };

  const states = new Map();
  watch(
    sources.plugins,
    (message) => {
      sources.plugins.merge(states, message);
      redraw(
        health,
        states.size
          ? table(
              "Plugins",
              ["Plugin", "State", "Tools", "Restarts", "Running", "Trouble"],
              [...states.values()].map((p) => [
                h("a", { href: linkTo("plugins", p.name) }, p.name),
                stateOf(p),
                p.tools || "",
                p.restarts || "",
                p.calls || "",
                [
                  p.crashes && count(p.crashes, "crash", "crashes"),
                  !["ready", "known"].includes(p.state) && (p.reason || p.lastError),
                ]
                  .filter(Boolean)
                  .join(", "),
              ]),
            )
          : empty("No plugins."),
      );
    },
    signal,
    (state, error) => state === "unimplemented" && replace(health, h("p", { class: "notice" }, explain(error))),
  );

  repeat(sample, sampleEvery, signal);
  await refresh();
  repeat(refresh, 5000, signal);
}
