package match

import "math"

// keyLevel is the form in which pass 8 compares lines: comments at the end of lines are left out.
const keyLevel = trail | lead | fold | collapse | noBlank | noNotes

// An index knows the lines of a text by what they say.
type index struct {
	keys   []string // of each line; "" for a blank one
	note   []bool   // the line is a comment
	weight []float64
	at     map[string][]int // where a key is, of lines that are significant
}

// telling says that a line has enough in it to tell it from others.
func (x *index) telling(i int) bool { return x.weight[i] >= significance }

// significant says that a line is telling, and no comment.
func (x *index) significant(i int) bool { return x.telling(i) && !x.note[i] }

// significance is the least weight, the root of the count of letters and digits, of a significant line.
var significance = math.Sqrt(3)

func newIndex(src *source, s *stream) *index {
	n := len(src.lines)
	x := &index{keys: make([]string, n), note: make([]bool, n), weight: make([]float64, n), at: map[string][]int{}}
	i, from := 0, 0
	for k, c := range s.text {
		if c == '\n' || k == len(s.text)-1 {
			i = advance(src, i, int(s.start[k]))
			end := k
			if c != '\n' {
				end++
			}
			x.keys[i] = string(s.text[from:end])
			from = k + 1
		}
	}
	for i, key := range x.keys {
		if key == "" && !isBlankLine(src.text(i)) {
			x.keys[i], x.note[i] = squeeze(src.text(i)), true
		}
		x.weight[i] = math.Sqrt(float64(alnums([]byte(x.keys[i]))))
		if key = x.keys[i]; x.telling(i) {
			x.at[key] = append(x.at[key], i)
		}
	}
	return x
}

// lineIndex is the index of the file.
func (t *Text) lineIndex() *index {
	if t.index == nil {
		t.index = newIndex(t.source, t.stream(keyLevel))
	}
	return t.index
}
