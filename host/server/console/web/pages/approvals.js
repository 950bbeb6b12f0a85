// Approvals: what waits for a person, and what was approved for later calls. An answer names the bytes that were shown.
import { announce, bringUp, button, empty, facts, h, linkTo, pill, redraw, replace, setText, table } from "../dom.js";
import { approvals, explain, missing } from "../api.js";
import { code, renderPreview } from "../content.js";
import { renderDecision } from "../decision.js";
import { ago, clock, duration, millis } from "../format.js";
import { makeForm } from "../form.js";
import { isShortcut } from "../keys.js";
import { end, follow, name, waiting } from "../waiting.js";

// guardMs is how long the buttons of a question that has just come up do nothing: what was meant for the one before it
// must not answer it.
const guardMs = 600;
const risks = { low: "good", medium: "warn", high: "bad" };

export async function show({ body, args, signal, approver, operator }) {
  const sent = new Set(); // questions of which the answer is on its way
  let selected = args[0] ?? "",
    shown, // which question is shown; undefined before the first
    shownAt = 0,
    act = {};
  const list = h("ul", { class: "list", "aria-label": "Waiting" });
  const detail = h("section", { class: "detail", "aria-label": "Question" });
  const ended = h("ul", { class: "plain", "aria-label": "Answered" });
  const remembered = h("div", {});
  replace(
    body,
    h(
      "p",
      { class: "hint keys" },
      h("kbd", {}, "j"),
      " ",
      h("kbd", {}, "k"),
      " next and previous, ",
      h("kbd", {}, "a"),
      " approve, ",
      h("kbd", {}, "r"),
      " reject",
    ),
    h("div", { class: "split" }, h("div", { class: "pane" }, list), detail),
    ended,
    remembered,
  );

  let order = [], // ids, as they are listed
    changed = ""; // the call of which the arguments were changed in the question that is shown

  function draw() {
    const all = [...waiting.values()];
    const again = changed && all.find((a) => a.callId === changed && a.id !== selected);
    if (again) {
      selected = again.id;
      changed = "";
    } else if (!waiting.has(selected)) {
      // the one below comes up, or the one above the last
      const at = order.indexOf(selected);
      const near = [...order.slice(at + 1), ...order.slice(0, Math.max(at, 0)).reverse()];
      selected = near.find((id) => waiting.has(id)) ?? all[0]?.id ?? "";
    }
    order = all.map((a) => a.id);
    redraw(
      list,
      all.map((a) =>
        h(
          "li",
          {},
          h(
            "a",
            {
              href: linkTo("approvals", a.id),
              "aria-current": a.id === selected ? "true" : undefined,
              onclick: (e) => {
                e.preventDefault();
                select(a.id);
              },
            },
            h("span", { class: "name" }, a.tool?.name ?? "?", " ", a.risk && pill(a.risk, risks[a.risk])),
            h("span", { class: "sub mono" }, gist(a)),
            h(
              "span",
              { class: "sub" },
              h("span", { class: "age", "data-asked": String(millis(a.asked)) }, ago(millis(a.asked))),
              [a.kind === 2 && "asks", a.caller, a.sessionId].filter(Boolean).map((v) => ` \u00b7 ${v}`),
            ),
          ),
        ),
      ),
    );
    if (!all.length) replace(list, h("li", {}, empty("Nothing waits.")));
    if (shown !== name(waiting.get(selected))) showOne();
  }

  function select(id) {
    selected = id;
    changed = "";
    history.replaceState(null, "", linkTo("approvals", id));
    draw();
    list.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
    bringUp(detail);
  }

  function showOne() {
    const a = waiting.get(selected);
    shown = name(a);
    shownAt = performance.now();
    act = {};
    if (!a) return void replace(detail, empty("A call that a rule asks about is shown here, and waits for an answer."));
    act = a.kind === 2 ? question(a) : callQuestion(a);
    if (!approver) replace(act.actions, h("p", { class: "hint" }, "You need the role approver to answer."));
    replace(
      detail,
      h("h2", {}, a.tool?.name ?? "?"),
      h(
        "p",
        { class: "pills" },
        a.risk && pill(`${a.risk} risk`, risks[a.risk]),
        a.tool?.hints?.destructive && pill("destructive", "bad"),
        a.tool?.hints?.readOnly && pill("read only", "good"),
        a.onceOnly && pill("each call is asked about"),
      ),
      a.riskReason && h("p", { class: "hint" }, a.riskReason),
      act.body,
      act.actions,
      facts([
        ["Caller", a.caller],
        ["Session", a.sessionId],
        ["Call", a.callId && h("a", { href: linkTo("calls", a.callId) }, a.callId)],
        ["Folder", a.workdir],
        ["On behalf of", [a.viaTool, a.viaCallId].filter(Boolean).join(" ")],
        ["Asked", ago(millis(a.asked))],
        ["Time left", a.expires && h("span", { class: "left" }, left(a))],
      ]),
    );
    for (const b of act.actions.querySelectorAll("button")) {
      b.disabled = true;
      setTimeout(() => {
        b.disabled = false;
      }, guardMs);
    }
  }

  function callQuestion(a) {
    const args = h("textarea", { class: "json", "aria-label": "Changed arguments", spellcheck: "false", hidden: true });
    const shownArguments = code(a.arguments || "{}", "Arguments");
    const scope = h(
      "select",
      { "aria-label": "What the approval covers" },
      scopes(a).map(([value, text]) => h("option", { value }, text)),
    );
    const saved = h("input", { type: "checkbox", id: "saved" });
    const keep = h("span", { hidden: true }, saved, h("label", { for: "saved" }, " also after the host ends"));
    scope.addEventListener("change", () => {
      keep.hidden = scope.value === "";
    });
    const reason = h("input", {
      placeholder: "Reason (shown to the model)",
      "aria-label": "Reason for the rejection",
      class: "reason",
    });
    const edit = button("Edit", () => {
      args.value = a.arguments || "{}";
      args.hidden = false;
      shownArguments.hidden = true;
      edit.hidden = true;
      args.focus();
    });
    const approve = () =>
      answer(a, {
        approved: true,
        scope: scope.value,
        saved: scope.value !== "" && saved.checked,
        arguments: args.hidden || args.value === a.arguments ? "" : args.value,
      });
    const reject = () => answer(a, { approved: false, reason: reason.value });
    return {
      approve,
      reject,
      body: h(
        "div",
        {},
        a.problem && h("p", { class: "problem" }, a.problem),
        a.preview && h("div", { class: "card" }, h("h3", {}, "What it would do"), renderPreview(a.preview, signal)),
        h("h3", {}, "Arguments"),
        shownArguments,
        args,
        a.decision && renderDecision(a.decision),
      ),
      actions: h(
        "div",
        { class: "actions" },
        h("div", { class: "row" }, button("Approve", approve, { class: "primary" }), scope, keep, operator && edit),
        h("div", { class: "row" }, button("Reject", reject, { class: "danger" }), reason),
      ),
    };
  }

  // question shows what a tool asks, with a form for each elicitation.
  function question(a) {
    const fields = [];
    const place = h("div", {});
    for (const [key, text] of Object.entries(a.input?.requests ?? {}).sort()) {
      let request = {};
      try {
        request = JSON.parse(text);
      } catch {
        /* what is no JSON is shown unchanged */
      }
      const params = request.params ?? {};
      const box = h(
        "fieldset",
        {},
        h("legend", {}, `${a.tool?.name} asks`),
        h("p", { class: "description" }, params.message ?? ""),
      );
      place.append(box);
      const field = { key, text: () => "{}" };
      fields.push(field);
      if (params.requestedSchema) {
        makeForm(JSON.stringify(params.requestedSchema)).then(
          (form) => {
            if (signal.aborted) return form.close();
            signal.addEventListener("abort", () => form.close(), { once: true });
            box.append(form.element);
            field.text = form.text;
            field.valid = () => form.check() === 0;
          },
          () => raw(box, field, text),
        );
      } else raw(box, field, text);
    }
    const respond = (action) => {
      if (action === "accept" && fields.some((f) => f.valid && !f.valid())) return;
      answer(a, {
        approved: action === "accept",
        inputResponses: Object.fromEntries(
          fields.map((f) => [
            f.key,
            action === "accept" ? `{"action":"accept","content":${f.text()}}` : `{"action":"${action}"}`,
          ]),
        ),
      });
    };
    const approve = () => respond("accept"),
      reject = () => respond("decline");
    return {
      approve,
      reject,
      body: place,
      actions: h(
        "div",
        { class: "row actions" },
        button("Answer", approve, { class: "primary" }),
        button("Decline", reject, { class: "danger" }),
      ),
    };
  }

  function raw(box, field, text) {
    const area = h("textarea", { class: "json", "aria-label": "Answer as JSON" });
    box.append(code(text, "The question"), area);
    field.text = () => area.value.trim() || "{}";
    field.valid = () => {
      let problem = "";
      try {
        JSON.parse(field.text());
      } catch (error) {
        problem = `This is no JSON: ${error.message}`;
      }
      area.setCustomValidity(problem);
      return area.reportValidity();
    };
  }

  async function answer(a, fields) {
    if (!approver || sent.has(a.id) || performance.now() - shownAt < guardMs) return;
    sent.add(a.id);
    try {
      const { outcome } = await approvals.answer({ id: a.id, hash: a.hash, by: "console", ...fields });
      announce(`${a.tool?.name}: ${outcome?.answer ?? "answered"}`);
      // changed arguments are asked about again: that question comes up next
      if (outcome?.answer === "changed") changed = a.callId;
      if (outcome) end(a, outcome);
    } catch (error) {
      announce(explain(error), "error");
    } finally {
      sent.delete(a.id);
    }
  }

  const key = (e) => {
    if (!isShortcut(e)) return;
    if (e.key.startsWith("Arrow") && e.target.closest(".scroll")) return; // they scroll a long preview
    const ids = [...waiting.keys()],
      at = ids.indexOf(selected);
    if (!ids.length) return;
    if (e.key === "j" || e.key === "ArrowDown") select(ids[Math.min(at + 1, ids.length - 1)] ?? "");
    else if (e.key === "k" || e.key === "ArrowUp") select(ids[Math.max(at - 1, 0)] ?? "");
    else if (e.key === "a" && !e.repeat) act.approve?.();
    else if (e.key === "r" && !e.repeat) act.reject?.();
    else return;
    e.preventDefault();
  };
  document.addEventListener("keydown", key);
  const ticking = setInterval(() => {
    for (const age of list.querySelectorAll(".age")) setText(age, ago(Number(age.dataset.asked)));
    const a = waiting.get(selected),
      e = detail.querySelector(".left");
    if (a && e) setText(e, left(a));
  }, 1000);
  signal.addEventListener("abort", () => {
    document.removeEventListener("keydown", key);
    clearInterval(ticking);
  });

  draw();
  const told = new Set(); // an answer that was given here comes again with the watch
  follow(
    {
      receive(message) {
        for (const a of message.approvals) {
          if (!a.outcome || told.has(name(a))) continue;
          told.add(name(a));
          if (a.outcome.answer === "changed" && a.id === selected) changed = a.callId;
          ended.prepend(
            h(
              "li",
              {},
              clock(Date.now()),
              " ",
              h("strong", {}, a.tool?.name),
              " ",
              a.outcome.answer,
              a.outcome.by && ` by ${a.outcome.by}`,
              a.outcome.reason && `: ${a.outcome.reason}`,
            ),
          );
          while (ended.children.length > 20) ended.lastChild.remove();
        }
        draw();
        // what no longer waits may have been approved for later calls
        if (message.snapshot || message.approvals.some((a) => a.outcome?.scope))
          showRemembered(remembered, signal, approver);
      },
      state(state, error) {
        if (state === "unimplemented") replace(detail, h("p", { class: "notice" }, explain(error)));
      },
    },
    signal,
  );
  if (args[0] && waiting.has(args[0])) bringUp(detail);
  return ({ args: [id] }) => {
    if (id !== undefined && waiting.has(id)) select(id);
  };
}

// gist is what tells a question from others of its tool: the texts of its arguments, or what is asked.
function gist(a) {
  const texts = [];
  const collect = (v) => {
    if (typeof v === "string" || typeof v === "number") texts.push(String(v));
    else if (v && typeof v === "object" && texts.length < 20) Object.values(v).forEach(collect);
  };
  try {
    if (a.kind === 2)
      for (const r of Object.values(a.input?.requests ?? {})) texts.push(JSON.parse(r).params?.message ?? "");
    else collect(JSON.parse(a.arguments || "{}"));
  } catch {
    texts.push(a.arguments); // no JSON is shown as it came
  }
  return texts.join(" ").replace(/\s+/g, " ").slice(0, 200) || "no arguments";
}

function left(a) {
  const ms = millis(a.expires) - Date.now();
  return ms > 0 ? duration(Math.ceil(ms / 1000) * 1000) : "over";
}

function scopes(a) {
  const all = [["", "this call"]];
  if (a.onceOnly) return all;
  all.push(["arguments", "calls with the same arguments"]);
  if (a.prefix.length) all.push(["prefix", `commands that begin with ${a.prefix.join(" ")}`]);
  all.push(["tool", `all calls of ${a.tool?.name}`]);
  return all;
}

async function showRemembered(place, signal, approver) {
  let list;
  try {
    list = (await approvals.listRemembered({}, { signal })).remembered;
  } catch (error) {
    if (!signal.aborted && !missing(error)) replace(place, h("p", { class: "problem" }, explain(error)));
    return;
  }
  if (!list.length) return void replace(place);
  redraw(
    place,
    h("h2", {}, "Remembered"),
    table(
      "Approvals that cover later calls",
      ["Tool", "Covers", "Caller", "Until", "Since", "Action"],
      list.map((r) => [
        r.tool,
        r.scope === "prefix" ? r.prefix.join(" ") : r.scope === "arguments" ? r.arguments : "all calls",
        r.caller,
        r.saved ? "it is forgotten" : "the host ends",
        clock(millis(r.created)),
        button(
          "Forget",
          async () => {
            try {
              await approvals.forget({ id: r.id });
              showRemembered(place, signal, approver);
            } catch (e) {
              announce(explain(e), "error");
            }
          },
          { disabled: !approver, "aria-label": `Forget ${r.tool}` },
        ),
      ]),
    ),
  );
}
