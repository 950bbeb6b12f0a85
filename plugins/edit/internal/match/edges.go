package match

import (
	"bytes"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
)

// Models quote a line in one string as a whole and in the other as a part, and lines in new_string that old_string does
// not have. Literal replacement would indent a line twice or not at all, and write twice what is beside the place.

// flushLeft is a line that starts at the left edge within indented ones: a directive or the tag of a template; label is
// another one in languages that have labels. The others tell whether a line begins a block, which an end may close on
// the same line, or a text in quotes or a here-document.
var (
	flushLeft  = lazy.Regexp(`^(#\w|\{[{%]|<[%?]|"""|'''|` + "`)")
	label      = lazy.Regexp(`^\w+:\s*$`)
	opener     = lazy.Regexp(`[:{(\[]$|\b(do|then|begin|of)$`)
	openTag    = lazy.Regexp(`^<(\w[\w:.-]*)(?:\s[^<>]*[^<>/])?>$`)
	listItem   = lazy.Regexp(`^([-*+]|\d+[.)])[ \t]`)
	goesOn     = lazy.Regexp(`[,{(\[\\]$`)
	keyword    = lazy.Regexp(`^(def|if|unless|while|until|case|class|module|function)\b| do( \|[^|]*\|)?$`)
	endWord    = lazy.Regexp(`\bend\b`)
	startsText = lazy.Regexp(`("""|'''|` + "`" + `)\\?$|<<[-~]?["']?\w+["']?$`)

	// opensWord begins what a line that closesWord ends, if hasClosed does not find that on the same line.
	opensWord = lazy.Regexp(`^\W{0,2}(if|for|while|until|unless|case|switch|select|repeat|function|def|class|module|macro|` +
		`begin|try|augroup|local function)|\b(do|then|begin)( \|[^|]*\|)?$|\bfunction\b|^[^(){}\[\]]+\)$|/\*|<!--`)
	closesWord = lazy.Regexp(`^((end|end(if|e?f|for(each)?|while|function|macro|class|module|case|try|snippet)|` +
		`fi|done|esac)( \w+)?(\([ \w]*\))?[;,.)]*|;;&?|\*/|-->)$`)
	branches  = lazy.Regexp(`\b(else|break|return|pass|continue)\b`)
	hasClosed = lazy.Regexp(`\b(end|fi|done|esac)\b|;;$|\*/|-->`)
)

// keepFirstIndent gives new_string the indentation of its first line, or of all lines, that it lost and old_string has.
// A block that is moved to the left in another way stays so.
func (t *Text) keepFirstIndent(r *reading, at Range) (*reading, *Refusal) {
	is := firstLine(r.new)
	before, _ := t.around(at)
	fresh, lost, sure := t.lostMargin(r, at)
	var out *Refusal
	switch {
	case lost && sure:
		return r.with(fresh, "new_string lost the indentation that all lines of old_string have; it was kept."), nil
	case lost && t.syntax == python:
		out = guard("new_string lost the indentation that all lines of old_string have, and here that may end a block.",
			"Indent all lines of new_string as they shall be in the file.")
	case t.flattened(r, at):
		out = guard("new_string lost the indentation of its lines: all start at the left edge, also those that are "+
			"indented in old_string.", "Indent all lines of new_string as they shall be in the file. To move lines to "+
			"the left edge, do that in an edit of its own, which changes nothing else.")
	case t.shiftsBlock(r, at):
		out = guard("new_string indents all lines that it shares with old_string in another way, and in this language that "+
			"changes which block they are in.", "Indent new_string as the file is. To move the lines to another block, change "+
			"nothing else in them, or include the line that begins the block in both strings.")
	}
	if out != nil {
		t.show(out, at)
		return r, out
	}
	text := t.prose() || t.unknown() // in which just the line of old_string is certain
	if !isBlankString(before) || r.bareNew ||
		text && (r.old.key(0) != squeeze([]byte(is)) || leading(t.data[at.Start:at.End]) != leading(r.old.data)) ||
		isBlankString(is) || leading([]byte(is)) != "" || isBlank(r.old.text(0)) || leading(r.old.text(0)) == "" ||
		squeeze([]byte(r.new)) == squeeze(r.old.data) || t.staysLeft(is) {
		return r, nil
	}
	now, bare := newSource(toLF([]byte(r.new)), nil), strings.TrimRight(is, blanks)
	if slices.Contains(r.old.rightTrimmed()[1:], bare) && !slices.Contains(now.rightTrimmed()[1:], bare) { // it moves
		return r, nil
	}
	pairs := counterparts(r.old, now)
	margin := leading(r.old.text(max(0, pairs[0])))
	if margin == "" { // another line comes first now
		return r, nil
	}
	stay, deeper, next := false, true, ""
	for n, o := range slices.Backward(pairs) {
		if n == 0 || isBlank(now.text(n)) {
			continue
		}
		next = leading(now.text(n))
		deeper = deeper && strings.HasPrefix(next, margin)
		if o > 0 && likeness(string(r.old.text(o)), string(now.text(n))) > 0 {
			had := leading(r.old.text(o))
			if len(next) < len(had) {
				return r, nil
			}
			stay = stay || next == had
		}
	}
	switch {
	case !stay && (text || !deeper):
		return r, nil
	case next == margin && (opener().MatchString(strings.TrimRight(is, blanks)) || text && listItem().MatchString(is)):
		return r, guard("The first line of new_string has no indentation, that of old_string has, and so it is not clear "+
			"how far the lines behind it are to be indented.",
			"Indent all lines of new_string as they shall be in the file.")
	}
	return r.with(margin+r.new, "new_string lost the indentation of its first line; that of old_string was kept."), nil
}

// lostMargin returns new_string with the indentation that all lines of old_string have, where it lost just that: its
// lines start at the left edge, and those that are like lines of old_string are as deep against each other. Where the
// block may be meant to move it is not: nothing else changes, or what is above is at the left edge, too. In languages
// where that ends a block it is not sure at the end of one.
func (t *Text) lostMargin(r *reading, at Range) (fresh string, lost, sure bool) {
	old, bare, lines := r.old, newSource([]byte(r.new), nil), strings.Split(r.new, "\n")
	margin := commonIndent(old, 0, len(old.lines))
	if margin == "" || t.prose() || commonIndent(bare, 0, len(bare.lines)) != "" ||
		squeeze([]byte(r.new)) == squeeze(old.data) {
		return "", false, false
	}
	first := len(old.filledLines(2)) == 1 // the only line that lost it
	for i, l := range lines {
		if first = first && (i == 0 || isBlankString(l) || strings.HasPrefix(l, margin)); !isBlankString(l) {
			lines[i] = margin + l
		}
	}
	if first && len(bare.filledLines(2)) > 1 && !t.opensBlock(strings.TrimRight(firstLine(r.new), blanks)) {
		return "", false, false
	}
	fresh = strings.Join(lines, "\n")
	is, stay := newSource(toLF([]byte(fresh)), nil), 0
	for n, o := range counterparts(old, is) {
		switch {
		case o < 0 || isBlank(old.text(o)) || likeness(string(old.text(o)), string(is.text(n))) < minSameLine:
		case leading(old.text(o)) != leading(is.text(n)):
			return "", false, false
		default:
			stay++
		}
	}
	from, to := t.span(at)
	above, below := t.closeFilled(from, -1), t.closeFilled(to-1, +1)
	if stay < min(2, len(old.filledLines(2))) || len(is.filledLines(2)) < 2 || above < 0 || leading(t.text(above)) == "" &&
		!opener().Match(bytes.TrimRight(t.text(above), blanks)) {
		return "", false, false
	}
	depth := commonIndent(t.source, from, to)
	inside := func(f int) bool { return f >= 0 && strings.HasPrefix(leading(t.text(f)), depth) }
	return fresh, true, t.syntax == nil || !t.syntax.layout || inside(below) && (inside(above) || t.syntax == yaml)
}

// flattened reports that no line of new_string is indented, though two in a row are lines of old_string that are not
// equally deep there, the second one indented. The block that a line began may be gone, and the items of a list of YAML
// may be as deep as its key, as may the first line of a text in quotes or of a here-document. The place may be at the
// left edge.
func (t *Text) flattened(r *reading, at Range) bool {
	fresh := newSource(toLF([]byte(r.new)), nil)
	from, to := t.span(at)
	indented := func(l line) bool { return leading(t.data[l.start:l.end]) != "" && !isBlank(t.data[l.start:l.end]) }
	if t.prose() || squeeze(fresh.data) == squeeze(r.old.data) || !slices.ContainsFunc(t.lines[from:to], indented) {
		return false
	}
	item := func(n int) bool { return t.syntax == yaml && strings.HasPrefix(fresh.key(n), "-") }
	begins := func(s *source, i int) bool { return opens(s, i) || openTag().MatchString(s.key(i)) }
	before, above, lost := -1, -1, false // the line of old_string before, and that of new_string
	for n, o := range counterparts(r.old, fresh) {
		if isBlank(fresh.text(n)) {
			continue
		} else if leading(fresh.text(n)) != "" {
			return false
		}
		alike := o >= 0 && r.old.key(o) != "" && r.old.key(o)[0] == fresh.key(n)[0] && // else it is commented out
			likeness(string(r.old.text(o)), string(fresh.text(n))) >= minSameLine
		lost = lost || alike && before >= 0 && r.old.closeFilled(o, -1) == before &&
			leading(r.old.text(o)) != "" && leading(r.old.text(o)) != leading(r.old.text(before)) &&
			(begins(fresh, above) || !begins(r.old, before)) && (!item(n) || item(above)) &&
			!startsText().MatchString(fresh.key(above))
		if before, above = -1, n; alike {
			before = o
		}
	}
	return lost
}

// shiftsBlock reports that old_string is indented as the file is and all its lines are in another way in new_string, in
// a language where that matters, though no line that begins a block comes or goes and something else changes.
func (t *Text) shiftsBlock(r *reading, at Range) bool {
	if t.syntax == nil || !t.syntax.layout || t.prose() || isBlankString(r.new) ||
		squeeze([]byte(r.new)) == squeeze(r.old.data) ||
		!bytes.Equal(t.data[at.Start:at.End], r.old.data) || t.syntax.within(t.data, at.Start) {
		return false
	}
	fresh, stays := newSource(toLF([]byte(r.new)), t.syntax), make([]bool, len(r.old.lines))
	item, is := strings.HasPrefix(r.old.key(0), "-"), strings.HasPrefix(fresh.key(0), "-")
	if t.syntax == yaml && (item != is || item && len(leading(fresh.text(0))) < len(leading(r.old.data))) {
		return false // an item comes or goes, or a list gets as deep as its key
	}
	pairs, from := counterparts(r.old, fresh), t.lineAt(at.Start)
	if t.movesDefinition(r.old, fresh, pairs, at) {
		return false
	}
	moved := 0
	for n, o := range pairs {
		switch {
		case isBlank(fresh.text(n)):
		case o >= 0 && t.commentOnly(from+o):
			stays[o] = true
		case o < 0 || likeness(string(r.old.text(o)), string(fresh.text(n))) < minSameLine:
			if opens(fresh, n) {
				return false
			}
		case leading(r.old.text(o)) != leading(fresh.text(n)):
			stays[o], moved = true, moved+1
		case leading(fresh.text(n)) != "":
			return false
		default:
			stays[o] = true
		}
	}
	for o, stay := range stays {
		if !stay && opens(r.old, o) {
			return false
		}
	}
	return moved > 1 && !t.fitsShifted(r.old, fresh, at)
}

// movesDefinition reports whether old_string is a whole definition, in front of which new_string has another line.
func (t *Text) movesDefinition(old, fresh *source, pairs []int, at Range) bool {
	head := old.closest(-1, +1, old.blankOrComment)
	is := fresh.closest(-1, +1, fresh.blankOrComment)
	if head < 0 || is < 0 || pairs[is] == head || !opens(old, head) {
		return false
	}
	_, to := t.span(at)
	below := t.closest(to-1, +1, t.blankOrComment)
	own := len(commonIndent(old, head, head+1))
	return own < len(commonIndent(old, head+1, len(old.lines))) &&
		(below < 0 || len(leading(t.text(below))) <= own && !continues().MatchString(t.key(below)))
}

// fitsShifted reports that lines which are deeper or less deep than in the file fit what is around them, so that they
// may be meant to move: within brackets, as deep as the block above or one around it, or as the body of a line above
// that begins a block and had none. What is below must not be left deeper than they are.
func (t *Text) fitsShifted(old, fresh *source, at Range) bool {
	from, to := t.span(at)
	skips := func(i int) bool { return isBlank(t.text(i)) || t.commentOnly(i) }
	above, below := t.closest(from, -1, skips), t.closest(to-1, +1, skips)
	if above < 0 {
		return false
	}
	was := len(leading(old.text(old.closeFilled(-1, +1))))
	is, last := fresh.closeFilled(-1, +1), fresh.closeFilled(len(fresh.lines), -1)
	depth := len(leading(fresh.text(is)))
	head := t.code(above)
	if goesOn().Match(head) {
		return true
	}
	if below >= 0 && len(leading(t.text(below))) > len(leading(fresh.text(last))) && !opens(fresh, last) {
		return false
	}
	if opener().Match(head) {
		own := len(leading(head))
		return depth > own && (was <= own || depth < was && below >= 0 && len(leading(t.text(below))) == depth)
	}
	for above >= 0 && len(leading(t.text(above))) > depth {
		above = t.closest(above, -1, skips)
	}
	return above >= 0 && len(leading(t.text(above))) == depth
}

// opens reports whether a line begins a block.
func opens(s *source, i int) bool { return opener().Match(bytes.TrimRight(s.text(i), blanks)) }

// fitEdges takes from new_string, for an exact match at a range of the file, what the file has beside the place: the
// indentation before the first line, and the separator behind the last. The note says so.
func (t *Text) fitEdges(r *reading, at Range) (fresh, note string) {
	fresh = r.new
	last := t.lines[t.lineAt(max(at.Start, at.End-1))]
	sign := t.separator(t.data[min(at.End, last.end):last.end])
	if !bytes.HasSuffix(r.old.data, []byte(sign)) {
		fresh = strings.TrimSuffix(fresh, sign)
	}
	before, _ := t.around(at)
	was, is := firstLine(string(r.old.data)), firstLine(fresh)
	own, full := leading([]byte(is)), before+leading([]byte(was))
	if before == "" || !isBlankString(before) || isBlankString(was) || isBlankString(is) || own != full ||
		squeeze([]byte(r.new)) == squeeze(r.old.data) {
		return fresh, ""
	}
	return full[len(before):] + fresh[len(own):], "The first line of new_string is indented as in the file; old_string " +
		"lost that indentation."
}

var (
	// startsDefinition is a line that may well end the block above it, continues one that goes on with it.
	startsDefinition = lazy.Regexp(`^(@|#|(export|pub|public|private|static|async|abstract|default|def|class|func|function|` +
		`fn|type|interface|enum|struct|impl|trait|mod|module|namespace|import|from|package|var|const)\b|if __name__)`)
	continues = lazy.Regexp(`^(else|elif|elsif|except|finally|rescue|ensure|end|fi|done|esac|then|catch)\b`)
)

// indentRest gives the lines of new_string behind its first one the indentation of the one line that an exact match of
// old_string is, where old_string begins behind that indentation and new_string is indented from there, too: taken
// literally, they would stand farther to the left, and in some languages end the block. The note says so.
func (t *Text) indentRest(r *reading, at Range) (fresh, note string) {
	before, after := t.around(at)
	if at.End > at.Start && t.data[at.End-1] == '\n' {
		after = ""
	}
	old, lines := string(r.old.data), strings.Split(r.new, "\n")
	if before == "" || !isBlankString(before+after) ||
		strings.TrimSpace(old) != strings.TrimRight(firstLine(old), blanks) || !t.lostIndent(old, lines, before, at) {
		return r.new, ""
	}
	for i, l := range lines {
		if i == 0 || isBlankString(l) {
			continue
		}
		lines[i] = before + l
	}
	return strings.Join(lines, "\n"), "The lines of new_string are indented as the line is in the file; both strings " +
		"lost that indentation."
}

// indentPart gives the lines of new_string that are as deep as the first of old_string, or deeper where that is the
// only one, the part of the indentation that old_string lost of that line. The note says so.
func (t *Text) indentPart(r *reading, at Range) (fresh, note string) {
	before, _ := t.around(at)
	own, only := leading(r.old.data), len(r.old.filledLines(2)) == 1
	if before == "" || own == "" || !isBlankString(before) {
		return r.new, ""
	}
	for o := range r.old.lines {
		if o > 0 && leading(r.old.text(o)) == own && !isBlank(r.old.text(o)) {
			return r.new, ""
		}
	}
	lines, moved := strings.Split(r.new, "\n"), false
	pairs := counterparts(r.old, newSource(toLF([]byte(r.new)), nil))
	for n, o := range pairs {
		moved = moved || n > 0 && o <= 0 && leading([]byte(lines[n])) == own && !isBlankString(lines[n])
	}
	for n, o := range pairs {
		if l := lines[n]; moved && n > 0 && o <= 0 && !isBlankString(l) && strings.HasPrefix(l, own) &&
			(only || leading([]byte(l)) == own) {
			lines[n] = before + l
		}
	}
	if !moved {
		return r.new, ""
	}
	return strings.Join(lines, "\n"), "The lines of new_string are indented as the line is in the file; both strings " +
		"lost a part of that indentation."
}

// lostIndent reports whether the lines of new_string are indented from old_string on, which is one line of the file and
// begins behind its indentation.
func (t *Text) lostIndent(old string, lines []string, indent string, at Range) bool {
	rest := slices.DeleteFunc(slices.Clone(lines[1:]), isBlankString)
	has := func(depth string) bool { // the line of old_string, for a second time
		return alnums([]byte(old)) >= minBeside && slices.ContainsFunc(rest, func(l string) bool {
			return leading([]byte(l)) == depth && squeeze([]byte(l)) == squeeze([]byte(old))
		})
	}
	again := has("")
	if len(rest) == 0 || has(indent) || !again && (t.unknown() || leading([]byte(lines[0])) != "") {
		return false
	}
	lowest := len(indent)
	for _, l := range rest {
		lowest = min(lowest, indentLen([]byte(l)))
	}
	item := strings.HasPrefix(lines[0], "-")
	flush := slices.ContainsFunc(rest, func(l string) bool {
		return t.staysLeft(l) || t.syntax == yaml && l[0] == '-' && !item
	})
	text := t.prose() || t.syntax != nil && t.syntax.within(t.data, at.Start)
	deeper, asFile := strings.CutPrefix(leading([]byte(rest[0])), indent)
	start := strings.TrimRight(lines[0], blanks)
	opens := !text && t.opensBlock(start) || t.syntax == yaml && strings.HasPrefix(start, "- ") && lowest == len("- ") &&
		!strings.HasPrefix(strings.TrimLeft(rest[0], blanks), "-")
	switch {
	case again, opens && lowest > 0 && !(asFile && deeper != ""): // a block that is not deeper than its first line
		return true
	case lowest > 0, flush, asFile && !strings.HasSuffix(start, ",") && !(opens && deeper == ""), t.endsBlock(lines):
		return false
	}
	next := t.closeFilled(t.lineAt(max(at.Start, at.End-1)), +1)
	inside := next >= 0 && leading(t.text(next)) != ""
	closed := next >= 0 && strings.ContainsAny(t.key(next)[:1], ")]}")
	apart := lines[1] != rest[0] && lines[0] != "" || startsDefinition().MatchString(rest[0])
	return inside || !text && t.syntax != yaml && (closed || !apart) // a key of YAML may be one of the mapping around
}

// staysLeft reports whether a line is at the left edge wherever it stands: a directive, the tag of a template, a label.
func (t *Text) staysLeft(l string) bool {
	return flushLeft().MatchString(l) || (t.syntax == cLike || t.syntax == goLike) && label().MatchString(l)
}

// opensBlock reports whether the lines behind a line, which is not indented, are deeper than it.
func (t *Text) opensBlock(l string) bool {
	switch {
	case t.syntax == markup:
		tag := openTag().FindStringSubmatch(l)
		return tag != nil && bytes.Contains(t.data, []byte("</"+tag[1]+">")) // others have no content
	case t.syntax == hashed && keyword().MatchString(l):
		return !endWord().MatchString(l)
	}
	return opener().MatchString(l)
}

// endsBlock reports whether a line at the left edge ends or continues a block that none of the lines before it begins.
func (t *Text) endsBlock(lines []string) bool {
	depth, opened := 0, false
	for _, l := range lines {
		if l != "" && (strings.ContainsAny(l[:1], ")]}") && depth <= 0 || continues().MatchString(l) && !opened) {
			return true
		}
		for _, c := range l {
			switch c {
			case '(', '[', '{':
				depth++
			case ')', ']', '}':
				depth--
			}
		}
		opened = opened || leading([]byte(l)) == "" && t.opensBlock(strings.TrimRight(l, blanks))
	}
	return false
}

// minBeside is how many letters and digits of a text beside the place are not in new_string by chance.
const minBeside = 3

// twice refuses new_string when it has what is beside the place in the file already, and old_string has not: the rest
// of the line where old_string begins or ends within it, or the lines before or behind.
func (t *Text) twice(r *reading, a *alignment) *Refusal {
	old, fresh := strings.TrimRight(string(toLF(r.old.data)), "\n"), strings.TrimRight(string(toLF([]byte(r.new))), "\n")
	if isBlankString(fresh) {
		return nil
	}
	from, to := t.span(a.Range)
	before, after := "", ""
	if a.headCut && t.data[a.Start] == '\n' && a.Start > t.lines[from].start { // it begins on the next line
		from, old, fresh = from+1, strings.TrimPrefix(old, "\n"), strings.TrimPrefix(fresh, "\n")
	} else if a.headCut {
		before = string(t.data[t.lines[from].start:a.Start])
	}
	if end := t.lines[to-1].end; a.tailCut && a.End < end {
		after = string(t.data[a.End:end])
	}
	refuse := func(what, text string, from, to int) *Refusal {
		out := guard("new_string "+what+", "+quoteShort(strings.TrimSpace(text))+", and old_string has not. "+
			"The file would have that twice.",
			"Give all of the lines that are shown in old_string, or leave that out of new_string.")
		t.showLines(out, from, to)
		return out
	}
	switch c := (edges{t, old, fresh, strings.TrimLeft(before, blanks), strings.TrimRight(after, spaces), from}); {
	case c.startsTwice(string(t.text(from))):
		return refuse("starts with what the file has before the place on the same line", before, from, to)
	case c.endsTwice(string(t.text(to - 1))):
		return refuse("ends with what the file has behind the place on the same line", after, from, to)
	case !isBlankString(before+after) && (c.hasWhole(from) || c.hasWhole(to-1)):
		return refuse("has the whole line that the place is a part of", before+after, from, to)
	case isBlankString(before) && isBlankString(after):
		for _, b := range a.blocks { // comments at the edges are part of what old_string quotes
			if !b.oneSided() {
				from, to = min(from, b.f0), max(to, b.f1)
			}
		}
		if len(a.blocks) > 0 { // the place of an exact match has the blank lines that old_string begins with
			c.old, c.fresh = strings.TrimLeft(old, "\n"), strings.TrimLeft(fresh, "\n")
		}
		if n := c.linesBeside(from, -1); n > 0 {
			return refuse("starts with "+plural(n, "line")+" that the file has right before the place", string(t.text(from-n)),
				from-n, to)
		}
		if n := c.linesBeside(to, +1); n > 0 {
			return refuse("ends with "+plural(n, "line")+" that the file has right behind the place", string(t.text(to+n-1)),
				from, to+n)
		}
	}
	return nil
}

// edges are both strings and what the file has before and behind the place on its lines.
type edges struct {
	t                         *Text
	old, fresh, before, after string
	from                      int // the first line of the place
}

func (e edges) startsTwice(line string) bool {
	text := strings.TrimLeft(e.fresh, blanks)
	if isBlankString(e.before) || strings.HasPrefix(e.old, e.before) {
		return false
	}
	is, rest := tokens().FindString(text), tokens().FindString(e.before)
	return e.whole(e.before, strings.HasPrefix(text, e.before), is == rest, firstLine(text), firstLine(e.old), line)
}

func (e edges) endsTwice(line string) bool {
	end := strings.TrimLeft(e.after, blanks)
	if isBlankString(end) || strings.HasSuffix(e.old, end) || e.t.separator([]byte(end)) != "" {
		return false // what becomes of a separator is seen to by fitEdges and keepLineComment
	}
	is, was := e.fresh[strings.LastIndexByte(e.fresh, '\n')+1:], e.old[strings.LastIndexByte(e.old, '\n')+1:]
	ends := lastRune([]byte(is)) == lastRune([]byte(end))
	return e.whole(end, strings.HasSuffix(strings.TrimRight(e.fresh, spaces), end), ends, is, was, line)
}

// hasWhole reports whether new_string has, beside the part of line f of the file that is in old_string, also all of
// that line.
func (e edges) hasWhole(f int) bool {
	key := e.t.key(f)
	old, fresh := newSource([]byte(e.old), nil), newSource([]byte(e.fresh), nil)
	part := old.key(len(old.lines) - 1)
	if f == e.from {
		part = old.key(0)
	}
	return alnums([]byte(key)) > minBeside && informative(key) && part != "" && part != key && old.count(key) == 0 &&
		fresh.count(key) > 0 && fresh.count(part) > 0
}

// whole reports whether a line of new_string stands for all of a line of the file, of which old_string has a part and
// not the rest. Has reports that it has the rest, ends that it starts or ends with the same sign. An edit keeps
// brackets and quotes paired, which tells such a line from one that has the rest twice on purpose.
func (e edges) whole(rest string, has, ends bool, is, was, line string) bool {
	if squeeze([]byte(is)) == squeeze([]byte(line)) && squeeze([]byte(was)) != squeeze([]byte(line)) {
		return true
	}
	says, open := alnums([]byte(rest)) >= minBeside, e.unpaired(rest)
	switch {
	case e.unpaired(e.fresh) != add(e.unpaired(e.old), open):
		return false
	case !has: // the rest may be what changes
		alike := similarity(squeeze([]byte(is)), squeeze([]byte(line)))
		return says && ends && alike >= minSameLine && alike > similarity(squeeze([]byte(is)), squeeze([]byte(was)))+0.1
	}
	return says || open != pairs{} || strings.Contains(e.old, "\n") || strings.Contains(e.fresh, "\n")
}

// pairs count the brackets and the tags that a text leaves open, among them those of templates such as {{ if }}, and
// whether it has an odd number of quotes.
type pairs struct{ brackets, angles, tags, quotes int }

func (e edges) unpaired(s string) (p pairs) {
	for _, c := range []byte(s) {
		switch {
		case strings.IndexByte("([{", c) >= 0:
			p.brackets++
		case strings.IndexByte(")]}", c) >= 0:
			p.brackets--
		case c == '<' && e.t.syntax == markup:
			p.angles++
		case c == '>' && e.t.syntax == markup:
			p.angles--
		case c == '"':
			p.quotes ^= 1
		}
	}
	if e.t.syntax == markup {
		p.tags = len(startTag().FindAllString(s, -1)) - strings.Count(s, "</") - strings.Count(s, "/>")
	}
	if strings.Contains(s, "{{") {
		p.tags += len(startBlock().FindAllString(s, -1)) - len(endBlock().FindAllString(s, -1))
	}
	return p
}

func add(p, q pairs) pairs {
	return pairs{p.brackets + q.brackets, p.angles + q.angles, p.tags + q.tags, p.quotes ^ q.quotes}
}

// linesBeside counts the lines that new_string starts with and the file has before line f, or with a step of 1 those
// that it ends with and the file has from line f on. Old_string has none of them.
func (e edges) linesBeside(f, step int) int {
	lines, old := strings.Split(e.fresh, "\n"), strings.Split(e.old, "\n")
	edge, was := lines[0], old[0]
	if step > 0 {
		edge, was = lines[len(lines)-1], old[len(old)-1]
	}
	for n := 1; n <= len(lines) && squeeze([]byte(was)) != squeeze([]byte(edge)); n++ {
		if n == len(lines) && slices.ContainsFunc(old, func(l string) bool { return likeness(l, edge) >= minSameLine }) {
			break // the line becomes one like that beside it
		}
		part, from := lines[:n], f-n
		if step > 0 {
			part, from = lines[len(lines)-n:], f
		}
		if from < 0 || from+n > len(e.t.lines) {
			break
		}
		if e.sameLines(part, from) && e.comes(part, step) {
			return n
		}
	}
	return 0
}

// comes reports whether one of the first lines of new_string, or the last with a step of 1, is not there in old_string.
func (e edges) comes(part []string, step int) bool {
	old, fresh := newSource([]byte(e.old), nil), newSource([]byte(e.fresh), nil)
	pairs := counterparts(old, fresh)
	if step > 0 {
		pairs = pairs[len(pairs)-len(part):]
	}
	for i, l := range part {
		if o := pairs[i]; o < 0 || old.key(o) != squeeze([]byte(l)) {
			return true
		}
	}
	return false
}

var (
	bareTag    = lazy.Regexp(`^</?\w*>$`)
	startTag   = lazy.Regexp(`<[\pL_]`)
	startBlock = lazy.Regexp(`\{\{-?[ \t]*(?:if|range|with|define|block)\b`)
	endBlock   = lazy.Regexp(`\{\{-?[ \t]*end\b`)
)

// sameLines reports whether lines are those of the file from one on, and not by chance: one of them says something, or
// they have a bracket, a tag or a word that the file would have once too often.
func (e edges) sameLines(lines []string, from int) bool {
	exact := strings.Contains(string(toLF(e.t.data)), e.old)
	says, level := false, exact
	for i, l := range lines {
		key := squeeze([]byte(l))
		if own := e.t.key(from + i); own != key &&
			(alnums([]byte(own+key)) > 0 || key == "" || strings.TrimRight(own, ";,") != strings.TrimRight(key, ";,")) {
			return false
		}
		says = says || alnums([]byte(key)) > minBeside && informative(key) && !bareTag().MatchString(key) &&
			!closesWord().MatchString(key)
		level = level && leading([]byte(l)) == leading(e.t.text(from+i))
	}
	text := strings.Join(lines, "\n")
	more, words := e.unpaired(text), openWords(text)
	switch alike := openWords(e.fresh) == openWords(e.old)+words; {
	case says:
		return true
	case words != 0 || more == pairs{} && branches().MatchString(text):
		return level == exact && alike && e.unpaired(e.fresh) == add(e.unpaired(e.old), more)
	}
	return more != pairs{} && e.unpaired(e.fresh) == add(e.unpaired(e.old), more) &&
		(level || more.quotes == 0 && e.unpaired(string(e.t.data)) == pairs{})
}

// openWords counts the lines of a text that a later one ends with a word, as "if" and "fi", less those that do that.
func openWords(text string) (n int) {
	for l := range strings.Lines(text) {
		switch l = strings.Trim(l, spaces); {
		case closesWord().MatchString(l):
			n--
		case opensWord().MatchString(l) && !hasClosed().MatchString(l):
			n++
		}
	}
	return n
}
