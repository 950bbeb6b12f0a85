// The default policy of trusted types: every string that a library would write as HTML becomes text. json-editor writes
// nothing but texts and empty strings that way, once its theme is ours (form.js). Scripts from strings are refused.
if (window.trustedTypes && !trustedTypes.defaultPolicy) {
  trustedTypes.createPolicy("default", {
    createHTML: (s) => s.replace(/[&<>]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[c]),
  });
}
