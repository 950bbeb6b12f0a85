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
	return misspell(lines, n, func(word string) string { return word[:2] + word[3:4] + word[2:3] + word[4:] })
}

// unclear adds a letter to the end of such words: they may be other names.
func unclear(lines []string, n int) []string {
	return misspell(lines, n, func(word string) string { return word + "X" })
}

func misspell(lines []string, n int, misspelt func(word string) string) []string {
	out := slices.Clone(lines)
	for i, w := range []string{"const remaining", "journal", "notifyListeners", "rounded"}[:n] {
		out[i+1] = strings.Replace(out[i+1], w, misspelt(w), 1)
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

// A block that differs from another one in two lines is distinguished from it; one that differs in one line is only
// where it is certain what a misspelt word should be.
func TestSimilarBlocksWithTypos(t *testing.T) {
	for differ := 1; differ <= 4; differ++ {
		other := slices.Clone(twinLines)
		for i := range differ {
			other[i+1] = fmt.Sprintf("  another%d(balance, %d);", i, i)
		}
		data := strings.Join(slices.Concat(other, []string{"", "between();"}, twinLines, []string{"tail();"}), "\n") + "\n"
		for typos := 1; typos <= 2; typos++ {
			if differ < 2 {
				refused(t, "a.js", data, audited(unclear(twinLines, typos)))
			}
			c := audited(misspelt(twinLines, typos))
			at := strings.LastIndex(data, "}\ntail")
			if _, got := planned(t, "a.js", data, c); got != data[:at]+"  audit(account);\n"+data[at:] {
				t.Errorf("%d lines differ, %d typos:\n%s", differ, typos, got)
			}
		}
	}
}

// audited is a change that adds a line at the end of a block.
func audited(block []string) Change {
	fresh := slices.Insert(slices.Clone(block), len(block)-1, "  audit(account);")
	return Change{Old: strings.Join(block, "\n"), New: strings.Join(fresh, "\n")}
}

// One line tells two blocks apart when it is certain which line of the file it is, and old_string has all others but
// for typos.
func TestOneLineTellsBlocksApart(t *testing.T) {
	last := len(twinLines) - 2
	for line := 1; line <= last; line++ {
		other := slices.Clone(twinLines)
		other[line] = "  another(balance, 7);"
		data := strings.Join(slices.Concat(other, []string{"", "between();"}, twinLines, []string{"tail();"}), "\n") + "\n"
		for typo := 1; typo <= last; typo++ {
			at := strings.LastIndex(data, "}\ntail")
			for _, certain := range []bool{true, false} {
				old := slices.Clone(twinLines)
				if old[typo] = unclear(twinLines, last)[typo]; certain {
					old[typo] = misspelt(twinLines, last)[typo]
				}
				if line == typo && !certain {
					refused(t, "a.js", data, audited(old))
				} else if _, got := planned(t, "a.js", data, audited(old)); got != data[:at]+"  audit(account);\n"+data[at:] {
					t.Errorf("line %d, typo in %d:\n%s", line, typo, got)
				}
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

// Where the block that is meant has gone, another one is not taken for it: neither one whose sense is the opposite, nor
// one of two that differ from it in something else each.
func TestBlocksThatOnlyResemble(t *testing.T) {
	block := strings.Join(twinLines, "\n") + "\n"
	with := func(old, fresh string) string { return strings.Replace(block, old, fresh, 1) }
	guarded := with("  journal", "  if (remaining > account.limit) return;\n  journal")
	altered := with("notifyListeners(account, remaining)", "ledger.publish(balance.entries)")
	for _, c := range []struct{ name, data, old string }{
		{"not", strings.Replace(guarded, "(remaining >", "(!remaining >", 1), guarded},
		{"another comparison", strings.Replace(guarded, "remaining >", "remaining <", 1), guarded},
		{"another value", with(");\n  journal", ", true);\n  journal"), with(");\n  journal", ", false);\n  journal")},
		{"a line more, another line", with("  journal", "  lock();\n  journal") + "between();\n" + altered, block},
		{"another comment behind a line, another line",
			with("remaining);\n  notify", "remaining); // of the closed period\n  notify") + "between();\n" + altered,
			with("remaining);\n  notify", "remaining); // before the period is closed\n  notify")},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, name := range []string{"a.js", "a.unknown"} {
				refused(t, name, "head();\n"+c.data+"tail();\n", Change{Old: c.old,
					New: strings.Replace(c.old, "  return remaining", "  audit(account);\n  return remaining", 1)})
			}
		})
	}
}

// A block that has changed is not taken for one that differs from it in white space only.
func TestTwinInOtherBlanks(t *testing.T) {
	aligned := func(s string) string { return strings.ReplaceAll(s, " = ", "   = ") }
	deeper := func(s string) string { return strings.ReplaceAll("\n"+s, "\n  ", "\n      ")[1:] }
	block := "  string identifier = 1;\n  int32 generation = 2;\n  bool deleted = 3;\n"
	for _, changed := range []string{
		strings.Replace(block, "generation", "revision", 1),
		strings.Replace(block, "string identifier", "bytes identifier", 1),
		strings.Replace(block, "deleted = 3", "deleted = 4", 1),
		strings.Replace(block, "  bool", "  int64 size = 5;\n  bool", 1),
		strings.Replace(block, "  int32 generation = 2;\n", "", 1),
	} {
		for _, other := range []string{aligned(block), deeper(block)} {
			a, b := "message A {\n"+changed+"}\n", "message B {\n"+other+"}\n"
			c := Change{Old: block, New: strings.Replace(block, "int32", "int64", 1)}
			for _, data := range []string{a + b, b + a} {
				if r := refused(t, "a.proto", data, c); r.Kind != Ambiguous || len(r.Candidates) != 2 {
					t.Errorf("%v", r)
				}
			}
			if p, got := planned(t, "a.proto", b, c); !strings.Contains(got, "int64 ") {
				t.Errorf("pass %d gives\n%s", p.Pass, got)
			}
		}
	}
}
