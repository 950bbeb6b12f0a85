package workspace

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
)

const maxCompared = 2000 // names in one folder

// DidYouMean asks with up to three paths whose names are like the one that does not exist, such as
//
//	Did you mean "src/main.go"?
//
// for the suggestion of an error. It is empty when no name comes near, and for a place where something is.
func (p *Place) DidYouMean() string {
	if p.gap == "" {
		return ""
	}
	folder, wanted := filepath.Split(p.gap)
	names, err := p.root.names(filepath.Clean(folder), maxCompared)
	if err != nil {
		return "" // only a hint
	}
	names = slices.DeleteFunc(names, func(n string) bool { return unlike(wanted, n) > max(2, len(wanted)/3) })
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(unlike(wanted, a), unlike(wanted, b)), strings.Compare(a, b))
	})
	if len(names) == 0 {
		return ""
	}
	var near []string
	for _, n := range names[:min(len(names), 3)] {
		near = append(near, quote(p.root.shows(filepath.Join(folder, n))))
	}
	return "Did you mean " + strings.Join(near, " or ") + "?"
}

// unlike is the number of letters to add, drop or change to make one name of the other, whatever their case. A name
// with another ending counts as one.
func unlike(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	if a != b && strings.TrimSuffix(a, filepath.Ext(a)) == strings.TrimSuffix(b, filepath.Ext(b)) {
		return 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}
