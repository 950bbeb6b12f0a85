// Package ignore knows which files a project wants left alone: the rules of its .gitignore files, of .git/info/exclude,
// and of .ignore files, which search programs read and git does not. Patterns mean exactly what they mean to git.
//
// Rules of a folder go before those of the folders above it, and .ignore before git's. The rules of git end where
// another repository begins. Matching is case-sensitive. A user's own global ignore file is not read.
package ignore

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/plugins/readfile/internal/wild"
)

// maxSize is how large the ignore files that hold in one folder may be together, in bytes. Larger ones are no work of
// people.
const maxSize = 1 << 20

// A Verdict is the rules' decision about a path.
type Verdict int

// The verdicts.
const (
	None    Verdict = iota // no rule speaks of it
	Ignored                // it is to be left alone
	Kept                   // a rule with ! says that it is not
)

// Rules are those that hold in one folder; nil is none. They do not change, and many goroutines may use them.
type Rules struct {
	dot, git []level // in rising precedence
	exclude  *level  // .git/info/exclude
	size     int     // of the files, in bytes
}

// Room is how many bytes the ignore files of a folder in that of r may have, together. Those that have more are not to
// be read.
func (r *Rules) Room() int {
	if r == nil {
		return maxSize
	}
	return maxSize - r.size
}

// A level is the rules of one file.
type level struct {
	list *list
	base int // how much of a path is the folder that the file is in, with its slash
}

// Files are the ignore files of one folder, each nil where there is none.
type Files struct {
	Ignore, GitIgnore []byte
	// Exclude is .git/info/exclude, and Repository says that there is a .git.
	Exclude    []byte
	Repository bool
}

// Enter returns the rules of a folder in that of r. The path of the folder is relative to the topmost one, whose own
// is "".
func (r *Rules) Enter(folder string, files Files) *Rules {
	in := Rules{}
	if r != nil {
		in = *r
	}
	in.size += len(files.Ignore) + len(files.GitIgnore) + len(files.Exclude)
	base := 0
	if folder != "" {
		base = len(folder) + 1
	}
	if files.Repository {
		in.git, in.exclude = nil, nil
	}
	if files.Exclude != nil {
		in.exclude = &level{parse(files.Exclude), base}
	}
	in.dot = with(in.dot, files.Ignore, base)
	in.git = with(in.git, files.GitIgnore, base)
	return &in
}

// with adds a level without changing levels, which other folders share.
func with(levels []level, data []byte, base int) []level {
	if data == nil {
		return levels
	}
	return append(slices.Clip(levels), level{parse(data), base})
}

// Match returns the rules' decision about a path, relative to the topmost folder. What is in an ignored directory is
// not asked for.
func (r *Rules) Match(path string, isDir bool) Verdict {
	if r == nil {
		return None
	}
	for _, levels := range [][]level{r.dot, r.git} {
		for i := len(levels) - 1; i >= 0; i-- {
			if v := levels[i].list.match(path[levels[i].base:], isDir); v != None {
				return v
			}
		}
	}
	if r.exclude != nil {
		return r.exclude.list.match(path[r.exclude.base:], isDir)
	}
	return None
}

// A list is the rules of one file. The last one that matches counts, so rules are known by their number, from 1; those
// that a map can find are in one, and only the others are tried one by one.
type list struct {
	keep  []bool           // by rule: it begins with !
	names map[string]found // rules that are a name
	exts  map[string]found // rules such as *.o, by ".o"
	paths map[string]found // rules that are a path
	tried []rule
}

// found are the last rules of some kind, 0 for none: of those for everything, and those for directories only.
type found struct{ any, dir int }

// A rule is one that has to be tried.
type rule struct {
	number  int
	dirOnly bool
	isPath  bool   // it is for the whole path, not for the name
	prefix  string // what is before its first wildcard
	suffix  string // of *suffix, or else
	pattern *wild.Pattern
}

// parse reads an ignore file as git does.
func parse(data []byte) *list {
	l := &list{names: map[string]found{}, exts: map[string]found{}, paths: map[string]found{}, keep: []bool{false}}
	for line := range bytes.Lines(bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		if text, _, _ := strings.Cut(string(bytes.TrimSuffix(line, []byte("\r"))), "\x00"); !strings.HasPrefix(text, "#") {
			l.add(trimSpaces(text))
		}
	}
	return l
}

// trimSpaces drops spaces at the end, but for those behind a backslash.
func trimSpaces(text string) string {
	end := 0
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' {
			i++
		} else if text[i] == ' ' {
			continue
		}
		end = i + 1
	}
	return text[:min(end, len(text))]
}

func (l *list) add(text string) {
	text, keep := strings.CutPrefix(text, "!")
	text, dirOnly := strings.CutSuffix(text, "/")
	if text == "" {
		return
	}
	l.keep = append(l.keep, keep)
	r := rule{number: len(l.keep) - 1, dirOnly: dirOnly, isPath: strings.Contains(text, "/")}
	text = strings.TrimPrefix(text, "/")
	wildcard := strings.IndexAny(text, `*?[\`)
	switch {
	case wildcard < 0 && r.isPath:
		note(l.paths, text, r)
	case wildcard < 0:
		note(l.names, text, r)
	case !r.isPath && wildcard == 0 && text[0] == '*' && !strings.ContainsAny(text[1:], `*?[\`):
		l.addSuffix(text[1:], r)
	default:
		r.prefix, r.pattern = text[:wildcard], wild.Git(text[wildcard:], r.isPath)
		l.tried = append(l.tried, r)
	}
}

func (l *list) addSuffix(suffix string, r rule) {
	if path.Ext(suffix) == suffix && suffix != "" {
		note(l.exts, suffix, r)
		return
	}
	r.suffix = suffix
	l.tried = append(l.tried, r)
}

func note(rules map[string]found, key string, r rule) {
	f := rules[key]
	if r.dirOnly {
		f.dir = r.number
	} else {
		f.any = r.number
	}
	rules[key] = f
}

// match returns the list's decision about a path, relative to the folder of its file.
func (l *list) match(file string, isDir bool) Verdict {
	name := file[strings.LastIndexByte(file, '/')+1:]
	last := max(l.names[name].last(isDir), l.exts[path.Ext(name)].last(isDir))
	if len(l.paths) > 0 {
		last = max(last, l.paths[file].last(isDir))
	}
	for i := len(l.tried) - 1; i >= 0 && l.tried[i].number > last; i-- {
		if l.tried[i].match(file, name, isDir) {
			last = l.tried[i].number
		}
	}
	switch {
	case last == 0:
		return None
	case l.keep[last]:
		return Kept
	}
	return Ignored
}

func (f found) last(isDir bool) int {
	if isDir {
		return max(f.any, f.dir)
	}
	return f.any
}

func (r *rule) match(file, name string, isDir bool) bool {
	if r.isPath {
		name = file
	}
	if r.dirOnly && !isDir {
		return false
	}
	if r.pattern == nil {
		return strings.HasSuffix(name, r.suffix)
	}
	return strings.HasPrefix(name, r.prefix) && r.pattern.Match(name[len(r.prefix):])
}
