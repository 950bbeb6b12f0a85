package match

import (
	"regexp"
	"slices"
	"strings"
)

// alone takes from new_string what old_string has not: line numbers, and escapes. Where it cannot be told whether they are
// meant the change is refused. The place is that of old_string.
func (t *Text) alone(c Change, r *reading, place Range) (*reading, *Refusal) {
	at := t.lineAt(place.Start)
	if c.Strictness == Exact || r.name != "" {
		return r, nil
	}
	if fresh, ok, refusal := t.numbersAlone(r, at); ok || refusal != nil {
		return r.with(fresh, "new_string had line numbers at the start of its lines, which old_string and the file do not have; they were left out."), refusal
	}
	last := t.lines[t.lineAt(max(place.Start, place.End-1))]
	whole := isBlankLine(t.data[t.lines[at].start:place.Start]) && (place.End >= last.end || isBlankLine(t.data[place.End:last.end]))
	if fresh, ok, refusal := t.escapesAlone(r, whole); ok || refusal != nil {
		return r.with(fresh, "new_string was escaped once too often, and old_string was not: give quotes, tabs and line breaks as they are."), refusal
	}
	return r, nil
}

// escapesAlone gives new_string without escapes that it has and old_string has not. Lines that old_string has as well tell
// that they are not meant.
func (t *Text) escapesAlone(r *reading, whole bool) (fresh string, ok bool, refusal *Refusal) {
	if !strings.ContainsAny(r.new, `\&`) || len(r.new)+len(r.old.data) > maxEscaped {
		return "", false, nil
	}
	old := strings.Split(strings.TrimSuffix(string(r.old.data), "\n"), "\n")
	var best *unescaper
	var text string
	most := 0
	for _, e := range escapings {
		if m, s, n := t.likely(e, r.new, old, whole); n > most {
			best, text, most = m, s, n
		}
	}
	if best == nil {
		return "", false, t.suspicious(r.new, old)
	}
	fresh, ok = best.fresh(text, escaping{}, "")
	switch {
	case strings.TrimSuffix(fresh, "\n") == strings.Join(old, "\n"):
		return "", false, nil // to escape is the change
	case !ok || best.wraps(text):
		return "", false, escapedInPart()
	}
	return fresh, true, nil
}

func escapedInPart() *Refusal {
	return &Refusal{Kind: Guard, Message: "new_string has escapes that old_string and the file do not have, such as \\\" for a quote. They would be written into the file.",
		Hint: "Give quotes, tabs and line breaks as they are. If the escapes are meant, include a line in old_string and new_string that has quotes and keeps them."}
}

// likely weighs the lines of new_string that are lines of old_string once they are not escaped, or nearly so where nothing
// can be escaped.
func (t *Text) likely(e escaping, s string, old []string, whole bool) (m *unescaper, text string, n int) {
	signs := e.signs(s)
	if signs == "" {
		return nil, s, 0
	}
	known := lineSet(old)
	few := strings.Count(s, "\n")*len(old) <= maxPairs // to be compared with each other
	if strings.Contains(signs, "n") && whole && !strings.Contains(strings.TrimSuffix(s, "\n"), "\n") {
		s = e.only("nr").decode(s)
		for _, l := range strings.Split(s, "\n") {
			if alnums([]byte(l)) > 0 && known[l] {
				n++
			}
		}
	}
	m = &unescaper{escaping: e.only(without(signs, "nr")), raw: old, plain: old, kept: make([]bool, len(old))}
	for _, l := range strings.Split(s, "\n") {
		d := m.decode(l)
		switch {
		case known[l]:
			m.mixed = m.mixed || m.anyBare(l)
		case alnums([]byte(d)) > 0 && known[d]:
			n += 2
		case few && d != l && strings.HasPrefix(strings.TrimLeft(l, " \t"), `\t`) && slices.ContainsFunc(old, func(o string) bool {
			return leading([]byte(o)) == leading([]byte(d)) && similarity(o, d) >= minSameLine
		}):
			n++
		case few && d != l && strings.HasSuffix(l, `\\`) && slices.ContainsFunc(old, func(o string) bool {
			return strings.HasSuffix(o, `\`) && !strings.HasSuffix(o, `\\`) && similarity(o, d) >= minSameLine
		}):
			n++
		case few && d != l && t.strayEscape(l) && slices.ContainsFunc(old, func(o string) bool { return m.anyBare(o) && similarity(o, d) >= minSameLine }):
			n++
		}
	}
	return m, s, n
}

func lineSet(lines []string) map[string]bool {
	set := make(map[string]bool, len(lines))
	for _, l := range lines {
		set[l] = true
	}
	return set
}

func (m *unescaper) anyBare(l string) bool {
	return m.set != "" && slices.ContainsFunc(strings.Split(m.set, ""), func(sign string) bool { return strings.Contains(quoting, sign) && m.bare(l, sign) })
}

// wraps says that all lines kept of old_string are escaped, and that new ones have quotes as they are: a text may have been
// put into a string.
func (m *unescaper) wraps(s string) bool {
	added, known := false, lineSet(m.plain)
	for _, l := range strings.Split(s, "\n") {
		if m.anyBare(l) && known[l] {
			return false
		}
		added = added || m.anyBare(l)
	}
	return added
}

// suspicious refuses new lines with escapes outside of strings, in languages that have none there, if the file has nothing
// like it either.
func (t *Text) suspicious(fresh string, old []string) *Refusal {
	usual := func(f line) bool {
		l := string(t.data[f.start:f.end])
		return t.strayEscape(l) || quotesEscaped(l)
	}
	known, lines := lineSet(old), strings.Split(fresh, "\n")
	few := len(lines)*len(old) <= maxPairs
	for _, l := range lines {
		if !known[l] && (t.strayEscape(l) || few && escapedOf(l, old)) {
			if slices.ContainsFunc(t.lines, usual) {
				return nil
			}
			return escapedInPart()
		}
	}
	return nil
}

// quotesEscaped says that a line has escaped quotes and no others.
func quotesEscaped(l string) bool {
	n := strings.Count(l, `\"`)
	return n > 0 && strings.Count(l, `"`) == n
}

// escapedOf says that a new line is much like an old one whose quotes are not escaped, but has only escaped ones.
func escapedOf(l string, old []string) bool {
	if !quotesEscaped(l) {
		return false
	}
	d := strings.ReplaceAll(l, `\"`, `"`)
	return slices.ContainsFunc(old, func(o string) bool {
		return !strings.Contains(o, `\`) && strings.Contains(o, `"`) && o != d && similarity(o, d) >= minSameLine
	})
}

// In a program of these languages no quote is escaped outside of a string, in one of those no entity stands there.
var (
	unescapedOutside = []*syntax{goLike, cLike, jsLike, rust, java, python, sql, css, scss, lua, hs, php, hcl, toml, yaml}
	noEntities       = []*syntax{goLike, cLike, rust, java, python, sql, css, scss, lua, hs, hcl, toml, yaml, shell, hashed}
)

// strayEscape says that a line has an escaped quote, or an entity, outside of its strings.
func (t *Text) strayEscape(l string) bool {
	quotes, entities := slices.Contains(unescapedOutside, t.syntax) && !strings.Contains(l, "/"), slices.Contains(noEntities, t.syntax)
	if (!quotes || !strings.Contains(l, `\"`)) && (!entities || !strings.Contains(l, "&")) {
		return false
	}
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
				return false // the rest may be in a string
			}
			i += n - 1
			continue
		}
		rest = append(rest, l[i])
	}
	return quotes && strings.Contains(string(rest), `\"`) || entities && entity.Match(rest)
}

// with is the reading with another new_string, and a word on that.
func (r *reading) with(fresh, note string) *reading {
	out := *r
	out.new, out.notes = fresh, append(slices.Clone(r.notes), note)
	return &out
}

// unmistakable are line numbers that nobody writes but a tool: set in columns, or with a sign of their own behind them.
var unmistakable = regexp.MustCompile(`(?m)^(  +\d+\t|[ \t]*\d+→|[ \t]*\d+ ?[│┃┆┊])`)

// mayNumber is the start of a line that may have a number, for a quick look.
var mayNumber = regexp.MustCompile(`(?m)^[ \t]*(?:\[?\d|[Ll]\d|[Ll]ine \d|[^\s:]*[./][^\s:]*[:-]\d)`)

// numbersAlone gives new_string without line numbers that it has and old_string has not, if there are any.
func (t *Text) numbersAlone(r *reading, at int) (fresh string, ok bool, refusal *Refusal) {
	if !mayNumber.MatchString(r.new) {
		return "", false, nil
	}
	old := strings.Split(strings.TrimSuffix(string(r.old.data), "\n"), "\n")
	for _, n := range numberings {
		fresh, ok := n.split(r.new, false)
		if !ok || slices.ContainsFunc(old, func(l string) bool { number, _, marked := n.line(l); return number > 0 && marked }) {
			continue
		}
		text, shared, placed, all := t.nearestText(fresh, old, at)
		list := n.listed && (fresh.first() == 1 || t.counts(n, at, fresh.first()))
		sure := unmistakable.MatchString(r.new) || !n.listed && !n.mark.MatchString("1\t")
		alike := similarity(squeeze([]byte(text)), squeeze(r.old.data))
		switch {
		case text == strings.Join(old, "\n"), shared == 0 && !all, list:
			continue // to number lines is the change, or some of the new lines start with a number
		case shared > 0 && (sure || placed && fresh.first() > 1), shared == 0 && sure && leading([]byte(text)) == leading(r.old.data):
			return text, true, nil
		case shared == 0 && !sure && alike < 0.8 && (!placed || alike < 0.5):
			continue
		}
		return "", false, &Refusal{Kind: Guard, Message: "new_string has what looks like line numbers, which old_string does not have. They would be written into the file.",
			Hint: "Give new_string without line numbers. If they are meant, give old_string as whole lines and make the edit in a strictness of exact."}
	}
	return "", false, nil
}

// counts says that the last line above another one that has a number has the one before it, as in a list that goes on.
func (t *Text) counts(n numbering, at, number int) bool {
	for i := at - 1; i >= max(0, at-maxAbove); i-- {
		if have, _, marked := n.line(string(t.text(i))); marked {
			return have == number-1
		}
	}
	return false
}

// nearestText takes away after the numbers what leaves most lines as they are in old. It says how many are, whether their
// numbers are those of the file, and whether all lines have one.
func (t *Text) nearestText(n numbered, old []string, at int) (text string, shared int, placed, all bool) {
	shared = -1
	where := map[string]int{}
	for o, l := range slices.Backward(old) {
		where[l] = o
	}
	for _, after := range n.after {
		s, ok := n.without(after)
		if !ok {
			continue
		}
		same, here := 0, true
		for i, l := range strings.Split(s, "\n") {
			o, ok := where[l]
			if !ok {
				o = -1
			}
			if n.number[i] == 0 || strings.TrimSpace(l) == "" {
				continue
			}
			if o >= 0 {
				same++
			}
			if o >= 0 || same == 0 {
				here = here && n.number[i] == at+max(o, i)+1
			}
		}
		if same > shared {
			text, shared, placed = s, same, here
		}
	}
	all = true
	for i, number := range n.number {
		all = all && (number > 0 || strings.TrimSpace(n.text[i]) == "")
	}
	return text, max(shared, 0), placed && shared >= 0, all
}

// first is the first number.
func (n numbered) first() int {
	i := slices.IndexFunc(n.number, func(number int) bool { return number > 0 })
	return n.number[max(i, 0)]
}
