// The frame of the console: sign-in, navigation, live badges, and one page at a time.
import "./trust.js";
import { announce, button, h, replace, setText } from "./dom.js";
import { explain, host, Role, signedOut, unreachable } from "./api.js";
import { hasToken, key, signIn, signOut, takeToken } from "./session.js";
import { holdOnce, isShortcut } from "./keys.js";
import { begin, follow, waiting } from "./waiting.js";

const pages = [
  ["overview", "Overview", "g o"],
  ["plugins", "Plugins", "g p"],
  ["tools", "Tools", "g t"],
  ["approvals", "Approvals", "g a"],
  ["calls", "Calls", "g c"],
  ["policy", "Policy", "g r"],
  ["configuration", "Configuration", "g f"],
];

const main = h("main", { id: "main", tabindex: "-1" });
const badge = h("span", { class: "badge", hidden: true });
const connection = h("p", { class: "connection", role: "status" });
const announcements = h("div", { id: "announcements", role: "status", "aria-live": "polite" });
let current = null; // the AbortController of the page that is shown
let info = null;

theme(localStorage.getItem("toolhost-console-theme") ?? "");
start();

// An address with a token that is pasted into an open page is one to sign in with.
window.addEventListener("hashchange", () => {
  if (hasToken()) location.reload();
});

async function start() {
  const token = takeToken();
  let refused = ""; // why the token of the address is not valid: a session from before may be
  if (token) await signIn(token).catch((error) => (refused = explain(error)));
  if (!key()) return showSignIn(refused);
  try {
    info = await host.getInfo({});
  } catch (error) {
    return showSignIn(refused || (signedOut(error) ? "" : explain(error)));
  }
  frame();
  if (refused) announce(`${refused}. You are still signed in as before`, "error");
  for (const [name] of pages) load(name).catch(() => {}); // so that all can be shown while the host is away
  watchApprovals();
  document.addEventListener("signedout", () => location.reload());
  window.addEventListener("hashchange", show);
  show();
}

function showSignIn(problem) {
  const input = h("input", { type: "password", name: "token", autocomplete: "off", required: true, id: "token" });
  const message = h("p", { class: "problem", role: "alert", hidden: !problem }, problem);
  const submit = async (event) => {
    event.preventDefault();
    try {
      await signIn(input.value);
      location.reload();
    } catch (error) {
      message.hidden = false;
      setText(message, error.message);
    }
  };
  replace(
    document.body,
    h(
      "main",
      { class: "signin" },
      h("h1", {}, "toolhost"),
      h("p", {}, "Open the address that ", h("code", {}, "toolhost serve"), " prints, or enter a token."),
      message,
      h(
        "form",
        { onsubmit: submit },
        h("label", { for: "token" }, "Token"),
        input,
        h("button", { class: "primary" }, "Sign in"),
      ),
    ),
  );
  input.focus();
}

function frame() {
  const links = pages.map(([name, title, keys]) =>
    h("a", { href: `#/${name}`, id: `nav-${name}`, title: `${title} (${keys})` }, title, name === "approvals" && badge),
  );
  const role = { [Role.VIEWER]: "viewer", [Role.APPROVER]: "approver", [Role.OPERATOR]: "operator" }[info.role] ?? "";
  replace(
    document.body,
    h("button", { class: "skip", type: "button", onclick: () => main.focus() }, "Skip to the page"),
    h(
      "header",
      {},
      h("p", { class: "brand" }, "toolhost"),
      h("nav", { "aria-label": "Pages" }, links),
      h(
        "div",
        { class: "side" },
        connection,
        h("p", { class: "who" }, role, info.tokenName && ` \u00b7 ${info.tokenName}`),
        h(
          "div",
          { class: "row" },
          button("Theme", nextTheme, { title: "Light, dark, or as the system" }),
          button("Sign out", signOut),
        ),
      ),
    ),
    main,
    announcements,
  );
  document.addEventListener("keydown", holdOnce, true);
  document.addEventListener("keydown", shortcut, true); // before those of pages
}

let pageTitle = "";

// title has the number of what waits, which one sees of a page in the background too.
function title() {
  document.title = `${badge.hidden ? "" : `(${badge.firstChild.textContent}) `}${pageTitle} \u00b7 toolhost`;
}

// load imports a page. What could not be loaded is asked for by another address: browsers may keep the failure.
const attempts = {};
async function load(name) {
  attempts[name] ??= 0;
  try {
    return await import(`./pages/${name}.js${attempts[name] ? `?${attempts[name]}` : ""}`);
  } catch (error) {
    attempts[name]++;
    throw error;
  }
}

// show draws the page that the address names. One that is shown already is given its new address, where it takes one.
async function show() {
  if (hasToken()) return;
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = path.split("/");
  const known = pages.find(([n]) => n === name) ?? pages[0];
  const address = { args: rest.map(decode), query: new URLSearchParams(query) };
  if (current?.name === known[0] && current.move) {
    const body = main.querySelector(".page");
    body.setAttribute("aria-busy", "true");
    await current.move(address);
    return body.setAttribute("aria-busy", "false");
  }
  current?.abort();
  const controller = (current = new AbortController());
  controller.name = known[0];
  for (const [n] of pages) {
    const link = document.getElementById(`nav-${n}`);
    if (n === known[0]) {
      link.setAttribute("aria-current", "page");
      link.scrollIntoView({ block: "nearest", inline: "nearest" });
    } else link.removeAttribute("aria-current");
  }
  pageTitle = known[1];
  title();
  const heading = h("h1", { tabindex: "-1" }, known[1]);
  const body = h("div", { class: "page", "aria-busy": "true" });
  replace(main, heading, body);
  heading.focus({ preventScroll: true });
  scrollTo(0, 0);
  try {
    const page = await load(known[0]);
    if (!controller.signal.aborted) {
      controller.move = await page.show({
        body,
        info,
        signal: controller.signal,
        ...address,
        operator: info.role >= Role.OPERATOR,
        approver: info.role >= Role.APPROVER,
      });
    }
  } catch (error) {
    if (controller.signal.aborted) return;
    if (signedOut(error)) return location.reload();
    controller.unreachable = unreachable(error); // it is shown again when the host answers
    body.append(h("p", { class: "problem", role: "alert" }, explain(error)));
  }
  body.setAttribute("aria-busy", "false");
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

// watchApprovals keeps the number of what waits in the navigation, and announces what is new.
function watchApprovals() {
  const known = new Set();
  let first = true; // nothing is new in what waited when the page was opened
  follow({
    receive() {
      for (const a of waiting.values())
        if (!first && !known.has(a.id)) announce(`${a.tool?.name ?? "A tool"} waits for an answer`);
      first = false;
      known.clear();
      for (const id of waiting.keys()) known.add(id);
      badge.hidden = known.size === 0;
      replace(badge, String(known.size), h("span", { class: "sr" }, " waiting"));
      title();
    },
    state(state, error) {
      if (state === "live" && current?.unreachable) show();
      setText(connection, state === "waiting" ? "Not connected" : "");
      connection.title = state === "waiting" ? explain(error) : "";
    },
  });
  begin();
}

let prefix = 0; // the timer of a "g" that waits for its second key; 0 for none

function endPrefix() {
  clearTimeout(prefix);
  prefix = 0;
}

// shortcut consumes the keys that it acts on, and the one after a "g" whatever it is: a page has keys of its own.
function shortcut(event) {
  if (["Shift", "Control", "Alt", "AltGraph", "Meta", "CapsLock"].includes(event.key)) return;
  if (!isShortcut(event)) return endPrefix();
  if (event.key === "g") {
    endPrefix(); // it begins again
    prefix = setTimeout(endPrefix, 1500);
    event.preventDefault();
  } else if (prefix) {
    endPrefix();
    if (event.key.length > 1) return; // Tab, Enter and arrows do what they always do
    event.preventDefault();
    const page = pages.find(([, , keys]) => keys === `g ${event.key}`);
    if (page) location.hash = `#/${page[0]}`;
  } else if (event.key === "/") {
    const search = main.querySelector("input[type=search]");
    if (search) {
      event.preventDefault();
      search.focus();
    }
  }
}

function nextTheme() {
  const order = ["", "light", "dark"];
  const next = order[(order.indexOf(document.documentElement.dataset.theme ?? "") + 1) % 3];
  theme(next);
  announce(`Theme: ${next || "as the system"}`);
}

function theme(name) {
  document.documentElement.dataset.theme = name;
  localStorage.setItem("toolhost-console-theme", name);
  document.dispatchEvent(new Event("themechange"));
}
