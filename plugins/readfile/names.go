package main

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/plugins/readfile/internal/wild"
	"github.com/toolhost/toolhost/sdk"
)

// maxPathBytes is how many bytes of paths a result may have, so that it fits the wire whatever the names are.
const maxPathBytes = 256 << 10

// A namePattern is a glob for files below a directory. One without a slash is for names at any depth.
type namePattern struct {
	*wild.Glob
	isPath bool
	folder string // all that match are in this one, or below it; "" or with a slash at its end
}

// newNamePattern reads the pattern in an argument. The absolute path of the directory may stand before it.
func newNamePattern(argument, text, dir string, fold bool) (*namePattern, error) {
	given := text
	text, absolute := strings.CutPrefix(text, strings.TrimSuffix(dir, "/")+"/")
	text, here := strings.CutPrefix(text, "./")
	if strings.HasSuffix(text, "/") {
		text += "**"
	}
	switch {
	case text == "":
		return nil, badPattern(argument, given, "it is empty", `Write one such as "*.go" or "src/**/*.ts".`)
	case text[0] == '/' || strings.Contains("/"+text+"/", "/../"):
		return nil, badPattern(argument, given, "it leads out of the directory", "Write it relative to path, such as \"src/**/*.go\"; to look elsewhere in the workspace, give path.")
	}
	glob, err := wild.ParseGlob(text, fold)
	if err != nil {
		return nil, badPattern(argument, given, err.Error(), `Close each [ and {, and put \ before those that stand for themselves.`)
	}
	n := &namePattern{Glob: glob, isPath: here || absolute || strings.Contains(text, "/")}
	if fixed := text[:wildcardIn(text)]; !fold {
		n.folder = fixed[:strings.LastIndexByte(fixed, '/')+1]
	}
	return n, nil
}

func wildcardIn(text string) int {
	if i := strings.IndexAny(text, `*?[{\`); i >= 0 {
		return i
	}
	return len(text)
}

func badPattern(argument, text, problem, hint string) error {
	return &sdk.Error{Code: sdk.CodeInvalidArgs, Name: "InvalidPattern", Message: fmt.Sprintf("%s %q cannot be used: %s", argument, text, problem), Suggestion: hint}
}

// matches tells of a file, by the directory that it is in and its name.
func (n *namePattern) matches(below, name string) bool {
	if n.isPath {
		name = path.Join(below, name)
	}
	return n.Match(name)
}

// mayHold tells whether something below a directory may match.
func (n *namePattern) mayHold(below string) bool {
	below += "/"
	return strings.HasPrefix(below, n.folder) || strings.HasPrefix(n.folder, below)
}

// covers tells whether a directory and all in it match, for patterns that leave out.
func (n *namePattern) covers(below string) bool {
	if !n.isPath {
		return n.Match(path.Base(below))
	}
	return n.Match(below) || n.Match(below+"/")
}

// absolute is the path of a directory that a tool is to look in.
func absolute(workdir, dir string) string {
	if filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	return filepath.Join(workdir, dir)
}
