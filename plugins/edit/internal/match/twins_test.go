package match

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

var twinLines = []string{"function settleAccount(account, balance) {",
	"  const remaining = balance.subtract(account.reserved);", "  journal.append(account.identifier, remaining);",
	"  notifyListeners(account, remaining);", "  return remaining.rounded();", "}"}

// misspelt swaps two letters in the middle of one word on each of n lines.
func misspelt(lines []string, n int) []string {
	out := slices.Clone(lines)
	for i, w := range []string{"remaining = ", "journal", "notify", "rounded"}[:n] {
		j := i + 1
		at := strings.Index(out[j], w) + 2
		out[j] = out[j][:at] + out[j][at+1:at+2] + out[j][at:at+1] + out[j][at+2:]
	}
	return out
}

// Of two copies of a block neither is preferred, however many words of old_string are misspelt, and however far or
// near they are.
func TestTwinsWithTypos(t *testing.T) {
	for typos := range 4 {
		for _, apart := range []int{0, 1, 2, 3, 4, 7, 30} {
			for _, size := range []int{3, 4, len(twinLines)} {
				block := slices.Concat(twinLines[:size-1], twinLines[len(twinLines)-1:])
				var between []string
				for i := range apart {
					between = append(between, fmt.Sprintf("const filler%d = %d;", i, i))
				}
				data := strings.Join(slices.Concat([]string{"head();"}, block, between, block, []string{"tail();"}), "\n") + "\n"
				old := misspelt(block, min(typos, size-2))
				fresh := slices.Insert(slices.Clone(old), 2, "  audit(account);")
				for _, s := range []Strictness{Full, Safe} {
					refused(t, "a.js", data, Change{Old: strings.Join(old, "\n"), New: strings.Join(fresh, "\n"), Strictness: s})
				}
			}
		}
	}
}

// A block that differs from another one in two lines is distinguished from it, one that differs in one line is not.
func TestSimilarBlocksWithTypos(t *testing.T) {
	for differ := 1; differ <= 4; differ++ {
		other := slices.Clone(twinLines)
		for i := range differ {
			other[i+1] = fmt.Sprintf("  another%d(balance, %d);", i, i)
		}
		data := strings.Join(slices.Concat(other, []string{"", "between();"}, twinLines, []string{"tail();"}), "\n") + "\n"
		for typos := 1; typos <= 2; typos++ {
			old := misspelt(twinLines, typos)
			fresh := slices.Insert(slices.Clone(old), len(old)-1, "  audit(account);")
			c := Change{Old: strings.Join(old, "\n"), New: strings.Join(fresh, "\n")}
			if differ < 2 {
				refused(t, "a.js", data, c)
				continue
			}
			at := strings.LastIndex(data, "}\ntail")
			if _, got := planned(t, "a.js", data, c); got != data[:at]+"  audit(account);\n"+data[at:] {
				t.Errorf("%d lines differ, %d typos:\n%s", differ, typos, got)
			}
		}
	}
}

// One line tells two blocks apart when old_string has it to the letter, and has all others but for typos.
func TestOneLineTellsBlocksApart(t *testing.T) {
	last := len(twinLines) - 2
	for line := 1; line <= last; line++ {
		other := slices.Clone(twinLines)
		other[line] = "  another(balance, 7);"
		data := strings.Join(slices.Concat(other, []string{"", "between();"}, twinLines, []string{"tail();"}), "\n") + "\n"
		for typo := 1; typo <= last; typo++ {
			old := slices.Clone(twinLines)
			old[typo] = misspelt(twinLines, last)[typo]
			fresh := slices.Insert(slices.Clone(old), len(old)-1, "  audit(account);")
			c := Change{Old: strings.Join(old, "\n"), New: strings.Join(fresh, "\n")}
			if line == typo {
				refused(t, "a.js", data, c)
				continue
			}
			at := strings.LastIndex(data, "}\ntail")
			if _, got := planned(t, "a.js", data, c); got != data[:at]+"  audit(account);\n"+data[at:] {
				t.Errorf("line %d, typo in %d:\n%s", line, typo, got)
			}
		}
	}
}

// A copy is one also where it stands in a comment, or where only one of the two comments has its end.
func TestTwinsInComments(t *testing.T) {
	block := strings.Join(twinLines, "\n") + "\n"
	noted := strings.Replace(block, "journal", "/* kept for the audit */\n  journal", 1)
	half := strings.Replace(block, "journal", "/* kept for the audit\n  journal", 1)
	c := Change{Old: strings.Replace(block, "journal", "// kept for audits\n  journal", 1)}
	c.New = strings.Replace(c.Old, "return", "audit(account);\n  return", 1)
	for _, data := range []string{noted + "between();\n" + half + "tail();\n", half + "between();\n" + noted +
		"tail();\n", "/* the old one:\n" + block + "*/\n" + noted} {
		refused(t, "a.js", data, c)
	}
}

// The first line of a block whose other lines are as in the file has lost its indentation; it says nothing of the rest.
func TestFirstLineWithoutIndentation(t *testing.T) {
	const data = "list:\n - &first\n    go: one\n    last: 64\n   out:\n"
	_, got := planned(t, "a.yaml", data, Change{Old: "- &first\n    go: one \n    last: 64",
		New: "- &first\n    go: one \n    options:\n      two: 2\n    last: 64"})
	if want := strings.Replace(data, "    last", "    options:\n      two: 2\n    last", 1); got != want {
		t.Errorf("%q", got)
	}
}
