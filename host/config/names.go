package config

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/agext/levenshtein"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/toolhost/toolhost/host/internal/lazy"
)

// maxToolName is how long PLUGIN__TOOL may be; model vendors refuse longer names.
const maxToolName = 64

// A naming says how a kind of thing may be called.
type naming struct {
	ok   func(string) bool
	rule string // in words
}

// lazily compiles an expression when it is first asked for: most files name nothing of the kind.
func lazily(expression string) func(string) bool {
	compiled := lazy.Regexp(expression)
	return func(s string) bool { return compiled().MatchString(s) }
}

var (
	pluginPattern = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)
	toolPattern   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)

	pluginNaming = naming{
		pluginPattern.MatchString,
		`a name starts with a letter and has at most 32 characters, which are small letters, digits and "-"`,
	}
	toolNaming = naming{
		func(s string) bool { return toolPattern.MatchString(s) && !strings.Contains(s, "__") },
		`a tool's name starts with a letter or a digit and has letters, digits, "-" and single "_"`,
	}
)

// label gives the one label of a block and its place. It is false, and says why, when that is no good name; the label
// can still be used to tell people which block is meant.
func (r *reader) label(b *hclsyntax.Block, n naming) (string, hcl.Range, bool) {
	if len(b.Labels) == 0 {
		r.add(b.TypeRange, "this %s block has no name", b.Type).hint("write %s \"NAME\" {", b.Type)
		return "", b.TypeRange, false
	}
	name, at := b.Labels[0], b.LabelRanges[0]
	if len(b.Labels) > 1 {
		r.add(b.LabelRanges[1], "%s block has one name only", article(b.Type)).hint("write %s %q {", b.Type, name)
	}
	if !n.ok(name) {
		r.add(at, "%s cannot be called %q", article(b.Type), name).Hint = n.rule + instead(name, n)
		return name, at, false
	}
	return name, at, true
}

// named opens a block of one label, which no other of its kind may have. The name is that of label, be it good or not.
func (r *reader) named(b *hclsyntax.Block, n naming, names seen) (string, *fields) {
	name, at, ok := r.label(b, n)
	if ok {
		names.add(r.report, b.Type, name, at)
	}
	return name, r.open(b.Body, b.Type, fmt.Sprintf("%s %q", b.Type, brief(name)))
}

// maxWord is how much of a name is repeated in reports, in bytes.
const maxWord = 40

// brief cuts a name that is too long for one.
func brief(name string) string {
	if len(name) <= maxWord {
		return name
	}
	return strings.ToValidUTF8(name[:maxWord], "") + "…"
}

var notInName = regexp.MustCompile(`[^A-Za-z0-9]+`)

// instead suggests a name that is allowed, when there is one close by.
func instead(name string, n naming) string {
	for _, s := range []string{name, strings.ToLower(name)} {
		if s = strings.Trim(notInName.ReplaceAllString(s, "-"), "-"); n.ok(s) {
			return `; "` + s + `" would do`
		}
	}
	return ""
}

// near gives the known name that is most like the one given, or "". It looks at the first 200.
func near(name string, known []string) string {
	best, least := "", 3
	if len(name) > maxWord {
		return ""
	}
	for _, k := range known[:min(len(known), 200)] {
		if len(k) > maxWord {
			continue
		}
		d := levenshtein.Distance(strings.ToLower(name), strings.ToLower(k), nil)
		if d < least && d < len(name) {
			best, least = k, d
		}
	}
	return best
}
