// A decision of the rules with its trace.
import { h, pill, table } from "./dom.js";
import { count } from "./format.js";

const kinds = { allow: "good", ask: "warn", always_ask: "warn", deny: "bad" };

export function effect(name) {
  return pill((name || "none").replace("_", " "), kinds[name] ?? "");
}

export function renderDecision(d) {
  return h(
    "div",
    { class: "decision" },
    h(
      "p",
      {},
      effect(d.effect),
      " ",
      d.rule ? `by rule ${d.rule}` : "by default",
      d.layer && ` of ${d.layer}`,
      d.source && ` (${d.source})`,
      d.reason && h("span", { class: "reason" }, ` ${d.reason}`),
    ),
    d.trace.length > 0 &&
      h(
        "details",
        {},
        h("summary", {}, `Trace: ${count(d.trace.length, "step")}`),
        table(
          "Trace of the decision",
          ["Layer", "Rule", "Place", "Matched", "Effect", "Why"],
          d.trace.map((s) => [
            s.layer,
            s.rule,
            s.source,
            s.matched ? "yes" : "no",
            s.effect && effect(s.effect),
            [s.reason, s.note].filter(Boolean).join(" "),
          ]),
        ),
      ),
  );
}
