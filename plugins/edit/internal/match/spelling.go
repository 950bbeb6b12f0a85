package match

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	maxTypos = 3 // misspelt words of a line, or of an old_string that is corrected before it is searched for
	// In such an old_string:
	minTypo     = 5  // letters of a misspelt word
	minSwapped  = 12 // letters and digits beside words in which two letters have changed places
	minMisspelt = 40 // letters and digits beside words with another letter, or one too many or too few
	minRight    = 2  // how many times as many letters and digits as the misspelt words it has beside them
)

// planRespelled searches for old_string with its misspelt words as the file spells them. All else must be in one place
// of the file, as in any other pass.
func (t *Text) planRespelled(c Change) (*Plan, *Refusal) {
	typos := t.misspeltWords(c.Old)
	if len(typos) == 0 {
		return nil, nil
	}
	c.Old, c.New = string(t.respell([]byte(c.Old), typos)), string(t.respell([]byte(c.New), typos))
	if c.Old == c.New {
		return nil, nil
	}
	f := t.find(c, t.readings(c))
	if f == nil || len(f.hits) != 1 {
		return nil, nil
	}
	if at := f.hits[0].Range; c.inserted(at) {
		return nil, t.ownInsertion(at)
	}
	p, refusal := t.planFound(c, f)
	if refusal != nil {
		return nil, refusal
	}
	p.Pass, p.PassName = similarPass, passNumbered(similarPass).name
	for _, s := range typos {
		p.Warnings = append(p.Warnings, fmt.Sprintf("old_string has %q, which is not in the file; it was read as %q. "+
			"Copy old_string from the file next time.", s.old, s.file))
	}
	return p, nil
}

// misspeltWords are the words of old_string that are nowhere in the file, where each can only be one of its words.
// There are none if the rest of old_string says too little.
func (t *Text) misspeltWords(old string) (out []substitution) {
	if len(t.data) > maxSimilarFile {
		return nil
	}
	letters, least := 0, minSwapped
	for word := range strings.FieldsFuncSeq(old, betweenWords) {
		n := utf8.RuneCountInString(word)
		if n < minTypo || !strings.ContainsFunc(word, unicode.IsLetter) || t.hasWord(word) {
			continue
		}
		s := substitution{word, t.onlySpelling(word)}
		if s.file == "" || len(out) == maxTypos || slices.Contains(out, s) { // twice: a change of name, not a typo
			return nil
		}
		if !s.swapped() {
			least = minMisspelt
		}
		letters += n
		out = append(out, s)
	}
	if alnums([]byte(old))-letters < max(least, minRight*letters) {
		return nil
	}
	return out
}

// onlySpelling is the one word of the file that another word can be, misspelt, or "".
func (t *Text) onlySpelling(word string) (found string) {
	for w := range t.vocabulary() {
		if abs(len(w)-len(word)) > utf8.UTFMax || digits(w) != digits(word) || !(substitution{word, w}).certain() {
			continue
		}
		if found != "" {
			return ""
		}
		found = w
	}
	return found
}

// vocabulary are the words of the file, but for those of scripts without blanks between words.
func (t *Text) vocabulary() map[string]bool {
	if t.words == nil {
		t.words = map[string]bool{}
		for w := range bytes.FieldsFuncSeq(t.stream(presentForm).text, betweenWords) {
			if !t.words[string(w)] { // a string is made for the first of equal words only
				t.words[string(w)] = true
			}
		}
	}
	return t.words
}

func betweenWords(r rune) bool { return !wordRune(r) || ideograph(r) }

// hasWord reports whether the file has a word on its own, or a sign.
func (t *Text) hasWord(word string) bool {
	if betweenWords(firstRune([]byte(word))) {
		return bytes.Contains(t.stream(presentForm).text, []byte(word))
	}
	return t.vocabulary()[word]
}

// respell puts words of the file in place of the misspelt ones, also within names that are made of them.
func (t *Text) respell(text []byte, typos []substitution) []byte {
	return tokens().ReplaceAllFunc(text, func(word []byte) []byte {
		for _, s := range typos {
			right := strings.Contains(s.file, s.old) && bytes.Contains(word, []byte(s.file)) // only a letter is missing
			if string(word) == s.old || bytes.Contains(word, []byte(s.old)) && !right && !t.hasWord(string(word)) {
				return bytes.ReplaceAll(word, []byte(s.old), []byte(s.file))
			}
		}
		return word
	})
}

// A substitution is a word that the model misspelt, and what the file has.
type substitution struct{ old, file string }

// otherWords are the words and signs of a line of old_string that are others in a line of the file, if both lines have
// as many, and how many each has.
func otherWords(old, file string) (out []substitution, n, m int) {
	x, y := tokens().FindAllString(old, -1), tokens().FindAllString(file, -1)
	for i := range x {
		if len(x) == len(y) && x[i] != y[i] {
			out = append(out, substitution{x[i], y[i]})
		}
	}
	return out, len(x), len(y)
}

// typos reports whether a line of old_string is one of the file but for misspelt words, and returns these.
func (t *Text) typos(old, file string) (out []substitution, ok bool) {
	out, n, m := otherWords(old, file)
	if len(out) == 0 {
		return nil, abs(n-m) <= 1 && despaced(strings.TrimRight(old, ",;")) == despaced(strings.TrimRight(file, ",;"))
	}
	if len(out) > maxTypos || slices.ContainsFunc(out, func(s substitution) bool { return !t.misspells(s.old, s.file) }) {
		return nil, false
	}
	return out, true
}

func (t *Text) isTypo(old, file string) bool {
	_, ok := t.typos(old, file)
	return ok
}

// misspells reports whether a word, which must not be one of the file, is similar to another one.
func (t *Text) misspells(old, file string) bool {
	if digits(old) != digits(file) || t.hasWord(old) {
		return false
	}
	a, b := []rune(norm.NFC.String(old)), []rune(norm.NFC.String(file))
	if !wordRune(a[0]) || !wordRune(b[0]) {
		return false
	}
	if ideograph(a[0]) || ideograph(b[0]) {
		a, b = []rune(norm.NFD.String(old)), []rune(norm.NFD.String(file))
		return min(len(a), len(b)) >= 4 && distance(a, b, 2) <= 2
	}
	n := min(len(a), len(b))
	limit := min(n-3, 3, n/2)
	if limit < 1 {
		return false
	}
	d := distance(a, b, limit)
	return d <= limit && (d == 1 || unicode.ToLower(a[0]) == unicode.ToLower(b[0]))
}

// certain reports that a word can only be the other one misspelt: two letters have changed places, or one that is not
// the first or the last is another, missing or too many. Words that differ more, or there, are often two names: sync
// and async, item and items, minCount and maxCount.
func (s substitution) certain() bool {
	a, b := []rune(norm.NFC.String(s.old)), []rune(norm.NFC.String(s.file))
	ends := a[0] == b[0] && a[len(a)-1] == b[len(b)-1]
	return ideograph(a[0]) || distance(a, b, 1) == 1 && (ends || s.swapped())
}

// swapped reports that the words have the same letters in another order.
func (s substitution) swapped() bool {
	a, b := []rune(norm.NFC.String(s.old)), []rune(norm.NFC.String(s.file))
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

// certainTypo reports whether a line of old_string can only be one of the file with misspelt words.
func (t *Text) certainTypo(old, file string) bool {
	typos, ok := t.typos(old, file)
	return ok && !slices.ContainsFunc(typos, func(s substitution) bool { return !s.certain() })
}
