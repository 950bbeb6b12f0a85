package host

import (
	"slices"
	"strings"
)

// synonymShare is what a word counts that was not said, beside one that was.
const synonymShare = 0.6

// synonyms are words for what tools do that tools do not have of themselves: names of programs that do it, and of other
// agents' tools. Each line is the words that may be said, and those that such a tool is described by, all of which count.
var synonyms = readSynonyms(`
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
`)

// phrases are words that mean something only together, likewise.
var phrases = readPhrases(`
find+text find+string find+word find+occurrence find+function find+line search+file search+word line+match where+use = grep search file line regular expression
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
`)

// A phrase is such words, as stems, and what they stand for.
type phrase struct{ said, meant []string }

func readPhrases(table string) (out []phrase) {
	for line := range strings.Lines(strings.TrimSpace(table)) {
		said, meant, _ := strings.Cut(line, " = ")
		for words := range strings.FieldsSeq(said) {
			p := phrase{}
			for w := range strings.SplitSeq(words, "+") {
				p.said = append(p.said, stem(w))
			}
			for m := range strings.FieldsSeq(meant) {
				p.meant = append(p.meant, stem(strings.ReplaceAll(m, "_", "")))
			}
			out = append(out, p)
		}
	}
	return out
}

// phrasesIn gives what the phrases of a query stand for, each word once.
func phrasesIn(terms []term) (meant []string) {
	has := func(word string) bool { return slices.ContainsFunc(terms, func(t term) bool { return t.stem == word }) }
	for _, p := range phrases {
		if slices.IndexFunc(p.said, func(w string) bool { return !has(w) }) < 0 {
			meant = append(meant, p.meant...)
		}
	}
	slices.Sort(meant)
	return slices.Compact(meant)
}

func readSynonyms(table string) map[string][]string {
	out := map[string][]string{}
	for line := range strings.Lines(strings.TrimSpace(table)) {
		said, meant, _ := strings.Cut(line, " = ")
		for word := range strings.FieldsSeq(strings.ReplaceAll(said, "_", "")) {
			for m := range strings.FieldsSeq(meant) {
				if s := stem(strings.ReplaceAll(m, "_", "")); s != stem(word) {
					out[word] = append(out[word], s)
				}
			}
		}
	}
	return out
}
