package match

import "math"

// maxWordUse is how often a word may be in the file and still say where something is.
const maxWordUse = 60

// wordVotes finds where the file has the words of old_string, the rare ones counting for more.
func (t *Text) wordVotes(r *reading) map[int]float64 {
	v := map[int]float64{}
	old := map[string][]int{} // lines of old_string
	for i, key := range r.index.keys {
		for w := range words(key) {
			if alnums([]byte(w)) >= 3 {
				old[w] = append(old[w], i)
			}
		}
	}
	for w, lines := range t.linesWith(old) {
		if len(lines) > maxWordUse || len(old[w]) > maxCommon {
			continue
		}
		for _, j := range lines {
			for _, i := range old[w] {
				v[j-i] += 1 / math.Sqrt(float64(len(lines)))
			}
		}
	}
	return v
}

// linesWith gives the lines of the file that have a word of those given; of words that are everywhere only some.
func (t *Text) linesWith(wanted map[string][]int) map[string][]int {
	lines := map[string][]int{}
	for j, key := range t.lineIndex().keys {
		for w := range words(key) {
			if _, ok := wanted[w]; ok && len(lines[w]) <= maxWordUse {
				lines[w] = append(lines[w], j)
			}
		}
	}
	return lines
}

// words goes through the words of a line, quicker than an expression would.
func words(s string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		from := -1
		for i, r := range s {
			switch in := wordRune(r); {
			case in && from < 0:
				from = i
			case !in && from >= 0:
				if !yield(s[from:i]) {
					return
				}
				from = -1
			}
		}
		if from >= 0 {
			yield(s[from:])
		}
	}
}
