package match

import (
	"bytes"
	"regexp"
)

// maxForeign is how many words of old_string are looked up in the file.
const maxForeign = 200

var plainWords = regexp.MustCompile(`[A-Za-z0-9_]{3,}`)

// foreign says that old_string has, outside of comments, a word that is nowhere in the file. No pass that compares for
// equality can find it then: this saves bringing a large file into all their forms.
func (t *Text) foreign(r *reading) bool {
	if r.foreign == nil {
		r.foreign = new(t.lacksWord(r.old))
	}
	return *r.foreign
}

func (t *Text) lacksWord(old *source) bool {
	notes := old.notes()
	for _, at := range plainWords.FindAllIndex(old.data, maxForeign) {
		for len(notes) > 0 && notes[0].End <= at[0] {
			notes = notes[1:]
		}
		if len(notes) > 0 && notes[0].Start < at[1] {
			continue
		}
		if !bytes.Contains(t.data, old.data[at[0]:at[1]]) && !bytes.Contains(t.folded(), old.data[at[0]:at[1]]) {
			return true
		}
	}
	return false
}

// folded is the text in which words are looked for: that of the file, without forms of Unicode that may stand for others.
func (t *Text) folded() []byte {
	if isASCII(t.data) {
		return nil
	}
	return t.stream(applyLevel).text
}
