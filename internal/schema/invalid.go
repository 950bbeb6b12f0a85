package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// MaxProblems is how many problems of a document are told; the rest is only counted.
const MaxProblems = 5

// Problem is one thing wrong with a document, worded for whoever must mend it.
type Problem struct {
	Path    string // such as edits[2].old_string, or "" for the document itself
	Message string // what is wrong, what is allowed, what was given
}

// String is the path, if there is one, and the message.
func (p Problem) String() string {
	if p.Path == "" {
		return p.Message
	}
	return p.Path + ": " + p.Message
}

// Invalid says why a document is not valid: at least one problem, outer before inner, and by name on one level.
type Invalid struct {
	Problems []Problem // at most MaxProblems
	More     int       // how many others there are
}

// Error is all problems in one line.
func (i *Invalid) Error() string {
	words := make([]string, len(i.Problems))
	for k, p := range i.Problems {
		words[k] = p.String()
	}
	text := strings.Join(words, "; ")
	if i.More > 0 {
		text += "; and " + plural(i.More, "more problem")
	}
	return text
}

func invalid(format string, args ...any) *Invalid {
	return &Invalid{Problems: []Problem{{Message: fmt.Sprintf(format, args...)}}}
}

// finding is a problem before it is sorted, with what choosing between alternatives needs to know.
type finding struct {
	at      *place
	word    string // the keyword that refused
	message string
}

// maxFindings are kept for sorting; beyond it problems are only counted.
const maxFindings = 1000

// invalid sorts the findings, drops doubles, and keeps the first few.
func (c *checker) invalid() *Invalid {
	slices.SortStableFunc(c.findings, func(a, b finding) int {
		return cmp.Or(a.at.compare(b.at), strings.Compare(a.message, b.message))
	})
	problems := make([]Problem, len(c.findings))
	for i, f := range c.findings {
		problems[i] = Problem{Path: f.at.String(), Message: f.message}
	}
	problems = slices.Compact(problems)
	kept := min(len(problems), MaxProblems)
	return &Invalid{Problems: problems[:kept:kept], More: len(problems) - kept + c.uncounted}
}
