package schema

import (
	"strings"

	"github.com/agext/levenshtein"
)

// nearest is the name most like the wrong one, or "" if none is alike. Case, "_", "-" and spaces do not count.
func nearest(wrong string, names []string) string {
	const longest = 40
	plainWrong := squash(wrong)
	best, bestDistance := "", 1+max(len(plainWrong)/3, 1)
	for _, name := range names {
		if name == wrong || len(name) > longest || len(plainWrong) > longest {
			continue
		}
		if d := levenshtein.Distance(plainWrong, squash(name), nil); d < bestDistance && d < len(plainWrong) {
			best, bestDistance = name, d
		}
	}
	return best
}

func didYouMean(name string) string {
	if name == "" {
		return ""
	}
	return " (did you mean " + quote(name) + "?)"
}

var squasher = strings.NewReplacer("_", "", "-", "", " ", "")

func squash(s string) string { return squasher.Replace(strings.ToLower(shorten(s, 60))) }
