// The API, by the client that is generated from its proto. Every request carries the key of the session.
import * as v1 from "./third_party/client.js";
import { key } from "./session.js";

const transport = v1.createConnectTransport({
  baseUrl: location.origin,
  useBinaryFormat: true,
  interceptors: [(next) => (request) => {
    request.header.set("Toolhost-Console-Key", key());
    return next(request);
  }],
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
  return detail ? [detail.message || error.rawMessage, detail.hint].filter(Boolean).join(". ") : error.rawMessage || Code[error.code];
}

export const missing = (error) => error instanceof v1.ConnectError && error.code === Code.Unimplemented;
export const signedOut = (error) => error instanceof v1.ConnectError && error.code === Code.Unauthenticated;

// watch reads a stream until signal is aborted, and opens it again when it ends: at once after an end, later after errors.
// state is called with "live", "waiting" or "unimplemented".
export async function watch(open, receive, signal, state = () => {}) {
  for (let pause = 500; !signal.aborted;) {
    try {
      for await (const message of open({ signal })) {
        state("live");
        pause = 500;
        receive(message);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (missing(error)) return state("unimplemented", error);
      if (signedOut(error)) return document.dispatchEvent(new Event("signedout"));
      state("waiting", error);
    }
    await new Promise((wake) => {
      const timer = setTimeout(wake, pause);
      signal.addEventListener("abort", () => { clearTimeout(timer); wake(); }, { once: true });
    });
    pause = Math.min(pause * 2, 10000);
  }
}
