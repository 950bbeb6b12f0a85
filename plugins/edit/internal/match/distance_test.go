package match

import (
	"testing"

	"pgregory.net/rapid"
)

// edits is the table of edits as it is defined: of all of one text against all of the other or, not anchored, against
// the part of it that ends at a rune.
func edits(a, b []rune, anchored bool) (last []int) {
	table := make([][]int, len(a)+1)
	for i := range table {
		table[i] = make([]int, len(b)+1)
		table[i][0] = i
	}
	for j := range table[0] {
		if anchored {
			table[0][j] = j
		}
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			n := 1
			if a[i-1] == b[j-1] {
				n = 0
			}
			n = min(table[i-1][j-1]+n, table[i-1][j]+1, table[i][j-1]+1)
			if anchored && i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				n = min(n, table[i-2][j-2]+1)
			}
			table[i][j] = n
		}
	}
	return table[len(a)]
}

func genRunes(t *rapid.T, label string) []rune {
	few := rapid.SampledFrom([]rune("aab-é한")) // so that much is equal, and of words of bits several are used
	return []rune(rapid.StringOfN(few, 0, 150, -1).Draw(t, label))
}

func TestDistance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := genRunes(t, "a"), genRunes(t, "b")
		limit := rapid.IntRange(0, 100).Draw(t, "limit")
		if got, want := distance(a, b, limit), edits(a, b, true)[len(b)]; got != min(want, limit+1) {
			t.Errorf("%d, want %d, limit %d", got, want, limit)
		}
	})
}

func TestStretch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, line := append(genRunes(t, "text"), '-'), genRunes(t, "line")
		all := edits(text, line, false)
		to, least := stretchEnd(text, line, false)
		for j, n := range all {
			if n < least || n == least && j > to || j == to && n != least {
				t.Fatalf("%d edits to %d, %d to %d", least, to, n, j)
			}
		}
		part, _ := NewText("", nil).stretch([]byte(string(text)), []byte(string(line)))
		if got := edits(text, []rune(string(part)), false); to == len(line) && got[len(got)-1] < least {
			t.Fatalf("%q takes %d edits, less than %d", string(part), got[len(got)-1], least)
		}
	})
}
