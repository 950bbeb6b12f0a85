// Policy: the rules layer by layer, and what they decide about a call, also in other modes.
import { empty, h, pill, replace, table } from "../dom.js";
import { explain, host, policy } from "../api.js";
import { effect, renderDecision } from "../decision.js";

export async function show({ body, signal }) {
  const tool = h("input", {
    id: "p-tool",
    spellcheck: "false",
    autocomplete: "off",
    placeholder: "shell__exec",
    required: true,
    list: "p-tools",
  });
  const args = h("textarea", { id: "p-args", class: "json", spellcheck: "false" });
  args.value = "{}";
  const caller = h("input", { id: "p-caller", spellcheck: "false", autocomplete: "off", placeholder: "api" });
  const out = h("div", { "aria-live": "polite" });
  const names = h("datalist", { id: "p-tools" });
  const form = h(
    "form",
    {
      class: "card",
      onsubmit: (e) => {
        e.preventDefault();
        ask();
      },
    },
    h("h2", {}, "Explain a call"),
    h(
      "div",
      { class: "filters" },
      h("div", {}, h("label", { for: "p-tool" }, "Tool"), tool, names),
      h("div", {}, h("label", { for: "p-caller" }, "Caller"), caller),
    ),
    h("label", { for: "p-args" }, "Arguments"),
    args,
    h("p", { class: "actions" }, h("button", { class: "primary" }, "Explain")),
    out,
  );
  const layers = h("div", {});
  replace(body, form, layers);

  async function ask() {
    try {
      const r = await policy.explain(
        { tool: tool.value.trim(), arguments: args.value, caller: caller.value.trim() },
        { signal },
      );
      replace(
        out,
        r.error &&
          h("p", { class: "problem" }, h("strong", {}, r.error.code), " ", r.error.message, " ", r.error.suggestion),
        r.decision && renderDecision(r.decision),
        r.otherModes.length > 0 && [
          h("h3", {}, "In other modes"),
          table(
            "In other modes",
            ["Mode", "Effect", "Why"],
            r.otherModes.map((m) => [
              m.mode.replace("_", " "),
              m.decision && [effect(m.decision.effect), m.decision.effect !== r.decision?.effect && " changes"],
              m.decision?.reason,
            ]),
          ),
        ],
      );
    } catch (error) {
      if (!signal.aborted) replace(out, h("p", { class: "problem", role: "alert" }, explain(error)));
    }
  }

  host.listTools({}, { signal }).then(
    (r) => names.append(...r.tools.map((t) => h("option", { value: t.name }))),
    () => {},
  );
  const r = await policy.layers({}, { signal });
  replace(
    layers,
    h(
      "p",
      { class: "row" },
      pill(`mode: ${r.mode.replace("_", " ")}`),
      r.floor && pill("commands that destroy the machine are denied", "good"),
    ),
    r.layers.length
      ? r.layers.map((l) =>
          h(
            "div",
            { class: "card" },
            h("h2", {}, l.name, " ", l.tightenOnly && pill("may only tighten", "warn")),
            l.rules.length
              ? table(
                  `Rules of ${l.name}`,
                  ["Rule", "Effect", "Tools", "Only", "Why", "Place"],
                  l.rules.map((rule) => [
                    rule.name,
                    rule.effect ? effect(rule.effect) : pill("judges each call"),
                    rule.tools.join(" "),
                    conditions(rule),
                    rule.reason,
                    rule.source,
                  ]),
                )
              : empty("No rules."),
          ),
        )
      : empty("No rules apply."),
  );
}

function conditions(rule) {
  const hints = rule.hints ?? {};
  return [
    hints.readOnly !== undefined && (hints.readOnly ? "read only" : "not read only"),
    hints.destructive !== undefined && (hints.destructive ? "destructive" : "not destructive"),
    hints.idempotent !== undefined && (hints.idempotent ? "idempotent" : "not idempotent"),
    hints.openWorld !== undefined && (hints.openWorld ? "open world" : "not open world"),
    rule.categories.length > 0 && `category ${rule.categories.join(", ")}`,
    rule.costTiers.length > 0 && `cost ${rule.costTiers.join(", ")}`,
    rule.callers.length > 0 && `caller ${rule.callers.join(", ")}`,
    rule.conditional && `if ${rule.arguments.join(", ") || "a condition holds"}`,
  ]
    .filter(Boolean)
    .join("; ");
}
