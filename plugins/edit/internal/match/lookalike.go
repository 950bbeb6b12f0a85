package match

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/toolhost/toolhost/internal/lazy"
)

// latin are letters of other scripts that look like a Latin one.
var latin = func() map[rune]rune {
	other := []rune("аеорсухіѕјАВЕКМНОРСТХІЅЈαοΑΒΕΖΗΙΚΜΝΟΡΤΥΧ")
	out := map[rune]rune{}
	for i, r := range []rune("aeopcyxisjABEKMHOPCTXISJaoABEZHIKMNOPTYX") {
		out[other[i]] = r
	}
	return out
}()

// lookOf is what a reader sees of a line: without characters that do not print, with blanks, quotes, dashes and letters
// that look the same as one.
func lookOf(b []byte) string {
	return squeeze([]byte(strings.Map(func(r rune) rune {
		switch r = foldRune(r); {
		case latin[r] != 0:
			return latin[r]
		case unicode.IsSpace(r):
			return ' '
		case unicode.In(r, unicode.Variation_Selector, unicode.Cc, unicode.Cf):
			return -1
		}
		return r
	}, norm.NFKC.String(string(b)))))
}

// hiddenDifference says how a line of the file and one of old_string differ that look the same: the code points that
// each has where the other has others. It is "" for lines that look different, or differ only in blanks and tabs.
func hiddenDifference(file, old []byte) string {
	plain := func(b []byte) []byte {
		return bytes.Join(bytes.FieldsFunc(b, func(r rune) bool { return r < 0x80 && blankByte(byte(r)) }), []byte(" "))
	}
	if file, old = plain(file), plain(old); bytes.Equal(file, old) || !utf8.Valid(file) || !utf8.Valid(old) ||
		lookOf(file) != lookOf(old) {
		return ""
	}
	n := commonPrefix(file, old)
	file, old = file[n:], old[n:]
	n = commonSuffix(file, old)
	return fmt.Sprintf("has %s where old_string has %s", codePoints(file[:len(file)-n]), codePoints(old[:len(old)-n]))
}

// hiddenNames are the names of characters that do not print.
var hiddenNames = map[rune]string{' ': "a blank", '\f': "form feed", '\v': "vertical tab", '\u00a0': "no-break space",
	'\u00ad': "soft hyphen", '\u200b': "zero width space", '\u200c': "zero width non-joiner",
	'\u200d': "zero width joiner", '\u2028': "line separator", '\ufe0e': "variation selector",
	'\ufe0f': "variation selector", '\ufeff': "byte order mark"}

// codePoints names the first characters of a text.
func codePoints(b []byte) string {
	var out []string
	for _, r := range string(b) {
		name := fmt.Sprintf("%#U", r)
		if n := hiddenNames[r]; n != "" {
			name = fmt.Sprintf("%U (%s)", r, n)
		}
		if out = append(out, name); len(out) == 4 {
			break
		}
	}
	if len(out) == 0 {
		return "nothing"
	}
	return strings.Join(out, " ")
}

// plainOutside are languages whose programs have plain quotes, dashes and blanks outside of strings and comments.
var plainOutside = []*syntax{goLike, cLike, jsLike, rust, java, python, sql, css, scss, sass, lua, hs, hcl, toml}

// formsAlone returns new_string with plain signs and blanks outside of strings and comments, where it has others that
// old_string and the file do not have. If such a line is one of old_string otherwise, new_string was made of
// look-alikes throughout, and lines that old_string has stay as they are.
func (t *Text) formsAlone(r *reading, at Range) (fresh string, ok bool, refusal *Refusal) {
	foreign := func(c rune) bool { return c != foldRune(c) && !bytes.ContainsRune(t.data, c) }
	blank := func(c rune) bool { return foreign(c) && (foldRune(c) == ' ' || foldRune(c) < 0) }
	curly := func(c rune) bool { return foreign(c) && (foldRune(c) == '"' || foldRune(c) == '\'') }
	quotes := t.plainSigns(r, curly, func(l string) bool {
		return !strings.ContainsAny(l, `"'`) && utf8.RuneCountInString(keepOnly(l, curly)) > 1
	})
	fresh = t.plainSigns(r, blank, nil)
	if fresh == r.new && quotes == r.new && (t.ext == "po" || !t.prose()) && !bytes.ContainsFunc(r.old.data, curly) {
		fresh = quotedValue().ReplaceAllStringFunc(r.new, func(l string) string { return foldSome(l, curly) })
	}
	switch {
	case fresh == r.new && quotes != r.new && t.prose():
		return "", false, guard("new_string has curly quotes in lines that old_string has with plain ones.",
			"Write plain quotes. To change the quotes of a text, change nothing else.")
	case fresh == r.new && quotes != r.new:
		return quotes, true, nil
	case fresh != r.new:
		plain := *r
		plain.new = fresh
		if fresh, ok, refusal = t.formsAlone(&plain, at); !ok {
			fresh = plain.new
		}
		return fresh, true, refusal
	}
	if !slices.Contains(plainOutside, t.syntax) || !strings.ContainsFunc(r.new, foreign) || !utf8.ValidString(r.new) ||
		bytes.ContainsFunc(r.old.data, foreign) { // which plainForms looks at
		return "", false, nil
	}
	after := slices.Concat(t.data[:at.Start], []byte(r.new), t.data[at.End:])
	multi := func(q quote) bool { return q.multi }
	if t.syntax == jsLike && bytes.Contains(after, []byte("</")) ||
		!slices.ContainsFunc(t.syntax.quotes, multi) && textBlock().Match(after) {
		return "", false, nil // there may be text outside of what is known to be a string
	}
	var within []Range
	for token := range t.syntax.tokens(after) {
		if token.End > at.Start && token.Start < at.Start+len(r.new) {
			within = append(within, Range{token.Start - at.Start, token.End - at.Start})
		}
	}
	lines, known, start, mangled := strings.Split(r.new, "\n"), setOf(r.old.rightTrimmed()), 0, false
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = t.foldLine(l, start, within, foreign)
		mangled = mangled || out[i] != l && known[strings.TrimRight(foldSome(l, foreign), blanks)]
		start += len(l) + 1
	}
	for i, l := range lines {
		if all := foldSome(l, foreign); mangled && known[strings.TrimRight(all, blanks)] {
			out[i] = all
		} else if out[i] != l && (nestedQuote().MatchString(l) || t.syntax.open(out[i]) && !t.syntax.open(l)) {
			return "", false, guard(fmt.Sprintf("new_string has %s outside of a string in %s. With plain ones it is not clear "+
				"where the string ends.", codePoints([]byte(keepOnly(l, foreign))), quoteShort(l)), "Write plain quotes.")
		}
	}
	fresh = strings.Join(out, "\n")
	return fresh, fresh != r.new, nil
}

// plainSigns is new_string with the plain forms of odd signs, where lines that old_string has without these, and that
// are not all that changes, show that they are a mistake: two of them, or one that is sure, as is one that is like one
// of old_string outside of a text.
func (t *Text) plainSigns(r *reading, odd func(rune) bool, sure func(line string) bool) string {
	if !strings.ContainsFunc(r.new, odd) || bytes.ContainsFunc(r.old.data, odd) || !utf8.ValidString(r.new) {
		return r.new
	}
	old, plain, shown := r.old.rightTrimmed(), foldSome(r.new, odd), 0
	if squeeze([]byte(plain)) == squeeze(r.old.data) {
		return r.new
	}
	known, few := setOf(old), strings.Count(r.new, "\n")*len(old) <= maxPairs && !t.prose()
	for l := range strings.Lines(r.new) {
		s := strings.TrimRight(foldSome(l, odd), spaces)
		switch {
		case s == strings.TrimRight(l, spaces) || s == "":
		case known[s]:
			shown++
		case sure != nil && sure(l) && few && slices.ContainsFunc(old, func(o string) bool {
			return strings.ContainsAny(o, `"'`) && similarity(o, s) >= minSameLine
		}):
			shown += 2
		}
		if shown > 1 || shown > 0 && (sure == nil || sure(l)) {
			return plain
		}
	}
	return r.new
}

// textBlock matches the start of a string that goes over lines.
var textBlock = lazy.Regexp(`"""|'''|[R@]"|<<[-~]?['"]?[A-Z]|\[\w*\||(?m)^\s*\\\\`)

// quotedValue matches a line that sets a value, or writes one in a script of the shell, in curly quotes as a whole.
var quotedValue = lazy.Regexp(`(?m)^\s*(?:(?:export |local |readonly )?[\w.\[\]-]+\s*[:+?]?=\s*|` +
	`(?:echo|printf|msg\w+(?:\[\d\])?)\s+)(?:[“„][^“”„"\n]*[“”]|‘[^‘’'\n]*’)\s*;?$`)

// nestedQuote matches a string in curly quotes that has plain ones within.
var nestedQuote = lazy.Regexp(`[“„‟][^”]*"|‘[^’]*'`)

// foldSome replaces some runes by their plain forms.
func foldSome(s string, some func(rune) bool) string {
	return strings.Map(func(r rune) rune {
		if some(r) {
			return foldRune(r)
		}
		return r
	}, s)
}

// foldLine replaces those runes of a line, which starts at an offset, that are in none of some ranges, nor in a string,
// a comment or a regular expression when the line is read alone.
func (t *Text) foldLine(l string, start int, within []Range, some func(rune) bool) string {
	for r := range t.syntax.tokens([]byte(l)) {
		within = append(within, Range{start + r.Start, start + r.End})
	}
	var b strings.Builder
	for i, r := range l {
		pattern := r == '/' && t.syntax == jsLike
		char := strings.HasSuffix(l[:i], "'") && strings.HasPrefix(l[i+utf8.RuneLen(r):], "'")
		switch {
		case !some(r) && !pattern, char, slices.ContainsFunc(within, func(in Range) bool {
			return start+i >= in.Start && start+i < in.End && in.End > in.Start+1 // a sign alone starts nothing
		}):
			b.WriteRune(r)
		case pattern:
			return l
		case foldRune(r) >= 0:
			b.WriteRune(foldRune(r))
		}
	}
	return b.String()
}

// open reports whether a line has a string that does not end.
func (x *syntax) open(l string) bool {
	for r, comment := range x.tokens([]byte(l)) {
		if !comment && slices.ContainsFunc(x.quotes, func(q quote) bool { return l[r.Start:r.End] == q.open }) {
			return true
		}
	}
	return false
}
