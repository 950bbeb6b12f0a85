package match

import (
	"bytes"
	"strings"
)

// appliedAt says that new_string stands in the file already, over the very place of old_string. A deletion, whose
// new_string is a part of old_string, is always there and says nothing.
func (t *Text) appliedAt(f *finding, h hit) bool {
	lv := f.level&^(noNotes|noSemi) | trail | lead
	fresh := canon(newSource([]byte(f.reading.new), t.syntax), lv).trimmed()
	old := canon(f.reading.old, lv).trimmed()
	if len(fresh.text) == 0 || bytes.Contains(old.text, fresh.text) {
		return false
	}
	for _, r := range t.occurrences(t.stream(lv), fresh) {
		if r.Start < h.End && r.End > h.Start {
			return true
		}
	}
	return false
}

// applyLevel is how near new_string must be to something in the file to be taken for it.
const applyLevel = trail | lead | fold | collapse | noBlank

// present refuses, before anything looser than equality is tried, when new_string is in the file already.
func (t *Text) present(c Change, readings []*reading) *Refusal {
	if c.Strictness == Exact {
		return nil
	}
	for _, r := range readings {
		if spoken(r.new) < spoken(string(r.old.data)) {
			continue // lines go, and they cannot have gone: pass 8 looks at that
		}
		fresh := canon(newSource([]byte(r.new), t.syntax), applyLevel).trimmed()
		old := canon(r.old, applyLevel).trimmed()
		if alnums(fresh.text) < 12 || bytes.Contains(old.text, fresh.text) {
			continue
		}
		if at := t.occurrences(t.stream(applyLevel), fresh); len(at) > 0 {
			return t.applied(at[0])
		}
	}
	return nil
}

// maxOccurrences is how many occurrences of new_string are looked at.
const maxOccurrences = 1000

// occurrences are the places of a text in the file that do not start or end within a word.
func (t *Text) occurrences(file, text *stream) (out []Range) {
	for from := 0; len(out) < maxOccurrences; {
		i := bytes.Index(file.text[from:], text.text)
		if i < 0 {
			break
		}
		i += from
		from = i + 1
		r := Range{int(file.start[i]), int(file.end[i+len(text.text)-1])}
		if !insideWord(t.data, r.Start) && !insideWord(t.data, r.End) {
			out = append(out, r)
		}
	}
	return out
}

// spoken counts the lines that are not blank.
func spoken(s string) (n int) {
	for l := range strings.Lines(s) {
		if strings.TrimSpace(l) != "" {
			n++
		}
	}
	return n
}
