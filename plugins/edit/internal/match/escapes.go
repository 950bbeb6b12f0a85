package match

import (
	"html"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// An escaping is a way of writing characters with others that models use one time too often: backslashes before the
// characters of a set, n, t, r and u among them, or the entities of HTML.
type escaping struct {
	set      string
	entities bool
	naive    bool // a backslash before another one is none that escapes it
}

// escapings come in the order in which they are tried.
var escapings = []escaping{
	{set: `nt"u`}, {set: `nt"'\/ru`}, {set: `"u`}, {set: `tu`}, {set: `ntu`}, {set: `n"`}, {set: `"\`}, {set: `t"\`}, {set: `'`}, {set: `"'`}, {set: `\`}, {set: `u`}, {entities: true},
	{set: `"`, naive: true}, {set: `'`, naive: true}, {set: `t"`, naive: true},
}

var (
	backslashed = regexp.MustCompile(`\\(u[0-9a-fA-F]{4}(?:\\u[dD][c-fC-F][0-9a-fA-F]{2})?|.)`)
	naively     = regexp.MustCompile(`\\[^\\]`)
	entity      = regexp.MustCompile(`&(?:lt|gt|quot|apos|amp|nbsp|#\d{1,6}|#[xX][0-9a-fA-F]{1,5});`)
	escaped     = map[byte]string{'n': "\n", 't': "\t", 'r': "\r", '"': `"`, '\'': "'", '\\': `\`, '/': "/"}
)

func (e escaping) name() string {
	if e.entities {
		return "entities"
	}
	return "escapes"
}

// form finds the escapes of a text, those of other signs as well.
func (e escaping) form() *regexp.Regexp {
	switch {
	case e.entities:
		return entity
	case e.naive:
		return naively
	}
	return backslashed
}

// units cuts a text into escapes and single bytes.
func (e escaping) units(s string) (out []string) {
	at := 0
	for _, x := range append(e.form().FindAllStringIndex(s, -1), []int{len(s), len(s)}) {
		for ; at < x[0]; at++ {
			out = append(out, s[at:at+1])
		}
		if x[0] < x[1] {
			out = append(out, s[x[0]:x[1]])
			at = x[1]
		}
	}
	return out
}

// plain is what a unit stands for, and the sign of the set that says so; it is itself when it is no escape of the set.
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
	case strings.IndexByte(e.set, unit[1]) < 0:
		return unit, ""
	case unit[1] == 'u' && len(unit) < 6:
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
	return escaped[unit[1]], unit[1:2]
}

func (e escaping) decode(s string) string {
	return e.form().ReplaceAllStringFunc(s, func(u string) string {
		text, _ := e.plain(u)
		return text
	})
}

// signs are those of the set that a text has escapes for.
func (e escaping) signs(s string) string {
	var out string
	for _, u := range e.form().FindAllString(s, -1) {
		if _, sign := e.plain(u); sign != "" && !strings.Contains(out, sign) {
			out += sign
		}
	}
	return out
}

// bare says that a text has a character as it is that the escaping has a sign for. A backslash is so where it escapes nothing
// of the set.
func (e escaping) bare(s, sign string) bool {
	want := sign
	if !e.entities {
		want = escaped[sign[0]]
	}
	if want == "" {
		return false
	}
	if want == `\` && slices.ContainsFunc(e.form().FindAllString(s, -1), func(u string) bool { return strings.IndexByte(e.set, u[1]) < 0 }) {
		return true
	}
	return strings.Contains(e.form().ReplaceAllString(s, ""), want)
}

// only is the escaping for some of its signs; without any it is none.
func (e escaping) only(signs string) escaping {
	if signs == "" {
		return escaping{}
	}
	return escaping{signs, e.entities, e.naive}
}

func without(signs, some string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(some, r) {
			return -1
		}
		return r
	}, signs)
}

// quoting are the signs of which a line of code has no escaped one without a bare one.
const quoting = `"'<>&`

// An unescaper reads the lines of new_string the way those of old_string were read.
type unescaper struct {
	escaping
	raw, plain []string // the lines of old_string, as they were and as they were read
	kept       []bool   // lines whose escapes are those of the file
	tabs       bool     // of tabs, only those at the start of lines were escaped
	mixed      bool     // some lines were not escaped
	bareSigns  string   // that new_string has as they are
}

// maxEscaped is how long old_string and new_string together may be to be looked at for escapes.
const maxEscaped = 256 << 10

// unescaped gives the readings of a change whose old_string is escaped once too often.
func (t *Text) unescaped(c Change) (out []*reading) {
	if len(c.Old)+len(c.New) > maxEscaped {
		return nil
	}
	for _, e := range escapings {
		old, fresh, ok := t.unescape(e, c)
		if ok && strings.TrimSpace(old) != "" && !slices.ContainsFunc(out, func(r *reading) bool { return string(r.old.data) == old }) {
			out = append(out, newReading(e.name(), old, fresh, 6, t.syntax))
		}
	}
	return out
}

func (t *Text) unescape(e escaping, c Change) (old, fresh string, ok bool) {
	signs := e.signs(c.Old)
	if signs == "" {
		return "", "", false
	}
	if strings.Contains(signs, "n") {
		signs = e.set // such a text is escaped all over
	}
	m := &unescaper{escaping: e.only(without(signs, "nr"))}
	breaks := e.only(without("nr", without("nr", signs)))
	m.raw = strings.Split(breaks.decode(c.Old), "\n")
	for _, l := range m.raw {
		plain := m.decode(l)
		kept := plain != l && t.hasLine(l) && !t.hasLine(plain)
		if started := startTabs(l); kept {
			plain = l
		} else if strings.Contains(signs, "t") && started != plain && started != l && t.hasLine(started) {
			plain, m.tabs = started, true
		}
		m.plain, m.kept = append(m.plain, plain), append(m.kept, kept)
		for _, sign := range strings.Split(e.signs(c.Old), "") {
			m.mixed = m.mixed || kept || strings.ContainsAny(sign, quoting+`t\`) && m.bare(l, sign)
		}
	}
	old = strings.Join(m.plain, "\n")
	if old == c.Old {
		return "", "", false
	}
	fresh, ok = m.fresh(c.New, breaks, e.signs(c.Old))
	if ok && e.entities && !entity.MatchString(old) && entity.MatchString(fresh) {
		return "", "", false // it may mean either
	}
	return old, fresh, ok && t.suspicious(fresh, m.plain) == nil
}

// fresh reads new_string. It is false when that could be read in several ways.
func (m *unescaper) fresh(s string, breaks escaping, used string) (string, bool) {
	if breaks.set != "" && !strings.Contains(strings.TrimSuffix(s, "\n"), "\n") {
		own := false // new_string has quotes as they are where old_string has escaped ones: it is not escaped
		for _, sign := range strings.Split(without(used, "nrtu\\/"), "") {
			own = own || sign != "" && m.bare(s, sign)
		}
		if !own {
			s = breaks.decode(s)
		}
	}
	for _, sign := range strings.Split(m.set, "") {
		if m.bare(s, sign) {
			m.bareSigns += sign
		}
	}
	lines := strings.Split(s, "\n")
	out := make([]string, len(lines))
	x, y := make([]string, len(m.plain)), make([]string, len(lines))
	known := map[string]bool{}
	for i, l := range m.plain {
		x[i] = strings.TrimRight(l, " \t")
		known[x[i]] = true
	}
	for j, l := range lines {
		y[j] = strings.TrimRight(l, " \t")
		if d, ok := anyDecoded(l, known); ok {
			y[j] = d
		}
	}
	for j, l := range lines {
		if y[j] == strings.TrimRight(l, " \t") && known[y[j]] {
			m.bareSigns += without(m.signs(l), quoting) // a line that both have is not escaped
		}
	}
	o, n := 0, 0
	for _, h := range append(diffLines(x, y), hunk{len(x), len(x), len(y), len(y)}) {
		for ; o < h.a; o, n = o+1, n+1 {
			out[n] = m.plain[o]
		}
		for ; n < h.nb; n++ {
			var ok bool
			if out[n], ok = m.line(lines[n], m.partner(h, n, lines[n])); !ok {
				return "", false
			}
		}
		o = h.b
	}
	return strings.Join(out, "\n"), true
}

// anyDecoded gives the line of some that another one is, in whatever way that is escaped.
func anyDecoded(l string, lines map[string]bool) (string, bool) {
	if lines[strings.TrimRight(l, " \t")] || !strings.ContainsAny(l, `\&`) {
		return "", false
	}
	for _, e := range slices.Concat(escapings, []escaping{{}}) {
		d := startTabs(l)
		if e.set != "" || e.entities {
			d = e.decode(l)
		}
		if d = strings.TrimRight(d, " \t"); d != "" && lines[d] {
			return d, true
		}
	}
	return "", false
}

// partner is the old line that new line n of a hunk was made of, or -1.
func (m *unescaper) partner(h hunk, n int, l string) int {
	if h.b-h.a == h.nb-h.na {
		return h.a + n - h.na
	}
	best, most := -1, 0.5
	if (h.b-h.a)*(h.nb-h.na) > maxPairs {
		return best
	}
	for o := h.a; o < h.b; o++ {
		if s := similarity(m.plain[o], m.decode(l)); s > most {
			best, most = o, s
		}
	}
	return best
}

// line reads a line of new_string that was made of old line o, or of none.
func (m *unescaper) line(l string, o int) (string, bool) {
	if m.tabs {
		l = startTabs(l)
	}
	if m.signs(l) == "" || o >= 0 && m.kept[o] {
		return l, true
	}
	if o < 0 || m.raw[o] == m.plain[o] {
		return m.own(l, l)
	}
	x, y := m.units(m.raw[o]), m.units(l)
	head := 0
	for head < min(len(x), len(y)) && x[head] == y[head] {
		head++
	}
	tail := 0
	for tail < min(len(x), len(y))-head && x[len(x)-1-tail] == y[len(y)-1-tail] {
		tail++
	}
	middle, ok := m.own(strings.Join(y[head:len(y)-tail], ""), l)
	like := m.escaping
	if strings.Contains(m.bareSigns, `\`) {
		like = m.only(without(m.set, `\`)) // new_string has backslashes as they are
		if m.mixed && strings.Contains(m.signs(l), `\`) {
			return "", false
		}
	}
	return like.decode(strings.Join(y[:head], "")) + middle + like.decode(strings.Join(y[len(y)-tail:], "")), ok
}

// own reads a part of a line for which old_string gives no example. A quote is escaped once too often when its line has none
// that is not; a tab or a backslash when new_string has none.
func (m *unescaper) own(part, l string) (string, bool) {
	use := ""
	for _, sign := range strings.Split(m.signs(part), "") {
		switch {
		case sign == "":
		case strings.Contains(quoting, sign):
			if m.bare(l, sign) {
				if m.mixed && m.signs(l) != m.signs(part) {
					return "", false
				}
				continue
			}
			use += sign
		case sign == "u" || m.entities:
			use += sign
		case strings.Contains(m.bareSigns, sign):
			if part == l {
				part = startTabs(part) // where it can be nothing else
			}
			if sign == "t" && m.mixed && !m.tabs && strings.Contains(part, `\t`) {
				return "", false
			}
		case sign == "t" && m.tabs:
		case m.mixed:
			return "", false
		default:
			use += sign
		}
	}
	return m.only(use).decode(part), true
}

// startTabs makes tabs of the escaped ones at the start of a line.
func startTabs(l string) string {
	n := 0
	for strings.HasPrefix(l[n:], `\t`) || strings.HasPrefix(l[n:], "\t") {
		n += 1 + strings.Count(l[n:n+1], `\`)
	}
	return strings.ReplaceAll(l[:n], `\t`, "\t") + l[n:]
}

// hasLine says whether a line of the file says the same.
func (t *Text) hasLine(l string) bool {
	if len(t.data) > maxSimilarFile {
		return false
	}
	if t.lineSet == nil {
		t.lineSet = map[string]bool{}
		for i := range t.lines {
			t.lineSet[squeeze(t.text(i))] = true
		}
	}
	return t.lineSet[squeeze([]byte(l))]
}
