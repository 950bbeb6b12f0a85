package match

// A hunk is a part where old_string and new_string differ: old lines a to b became new lines na to nb.
type hunk struct{ a, b, na, nb int }

// maxDiffCells bounds the table of a line diff; larger ones are taken as one hunk.
const maxDiffCells = 4 << 20

// diffLines returns the hunks between two lists of lines. Lines with letters weigh more than blank lines and
// brackets, so that those do not decide what belongs together.
func diffLines(x, y []string) (out []hunk) {
	head, tail := equalEnds(x, y)
	x, y = x[head:len(x)-tail], y[head:len(y)-tail]
	end := hunk{head + len(x), head + len(x), head + len(y), head + len(y)}
	var pairs [][2]int
	if len(x)*len(y) <= maxDiffCells {
		weights := make([]float64, len(x))
		for i, l := range x {
			switch n := alnums([]byte(l)); {
			case l == "":
				weights[i] = 1
			case n < 3:
				weights[i] = 2
			default:
				weights[i] = 4
			}
		}
		pairs = bestPairs(len(x), len(y), func(i, j int) float64 {
			if x[i] != y[j] {
				return 0
			}
			return weights[i]
		})
	}
	at, nat := head, head
	for _, p := range pairs {
		i, j := p[0]+head, p[1]+head
		if i > at || j > nat {
			out = append(out, hunk{at, i, nat, j})
		}
		at, nat = i+1, j+1
	}
	if at < end.a || nat < end.na {
		out = append(out, hunk{at, end.a, nat, end.na})
	}
	return out
}

// bestPairs pairs elements of two lists, both rising, so that the sum of gains is the largest. Pairs without gain are
// none.
func bestPairs(n, m int, gain func(i, j int) float64) (pairs [][2]int) {
	w := m + 1
	best := make([]float64, (n+1)*w) // of the elements from i and j on
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			best[i*w+j] = max(best[(i+1)*w+j], best[i*w+j+1])
			if g := gain(i, j); g > 0 {
				best[i*w+j] = max(best[i*w+j], best[(i+1)*w+j+1]+g)
			}
		}
	}
	for i, j := 0, 0; i < n && j < m; {
		switch g := gain(i, j); {
		case g > 0 && best[i*w+j] == best[(i+1)*w+j+1]+g:
			pairs = append(pairs, [2]int{i, j})
			i, j = i+1, j+1
		case best[i*w+j] == best[(i+1)*w+j]:
			i++
		default:
			j++
		}
	}
	return pairs
}
