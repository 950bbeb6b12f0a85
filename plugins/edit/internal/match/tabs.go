package match

import (
	"bytes"
	"cmp"
	"strings"
)

// Tabs where new_string has blanks, and the other way round.

// inFileForm gives new_string the tabs, or the blanks, that the file is indented with, where old_string has them and
// new_string has not. It leaves new_string alone where the width of a tab does not follow from the lines of both.
func (t *Text) inFileForm(r *reading, at Range) *reading {
	char, old := t.indentedAround(at), commonSign(r.old)
	sure := char != 0
	if char = cmp.Or(char, old); char == 0 || r.numbers != nil || squeeze([]byte(r.new)) == squeeze(r.old.data) {
		return r
	}
	other := ' ' + '\t' - char
	fresh := newSource(toLF([]byte(r.new)), nil)
	was := make([]string, len(r.old.lines))
	for i := range was {
		if was[i] = leading(r.old.text(i)); strings.IndexByte(was[i], other) >= 0 && !isBlank(r.old.text(i)) {
			return r
		}
	}
	if l := t.lines[t.lineAt(at.Start)]; isBlank(t.data[l.start:at.Start]) {
		was[0] = leading(t.data[l.start:l.end]) // old_string may have lost a part of it
	}
	widths, moves := map[int]bool{}, false         // of a tab, in blanks
	shown := make([]bool, len(fresh.lines))        // what the line is indented with is in old_string
	pairs, above := counterparts(r.old, fresh), -1 // the last line that is not blank
	for n, o := range pairs {
		own := leading(fresh.text(n))
		switch {
		case isBlank(fresh.text(n)) || strings.IndexByte(own, other) < 0:
		case other == ' ' && o >= 0 && was[o] == "" && n > 0: // tabs at the left edge may be those of a here-document
			moves = true
		case !sure && (o < 0 || r.old.key(o) != fresh.key(n)): // which says nothing
		case o >= 0 && likeness(string(r.old.text(o)), string(fresh.text(n))) > 0:
			widths[blanksPerTab(own, was[o])], shown[n] = true, true
		case above < 0 || !opener().Match(bytes.TrimRight(fresh.text(above), blanks)): // as deep as the line above or below
			for _, i := range []int{above, fresh.closeFilled(n, +1)} {
				depth := leading(fresh.text(max(i, 0)))
				if i == 0 && depth == "" && pairs[0] == 0 {
					depth = was[0] // both strings lost it
				}
				if w := blanksPerTab(own, depth); i >= 0 && w > 0 && len(widths) == 0 {
					widths[w] = true
				}
			}
		}
		if !isBlank(fresh.text(n)) {
			above = n
		}
	}
	width := 0
	for width = range widths {
	}
	switch step := t.stepWidth(fresh, other); {
	case len(widths) != 1 && !sure:
		return r
	case len(widths) > 1, len(widths) == 0 && !t.unknown() && !t.prose(), moves && step > 0: // which may count a step more
		width = step
	}
	if width < 2 {
		return r
	}
	lines := strings.Split(r.new, "\n")
	for i, l := range lines {
		own := leading([]byte(l))
		switch {
		case own == "" || own[0] != other:
		case !shown[i] && t.inText(lines, i, []Range{at}):
			return r // a string or a comment may have its own
		case other == '\t':
			lines[i] = strings.ReplaceAll(own, "\t", strings.Repeat(" ", width)) + l[len(own):]
		case len(own)%width != 0:
			return r
		default:
			lines[i] = strings.Repeat("\t", len(own)/width) + l[len(own):]
		}
	}
	return r.with(strings.Join(lines, "\n"), newIndentation(char))
}

// newIndentation is the note that new lines were indented with the tabs or the blanks of the file.
func newIndentation(char byte) string {
	names := map[byte]string{' ': "spaces", '\t': "tabs"}
	return "new_string was indented with " + names[' '+'\t'-char] + " and the file is with " + names[char] +
		": new lines were indented as the file is."
}

// blanksPerTab is how many blanks stand for a tab when two indentations, one of tabs and maybe some blanks behind them
// and one of blanks, are as deep; 0 when that cannot be.
func blanksPerTab(a, b string) int {
	if strings.HasPrefix(a, " ") {
		a, b = b, a
	}
	rest := strings.TrimLeft(a, "\t")
	tabs, spaces := len(a)-len(rest), len(b)-len(rest)
	if tabs == 0 || strings.Trim(rest+b, " ") != "" || spaces%tabs != 0 {
		return 0
	}
	if n := spaces / tabs; n == 2 || n == 3 || n == 4 || n == 8 {
		return n
	}
	return 0
}

// commonSign is the byte that the lines of a text are indented with, the first one that is.
func commonSign(s *source) byte {
	for i := range s.lines {
		if b := s.text(i); !isBlank(b) && leading(b) != "" {
			return b[0]
		}
	}
	return 0
}

// indentedAround is the byte that the lines of a range and some next to it are indented with, a tab or a blank; 0 when
// that is not clear.
func (t *Text) indentedAround(at Range) byte {
	from, to := t.span(at)
	for range orderContext {
		if f := t.closeFilled(from, -1); f >= 0 {
			from = f
		}
		to = max(to, t.closeFilled(to-1, +1)+1)
	}
	var char, comment byte
	near := newSource(t.bytes(span{from, to}), t.syntax)
	for i := range near.lines {
		switch ind := leading(near.text(i)); {
		case ind == "" || isBlank(near.text(i)):
		case near.commentOnly(i): // which may be drawn with blanks
			comment = cmp.Or(comment, ind[0])
		case char != 0 && ind[0] != char: // blanks behind tabs are alignment
			return 0
		default:
			char = ind[0]
		}
	}
	return cmp.Or(char, comment)
}
