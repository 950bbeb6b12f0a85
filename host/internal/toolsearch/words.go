package toolsearch

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

const maxWord = 40 // how many bytes of a word count; the rest is cut off

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

const synonymShare = 0.6 // the weight of a synonym of a query's word, relative to the word itself

// synonyms maps words that describe what a tool does, but do not occur in its definition, such as names of programs
// and of other agents' tools, to the stems in its definition. All meanings of a line count.
var synonyms = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{}
	for words, meanings := range eachEntry(`
ls dir = list directory file
tree = list directory
folder folders = directory
cat head tail less = read file lines
view open print = read
grep rg ripgrep ag ack egrep = grep search file line regular expression
regex regexp = grep regular expression search line
occurrences = grep search line
fd wildcard glob extension locate = glob files pattern path
sed str_replace patch = replace file text old_string
modify = edit replace file
touch = write create file
rollback revert = undo edit
bash sh zsh terminal cmd commandline = shell exec command run
compile build npm pip cargo pytest make = shell exec command run
tests = shell exec command
execute = exec run command
python perl ruby = script interpreter run
curl wget = http get fetch url
browse website webpage = fetch url page web
rm remove erase = delete
`) {
		for _, word := range words {
			for _, m := range meanings {
				if m != stem(word) {
					out[word] = append(out[word], m)
				}
			}
		}
	}
	return out
})

// A phrase is a set of stems that have these meanings only together.
type phrase struct{ stems, meanings []string }

var phrases = sync.OnceValue(func() (out []phrase) {
	for entries, meanings := range eachEntry(`
find+text find+string find+word find+occurrence find+function = grep search file line regular expression
find+line search+file search+word line+match where+use = grep search file line regular expression
read+file view+file open+file show+file print+file = read file lines
look+image view+image show+image = read file image
recent+file change+file recently+file locate+file = glob files last changed
list+folder show+folder folder+content directory+tree = list directory
new+file create+file save+file save+text = write create creates file
change+code update+line modify+file edit+file update+file = replace file text
search+replace = replace text file old_string
multi+edit several+edit many+edit = multi edits
http+request = http get post url
post+api send+url json+url = http post url
download+page download+web = fetch url page
`) {
		for _, entry := range entries {
			p := phrase{meanings: meanings}
			for word := range strings.SplitSeq(entry, "+") {
				p.stems = append(p.stems, stem(word))
			}
			out = append(out, p)
		}
	}
	return out
})

// eachEntry yields the left words of each line of a table, and the stems of its right words. Names lose their
// underscores, as in eachWord.
func eachEntry(table string) func(yield func(words, meanings []string) bool) {
	return func(yield func(words, meanings []string) bool) {
		for line := range strings.Lines(strings.TrimSpace(strings.ReplaceAll(table, "_", ""))) {
			words, right, _ := strings.Cut(line, " = ")
			meanings := strings.Fields(right)
			for i, m := range meanings {
				meanings[i] = stem(m)
			}
			if !yield(strings.Fields(words), meanings) {
				return
			}
		}
	}
}

// phraseMeanings returns the meanings of all phrases whose stems the query has, each once.
func (q Query) phraseMeanings() (meanings []string) {
	for _, p := range phrases() {
		if !slices.ContainsFunc(p.stems, func(s string) bool { return !q.has(s) }) {
			meanings = append(meanings, p.meanings...)
		}
	}
	slices.Sort(meanings)
	return slices.Compact(meanings)
}
