package editbench_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/tools/editbench"
)

// truths runs a check over all cases, and says which failed it.
func truths(t *testing.T, check func(c *editbench.Case) string) {
	t.Helper()
	cases := generate(t, editbench.Options{Seed: 1, Count: 17, Small: true})
	for i := range cases {
		if fault := check(&cases[i]); fault != "" {
			c := &cases[i]
			t.Errorf("%s (%s), %s: %s\nold %q\nnew %q", c.Category, c.Noise, c.Name, fault, c.Old, c.New)
		}
	}
}

var refusals = strings.Fields("ambiguous_exact ambiguous_fuzzy absent absent_hard already_applied neardup_ambig " +
	"sibling_absent guards twins_typos number_absent placeholders fences inserted_twice stale_line " +
	"beside_twice marked diff_lines elided_old")

// byLetter are found to the byte, and must not be carried out so.
var byLetter = strings.Fields("guards ambiguous_exact breaks_lost placeholders fences inserted_twice " +
	"first_indent other_indent beside_twice marked diff_lines separators")

func TestCategoriesAreEitherToEditOrToRefuse(t *testing.T) {
	truths(t, func(c *editbench.Case) string {
		if c.Refuse() != slices.Contains(refusals, c.Category) {
			return "it must be refused, or not, unlike its category"
		}
		return ""
	})
}

// What the edit does not speak of keeps its bytes, and so do the lines of its place that it leaves alone.
func TestUntouchedLinesKeepTheirBytes(t *testing.T) {
	truths(t, func(c *editbench.Case) string {
		lines, ok := c.Untouched()
		start, end := c.Around()
		if c.Refuse() || !ok {
			return ""
		}
		if !bytes.HasPrefix(c.Want, c.Data[:start]) || !bytes.HasSuffix(c.Want, c.Data[end:]) {
			return "something outside the place is changed"
		}
		here := slices.Collect(strings.Lines(string(c.Data[start:end])))
		for _, l := range lines {
			i := slices.IndexFunc(here, func(h string) bool { return h == l || ended(h) == ended(l) && end == len(c.Data) })
			if i < 0 {
				return "a line that is not touched is not the file's: " + l
			}
			here = here[i+1:]
		}
		return ""
	})
}

// ended is a line with an ending: a last line without one gets it when others follow.
func ended(l string) string { return strings.TrimRight(l, "\r\n") + "\n" }

func TestEveryCaseAsksForSomething(t *testing.T) {
	truths(t, func(c *editbench.Case) string {
		switch {
		case c.Category == "guards":
			return ""
		case c.Old == "" || c.Old == c.New:
			return "old_string is empty, or new_string is the same"
		case !c.Refuse() && bytes.Equal(c.Data, c.Want):
			return "the edit changes nothing"
		}
		return ""
	})
}

// What an exact replacement would do is the truth where there is no noise, and impossible where there is.
func TestNoiseIsInOldString(t *testing.T) {
	exact := []string{"exact", "replace_all", "eof", "trim_blank", "meant", "signs_new", "mixed_eol"}
	truths(t, func(c *editbench.Case) string {
		found := strings.Count(string(c.Data), c.Old)
		literal := strings.ReplaceAll(string(c.Data), c.Old, c.New)
		switch {
		case c.Category == "exact" && found != 1, c.Category == "ambiguous_exact" && found < 2:
			return "old_string is not in the file as often as it must be"
		case slices.Contains(byLetter, c.Category):
			return ""
		case found > 0 && c.Refuse() && c.Category != "ambiguous_fuzzy":
			return "old_string is in the file to the byte"
		case found > 0 && !c.Refuse() && !slices.Contains(exact, c.Category):
			return "there is no noise"
		case found > 0 && !c.Refuse() && literal != string(c.Want):
			return "the truth is not what replacing gives"
		}
		return ""
	})
}

// A single line is found in one place at most when only white space is left out of account.
func TestPlacesAreTheOnlyOnes(t *testing.T) {
	bare := func(text string) string { return strings.Join(strings.Fields(text), "") }
	truths(t, func(c *editbench.Case) string {
		start, end := c.Around()
		here := bare(string(c.Data[start:end]))
		if c.Refuse() || c.All || end == 0 || c.Category == "partial_line" || c.Category == "exact" {
			return ""
		}
		if n := strings.Count(bare(string(c.Data)), here); n != 1 {
			return "what is at the place is in the file more than once"
		}
		return ""
	})
}

// An edit that is asked for again has left its mark in the file.
func TestAppliedEditsAreInTheFile(t *testing.T) {
	truths(t, func(c *editbench.Case) string {
		bare := func(text string) string { return strings.Join(strings.Fields(text), "") }
		if c.Category == "already_applied" && !strings.Contains(bare(string(c.Data)), bare(c.New)) {
			return "new_string is not in the file"
		}
		return ""
	})
}
