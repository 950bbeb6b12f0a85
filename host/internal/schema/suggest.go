package schema

import "strings"

// nearest is the name most like the wrong one, or "" if none is alike. Case, "_", "-" and spaces do not count.
func nearest(wrong string, names []string) string {
	const longest = 40
	plainWrong := squash(wrong)
	best, bestDistance := "", 1+max(len(plainWrong)/3, 1)
	for _, name := range names {
		if name == wrong || len(name) > longest || len(plainWrong) > longest {
			continue
		}
		if d := distance(plainWrong, squash(name)); d < bestDistance && d < len(plainWrong) {
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

// distance counts the edits (insert, delete, replace) that turn a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := corner
			if a[i] != b[j] {
				replace++
			}
			corner = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
