// Texts of times, sizes and JSON, for people.

// milliseconds of a protobuf Timestamp or Duration; 0 without one.
export function millis(t) {
  return t ? Number(t.seconds) * 1000 + (t.nanos ?? 0) / 1e6 : 0;
}

export function duration(ms) {
  if (!Number.isFinite(ms)) return "";
  if (ms === 0) return "0";
  if (ms < 1) return `${Math.round(ms * 1000)} µs`;
  if (ms < 1000) return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
  const s = ms / 1000;
  if (s < 60) return `${s < 10 ? s.toFixed(1) : Math.round(s)} s`;
  const m = Math.floor(s / 60);
  if (m < 60) return `${m} min` + (Math.floor(s % 60) ? ` ${Math.floor(s % 60)} s` : "");
  if (m < 48 * 60) return `${Math.floor(m / 60)} h` + (m % 60 ? ` ${m % 60} min` : "");
  return `${Math.floor(m / 1440)} d ${Math.floor((m % 1440) / 60)} h`;
}

export function ago(ms) {
  if (!ms) return "";
  const d = Date.now() - ms;
  if (d < 2000) return "now";
  // smaller parts would change all the time
  return d < 60_000 ? `${Math.floor(d / 1000)} s ago` : `${duration(Math.floor(d / 60_000) * 60_000)} ago`;
}

export function clock(ms) {
  if (!ms) return "";
  const t = new Date(ms);
  const two = (n, w = 2) => String(n).padStart(w, "0");
  const time = `${two(t.getHours())}:${two(t.getMinutes())}:${two(t.getSeconds())}`;
  if (new Date().toDateString() === t.toDateString()) return time;
  return `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())} ${time}`;
}

export function bytes(n) {
  n = Number(n);
  if (!n) return "";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  while (n >= 1024 && i < units.length - 1) {
    n /= 1024;
    i++;
  }
  return `${i && n < 10 ? n.toFixed(1) : Math.round(n)} ${units[i]}`;
}

export function count(n, one, many = `${one}s`) {
  return `${Number(n).toLocaleString("en")} ${Number(n) === 1 ? one : many}`;
}

const decoder = new TextDecoder();

// text of a field that is a string or bytes.
export function text(v) {
  return v instanceof Uint8Array ? decoder.decode(v) : (v ?? "");
}

const maxPretty = 1_000_000; // characters
const maxIndent = 40; // levels: deeper ones would make a text of many times the length

// pretty indents JSON by its letters: parsing would change long numbers and doubled keys. What is no JSON, or long, stays.
export function pretty(json) {
  const s = text(json);
  if (s.length > maxPretty) return s;
  const line = (level) => "\n" + "  ".repeat(Math.min(level, maxIndent));
  try {
    JSON.parse(s);
  } catch {
    return s;
  }
  let out = "",
    depth = 0,
    inString = false;
  for (let i = 0; i < s.length; i++) {
    const c = s[i];
    if (inString) {
      out += c;
      if (c === "\\") out += s[++i];
      else if (c === '"') inString = false;
    } else if (c === '"') {
      inString = true;
      out += c;
    } else if (c === "{" || c === "[") {
      const close = /^\s*[}\]]/.exec(s.slice(i + 1, i + 200));
      if (close) {
        out += c + close[0].trim();
        i += close[0].length;
      } else out += c + line(++depth);
    } else if (c === "}" || c === "]") out += line(--depth) + c;
    else if (c === ",") out += "," + line(depth);
    else if (c === ":") out += ": ";
    else if (!/\s/.test(c)) out += c;
  }
  return out;
}

// exactNumber says whether a number of JSON is the same after JSON.parse.
export function exactNumber(text) {
  const plain = (s) => {
    const [, digits, point = "", exponent = "0"] = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(s) ?? [s, s];
    const all = (digits + point).replace(/^0+/, "");
    const kept = all.replace(/0+$/, "");
    return kept && `${kept}e${Number(exponent) - point.length + all.length - kept.length}`;
  };
  const parsed = Number(text);
  return Number.isFinite(parsed) && plain(String(Math.abs(parsed))) === plain(text.replace("-", ""));
}

// exact says whether JSON.parse loses nothing of a text: no digits of numbers, and no names that stand twice.
export function exact(json) {
  let value;
  try {
    value = JSON.parse(json);
  } catch {
    return false;
  }
  let names = 0;
  for (const [token, name] of json.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?|-?\d[\d.eE+-]*/g)) {
    if (name) names++;
    else if (token[0] !== '"' && !exactNumber(token)) return false;
  }
  const count = (v) =>
    v === null || typeof v !== "object"
      ? 0
      : Object.values(v).reduce((sum, each) => sum + count(each), Array.isArray(v) ? 0 : Object.keys(v).length);
  return names === count(value);
}

// plain takes out what colours a text on a terminal.
export function plain(text) {
  return text.replace(/\u001b\[[0-9;:]*m/g, "");
}
