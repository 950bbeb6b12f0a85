// Which keys act. A key does one thing: what has consumed it calls preventDefault, and nothing else acts on it.

// isShortcut reports whether a key without modifiers is pressed where nothing is written, and still is to be acted on.
export function isShortcut(event) {
  return (
    !event.defaultPrevented &&
    !event.isComposing &&
    !event.ctrlKey &&
    !event.metaKey &&
    !event.altKey &&
    !event.getModifierState("AltGraph") &&
    !event.target.closest("input,textarea,select,[contenteditable]")
  );
}

// holdOnce has an Enter that is held press what has the focus once: browsers click a button, and send a form, with each
// repetition.
export function holdOnce(event) {
  if (event.repeat && event.key === "Enter" && !event.target.closest("textarea")) event.preventDefault();
}
