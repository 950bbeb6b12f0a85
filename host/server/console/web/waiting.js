// What waits for a person: one watch for the frame and for all pages.
import { sources, watch } from "./api.js";
import { h, linkTo } from "./dom.js";

export const waiting = new Map(); // approvals by id, the oldest first
const followers = new Set();
let known = false, // whether what waits was ever listed
  now = []; // the state of the watch

// name tells questions apart, and those that changed: two may be about the same bytes.
export function name(a) {
  return a ? `${a.id} ${a.hash}` : "";
}

// follow calls receive with each message of the watch, first with one that has all that waits, and state with the state
// of the watch. waiting is true to the message by then.
export function follow(follower, signal) {
  followers.add(follower);
  signal?.addEventListener("abort", () => followers.delete(follower), { once: true });
  if (known) follower.receive?.({ snapshot: true, approvals: [...waiting.values()] });
  if (now.length) follower.state?.(...now);
}

// answerLink leads to the question that a call waits for; it is undefined without one.
export function answerLink(callId) {
  const a = [...waiting.values()].find((w) => w.callId === callId);
  return a && h("a", { href: linkTo("approvals", a.id) }, "Answer it");
}

// end takes out what was answered here, before the watch says so.
export function end(approval, outcome) {
  receive({ approvals: [{ ...approval, outcome }] });
}

function receive(message) {
  if (message.snapshot) {
    const before = [...waiting.values()].map(name).join();
    if (known && before === message.approvals.map(name).join()) return; // nothing has changed
    waiting.clear();
  }
  for (const a of message.approvals) {
    if (a.outcome) waiting.delete(a.id);
    else waiting.set(a.id, a);
  }
  known ||= message.snapshot;
  for (const f of [...followers]) f.receive?.(message);
}

// begin starts the watch. A page that is not looked at has none (api.js): it asks now and then, for the number in its
// title.
export function begin() {
  const list = () => document.hidden && sources.approvals.list({}).then(receive, () => {}); // the watch says why
  setInterval(list, 20000);
  watch(sources.approvals, receive, new AbortController().signal, (...state) => {
    now = state;
    for (const f of [...followers]) f.state?.(...state);
  });
}
