// A list of any length with as many elements as fit the screen: rows of one height between two paddings.
// It is a listbox for keyboards and screen readers: arrows move, Enter opens.
import { h } from "./dom.js";

const spare = 10; // rows drawn above and below what is visible

// virtualList shows items, and asks for more near the end. render(item) returns the cells of a row, key(item) its id.
export function virtualList({ label, rowHeight, render, open, more, key: keyOf }) {
  let items = [],
    active = 0,
    drawn = "";
  const top = h("div"),
    rows = h("div"),
    bottom = h("div");
  const box = h(
    "div",
    { class: "virtual", role: "listbox", tabindex: "0", "aria-label": label, onscroll: () => draw(), onkeydown: key },
    top,
    rows,
    bottom,
  );
  new ResizeObserver(() => draw()).observe(box);

  function draw(force) {
    const first = Math.max(0, Math.floor(box.scrollTop / rowHeight) - spare);
    const last = Math.min(items.length, Math.ceil((box.scrollTop + box.clientHeight) / rowHeight) + spare);
    if (last > items.length - 2 * spare) more?.();
    const now = `${first}-${last}-${active}`;
    if (!force && now === drawn) return;
    drawn = now;
    top.style.height = `${first * rowHeight}px`;
    bottom.style.height = `${Math.max(0, items.length - last) * rowHeight}px`;
    rows.replaceChildren(
      ...items.slice(first, last).map((item, n) => {
        const i = first + n;
        return h(
          "div",
          {
            class: "vrow",
            id: `v${i}`,
            role: "option",
            "aria-selected": String(i === active),
            "aria-setsize": String(items.length),
            "aria-posinset": String(i + 1),
            onclick: () => {
              active = i;
              open(item);
              draw(true);
            },
          },
          render(item),
        );
      }),
    );
    if (items.length) box.setAttribute("aria-activedescendant", `v${active}`);
    else box.removeAttribute("aria-activedescendant");
  }

  function key(event) {
    const page = Math.max(1, Math.floor(box.clientHeight / rowHeight) - 1);
    const to = {
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      PageDown: active + page,
      PageUp: active - page,
      Home: 0,
      End: items.length - 1,
    }[event.key];
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" && items[active]) {
      event.preventDefault();
      open(items[active]);
      return;
    }
    if (to === undefined || !items.length) return;
    event.preventDefault();
    active = Math.max(0, Math.min(items.length - 1, to));
    const y = active * rowHeight;
    if (y < box.scrollTop) box.scrollTop = y;
    else if (y + rowHeight > box.scrollTop + box.clientHeight) box.scrollTop = y + rowHeight - box.clientHeight;
    draw(true);
  }

  return {
    element: box,
    set(list) {
      const at = items[active] && keyOf(items[active]);
      const found = active > 0 ? list.findIndex((item) => keyOf(item) === at) : 0; // the first row stays the first
      items = list;
      if (found >= 0) active = found;
      active = Math.min(active, Math.max(0, items.length - 1));
      draw(true);
    },
    get length() {
      return items.length;
    },
  };
}
