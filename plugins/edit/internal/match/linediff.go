package match

import "bytes"

// A hunk is a part where old_string and new_string differ: old lines a to b became new lines na to nb.
type hunk struct{ a, b, na, nb int }

// maxDiffCells bounds the table of a line diff; larger ones are taken as one hunk.
const maxDiffCells = 4 << 20

// diffLines gives the hunks between two lists of lines.
func diffLines(x, y []string) []hunk {
	head := 0
	for head < min(len(x), len(y)) && x[head] == y[head] {
		head++
	}
	tail := 0
	for tail < min(len(x), len(y))-head && x[len(x)-1-tail] == y[len(y)-1-tail] {
		tail++
	}
	x, y = x[head:len(x)-tail], y[head:len(y)-tail]
	var out []hunk
	if len(x)*len(y) > maxDiffCells {
		return append(out, hunk{head, head + len(x), head, head + len(y)})
	}
	at := hunk{head, head, head, head}
	for _, p := range commonLines(x, y) {
		i, j := p[0]+head, p[1]+head
		if i > at.a || j > at.na {
			out = append(out, hunk{at.a, i, at.na, j})
		}
		at.a, at.na = i+1, j+1
	}
	if at.a < head+len(x) || at.na < head+len(y) {
		out = append(out, hunk{at.a, head + len(x), at.na, head + len(y)})
	}
	return out
}

func trimmedLines(s *source) []string {
	out := make([]string, len(s.lines))
	for i := range out {
		out[i] = string(bytes.TrimRight(s.text(i), " \t"))
	}
	return out
}

// commonLines pairs the lines of a longest common subsequence. Lines with letters count for more than blank lines and
// brackets, so that those do not decide what belongs together.
func commonLines(x, y []string) (pairs [][2]int) {
	w := len(y) + 1
	best := make([]int32, (len(x)+1)*w)
	for i := len(x) - 1; i >= 0; i-- {
		weight := lineWeight(x[i])
		for j := len(y) - 1; j >= 0; j-- {
			v := max(best[(i+1)*w+j], best[i*w+j+1])
			if x[i] == y[j] {
				v = max(v, best[(i+1)*w+j+1]+weight)
			}
			best[i*w+j] = v
		}
	}
	for i, j := 0, 0; i < len(x) && j < len(y); {
		switch {
		case x[i] == y[j] && best[i*w+j] == best[(i+1)*w+j+1]+lineWeight(x[i]):
			pairs = append(pairs, [2]int{i, j})
			i, j = i+1, j+1
		case best[(i+1)*w+j] >= best[i*w+j+1]:
			i++
		default:
			j++
		}
	}
	return pairs
}

func lineWeight(s string) int32 {
	switch n := alnums([]byte(s)); {
	case s == "":
		return 1
	case n < 3:
		return 2
	}
	return 4
}
