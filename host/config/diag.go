package config

import (
	"cmp"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// A wording is how we say what HCL found. What is empty is taken from HCL: its first sentence is the message, the rest
// is the hint.
type wording struct{ message, hint string }

// wordings are ours for HCL's most common ones, by the summary it gives them.
var wordings = map[string]wording{
	"Argument or block definition required":    {"this is neither NAME = VALUE nor a block", "write NAME = VALUE or NAME { … }"},
	"Attribute redefined":                      {"", "remove one of the two"},
	"Error in function call":                   {"", "write the value here instead"},
	"Invalid block definition":                 {"", `write NAME "LABEL" { … }, with the brace on the same line`},
	"Invalid expression":                       {"a value should start here", `a value is "text", 12, true, [ a list ] or { an = "object" }`},
	"Invalid index":                            {"", "look at how the value before it is written"},
	"Invalid multi-line string":                {"this string does not end on its line", `add the closing quote; \n in a string stands for a new line`},
	"Invalid single-argument block definition": {"a block on one line has one argument only", "put each argument on a line of its own"},
	"Invalid template interpolation value":     {"", "refer to a part of it that is text, a number or a bool"},
	"Missing attribute separator":              {"", "put each entry on a line of its own, or a comma between them"},
	"Missing item separator":                   {"a comma or the end of the list is missing here", "put commas between the items, and ] after the last"},
	"Missing newline after block definition":   {"a new line is missing after the block", "end the line after }"},
	"Missing newline after argument":           {"a new line is missing after the argument", "put each argument on a line of its own; the items of a list go in [ … ]"},
	"Not enough function arguments":            {"", `write env("NAME", "default")`},
	"Too many function arguments":              {"", `write env("NAME", "default")`},
	"Unclosed configuration block":             {"this block has no end", "add its }, or the one that is missing inside it"},
	"Unsupported attribute":                    {"", "look at how the value before it is written"},
	"Unterminated template string":             {"this string has no end", "add the closing quote"},
}

// addDiags reports what HCL found, and says whether that was anything.
func (r *report) addDiags(diags hcl.Diagnostics) bool {
	unclosed := false
	for _, d := range diags {
		if endless(d) {
			if unclosed { // the rest of the file then looks like such strings too
				continue
			}
			unclosed = true
		}
		var at hcl.Range
		if d.Subject != nil {
			at = *d.Subject
		}
		own, w := sentences(d), wordings[d.Summary]
		r.add(at, "%s", cmp.Or(w.message, own.message)).Hint = cmp.Or(w.hint, own.hint)
	}
	return len(diags) > 0
}

// endless says whether a diagnostic is about a string without a closing quote.
func endless(d *hcl.Diagnostic) bool {
	return d.Summary == "Invalid multi-line string" || d.Summary == "Unterminated template string"
}

func sentences(d *hcl.Diagnostic) wording {
	first, rest, _ := strings.Cut(visible(d.Detail), ". ")
	text := visible(d.Summary)
	if first != "" {
		text += ": " + strings.TrimSuffix(first, ".")
	}
	return wording{strings.ToLower(text[:1]) + text[1:], strings.TrimSuffix(rest, ".")}
}
