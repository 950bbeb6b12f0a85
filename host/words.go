package host

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxWord is how many bytes of a word are looked at.
const maxWord = 40

// stopwords say nothing about a tool.
var stopwords = setOf("a an and are as at be by can do does for from how i if in into is it its me my no not of on one or our " +
	"please so some that the their them then there this to use used uses using want was we what when which will with you your")

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// eachWord gives the words of a text, small: those between spaces and punctuation, and of a name such as readFile,
// read_file or read-file its parts and the whole, since people write it both ways.
func eachWord(text string, f func(word string)) {
	for name := range strings.FieldsFuncSeq(text, func(r rune) bool { return !isWordRune(r) && r != '_' && r != '-' }) {
		parts := 0
		for part := range strings.FieldsFuncSeq(name, func(r rune) bool { return !isWordRune(r) }) {
			parts += eachHump(part, f)
		}
		if parts > 1 {
			emit(strings.Map(dropUnlessWord, name), f)
		}
	}
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

func dropUnlessWord(r rune) rune {
	if isWordRune(r) {
		return r
	}
	return -1
}

// eachHump splits camelCase, HTTPServer before its last capital, and scripts without spaces everywhere, and counts the
// parts.
func eachHump(text string, f func(word string)) (n int) {
	start := 0
	var last rune
	for i, r := range text {
		next, _ := utf8.DecodeRuneInString(text[i+utf8.RuneLen(r):])
		hump := unicode.IsUpper(r) && (!unicode.IsUpper(last) || unicode.IsLower(next))
		if i > start && (hump || isSpaceless(r) || isSpaceless(last)) {
			emit(text[start:i], f)
			start, n = i, n+1
		}
		last = r
	}
	emit(text[start:], f)
	return n + 1
}

// isSpaceless is for Chinese and Japanese: words are not told apart there, but signs found side by side do as well.
func isSpaceless(r rune) bool {
	return r >= 0x3000 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
}

func emit(word string, f func(word string)) {
	if len(word) > maxWord {
		word = strings.ToValidUTF8(word[:maxWord], "")
	}
	if word = strings.ToLower(word); !stopwords[word] {
		f(word)
	}
}

// stem cuts the endings that change no meaning here: files, deleting, copied. Words of one stem need not be related in
// grammar; it is enough that related words mostly share theirs.
func stem(word string) string {
	switch {
	case len(word) < 4 || !isLowerASCII(word):
		return word
	case strings.HasSuffix(word, "ies"), strings.HasSuffix(word, "ied"):
		return word[:len(word)-3] + "y"
	case strings.HasSuffix(word, "sses"), strings.HasSuffix(word, "ches"), strings.HasSuffix(word, "shes"), strings.HasSuffix(word, "xes"):
		return word[:len(word)-2]
	case word[len(word)-1] == 's' && strings.IndexByte("sui", word[len(word)-2]) < 0:
		word = word[:len(word)-1]
	}
	for _, ending := range []string{"ing", "ed"} {
		if root, ok := strings.CutSuffix(word, ending); ok && len(root) > 2 && strings.ContainsAny(root, "aeiouy") {
			return single(root)
		}
	}
	return single(dropE(word))
}

// single ends a root with one consonant: running and run, installed and install.
func single(root string) string {
	root = dropE(root)
	if n := len(root); n > 3 && root[n-1] == root[n-2] && root[n-1] != 's' {
		return root[:n-1]
	}
	return root
}

func dropE(word string) string {
	if len(word) > 3 {
		return strings.TrimSuffix(word, "e")
	}
	return word
}

func isLowerASCII(word string) bool {
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return false
		}
	}
	return true
}
