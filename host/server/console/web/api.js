// The API, by the client that is generated from its proto. Every request carries the key of the session.
import * as v1 from "./third_party/client.js";
import { key } from "./session.js";

const transport = v1.createConnectTransport({
  baseUrl: location.origin,
  useBinaryFormat: true,
  interceptors: [
    (next) => (request) => {
      request.header.set("Toolhost-Console-Key", key());
      return next(request);
    },
  ],
});

export const host = v1.createClient(v1.HostService, transport);
export const approvals = v1.createClient(v1.ApprovalService, transport);
export const plugins = v1.createClient(v1.PluginService, transport);
export const history = v1.createClient(v1.HistoryService, transport);
export const policy = v1.createClient(v1.PolicyService, transport);
export const configuration = v1.createClient(v1.ConfigurationService, transport);
export const { Code, Role } = v1;

// unreachable says whether the host has not answered at all: browsers name that in words of their own.
export const unreachable = (error) =>
  (error instanceof v1.ConnectError
    ? [Code.Unknown, Code.Unavailable, Code.Internal].includes(error.code) &&
      !error.findDetails(v1.ErrorDetailSchema).length
    : true) && /fetch|network|load failed|dynamically imported|module script/i.test(String(error?.message));

// explain returns the sentence of an error: what happened, and what to do where the server says it.
export function explain(error) {
  if (unreachable(error)) return "The host does not answer. This page goes on when it does.";
  if (!(error instanceof v1.ConnectError)) return String(error?.message ?? error);
  const [detail] = error.findDetails(v1.ErrorDetailSchema);
  return detail
    ? [detail.message || error.rawMessage, detail.hint].filter(Boolean).join(". ")
    : error.rawMessage || Code[error.code];
}

// What is said where HistoryService is missing.
export const noHistory =
  "This host keeps no history: the block audit of the configuration turns the record of calls on.";

export const missing = (error) => error instanceof v1.ConnectError && error.code === Code.Unimplemented;
export const signedOut = (error) => error instanceof v1.ConnectError && error.code === Code.Unauthenticated;

// Browsers open six connections to a host over HTTP/1.1, for all of its tabs, and a stream takes one for as long as it
// lasts. So all tabs together hold at most two watches and two calls as streams, and the rest is left for requests.
// Each stream has a lock of the browser, which ends with its tab.
const slots = { watch: 2, call: 2 };
// Locks of this tab, where the browser has none: for a page that came from another machine without TLS.
const mine = new Set();

// takeSlot returns what gives the slot back, or null while all are taken.
async function takeSlot(kind) {
  // Other tabs are not known of: watches ask again and again, calls are counted in this one.
  if (!navigator.locks && kind === "watch") return null;
  for (let i = 0; i < slots[kind]; i++) {
    const release = await takeLock(`toolhost-console-${kind}-${i}`);
    if (release) return release;
  }
  return null;
}

function takeLock(name) {
  if (!navigator.locks) {
    if (mine.has(name)) return null;
    mine.add(name);
    return () => mine.delete(name);
  }
  return new Promise((taken, failed) => {
    const hold = (lock) => lock && new Promise((release) => taken(release));
    navigator.locks.request(name, { ifAvailable: true }, hold).then(() => taken(null), failed);
  });
}

// callSlot waits for the right to hold a call's stream, and returns what gives it back; maybe null when signal is
// aborted.
export async function callSlot(signal, waits) {
  for (;;) {
    const release = await takeSlot("call");
    if (release || signal.aborted) return release;
    waits();
    await sleep(300, signal);
  }
}

// What can be watched: as a stream, and by asking for all of it. merge brings a map by ids up to date with a message.
export const sources = {
  approvals: {
    stream: (o) => approvals.watch({}, o),
    list: async (o) => ({ snapshot: true, approvals: (await approvals.list({}, o)).approvals }),
  },
  plugins: {
    stream: (o) => plugins.watch({}, o),
    list: async (o) => ({ snapshot: true, plugins: (await plugins.list({}, o)).plugins, removed: [] }),
    merge(all, message) {
      if (message.snapshot) all.clear();
      for (const p of message.plugins) all.set(p.name, p);
      for (const name of message.removed) all.delete(name);
    },
  },
  calls: {
    stream: (o) => host.watchCalls({}, o),
    list: async (o) => ({ snapshot: true, calls: (await host.listRunningCalls({}, o)).calls }),
    merge(all, message) {
      if (message.snapshot) all.clear();
      for (const c of message.calls)
        if (c.ended) all.delete(c.callId);
        else all.set(c.callId, c);
    },
  },
  configuration: {
    stream: (o) => configuration.watch({}, o),
    list: (o) => configuration.get({}, o),
  },
  logs: (plugin) => ({
    async *stream(o) {
      let snapshot = true; // the last lines come first
      for await (const { lines } of plugins.logs({ plugin, lines: 200, follow: true }, o)) {
        yield { snapshot, lines };
        snapshot = false;
      }
    },
    async list(o) {
      const all = [];
      for await (const { lines } of plugins.logs({ plugin, lines: 200 }, o)) all.push(...lines);
      return { snapshot: true, lines: all };
    },
  }),
};

const askEvery = 1000; // milliseconds, of a watch without a stream

// watch follows a source until signal is aborted: by a stream, which is opened again when it ends, when changes were
// lost, and when the page is looked at again; while the tabs hold as many streams as they may, by asking every second.
// A page that is not looked at does neither. state is called with "live", "waiting" or "unimplemented".
export async function watch({ stream, list }, receive, signal, state = () => {}) {
  for (let pause = 500; !signal.aborted;) {
    await shown(signal);
    const release = await takeSlot("watch");
    const ending = within(signal);
    const hidden = () => document.hidden && ending.abort();
    const take = (message) => {
      state("live");
      pause = release ? 500 : askEvery;
      receive(message);
    };
    document.addEventListener("visibilitychange", hidden, { signal: ending.signal });
    hidden();
    try {
      if (!release) take(await list({ signal: ending.signal }));
      else
        for await (const message of stream({ signal: ending.signal })) {
          if (message.lost > 0 && !message.snapshot) break;
          take(message);
        }
    } catch (error) {
      if (!ending.signal.aborted) {
        if (missing(error)) return state("unimplemented", error);
        if (signedOut(error)) return document.dispatchEvent(new Event("signedout"));
        state("waiting", error);
      }
    } finally {
      ending.abort();
      release?.();
    }
    await sleep(pause, signal);
    pause = Math.min(pause * 2, 10000);
  }
}

// repeat calls work now, and again every so many milliseconds while the page is looked at.
export async function repeat(work, every, signal) {
  while (!signal.aborted) {
    await shown(signal);
    if (!signal.aborted) await work();
    await sleep(every, signal);
  }
}

// within returns an AbortController that signal aborts too.
export function within(signal) {
  const controller = new AbortController();
  if (signal.aborted) controller.abort();
  signal.addEventListener("abort", () => controller.abort(), { signal: controller.signal });
  return controller;
}

function shown(signal) {
  return new Promise((done) => {
    const look = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener("visibilitychange", look);
      done();
    };
    document.addEventListener("visibilitychange", look);
    signal.addEventListener("abort", look, { once: true });
    look();
  });
}

function sleep(ms, signal) {
  return new Promise((done) => {
    if (signal.aborted) return done();
    const wake = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", wake);
      done();
    };
    const timer = setTimeout(wake, ms);
    signal.addEventListener("abort", wake);
  });
}
