// The session of this page. The token comes in the address's fragment, which browsers do not send, and is exchanged at
// once: for a cookie that scripts cannot read, and for a key that is kept in this origin's storage. Requests need both.

const storage = "toolhost-console-key";

export function key() {
  return localStorage.getItem(storage) ?? "";
}

const inAddress = /^#(?:.*&)?token=([^&]+)/;

export function hasToken() {
  return inAddress.test(location.hash);
}

// takeToken removes a token from the address and its history, and returns it.
export function takeToken() {
  const match = inAddress.exec(location.hash);
  if (!match) return "";
  history.replaceState(null, "", location.pathname);
  return decodeURIComponent(match[1]);
}

// signIn exchanges a token; it throws an error with the server's sentence when the token is not valid.
export async function signIn(token) {
  const response = await fetch("session", {
    method: "POST",
    cache: "no-store",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ token: token.trim() }),
  });
  if (!response.ok) throw new Error((await response.text()).trim());
  localStorage.setItem(storage, (await response.json()).key);
}

export async function signOut() {
  localStorage.removeItem(storage);
  await fetch("session", { method: "DELETE" }).catch(() => {});
  location.reload();
}
