package match

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
)

// cause names the first thing in which a window differs from old_string.
func (t *Text) cause(r *reading, w *window) string {
	at, comment := w.first, ""
	for i, key := range r.index.keys {
		j := w.pairs[i]
		switch {
		case j < 0 && r.index.significant(i):
			return fmt.Sprintf("old_string has the line %s, which is not there.", quoteShort(key))
		case j < 0 && comment == "" && r.old.onlyNotes(i):
			comment = fmt.Sprintf("old_string has the comment %s, which is not there.", quoteShort(string(bytes.TrimSpace(r.old.text(i)))))
		}
		if j < 0 {
			continue
		}
		for k := at; k < j; k++ {
			if t.lineIndex().significant(k) {
				return fmt.Sprintf("Line %d, %s, is missing in old_string.", k+1, quoteShort(t.lineIndex().keys[k]))
			}
		}
		at = j + 1
		if w.kinds[i] == altered || w.kinds[i] == typo {
			return t.lineCause(key, j)
		}
	}
	return cmp.Or(comment, "The lines are there, but not as a block of their own, or with other text on the same line.")
}

// lineCause says how a line of old_string differs from line j of the file.
func (t *Text) lineCause(old string, j int) string {
	file := t.lineIndex().keys[j]
	x, y := tokens.FindAllString(old, -1), tokens.FindAllString(file, -1)
	if len(x) == len(y) {
		for i := range x {
			switch {
			case x[i] == y[i]:
			case digits(x[i]) != digits(y[i]):
				return fmt.Sprintf("Line %d has %s where old_string has %s.", j+1, quoteShort(y[i]), quoteShort(x[i]))
			case alnums([]byte(x[i])) >= 3 && !t.hasWord(x[i]):
				return fmt.Sprintf("Line %d has %s; %s is nowhere in the file.", j+1, quoteShort(y[i]), quoteShort(x[i]))
			default:
				return fmt.Sprintf("Line %d has %s where old_string has %s.", j+1, quoteShort(y[i]), quoteShort(x[i]))
			}
		}
	}
	return fmt.Sprintf("Line %d is %s; old_string has %s.", j+1, quoteAround(file, old), quoteAround(old, file))
}

// windowDiff shows old_string against a window, the lines that differ and those next to them.
func (t *Text) windowDiff(r *reading, w *window) string {
	var lines []string
	at := w.first
	for i, j := range w.pairs {
		for ; j >= 0 && at < j; at++ {
			lines = append(lines, "+"+cutLine(t.text(at)))
		}
		if j >= 0 {
			at = j + 1
		}
		if j >= 0 && w.kinds[i] == same {
			lines = append(lines, " "+cutLine(t.text(j)))
			continue
		}
		if !isBlankLine(r.old.text(i)) {
			other := []byte(nil)
			if j >= 0 {
				other = t.text(j)
			}
			lines = append(lines, "-"+cutAround(r.old.text(i), other))
		}
		if j >= 0 {
			lines = append(lines, "+"+cutAround(t.text(j), r.old.text(i)))
		}
	}
	return nearChanges(lines)
}

// nearChanges leaves out the lines of a diff that are far from what differs.
func nearChanges(lines []string) string {
	var b strings.Builder
	left := false
	changed := func(i int) bool { return i >= 0 && i < len(lines) && lines[i][0] != ' ' }
	for i, l := range lines {
		if !changed(i-1) && !changed(i) && !changed(i+1) {
			left = true
			continue
		}
		if b.Len() > maxDiff {
			b.WriteString("...\n")
			break
		}
		if left {
			b.WriteString("...\n")
			left = false
		}
		b.WriteString(l + "\n")
	}
	return b.String()
}
