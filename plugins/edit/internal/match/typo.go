package match

import (
	"bytes"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// A slip is a word that the model misspelt, and what the file has.
type slip struct{ old, file string }

// maxSlips is how many words of a line may be misspelt.
const maxSlips = 3

var tokens = regexp.MustCompile(`[\p{L}\p{M}\p{N}_]+|[^\s]`)

// slips says whether a line of old_string is one of the file but for misspelt words, and which.
func (t *Text) slips(old, file string) ([]slip, bool) {
	x, y := tokens.FindAllString(old, -1), tokens.FindAllString(file, -1)
	if len(x) != len(y) {
		return nil, abs(len(x)-len(y)) == 1 && despaced(old) == despaced(file)
	}
	var out []slip
	for i := range x {
		if x[i] == y[i] {
			continue
		}
		if len(out) == maxSlips || !t.misspelt(x[i], y[i]) {
			return nil, false
		}
		out = append(out, slip{x[i], y[i]})
	}
	return out, len(out) > 0 || despaced(old) == despaced(file)
}

func (t *Text) isMisspelt(old, file string) bool {
	_, ok := t.slips(old, file)
	return ok
}

func despaced(s string) string { return strings.Join(strings.Fields(s), "") }

// misspelt says whether a word, which must not be one of the file, is near another one.
func (t *Text) misspelt(old, file string) bool {
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

func digits(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return r
		}
		return -1
	}, s)
}

// hasWord says whether the file has a word, on its own.
func (t *Text) hasWord(word string) bool {
	known, ok := t.words[word]
	if !ok {
		known = t.findWord(word)
		t.words[word] = known
	}
	return known
}

func (t *Text) findWord(word string) bool {
	text := t.stream(applyLevel).text
	for from := 0; ; {
		i := bytes.Index(text[from:], []byte(word))
		if i < 0 {
			return false
		}
		i += from
		if !insideWord(text, i) && !insideWord(text, i+len(word)) {
			return true
		}
		from = i + 1
	}
}
