package toolsearch

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// maxWord is how many bytes of a word count; the rest is cut off.
const maxWord = 40

// stopWords carry no information about a tool.
var stopWords = sync.OnceValue(func() map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq("a an and are as at be by can do does for from how i if in into is it its me my no " +
		"not of on one or our please so some that the their them then there this to use used uses using want was we what " +
		"when which will with you your") {
		set[w] = true
	}
	return set
})

// eachWord calls f with the words of a text in lower case, without stop words. Names such as readFile, read_file and
// read-file yield their parts and the whole, since people write them both ways. Each Chinese or Japanese character is a
// word: words are not separated there, and characters that occur side by side serve as well.
func eachWord(text string, f func(word string)) {
	emit := func(word string) {
		if len(word) > maxWord {
			word = strings.ToValidUTF8(word[:maxWord], "")
		}
		if word = strings.ToLower(word); !stopWords()[word] {
			f(word)
		}
	}
	for name := range strings.FieldsFuncSeq(text, func(r rune) bool { return !isWordRune(r) && r != '_' && r != '-' }) {
		parts := 0
		for part := range strings.FieldsFuncSeq(name, func(r rune) bool { return !isWordRune(r) }) {
			parts += splitCamelCase(part, emit)
		}
		if parts > 1 {
			emit(strings.Map(func(r rune) rune {
				if isWordRune(r) {
					return r
				}
				return -1
			}, name))
		}
	}
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// splitCamelCase calls emit with the parts of a name and counts them. HTTPServer is split before its last capital.
func splitCamelCase(text string, emit func(word string)) (parts int) {
	start := 0
	var last rune
	for i, r := range text {
		next, _ := utf8.DecodeRuneInString(text[i+utf8.RuneLen(r):])
		capital := unicode.IsUpper(r) && (!unicode.IsUpper(last) || unicode.IsLower(next))
		if i > start && (capital || isCJK(r) || isCJK(last)) {
			emit(text[start:i])
			start, parts = i, parts+1
		}
		last = r
	}
	emit(text[start:])
	return parts + 1
}

func isCJK(r rune) bool {
	return r >= 0x3000 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
}

// stem removes English endings that do not matter here: files, deleting, copied. Words with the same stem need not be
// grammatically related; it suffices that related words mostly share theirs.
func stem(word string) string {
	switch {
	case len(word) < 4 || strings.ContainsFunc(word, func(r rune) bool { return r < 'a' || r > 'z' }):
		return word
	case strings.HasSuffix(word, "ies"), strings.HasSuffix(word, "ied"):
		return word[:len(word)-3] + "y"
	case strings.HasSuffix(word, "sses"), strings.HasSuffix(word, "ches"), strings.HasSuffix(word, "shes"),
		strings.HasSuffix(word, "xes"):
		return word[:len(word)-2]
	case word[len(word)-1] == 's' && strings.IndexByte("sui", word[len(word)-2]) < 0:
		word = word[:len(word)-1]
	}
	for _, ending := range []string{"ing", "ed"} {
		if root, ok := strings.CutSuffix(word, ending); ok && len(root) > 2 && strings.ContainsAny(root, "aeiouy") {
			return singleConsonant(root)
		}
	}
	return singleConsonant(withoutE(word))
}

// singleConsonant makes one consonant of two at the end of a root: running and run, installed and install.
func singleConsonant(root string) string {
	root = withoutE(root)
	if n := len(root); n > 3 && root[n-1] == root[n-2] && root[n-1] != 's' {
		return root[:n-1]
	}
	return root
}

func withoutE(word string) string {
	if len(word) > 3 {
		return strings.TrimSuffix(word, "e")
	}
	return word
}
