package editbench

import (
	"slices"
	"strings"
)

// fair reports whether a careful person would find the case clear: it changes something, its place is the only one,
// and there are no two ways to read the change.
func (d *draft) fair(c *Case) bool {
	if c.Old == c.New || string(c.Want) == string(c.Data) || letters(c.Old) < 12 {
		return false
	}
	return d.onePlace(c) && d.oneReading() && d.oneFit() && (!d.local || d.noRival())
}

// onePlace makes sure that neither what the file has there nor what the model quotes is somewhere else as well, and
// that the result is not in the file already.
func (d *draft) onePlace(c *Case) bool {
	if !c.onlyHere() || !d.literal && strings.Contains(string(c.Data), c.Old) {
		return false
	}
	all := d.fileKeys()
	from := size(all[:d.from])
	whole := strings.Join(all, "")
	here := strings.Join(all[d.from:d.from+d.count], "")
	here = here[len(squash(d.head)) : len(here)-len(squash(d.rest))]
	if strings.Count(whole, here) != 1 {
		return false
	}
	quoted := squash(c.Old)
	if n := strings.Count(whole, quoted); n > 1 || n == 1 && strings.Index(whole, quoted) < from {
		return false
	}
	after := squash(c.New)
	return after == "" || strings.Contains(quoted, after) || strings.Contains(here, after) || !strings.Contains(whole,
		after)
}

// onlyHere makes sure that old_string, if it is in the file to the byte or but for line endings, is so at the place
// only.
func (c *Case) onlyHere() bool {
	data, old := endings(string(c.Data)), endings(c.Old)
	at := strings.Index(data, old)
	if at < 0 {
		return true
	}
	start, end := len(endings(string(c.Data[:c.start]))), len(endings(string(c.Data[:c.end])))
	return at >= start && at+len(old) <= end && !strings.Contains(data[at+1:], old)
}

func endings(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

func (d *draft) fileKeys() []string {
	if d.content || len(d.lines) != len(d.src.keys) {
		return keys(d.lines)
	}
	return d.src.keys
}

// oneReading compares the model's two texts from the front and from the back. When both ways keep the same lines there
// is one smallest change, and it must be the edit's.
func (d *draft) oneReading() bool {
	var old, fresh []string
	var pairs [][2]int
	for _, c := range d.cells {
		if c.hasOld() && c.hasNew() && c.kind != changed {
			pairs = append(pairs, [2]int{len(old), len(fresh)})
		}
		if c.hasOld() {
			old = append(old, squash(c.old))
		}
		if c.hasNew() {
			fresh = append(fresh, squash(c.new))
		}
	}
	way, ok := onlyWay(old, fresh)
	return ok && slices.Equal(way, pairs)
}

// onlyWay returns the longest common subsequence of two texts, as pairs of lines. It is not the only one when another
// comes out from behind, or of the texts the other way round.
func onlyWay(a, b []string) ([][2]int, bool) {
	way := common(a, b)
	turned := func(pairs [][2]int) [][2]int {
		for i, p := range pairs {
			pairs[i] = [2]int{p[1], p[0]}
		}
		return pairs
	}
	ok := slices.Equal(way, fromBehind(a, b)) && slices.Equal(way, turned(common(b, a))) &&
		slices.Equal(way, turned(fromBehind(b, a)))
	return way, ok
}

// fromBehind is common of the texts read from their ends.
func fromBehind(a, b []string) [][2]int {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Reverse(a)
	slices.Reverse(b)
	out := common(a, b)
	slices.Reverse(out)
	for i, p := range out {
		out[i] = [2]int{len(a) - 1 - p[0], len(b) - 1 - p[1]}
	}
	return out
}

// oneFit makes sure that there are no two ways to lay old_string over the file's lines, as when one of two blank lines
// is left out.
func (d *draft) oneFit() bool {
	var old []string
	for _, c := range d.cells {
		if c.hasOld() {
			old = append(old, squash(c.old))
		}
	}
	_, ok := onlyWay(keys(d.lines[d.from:d.from+d.count]), old)
	return ok
}

// common returns the indices of a longest common subsequence, of several the one that is early in a.
func common(a, b []string) [][2]int {
	longest := make([][]int, len(a)+1)
	for i := range longest {
		longest[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				longest[i][j] = 1 + longest[i+1][j+1]
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	var out [][2]int
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			out = append(out, [2]int{i, j})
			i, j = i+1, j+1
		case longest[i][j+1] >= longest[i+1][j]:
			j++
		default:
			i++
		}
	}
	return out
}

// noRival makes sure that no other place of the file has nearly as many of the quoted lines, and that lines which are
// not quoted as they stand here are nowhere else as they are quoted.
func (d *draft) noRival() bool {
	all := d.fileKeys()
	votes, mine, here := map[int]int{}, 0, map[string]bool{}
	for i := d.from; i < d.from+d.count; i++ {
		here[all[i]] = true
	}
	places := map[string][]int{}
	for i, k := range all {
		places[k] = append(places[k], i)
	}
	row := 0
	for _, c := range d.cells {
		if !c.hasOld() {
			continue
		}
		k := squash(c.old)
		if letters(k) >= 3 {
			if here[k] {
				mine++
			} else if len(places[k]) > 0 {
				return false
			}
			d.vote(votes, places[k], row)
		}
		row++
	}
	return most(votes) <= min(mine-3, mine*6/10)
}

// vote counts the places outside the window where a quoted line stands, for the place that the quotation would begin
// at.
func (d *draft) vote(votes map[int]int, places []int, row int) {
	for _, at := range places {
		if at < d.from || at >= d.from+d.count {
			votes[at-row]++
		}
	}
}

// most is the largest number of votes of a start and those two lines around it.
func most(votes map[int]int) int {
	best := 0
	for start := range votes {
		sum := 0
		for near := -2; near <= 2; near++ {
			sum += votes[start+near]
		}
		best = max(best, sum)
	}
	return best
}
