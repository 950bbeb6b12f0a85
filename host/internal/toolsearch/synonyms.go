package toolsearch

import (
	"slices"
	"strings"
	"sync"
)

// synonymShare is the weight of a synonym of a query's word, relative to the word itself.
const synonymShare = 0.6

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
