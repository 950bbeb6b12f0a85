// Package ignore knows which files a project wants left alone: the rules of its .gitignore files, of .git/info/exclude, and
// of .ignore files, which search programs read and git does not. Patterns mean exactly what they mean to git.
//
// Rules of a folder go before those of the folders above it, and .ignore before git's. The rules of git end where another
// repository begins. Upper and lower case differ. A user's own global ignore file is not read.
package ignore

import "slices"

// maxSize is how large the ignore files that hold in one folder may be together, in bytes. Larger ones are no work of people.
const maxSize = 1 << 20

// A Verdict is what the rules say of a path.
type Verdict int

// The verdicts.
const (
	None    Verdict = iota // no rule speaks of it
	Ignored                // it is to be left alone
	Kept                   // a rule with ! says that it is not
)

// Rules are those that hold in one folder; nil is none. They do not change, and many goroutines may use them.
type Rules struct {
	dot, git []level // those that go before others are last
	exclude  *level  // .git/info/exclude
	size     int     // of the files, in bytes
}

// Room is how many bytes the ignore files of a folder in that of r may have, together. Those that have more are not to be read.
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

// Enter gives the rules of a folder in that of r. The path of the folder is relative to the topmost one, whose own is "".
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

// Match is what the rules say of a path, relative to the topmost folder. What is in an ignored directory is not asked for.
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
