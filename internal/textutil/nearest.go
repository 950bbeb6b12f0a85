package textutil

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// Limits of Nearest, so that hostile names cost little.
const (
	maxNearName  = 64  // bytes of a name
	maxNearNames = 200 // of these the first are compared
)

// Nearest returns the one of names that is most like name, or "" if none is near: one edit away for a name of up to
// three characters, two edits for up to eleven, a quarter of its length beyond. Letter case, "_", "-" and blanks do not
// count. Names of more than 64 bytes, and those after the first 200, are not compared.
func Nearest(name string, names []string) string {
	plain := plainName(name)
	allowed := max(2, len(plain)/4)
	if len(plain) < 4 {
		allowed = 1
	}
	best, least := "", allowed+1
	if len(name) > maxNearName {
		return ""
	}
	for _, n := range names[:min(len(names), maxNearNames)] {
		if n == name || len(n) > maxNearName {
			continue
		}
		if d := levenshtein.Distance(plain, plainName(n), nil); d < least && d < len(plain) {
			best, least = n, d
		}
	}
	return best
}

// DidYouMean returns `; did you mean "x"?` for the nearest of names, or "" if none is near.
func DidYouMean(name string, names []string) string {
	if n := Nearest(name, names); n != "" {
		return fmt.Sprintf("; did you mean %q?", n)
	}
	return ""
}

var separators = strings.NewReplacer("_", "", "-", "", " ", "")

func plainName(s string) string { return separators.Replace(strings.ToLower(s)) }

// sameNames are names that people and programs give to one thing, without separators.
var sameNames = [][]string{{"cwd", "workdir", "workingdirectory", "workingdir"}, {"job", "id"},
	{"filename", "filepath", "file", "path"}, {"cmd", "command"}, {"regex", "regexp", "pattern"}}

// Related returns the one of names that says the same as name in other words, or with a word more or less, such as
// path for file_path and timeout_seconds for timeout; "" if none or several do.
func Related(name string, names []string) string {
	if len(name) > maxNearName {
		return ""
	}
	found := ""
	for _, n := range names[:min(len(names), maxNearNames)] {
		if n == name || len(n) > maxNearName || !related(name, n) {
			continue
		}
		if found != "" {
			return ""
		}
		found = n
	}
	return found
}

func related(a, b string) bool {
	x, y := plainName(a), plainName(b)
	short := min(len(x), len(y))
	if short >= 4 && (strings.HasPrefix(x, y) || strings.HasPrefix(y, x)) {
		return true
	}
	if slices.ContainsFunc(sameNames, func(all []string) bool {
		return slices.Contains(all, x) && slices.Contains(all, y)
	}) {
		return true
	}
	x, y = strings.ToLower(a), strings.ToLower(b)
	return strings.HasSuffix(x, "_"+y) || strings.HasSuffix(y, "_"+x) || strings.HasPrefix(x, y+"_") ||
		strings.HasPrefix(y, x+"_") || short >= 4 && strings.HasSuffix(x, y)
}
