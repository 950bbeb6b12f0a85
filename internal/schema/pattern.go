package schema

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/toolhost/toolhost/internal/lazy"
)

// pattern is a regular expression of the schema. RE2 matches in linear time, times the size of its program.
type pattern struct {
	text  string // as the author wrote it
	re    *regexp.Regexp
	ahead []lookahead // that stood at its start
	size  int         // instructions of all
}

// A lookahead is one that a pattern begins with, after its ^: what it asks of a text is as well asked on its own.
type lookahead struct {
	re      *regexp.Regexp
	refuses bool // (?!...)
}

func (p *pattern) matches(text []byte) bool {
	return p.re.Match(text) &&
		!slices.ContainsFunc(p.ahead, func(l lookahead) bool { return l.re.Match(text) == l.refuses })
}

// patternOf compiles a pattern. One that only another engine could run is left out and noted, and the result is nil: a
// tool whose author wrote for ECMA-262 is worth more than the check.
func (r *reader) patternOf(n *node, at, s string) (*pattern, error) {
	p, err := r.compilePattern(s)
	if err == nil {
		return p, nil
	}
	fault := fault(at, "pattern %s: %v", quote(s), err)
	if _, unsupported := err.(unsupportedError); !unsupported && !r.foreign { //nolint:errorlint // never wrapped
		return nil, fault
	}
	r.leaveOut(n, "", fault)
	return nil, nil
}

// unsupportedError says why a well-formed pattern cannot be used here.
type unsupportedError string

func (e unsupportedError) Error() string { return string(e) }

func (r *reader) compilePattern(s string) (*pattern, error) {
	if len(s) > maxPattern {
		return nil, unsupportedError(fmt.Sprintf("is %d bytes long; the limit is %d", len(s), maxPattern))
	}
	p := &pattern{text: s}
	var err error
	if p.re, err = p.compile(r, s); err == nil {
		return p, nil
	}
	rest, ahead := splitLookaheads(s)
	if len(ahead) == 0 {
		return nil, err
	}
	for _, group := range ahead {
		re, failed := p.compile(r, "^(?:"+group[len("(?="):])
		if failed != nil {
			return nil, err
		}
		p.ahead = append(p.ahead, lookahead{re, group[2] == '!'})
	}
	var failed error
	if p.re, failed = p.compile(r, rest); failed != nil {
		return nil, err
	}
	return p, nil
}

// compile compiles a part of a pattern, and counts its instructions.
func (p *pattern) compile(r *reader, s string) (*regexp.Regexp, error) {
	if r.programs > maxPrograms {
		return nil, unsupportedError(fmt.Sprintf("the patterns of this schema have more than %d instructions together",
			maxPrograms))
	}
	if flagI().MatchString(s) { // RE2 folds ranges one character after the other, which takes milliseconds
		r.programs += maxPrograms / 200 * len(wideRange().FindAllString(s, -1))
	}
	rewritten := fromECMA(s)
	tree, err := syntax.Parse(rewritten, syntax.Perl)
	if e, ok := errors.AsType[*syntax.Error](err); ok { // say it in the author's words
		_, was := syntax.Parse(s, syntax.Perl)
		if own, ok := errors.AsType[*syntax.Error](was); ok && own.Code == e.Code {
			err = own
		} else if e.Expr == rewritten {
			e.Expr = s
		}
	}
	if err != nil {
		return nil, parseError(s, err)
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, err
	}
	size := len(prog.Inst)
	r.programs += size // also of those that are left out: they cost as much up to here
	if p.size += size; p.size > maxProgram {
		return nil, unsupportedError(fmt.Sprintf("repeats too much (%d instructions; the limit is %d)", p.size, maxProgram))
	}
	return regexp.Compile(rewritten)
}

// splitLookaheads takes the lookaheads off the start of a pattern: ^(?=A)(?!B)C asks of a text what ^C and ^(?:A) ask,
// and that ^(?:B) does not match. Without any, or where they are not simply at the start, it returns none.
func splitLookaheads(s string) (rest string, ahead []string) {
	rest, anchored := strings.CutPrefix(s, "^")
	if !anchored {
		return s, nil
	}
	for strings.HasPrefix(rest, "(?=") || strings.HasPrefix(rest, "(?!") {
		end, _ := scanGroup(rest)
		if end < 0 {
			return s, nil
		}
		ahead, rest = append(ahead, rest[:end]), rest[end:]
	}
	_, alternatives := scanGroup(rest)
	if alternatives || rest != "" && strings.ContainsRune("*+?{", rune(rest[0])) {
		return s, nil
	}
	return "^" + rest, ahead
}

// scanGroup returns where the group ends that s begins with, -1 if it begins with none, and whether s has alternatives
// outside of groups.
func scanGroup(s string) (end int, alternatives bool) {
	end = -1
	depth, class := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 && end < 0 {
				end = i + 1
			}
		case c == '|' && depth == 0:
			alternatives = true
		}
	}
	return end, alternatives
}

// parseError distinguishes what ECMA-262 has and RE2 has not from what is malformed in both.
func parseError(s string, err error) error {
	e, ok := errors.AsType[*syntax.Error](err)
	if !ok {
		return err
	}
	plain := largeCounts().ReplaceAllStringFunc(s, func(count string) string {
		if validRepeat(count) {
			return "+"
		}
		return count
	})
	plain = fromECMA(backReference().ReplaceAllString(lookarounds.Replace(plain), "x"))
	if _, malformed := syntax.Parse(plain, syntax.Perl); malformed != nil {
		if m, ok := errors.AsType[*syntax.Error](malformed); !ok || m.Code != syntax.ErrInvalidRepeatSize {
			return err
		}
	}
	for _, group := range []string{"(?=", "(?!", "(?<=", "(?<!"} {
		if strings.HasPrefix(e.Expr, group) {
			return unsupportedError(group + "...) is not available in RE2")
		}
	}
	switch {
	case e.Code == syntax.ErrInvalidEscape && backReference().MatchString(s):
		return unsupportedError("the back reference " + e.Expr + " is not available in RE2")
	case e.Code == syntax.ErrInvalidRepeatSize && validRepeat(e.Expr):
		return unsupportedError("the repeat count " + e.Expr + " is more than 1000, the limit of RE2")
	}
	return err
}

var (
	lookarounds   = strings.NewReplacer("(?=", "(?:", "(?!", "(?:", "(?<=", "(?:", "(?<!", "(?:")
	backReference = lazy.Regexp(`\\(?:[1-9][0-9]*|k<\w+>)`)
	repeatCounts  = lazy.Regexp(`^\{(\d+)(?:,(\d*))?\}$`)
	// a surrogate pair is one character
	unicodeEscape = lazy.Regexp(`^\\u(?:(?i:d[89ab][0-9a-f]{2}\\ud[c-f])[0-9a-fA-F]{2}|[0-9a-fA-F]{4}|\{0*[0-9a-fA-F]{1,6}\})`)
	property      = lazy.Regexp(`^\\[pP]\{(?:sc|Script|gc|General_Category)=(\w+)\}`)
	flagI         = lazy.Regexp(`\(\?[msU]*i`)
	wideRange     = lazy.Regexp(`-(?:\\[ux]|[^\x00-\x7f])`)
	flagS         = lazy.Regexp(`\(\?[imU]*s`)
	// [[:alpha:]] has one bracket too many in ECMA-262: its author means a class of POSIX
	posixClass  = lazy.Regexp(`^(\[:\^?[a-z]+:\])(?:\[:\^?[a-z]+:\]|[^\[\]])*\]`)
	largeCounts = lazy.Regexp(`\{(?:\d{4,}(?:,\d*)?|\d+,\d{4,})\}`)
)

// validRepeat reports counts in rising order.
func validRepeat(s string) bool {
	m := repeatCounts().FindStringSubmatch(s)
	if m == nil || m[2] == "" {
		return m != nil
	}
	least, err1 := strconv.ParseUint(m[1], 10, 64)
	most, err2 := strconv.ParseUint(m[2], 10, 64)
	return err1 == nil && err2 == nil && least <= most
}

// loosen removes the keywords that refuse more when a schema in them is checked less: what is not checked may make a
// schema accept too much, never too little.
func (r *reader) loosen() {
	if len(r.unchecked) == 0 {
		return
	}
	around := map[*node][]*node{} // which schemas hold or refer to one
	var partial []*node
	for _, n := range r.index {
		n.eachSub(func(sub *node) { around[sub] = append(around[sub], n) })
		if n.partial {
			partial = append(partial, n)
		}
	}
	for len(partial) > 0 {
		n := partial[len(partial)-1]
		partial = partial[:len(partial)-1]
		for _, outer := range around[n] {
			if !outer.partial {
				outer.partial = true
				partial = append(partial, outer)
			}
		}
	}
	isPartial := func(n *node) bool { return n != nil && n.partial }
	for _, n := range r.index {
		if isPartial(n.not) {
			n.not = nil
		}
		if isPartial(n.cond) {
			n.cond, n.then, n.otherwise = nil, nil, nil
		}
		if slices.ContainsFunc(n.oneOf, isPartial) {
			if n.anyOf == nil {
				n.anyOf = n.oneOf
			}
			n.oneOf = nil
		}
		if isPartial(n.contains) {
			n.maxContains = nil
		}
		if n.partial { // a part that is not checked says nothing about the properties and items that it would have named
			n.unevaluatedProperties, n.unevaluatedItems = nil, nil
		}
	}
}

// What \s and \S are in ECMA-262, as the content of a class; those of RE2 know ASCII only, and no vertical tab. Behind
// \p{Z} a hyphen is one, as it is behind \s.
const (
	spaces    = `\x{9}-\x{d}\x{feff}\p{Z}`
	nonSpaces = `\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}` +
		`\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}`
)

// fromECMA rewrites what RE2 spells or reads differently.
func fromECMA(s string) string {
	var b strings.Builder
	dots, folds := flagS().MatchString(s), flagI().MatchString(s) // as authors write them who do not know of ECMA-262
	for class := false; s != ""; {
		was := s[:1]
		now := was
		switch {
		case s[0] == '\\' && len(s) > 1:
			if was, now = escapeFromECMA(s, class); folds && class && was == `\S` {
				now = was // whose ranges would be folded
			}
		case class && s[0] == '[':
			now = `\[`
			if m := posixClass().FindStringSubmatch(s); m != nil {
				was, now = m[1], m[1]
			}
		case class:
			class = s[0] != ']'
		case strings.HasPrefix(s, "[^]"):
			was, now = "[^]", `[\x{0}-\x{10ffff}]`
		case strings.HasPrefix(s, "[]"):
			was, now = "[]", `[^\x{0}-\x{10ffff}]`
		case s[0] == '[':
			class = true
		case s[0] == '.' && !dots:
			now = `[^\n\r\x{2028}\x{2029}]`
		}
		b.WriteString(now)
		s = s[len(was):]
	}
	return b.String()
}

// escapeFromECMA returns the escape that s begins with, and how RE2 writes it, which may be in a class.
func escapeFromECMA(s string, class bool) (was, now string) {
	switch s[1] {
	case 's':
		if !class {
			return s[:2], "[" + spaces + "]"
		}
		return s[:2], spaces
	case 'S':
		if !class {
			return s[:2], "[^" + spaces + "]"
		}
		return s[:2], nonSpaces
	case 'b':
		if class {
			return s[:2], `\x{8}`
		}
	case 'c':
		if len(s) > 2 && s[2]|0x20 >= 'a' && s[2]|0x20 <= 'z' {
			return s[:3], fmt.Sprintf(`\x{%02x}`, s[2]&0x1f)
		}
	case 'u':
		if was = unicodeEscape().FindString(s); was != "" {
			digits := strings.Split(strings.Trim(was[2:], "{}"), `\u`)
			r, _ := strconv.ParseUint(digits[0], 16, 32) // at most six digits
			if len(digits) == 2 {
				low, _ := strconv.ParseUint(digits[1], 16, 32)
				return was, fmt.Sprintf(`\x{%x}`, utf16.DecodeRune(rune(r), rune(low)))
			}
			return was, fmt.Sprintf(`\x{%x}`, r)
		}
	case 'p', 'P':
		if m := property().FindStringSubmatch(s); m != nil {
			return m[0], s[:2] + "{" + m[1] + "}"
		}
	}
	return s[:2], s[:2]
}
