// Calls that were started in this page. Each goes on while other pages are shown, until it ends or a person cancels it:
// the host cancels a call when its stream ends.
import { announce, button, h, linkTo, printout, replace, reveal, setText } from "./dom.js";
import { callSlot, explain, host } from "./api.js";
import { renderResult } from "./content.js";
import { duration, plain } from "./format.js";
import { answerLink, follow } from "./waiting.js";

const maxPrinted = 1_000_000; // characters of output that stay on the page while a call runs
const maxKept = 20; // calls that have ended

const calls = new Set(); // of each tool those that run, and the last that has ended
const changed = new EventTarget();

// callsOf returns the calls of a tool, the newest first: each has an element that shows it.
export const callsOf = (tool) => [...calls].filter((c) => c.tool === tool).reverse();
export const isRunning = (tool) => callsOf(tool).some((c) => c.running);

// onCalls calls back when a call begins or ends.
export function onCalls(back, signal) {
  changed.addEventListener("change", back, { signal });
}

const stay = (event) => event.preventDefault();

function tell() {
  const ended = [...calls].filter((c) => !c.running);
  for (const c of ended.slice(0, Math.max(0, ended.length - maxKept))) forget(c);
  // a page that is closed ends its calls: the browser asks first
  if (ended.length < calls.size) window.addEventListener("beforeunload", stay);
  else window.removeEventListener("beforeunload", stay);
  changed.dispatchEvent(new Event("change"));
}

function forget(call) {
  calls.delete(call);
  call.element.remove();
  call.kept.abort();
}

// startCall runs a tool, and shows its events as they come, then its result.
export function startCall(tool, arguments_) {
  const status = h("span", {}, "Sent");
  const links = h("span", { class: "row" });
  const bar = h("progress", { "aria-label": "Progress", hidden: true });
  const { box: live, lines: stream, change } = printout("Output", { hidden: true });
  const place = h("div", {});
  const cancel = button("Cancel", () => call.cancel(), { class: "danger" });
  const element = h(
    "div",
    { class: "card call" },
    h("h3", {}, "Call"),
    h("p", { class: "status row", role: "status" }, status, links),
    bar,
    live,
    place,
    h("p", { class: "row" }, cancel),
  );
  const kept = new AbortController(), // ends the images of the result
    over = new AbortController(), // ends the stream
    done = new AbortController(); // ends what follows the call
  const decoders = {},
    begun = {};
  let id = "",
    printed = 0;
  const call = {
    tool,
    element,
    kept,
    running: true,
    async cancel() {
      cancel.disabled = true;
      try {
        if (!id) return over.abort();
        setText(status, "Is being canceled");
        await host.cancelCall({ callId: id }); // its result follows
      } catch {
        over.abort();
      }
    },
  };
  for (const c of callsOf(tool)) if (!c.running) forget(c);
  calls.add(call);
  tell();
  run();
  return call;

  async function run() {
    const began = performance.now();
    const took = () => duration(performance.now() - began);
    const release = await callSlot(over.signal, () => {
      setText(status, "Waits until another call that was started in this browser ends");
    });
    let ended = false;
    try {
      over.signal.throwIfAborted();
      for await (const { message } of host.call({ tool, arguments: arguments_ }, { signal: over.signal })) {
        switch (message.case) {
          case "accepted":
            id = message.value.callId;
            setText(status, "Accepted");
            follow({ receive: link }, done.signal);
            link();
            break;
          case "event":
            event(message.value);
            break;
          case "result":
            ended = true;
            bar.hidden = true;
            setText(status, `${message.value.status === "ok" ? "Done" : "Failed"} in ${took()}`);
            replace(place, renderResult(message.value, kept.signal));
            // what was printed is not shown twice
            if (message.value.content.some((c) => plain(c.text).includes(stream.textContent.trim())))
              live.hidden = true;
            reveal(element);
        }
      }
      if (!ended) throw new Error("The stream ended before the result");
    } catch (error) {
      if (over.signal.aborted) setText(status, "Canceled");
      else if (!ended) {
        setText(status, "Failed");
        replace(
          place,
          h(
            "p",
            { class: "problem", role: "alert" },
            `${explain(error).replace(/\.$/, "")}. `,
            id && "The tool may have run: look at the call before you run it again.",
          ),
        );
        reveal(element);
      }
    } finally {
      release?.();
      done.abort();
      call.running = false;
      cancel.hidden = bar.hidden = true;
      link();
      if (!element.isConnected) announce(`${tool}: ${status.textContent}`);
      tell();
    }
  }

  // link leads to the record of the call, and to the question while it waits for an answer.
  function link() {
    replace(links, call.running && answerLink(id), id && h("a", { href: linkTo("calls", id) }, `Call ${id}`));
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
        print(whole(e.stream, decoders[e.stream].decode(e.data, { stream: true })), e.stream);
    }
  }

  // whole keeps back a colour of which the end is still to come.
  function whole(stream, content) {
    const all = (begun[stream] ?? "") + content;
    const cut = all.search(/\u001b(\[[0-9;:]{0,40})?$/);
    begun[stream] = cut < 0 ? "" : all.slice(cut);
    return plain(cut < 0 ? all : all.slice(0, cut));
  }

  function print(content, kind) {
    const first = live.hidden;
    live.hidden = false;
    change(() => {
      stream.append(h("span", { class: kind }, content));
      printed += content.length;
      while (stream.childNodes.length > 3000 || (printed > maxPrinted && stream.childNodes.length > 1)) {
        printed -= stream.firstChild.textContent.length;
        stream.firstChild.remove();
      }
    });
    if (first) reveal(element);
  }
}
