package match

import (
	"cmp"
	"slices"
)

const (
	maxWindows = 12 // parts of the file that are compared with old_string line by line
	maxCommon  = 12 // a line that is in the file more often than that says nothing of where old_string is
	slack      = 3  // how many lines more or less than old_string a window has
)

// votes finds where in the file old_string may be: at the offsets between lines of both that say the same.
func votes(old, file *index) map[int]float64 {
	v := map[int]float64{}
	for i, key := range old.keys {
		if !old.telling(i) || len(file.at[key]) > maxCommon {
			continue
		}
		for _, j := range file.at[key] {
			v[j-i] += old.weight[i]
		}
	}
	return v
}

// peaks are the offsets with the most votes, those of their neighbors included.
func peaks(v map[int]float64) []int {
	type peak struct {
		at  int
		sum float64
	}
	all := make([]peak, 0, len(v))
	for d, own := range v {
		p := peak{d, own / 1000}
		for k := d - slack; k <= d+slack; k++ {
			p.sum += v[k]
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b peak) int { return cmp.Or(cmp.Compare(b.sum, a.sum), cmp.Compare(a.at, b.at)) })
	var out []int
	for _, p := range all {
		if !slices.ContainsFunc(out, func(d int) bool { return abs(d-p.at) <= slack }) {
			out = append(out, p.at)
		}
		if len(out) == maxWindows {
			break
		}
	}
	return out
}
