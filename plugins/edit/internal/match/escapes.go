package match

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/toolhost/toolhost/internal/lazy"
)

// An escaping is a way to escape characters that models apply once too often: backslashes before the characters of a
// set, n, t, r and u among them, or the entities of HTML.
type escaping struct {
	set      string
	entities bool
	naive    bool // a backslash is not escaped by another one before it
}

// escapings come in the order in which they are tried.
var escapings = []escaping{
	{set: `nt"u`}, {set: `nt"'\/ru`}, {set: `"u`}, {set: `tu`}, {set: `ntu`}, {set: `n"`}, {set: `"\`}, {set: `t"\`},
	{set: `'`}, {set: `"'`}, {set: `\`}, {set: `u`}, {entities: true},
	{set: `"`, naive: true}, {set: `'`, naive: true}, {set: `t"`, naive: true},
	{set: "$`"}, {set: "_*[]()#~|{}!+-.<>`"}, // as in a shell, as in Markdown
}

var (
	backslashed = lazy.Regexp(`\\(u[0-9a-fA-F]{4}(?:\\u[dD][c-fC-F][0-9a-fA-F]{2})?|.)`)
	naively     = lazy.Regexp(`\\[^\\]`)
	entity      = lazy.Regexp(`&(?:lt|gt|quot|apos|amp|nbsp|#\d{1,6}|#[xX][0-9a-fA-F]{1,5});`)
	escaped     = map[byte]string{'n': "\n", 't': "\t", 'r': "\r"} // others stand for themselves
)

// escape is a backslash in a string with what it may be before, in any language.
var escape = lazy.Regexp(`\\[abefnrstvxuUN0-9\\'"/$#{}\[\]().*+?^|-]`)

// A line break that is escaped ends a line; one stands where in a program no string has any.
var (
	endBreak   = lazy.Regexp(`(?m)(?:^|[^\\])\\n\r?$`)
	strayBreak = lazy.Regexp(`\\n(?:  |\t|\\[nt]|[ \t]*[)\]}])`)
)

// quoting are the signs of which a line of code has no escaped one without a bare one.
const quoting = `"'<>&`

// maxEscaped is the length up to which old_string and new_string together are searched for escapes.
const maxEscaped = 64 << 10

// pattern matches the escapes of a text, those of other signs as well.
func (e escaping) pattern() *regexp.Regexp {
	switch {
	case e.entities:
		return entity()
	case e.naive:
		return naively()
	}
	return backslashed()
}

// plain returns the text that a unit stands for, and its sign in the set; a unit that is no escape of the set stands
// for itself.
func (e escaping) plain(unit string) (text, sign string) {
	switch {
	case len(unit) < 2:
		return unit, ""
	case e.entities:
		text = strings.ReplaceAll(html.UnescapeString(unit), "\u00a0", " ")
		if e.set != "" && !strings.Contains(e.set, text) {
			return unit, ""
		}
		return text, text
	case strings.IndexByte(e.set, unit[1]) < 0 || unit[1] == 'u' && len(unit) < 6:
		return unit, ""
	case unit[1] == 'u':
		code, _ := strconv.ParseUint(unit[2:6], 16, 32)
		runes := []uint16{uint16(code)}
		if len(unit) > 6 {
			low, _ := strconv.ParseUint(unit[8:12], 16, 32)
			runes = append(runes, uint16(low))
		}
		return string(utf16.Decode(runes)), "u"
	}
	return cmp.Or(escaped[unit[1]], unit[1:2]), unit[1:2]
}

func (e escaping) decode(s string) string {
	if !strings.ContainsAny(s, `\&`) { // as most lines, and it takes less time to see
		return s
	}
	return e.pattern().ReplaceAllStringFunc(s, func(u string) string {
		text, _ := e.plain(u)
		return text
	})
}

// signs are those of the set that a text has escapes for.
func (e escaping) signs(s string) (out string) {
	for _, u := range e.pattern().FindAllString(s, -1) {
		if _, sign := e.plain(u); sign != "" && !strings.Contains(out, sign) {
			out += sign
		}
	}
	return out
}

// bare reports whether a text has the character of a sign unescaped. A backslash is so where it escapes nothing of
// the set.
func (e escaping) bare(s, sign string) bool {
	want := sign
	if sign == "u" {
		return false
	} else if !e.entities {
		want = cmp.Or(escaped[sign[0]], sign)
	}
	other := func(u string) bool { return strings.IndexByte(e.set, u[1]) < 0 }
	if want == `\` && slices.ContainsFunc(e.pattern().FindAllString(s, -1), other) {
		return true
	}
	return strings.Contains(e.pattern().ReplaceAllString(s, ""), want)
}

// slashes reports whether a text has backslashes besides those that escape a sign of the set.
func (e escaping) slashes(s string) bool {
	return strings.Contains(e.pattern().ReplaceAllStringFunc(s, func(u string) string {
		if _, sign := e.plain(u); sign != "" {
			return ""
		}
		return u
	}), `\`)
}

// only is the escaping for some of its signs; without any it is none.
func (e escaping) only(signs string) escaping {
	if signs == "" {
		return escaping{}
	}
	return escaping{signs, e.entities, e.naive}
}

// startTabs decodes the tabs at the start of a line.
func startTabs(l string) string {
	n := 0
	for strings.HasPrefix(l[n:], `\t`) || strings.HasPrefix(l[n:], "\t") {
		n += 1 + strings.Count(l[n:n+1], `\`)
	}
	return strings.ReplaceAll(l[:n], `\t`, "\t") + l[n:]
}

// An unescaper decodes the lines of new_string the way those of old_string were decoded.
type unescaper struct {
	escaping
	plain     []string // the lines of old_string, decoded
	tabs      bool     // of tabs, only those at the start of lines were escaped
	mixed     bool     // some lines were not escaped
	unshown   bool     // old_string does not show whether backslashes are escaped as well
	bareSigns string   // that new_string has unescaped
}

// unescaped returns the readings of a change whose old_string is escaped once too often. Those come last whose
// new_string could be decoded in several ways: where one is found the change is refused.
func (t *Text) unescaped(c Change) (out []*reading) {
	if len(c.Old)+len(c.New) > maxEscaped {
		return nil
	}
	var unclear []*reading
	for _, e := range escapings {
		old, fresh, ok := t.unescape(e, c)
		if shell := e.set == "$`"; isBlankString(old) || shell && t.prose() && !strings.Contains(c.Old, `\$`) {
			continue
		}
		name := "escapes"
		if e.entities {
			name = "entities"
		}
		r := newReading(name, old, fresh, lastComment, t.syntax)
		if r.unclear = !ok; ok {
			out = addReading(out, r)
		} else {
			unclear = append(unclear, r)
		}
	}
	for _, r := range unclear {
		out = addReading(out, r)
	}
	return out
}

// addReading adds a reading unless there is one with the same old_string.
func addReading(all []*reading, r *reading) []*reading {
	if slices.ContainsFunc(all, func(known *reading) bool { return bytes.Equal(known.old.data, r.old.data) }) {
		return all
	}
	return append(all, r)
}

func (t *Text) unescape(e escaping, c Change) (old, fresh string, ok bool) {
	used := e.signs(c.Old)
	if used == "" {
		return "", "", false
	}
	signs := t.meant(e, c, used)
	m := &unescaper{escaping: e.only(without(signs, "nr"))}
	m.unshown = !e.entities && !strings.Contains(signs, `\`) && !e.slashes(c.Old)
	breaks := e.only(without("nr", without("nr", signs)))
	for l := range strings.SplitSeq(breaks.decode(c.Old), "\n") {
		plain := m.decode(l)
		kept := plain != l && t.hasLine(l) && !t.hasLine(plain)
		if started := startTabs(l); kept {
			plain = l
		} else if strings.Contains(signs, "t") && started != plain && started != l && t.hasLine(started) {
			plain, m.tabs = started, true
		}
		m.plain = append(m.plain, plain)
		for sign := range strings.SplitSeq(used, "") {
			m.mixed = m.mixed || kept || strings.ContainsAny(sign, quoting+`t\`) && m.bare(l, sign)
		}
	}
	old = strings.Join(m.plain, "\n")
	if old == c.Old {
		return "", "", false
	}
	if head, tail, ok := aroundChange(c, `\&`); ok {
		all := func(s string) string { return m.decode(breaks.decode(s)) }
		was := c.Old[len(head) : len(c.Old)-len(tail)]
		if all(head)+all(was)+all(tail) == old {
			return old, all(head) + c.New[len(head):len(c.New)-len(tail)] + all(tail), true
		}
	}
	fresh, ok = m.decodeNew(c.New, breaks, used)
	if e.entities && !entity().MatchString(old) && entity().MatchString(fresh) {
		return old, fresh, false // it may mean either
	}
	return old, fresh, ok && !t.garbled(fresh, c.New, m.plain) && t.suspicious(fresh, m.plain) == nil
}

// aroundChange is what both strings start and end with, if nothing that new_string has between has one of some signs.
func aroundChange(c Change, some string) (head, tail string, ok bool) {
	n := commonPrefix([]byte(c.Old), []byte(c.New))
	head = c.Old[:n]
	tail = c.Old[len(c.Old)-commonSuffix([]byte(c.Old[n:]), []byte(c.New[n:])):]
	return head, tail, !strings.ContainsAny(c.New[n:len(c.New)-len(tail)], some)
}

// garbled reports whether a line that comes is one that escapes were taken from and that no program has: it starts
// with a backslash, or a string in it has a tab, a backslash that escapes nothing, or no end. Then those escapes were
// meant. Where strings are not known no such line may have a backslash, or a tab behind its indentation.
func (t *Text) garbled(fresh, raw string, known []string) bool {
	have := setOf(append(strings.Split(raw, "\n"), known...))
	for l := range strings.SplitSeq(fresh, "\n") {
		text := strings.TrimLeft(l, blanks)
		switch {
		case have[l]:
		case !slices.Contains(unescapedOutside, t.syntax):
			if strings.ContainsAny(text, "\t\\") || strings.Count(text, `"`)%2 == 1 {
				return true
			}
		case t.syntax.open(text), strings.HasPrefix(text, `\`):
			return true
		default:
			for r, comment := range t.syntax.tokens([]byte(text)) {
				s := text[r.Start:r.End]
				plain := !comment && s[0] != '`' && !wordRune(lastRune([]byte(text[:r.Start])))
				if plain && r.End > r.Start+1 && strings.ContainsAny(escape().ReplaceAllString(s, ""), "\t\\") {
					return true
				}
			}
		}
	}
	return false
}

// meant are the signs that new_string has escapes for when old_string has used some: all of the set where those show
// that the text was escaped as a whole, else its quotes too, unless old_string has them bare.
func (t *Text) meant(e escaping, c Change, used string) string {
	more := e.set
	switch {
	case e.entities && (t.syntax == nil || t.syntax == markup):
		return used // others may belong to the text
	case e.entities:
		more = e.signs(c.New)
	case strings.Contains(used, "n"):
		used = e.withBackslash(e.set, c.Old)
	case strings.Contains(used, "t") && strings.ContainsAny(used, `"'`):
		used = e.withBackslash(used, c.Old)
	}
	signs := ""
	if !e.entities && !strings.ContainsAny(e.set, `nu\'"`) { // of a shell or of Markdown, of which only one has _
		signs, more = quoting+"_$`", e.signs(c.New)
		if strings.Contains(used, "_") {
			signs = e.set
		}
	}
	for sign := range strings.SplitSeq(more, "") {
		if strings.Contains(cmp.Or(signs, quoting), sign) && !strings.Contains(used, sign) && !e.bare(c.Old, sign) {
			used += sign
		}
	}
	return used
}

// withBackslash are some signs and the backslash, unless old_string shows how backslashes are written.
func (e escaping) withBackslash(signs, old string) string {
	if e.naive || strings.Contains(signs, `\`) || e.slashes(old) {
		return signs
	}
	return signs + `\`
}

// decodeNew decodes new_string. It is false when that could be done in several ways.
func (m *unescaper) decodeNew(s string, breaks escaping, used string) (string, bool) {
	if breaks.set != "" && !strings.Contains(strings.TrimRight(s, "\n"), "\n") {
		own := false // new_string has bare quotes where old_string has escaped ones: it is not escaped
		for sign := range strings.SplitSeq(without(used, "nrtu\\/"), "") {
			own = own || sign != "" && m.bare(s, sign)
		}
		if own && breaks.signs(s) != "" {
			return "", false
		}
		s = breaks.decode(s)
	} else if breaks.set != "" && endBreak().MatchString(s) {
		return "", false // its line breaks are there, and escaped as well
	}
	for sign := range strings.SplitSeq(m.set, "") {
		if m.bare(s, sign) {
			m.bareSigns += sign
		}
	}
	m.unshown = m.unshown && !(escaping{set: m.set + `\`}).bare(s, `\`)
	known := map[string]bool{} // lines of old_string, without blanks at their ends
	for _, l := range m.plain {
		known[strings.TrimRight(l, blanks)] = true
	}
	lines := strings.Split(s, "\n")
	for _, l := range lines {
		if known[strings.TrimRight(l, blanks)] {
			m.bareSigns += without(m.signs(l), quoting) // a line that both have is not escaped
		}
	}
	for n, l := range lines {
		var ok bool
		if lines[n], ok = anyDecoded(l, known); ok {
			continue
		}
		if lines[n], ok = m.decodeLine(l); !ok {
			return "", false
		}
	}
	return strings.Join(lines, "\n"), true
}

// anyDecoded returns a line as it stands, or decoded in whatever way, if it is one of some then.
func anyDecoded(l string, known map[string]bool) (line string, ok bool) {
	if known[strings.TrimRight(l, blanks)] || !strings.ContainsAny(l, `\&`) {
		return l, known[strings.TrimRight(l, blanks)]
	}
	all := []string{startTabs(l)}
	for _, e := range escapings {
		all = append(all, e.decode(l))
	}
	i := slices.IndexFunc(all, func(d string) bool { return !isBlankString(d) && known[strings.TrimRight(d, blanks)] })
	if i < 0 {
		return "", false
	}
	return all[i], true
}

// decodeLine decodes a line of new_string that is none of old_string. A quote is escaped once too often when its line
// has no bare one; a tab or a backslash when new_string has none.
func (m *unescaper) decodeLine(l string) (string, bool) {
	if m.tabs {
		l = startTabs(l)
	}
	if m.unshown && strings.Contains(l, `\\`) {
		return "", false
	}
	use := ""
	for sign := range strings.SplitSeq(m.signs(l), "") {
		switch {
		case strings.Contains(quoting, sign):
			if !m.bare(l, sign) {
				use += sign
			} else if !m.entities && !m.naive && strings.Contains(l, `\\`+sign) {
				return "", false // it is bare only if the backslash before it is escaped
			}
		case sign == "u" || m.entities:
			use += sign
		case strings.Contains(m.bareSigns, sign) && !strings.ContainsAny(sign, `nrtu\/`):
			return "", false
		case strings.Contains(m.bareSigns, sign):
			l = startTabs(l) // where it can be nothing else
			if sign == "t" && m.mixed && !m.tabs && strings.Contains(l, `\t`) {
				return "", false
			}
		case sign == "t" && m.tabs:
		case m.mixed:
			return "", false
		default:
			use += sign
		}
	}
	return m.only(use).decode(l), true
}

// hasLine reports whether a line of the file is the same but for blanks.
func (t *Text) hasLine(l string) bool {
	if len(t.data) > maxSimilarFile {
		return false
	}
	return t.count(squeeze([]byte(l))) > 0
}

// count is the number of lines of the file that have a key.
func (t *Text) count(key string) int {
	if t.lineSet == nil {
		t.lineSet = t.counts(0, len(t.lines))
	}
	return t.lineSet[key]
}

// escapesAlone returns new_string without escapes that it has and old_string has not. Lines that old_string has as
// well say that they are not meant, and line breaks where no program has any.
func (t *Text) escapesAlone(r *reading, place Range) (fresh string, ok bool, refusal *Refusal) {
	if !strings.ContainsAny(r.new, `\&`) || len(r.new)+len(r.old.data) > maxEscaped {
		return "", false, nil
	}
	old := strings.Split(strings.TrimSuffix(string(r.old.data), "\n"), "\n")
	var best *unescaper
	var text string
	most := 0
	single := !strings.Contains(strings.TrimSuffix(r.new, "\n"), "\n") &&
		(t.wholeLines(place) || len(r.old.filledLines(3)) > 2)
	stray := single && t.straysBreak(r, place)
	for _, e := range escapings {
		if m, s, n := t.evidence(e, r.new, old, single, stray); n > most {
			best, text, most = m, s, n
		}
	}
	if best == nil {
		if t.losesSigns(r.new, old, place) {
			return "", false, escapedInPart()
		}
		return "", false, t.suspicious(r.new, old)
	}
	fresh, ok = best.decodeNew(text, escaping{}, "")
	switch {
	case text == r.new && strings.TrimSpace(fresh) == strings.TrimSpace(string(r.old.data)):
		return "", false, nil // to escape is the change
	case t.prose() && !best.entities && strings.ContainsAny(best.set, "_*[]()#~|{}!+-.<>`"):
		return "", false, guard("new_string has backslashes before signs that old_string has without them, and changes "+
			"something else, too. It is not clear whether they are meant.", "Give these signs as the file has them. To escape "+
			"them, do that in an edit of its own, which changes nothing else.")
	case !ok || best.wraps(text) || t.garbled(fresh, r.new, old):
		return "", false, escapedInPart()
	}
	return fresh, true, nil
}

// unclearEscapes refuses a change whose old_string has escapes once too often, when it is unclear which of those of
// new_string are meant.
func (t *Text) unclearEscapes(at Range) *Refusal {
	r := guard(fmt.Sprintf("old_string is escaped once too often; without that it fits %s. "+
		"It is not clear which escapes of new_string are meant.", t.where(at)),
		"Give quotes, tabs, backslashes, <, > and & as the file shall have them, in both strings.")
	t.show(r, at)
	return r
}

func escapedInPart() *Refusal {
	return guard("new_string has escapes that old_string and the file do not have, such as \\\" for a quote. "+
		"They would be written into the file.", "Give quotes, tabs and line breaks as they are. If the escapes are meant, "+
		"include a line in old_string and new_string that has quotes and keeps them.")
}

// evidence counts the lines of new_string that are lines of old_string once they are decoded, or nearly so where
// nothing can be escaped. Single says that it is one line in place of lines, stray that it has line breaks that are
// escaped for certain.
func (t *Text) evidence(e escaping, s string, old []string, single, stray bool) (m *unescaper, text string, n int) {
	signs := e.signs(s)
	if signs == "" {
		return nil, s, 0
	}
	known := setOf(old)
	few := strings.Count(s, "\n")*len(old) <= maxPairs // to be compared with each other
	if strings.Contains(signs, "n") && single {
		if stray {
			n++
		}
		all := strings.Contains(signs, `\`) && json.Valid([]byte(`"`+strings.TrimSuffix(s, "\n")+`"`))
		s = e.only("nr").decode(s)
		for l := range strings.SplitSeq(s, "\n") {
			if alnums([]byte(l)) > 0 && known[l] {
				n++
			}
		}
		if n > 0 && all { // backslashes are escaped as well
			n++
		}
	}
	m = &unescaper{escaping: e.only(without(signs, "nr")), plain: old}
	for l := range strings.SplitSeq(s, "\n") {
		d := m.decode(l)
		if known[l] {
			m.mixed = m.mixed || m.anyBare(l)
			continue
		}
		if alnums([]byte(d)) > 0 && known[d] {
			n += 2
			continue
		}
		if !few || d == l {
			continue
		}
		tab := strings.HasPrefix(strings.TrimLeft(l, blanks), `\t`)
		slash, stray := strings.HasSuffix(l, `\\`), t.strayEscape(l)
		if (tab || slash || stray) && slices.ContainsFunc(old, func(o string) bool {
			return (tab && leading([]byte(o)) == leading([]byte(d)) ||
				slash && strings.HasSuffix(o, `\`) && !strings.HasSuffix(o, `\\`) ||
				stray && m.anyBare(o)) && similarity(o, d) >= minSameLine
		}) {
			n++
		}
	}
	return m, s, n
}

// losesSigns reports whether lines of new_string have escapes only where lines of old_string that they change, in
// something else, too, have bare quotes or tags, or entities in a language and a file that have none. A line that gets
// backslashes as well is escaped on purpose, and so may a part of a line be, or lines in a string, beside others with
// bare signs, or of a page that has escaped tags.
func (t *Text) losesSigns(fresh string, old []string, place Range) bool {
	if strings.Count(fresh, "\n")*len(old) > maxPairs {
		return false
	}
	for _, e := range []escaping{{set: "<>&", entities: true}, {set: `"`}} {
		m, program := &unescaper{escaping: e}, e.entities && slices.Contains(noEntities, t.syntax)
		none := program && !m.anyBare(fresh) && !entity().Match(t.data)
		meant := m.anyBare(fresh) || !t.wholeLines(place) || e.entities && bytes.Contains(t.data, []byte("&lt;")) ||
			t.syntax != nil && t.syntax.within(t.data, place.Start)
		for l := range strings.SplitSeq(fresh, "\n") {
			d := m.decode(l)
			if d == l || !none && (program || meant) {
				continue
			}
			if slices.ContainsFunc(old, func(o string) bool {
				more := squeeze([]byte(o)) != squeeze([]byte(d)) &&
					(!e.entities || !t.prose() && startTag().MatchString(o))
				return m.anyBare(o) && strings.Count(o, `\`) == strings.Count(d, `\`) && similarity(o, d) >= minSameLine &&
					(none || more)
			}) {
				return true
			}
		}
	}
	return false
}

// wholeLines reports whether a place is some lines, but for blanks at their ends.
func (t *Text) wholeLines(place Range) bool {
	last := t.lines[t.lineAt(max(place.Start, place.End-1))]
	return isBlank(t.data[t.lines[t.lineAt(place.Start)].start:place.Start]) &&
		isBlank(t.data[min(place.End, last.end):last.end])
}

// straysBreak reports whether new_string, a single line, has an escaped line break where none can be meant: at an end
// where old_string has a line break, or outside of strings and comments, before an indentation, a bracket or another.
func (t *Text) straysBreak(r *reading, place Range) bool {
	old := string(r.old.data)
	lost := strings.HasSuffix(old, "\n") && !strings.HasSuffix(r.new, "\n")
	if lost && endBreak().MatchString(r.new) && !endBreak().Match(t.data) ||
		strings.HasPrefix(r.new, `\n`) && strings.HasPrefix(old, "\n") || len(r.old.filledLines(2)) > 1 && !t.prose() &&
		len(strayBreak().FindAllString(outside(r.new), 2)) > 1 && !strayBreak().Match(t.data) {
		return true
	}
	if strings.Contains(old, `\n`) || // which the file has
		!slices.Contains(unescapedOutside, t.syntax) || slices.Contains(bareText, t.syntax) ||
		t.syntax.within(t.data, t.lines[t.lineAt(place.Start)].start) {
		return false
	}
	code := r.new
	for _, mark := range append([]string{"/", "#"}, t.syntax.line...) { // comments, and regular expressions
		code, _, _ = strings.Cut(code, mark)
	}
	return strayBreak().MatchString(outside(code))
}

// anyBare reports whether a line has an unescaped quote of the set.
func (m *unescaper) anyBare(l string) bool {
	for sign := range strings.SplitSeq(m.set, "") {
		if strings.Contains(quoting, sign) && m.bare(l, sign) {
			return true
		}
	}
	return false
}

// wraps reports whether all lines kept of old_string are escaped and new ones have bare quotes: a text may have been
// put into a string.
func (m *unescaper) wraps(s string) bool {
	added, known := false, setOf(m.plain)
	for l := range strings.SplitSeq(s, "\n") {
		if m.anyBare(l) && known[l] {
			return false
		}
		added = added || m.anyBare(l)
	}
	return added
}

// suspicious refuses new lines with escapes outside of strings, in languages that have none there, if the file has
// nothing like it either.
func (t *Text) suspicious(fresh string, old []string) *Refusal {
	known := setOf(old)
	stray := func(l string) bool { return !known[l] && t.strayEscape(l) }
	usual := func(f line) bool { return t.strayEscape(string(t.data[f.start:f.end])) }
	if slices.ContainsFunc(strings.Split(fresh, "\n"), stray) && !slices.ContainsFunc(t.lines, usual) {
		return escapedInPart()
	}
	return nil
}

// In a program of these languages no quote is escaped outside of a string, in one of those no entity is there. Some
// have texts or functions without quotes.
var (
	bareText         = []*syntax{yaml, php, hs}
	unescapedOutside = []*syntax{goLike, cLike, jsLike, rust, java, python, sql, css, scss, sass, lua, hs, php, hcl, toml,
		yaml}
	noEntities = []*syntax{goLike, cLike, rust, java, python, sql, css, scss, sass, lua, hs, hcl, toml, yaml, shell,
		hashed}
)

// operator is an operator of PHP or JavaScript, which may have texts of a page, as no such text has it.
var operator = lazy.Regexp(`[\w)\]]-&gt;\w|\) ?=&gt;|&amp;&amp;`)

// strayEscape reports whether a line has an escaped quote, or an entity, outside of its strings.
func (t *Text) strayEscape(l string) bool {
	quotes := slices.Contains(unescapedOutside, t.syntax) && !strings.Contains(l, "/")
	entities, pattern := slices.Contains(noEntities, t.syntax), entity
	if t.syntax == php || t.syntax == jsLike {
		entities, pattern = !strings.ContainsAny(l, "<>"), operator
	}
	if (!quotes || !strings.Contains(l, `\"`)) && (!entities || !strings.Contains(l, "&")) {
		return false
	}
	rest := outside(l)
	return quotes && strings.Contains(rest, `\"`) || entities && pattern().MatchString(rest)
}

// outside is what a line has outside of its strings.
func outside(l string) string {
	var rest []byte
	for i := 0; i < len(l); i++ {
		switch l[i] {
		case '\\':
			rest = append(rest, l[i:min(i+2, len(l))]...)
			i++
			continue
		case '"', '\'', '`':
			n := quote{open: l[i : i+1], end: l[i : i+1], escapes: true}.length([]byte(l[i:]))
			if n == 1 {
				return string(rest) // what follows may be in a string
			}
			i += n - 1
			continue
		}
		rest = append(rest, l[i])
	}
	return string(rest)
}
