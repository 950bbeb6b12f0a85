package hclfile

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/toolhost/toolhost/internal/lazy"
)

// Summaries of HCL's diagnostics.
const (
	noItem          = "Argument or block definition required"
	noValue         = "Invalid expression"
	noNewline       = "Missing newline after argument"
	badCharacter    = "Invalid character"
	badOperator     = "Unsupported operator"
	badEscape       = "Invalid escape sequence"
	openLine        = "Invalid multi-line string"
	openString      = "Unterminated template string"
	openPlaceholder = "Unclosed template interpolation sequence"
	setTwice        = "Attribute redefined" // the tree is complete, and has the first value
)

// causes leaves out findings that follow from another one: what the parser says of a line with a character that it
// cannot read, the same character or escape once more on a line, and what seems to be strings after one without an end.
func causes(diags hcl.Diagnostics) (out hcl.Diagnostics) {
	lines, seen, unclosed := map[int]bool{}, map[string]bool{}, ""
	for _, d := range diags {
		if d.Subject != nil && (d.Summary == badCharacter || d.Summary == badOperator) {
			lines[d.Subject.Start.Line] = true
		}
		if d.Summary == openPlaceholder {
			unclosed = d.Summary
		}
	}
	for _, d := range diags {
		switch d.Summary {
		case badCharacter, badOperator, badEscape:
			key := fmt.Sprint(d.Summary, d.Subject.Start.Line)
			if seen[key] {
				continue
			}
			seen[key] = true
		case openLine, openString, openPlaceholder:
			if unclosed != "" && (d.Summary != unclosed || seen[unclosed]) {
				continue
			}
			unclosed = d.Summary
			seen[unclosed] = true
		default:
			if d.Subject != nil && lines[d.Subject.Start.Line] {
				continue
			}
		}
		out = append(out, d)
	}
	return out
}

// reword says of a finding what the source shows beyond it, or nothing. It may move the position.
func (r *Report) reword(d *hcl.Diagnostic, at *hcl.Range) (w wording) {
	if at.Start.Byte > len(r.src) {
		return w
	}
	before, after := string(r.src[:at.Start.Byte]), string(r.src[at.Start.Byte:])
	switch d.Summary {
	case noItem:
		return otherFormat(before, after)
	case noValue:
		if strings.HasSuffix(before, "/") && strings.HasPrefix(after, "*") { // it is read as a division
			at.Start.Byte--
			at.Start.Column--
			return openComment
		}
	case noNewline, badOperator:
		return otherOperator(before, after)
	case badCharacter:
		return strayCharacter(after)
	case openString:
		return r.openHeredoc(at)
	}
	return w
}

var (
	numeral     = lazy.Regexp(`^(x[0-9a-fA-F]|o[0-7]|b[01]|_[0-9])`) // the rest of one of other languages
	colonAfter  = lazy.Regexp(`^[A-Za-z_][\w-]*:`)
	tomlHeading = lazy.Regexp(`^\[+[\w."-]+\]`)
	mergeMark   = lazy.Regexp(`^(<{7}|={7}|>{7})`)
)

var openComment = wording{"this comment has no end", "add */"}

// otherFormat recognizes what stands in place of NAME = VALUE.
func otherFormat(before, after string) wording {
	const form = "write NAME = VALUE or NAME { … }"
	switch {
	case strings.HasPrefix(after, "/*"):
		return openComment
	case mergeMark().MatchString(after):
		return wording{"this is a mark of an unfinished merge", "keep one version of the lines, and remove the marks"}
	case strings.HasPrefix(after, "{") && strings.TrimSpace(before) == "":
		return wording{"this is JSON, and the file has to be HCL",
			form + ", without braces around the whole; `toolhost mcp import FILE` converts the MCP servers of a JSON file"}
	case strings.HasPrefix(after, "---"), colonAfter().MatchString(after):
		return wording{"", form + ", with no colon: the file is HCL, not YAML"}
	case tomlHeading().MatchString(after):
		return wording{"", form + `, such as plugin "shell" { … }: the file is HCL, not TOML`}
	}
	return wording{}
}

// otherOperators are those of other languages, with what stands for them here.
var otherOperators = []struct{ text, hint string }{
	{"and ", "write && for and"},
	{"or ", "write || for or"},
	{"in ", "write contains(LIST, VALUE) for VALUE in LIST"},
	{"=~", `write matches("PATTERN", TEXT) to test with a pattern`},
	{"=", "write == to compare"},
	{"(", "a function stands before what it is about: startswith(TEXT, PREFIX), not TEXT.startsWith(PREFIX)"},
}

// otherOperator recognizes what stands after a complete value.
func otherOperator(before, after string) wording {
	if strings.HasPrefix(after, "~") && strings.HasSuffix(before, "=") {
		after = "=" + after
	}
	last, _ := utf8.DecodeLastRuneInString(before)
	first, _ := utf8.DecodeRuneInString(after)
	if unicode.IsDigit(last) && numeral().MatchString(after) {
		return wording{"", "write a number with decimal digits alone, such as 1000"}
	}
	if unicode.IsDigit(last) && unicode.IsLetter(first) {
		return wording{"", "a value with a unit needs quotes"}
	}
	if strings.HasSuffix(strings.TrimRight(before, " "), " not") {
		return wording{"", "write ! for not"}
	}
	for _, o := range otherOperators {
		if strings.HasPrefix(after, o.text) {
			return wording{"this is not an operator here", o.hint}
		}
	}
	return wording{}
}

// strayCharacter names a character that cannot be seen.
func strayCharacter(after string) wording {
	c, _ := utf8.DecodeRuneInString(after)
	switch {
	case unicode.IsSpace(c):
		return wording{fmt.Sprintf("invalid character: %U is not a plain space", c), "write a space or a new line instead"}
	case !unicode.IsPrint(c):
		return wording{fmt.Sprintf("invalid character: %U, which cannot be seen", c), "delete it"}
	case strings.ContainsRune("“”„‟«»‘’", c):
		return wording{"", `write " instead`}
	}
	return wording{}
}

// openHeredoc finds the beginning of a text of several lines that goes on to the end of the file.
func (r *Report) openHeredoc(at *hcl.Range) wording {
	tokens, _ := hclsyntax.LexConfig(r.src, r.Path, hcl.InitialPos)
	var open *hclsyntax.Token
	for i, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenOHeredoc:
			open = &tokens[i]
		case hclsyntax.TokenCHeredoc:
			open = nil
		}
	}
	if open == nil {
		return wording{}
	}
	*at = open.Range
	at.End = at.Start // the token has the line's end
	mark := strings.TrimSpace(string(open.Bytes))
	at.End.Byte += len(mark)
	return wording{"this text has no end", "add a line that holds " + Visible(strings.TrimLeft(mark, "<-")) + " alone"}
}
