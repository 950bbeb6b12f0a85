// Configuration: what is in use and where it says so, and the mistakes of the file on the disk.
import { announce, button, facts, h, pill, replace, table } from "../dom.js";
import { configuration, explain, repeat, sources, watch } from "../api.js";
import { code } from "../content.js";
import { clock, millis } from "../format.js";

export async function show({ body, signal, operator }) {
  const check = h("div", { "aria-live": "polite" }),
    current = h("div", {});
  replace(
    body,
    h(
      "div",
      { class: "row actions" },
      button("Check the file", () => look()),
      button("Reload", reload, { disabled: !operator, class: "primary" }),
    ),
    check,
    current,
  );

  let before = "";
  async function look() {
    try {
      const r = await configuration.check({}, { signal });
      const now = JSON.stringify(r);
      if (check.firstChild && now === before) return;
      before = now;
      replace(
        check,
        h(
          "div",
          { class: "card" },
          h("h2", {}, "The file on the disk"),
          h(
            "p",
            {},
            r.mistakes.length
              ? "It cannot be used."
              : r.changed
                ? "It can be used, and differs from what is in use."
                : "It is the configuration in use.",
          ),
          r.untrusted && h("p", { class: "notice" }, "Not trusted yet. Run: toolhost trust"),
          mistakes("Mistakes", r.mistakes, "bad"),
          mistakes("Warnings", r.warnings, "warn"),
        ),
      );
    } catch (error) {
      before = "";
      if (!signal.aborted) replace(check, h("p", { class: "problem", role: "alert" }, explain(error)));
    }
  }
  // what is said of the file stays true while it is shown, also after toolhost trust
  repeat(() => check.firstChild && look(), 3000, signal);

  async function reload() {
    try {
      const r = await configuration.reload({});
      announce(r.restarted.length ? `Reloaded; started again: ${r.restarted.join(", ")}` : "Reloaded");
      if (r.failed.length) announce(`Not reloaded: ${r.failed.join(", ")}`, "error");
    } catch (error) {
      announce(explain(error), "error");
      look();
    }
  }

  await new Promise((first) =>
    watch(
      sources.configuration,
      ({ configuration: c }) => {
        if (check.firstChild) look();
        const blocks = Map.groupBy(c.settings, (s) => s.block);
        replace(
          current,
          facts([
            ["File", c.path],
            ["Trusted", c.trusted ? "yes" : "no"],
            ["SHA-256", h("code", {}, c.sha256)],
            ["Read", clock(millis(c.loaded))],
            ["Folder", c.workdir],
            ["Profile", c.profile],
          ]),
          c.failed &&
            h("p", { class: "problem" }, `The reload at ${clock(millis(c.failed))} failed; what is below is in use.`),
          mistakes("Mistakes", c.mistakes, "bad"),
          mistakes("Warnings", c.warnings, "warn"),
          h(
            "div",
            { class: "cards" },
            [...blocks].map(([block, settings]) =>
              h(
                "div",
                { class: "card" },
                h("h2", {}, block || "Top"),
                table(
                  block || "Top",
                  ["Key", "Value", "Place"],
                  settings.map((s) => [
                    s.key,
                    h("code", {}, s.value),
                    s.place || h("span", { class: "hint" }, "default"),
                  ]),
                ),
              ),
            ),
          ),
          c.text &&
            h("details", { class: "card" }, h("summary", {}, "The file in use"), code(c.text, "The file in use")),
        );
        first();
      },
      signal,
      (state, error) => {
        if (state === "live" || (state === "waiting" && current.firstChild)) return;
        replace(current, h("p", { class: state === "unimplemented" ? "notice" : "problem" }, explain(error)));
        first();
      },
    ),
  );
}

function mistakes(title, list, kind) {
  return (
    list.length > 0 && [
      h("h2", {}, title),
      table(
        title,
        ["Place", "What"],
        list.map((m) => [pill(m.place || "?", kind), m.message]),
      ),
    ]
  );
}
