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

// explain returns the sentence of an error: what happened, and what to do where the server says it.
export function explain(error) {
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

// watch reads a stream until signal is aborted, and opens it again when it ends, when changes were lost, and when the
// page is looked at again. A page that is not looked at holds no stream: browsers open six connections to a host at
// most, for all of its tabs. state is called with "live", "waiting" or "unimplemented".
export async function watch(open, receive, signal, state = () => {}) {
  for (let pause = 500; !signal.aborted;) {
    await shown(signal);
    const stream = new AbortController();
    const stop = () => stream.abort();
    const hidden = () => document.hidden && stop();
    signal.addEventListener("abort", stop, { once: true });
    document.addEventListener("visibilitychange", hidden);
    try {
      for await (const message of open({ signal: stream.signal })) {
        if (message.lost > 0 && !message.snapshot) break;
        state("live");
        pause = 500;
        receive(message);
      }
    } catch (error) {
      if (!stream.signal.aborted) {
        if (missing(error)) return state("unimplemented", error);
        if (signedOut(error)) return document.dispatchEvent(new Event("signedout"));
        state("waiting", error);
      }
    } finally {
      stop();
      signal.removeEventListener("abort", stop);
      document.removeEventListener("visibilitychange", hidden);
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
