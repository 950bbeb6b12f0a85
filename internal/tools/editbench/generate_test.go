package editbench_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/toolhost/toolhost/internal/tools/editbench"
)

var categories = strings.Fields(`exact replace_all delete_fuzzy trim_blank trailing_ws tabs_spaces indent_shift crlf collapsed_spaces
	comments_dropped comments_changed unicode_punct unicode_nf typos typos_ctx line_altered line_missing wrapped
	line_extra blank_lines escape lineno_prefix format_drift rewrap partial_line eof cjk mixed_noise
	neardup_unique ambiguous_exact ambiguous_fuzzy absent absent_hard already_applied neardup_ambig sibling_absent
	guards blank_eaten blank_doubled twins_typos prefixes escapes_mixed number_keys number_absent breaks_lost
	placeholders fences inserted_twice stale_line meant first_indent other_indent beside_twice marked
	comments_slurred diff_signs diff_lines elided_old elided_both separators dashes escapes_unshown
	signs_new twins_near layout_off mixed_eol last_comma`)

func generate(t testing.TB, o editbench.Options) []editbench.Case {
	t.Helper()
	files, err := editbench.Sources()
	if err != nil {
		t.Fatal(err)
	}
	cases, err := editbench.Generate(files, o)
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

func tally(cases []editbench.Case) map[string]int {
	out := map[string]int{}
	for _, c := range cases {
		out[c.Category]++
	}
	return out
}

func TestEveryCategoryHasItsCases(t *testing.T) {
	cases := generate(t, editbench.Options{Seed: 3, Count: 4})
	want := map[string]int{}
	for _, name := range categories {
		want[name] = 4
	}
	if diff := cmp.Diff(want, tally(cases)); diff != "" {
		t.Errorf("cases of each category (-want +got):\n%s", diff)
	}
	kinds := map[string]bool{}
	for _, c := range cases {
		kinds[c.Name[strings.LastIndexAny(c.Name, "./"):]] = true
	}
	if len(kinds) < 25 {
		t.Errorf("the cases are in %d kinds of files, there should be 25 at least: %v", len(kinds), kinds)
	}
}

func TestTheSameSeedGivesTheSameCases(t *testing.T) {
	same := cmp.Options{cmpopts.IgnoreUnexported(editbench.Case{}), cmp.Comparer(bytes.Equal)}
	a, b := generate(t, editbench.Options{Seed: 5, Count: 3}), generate(t, editbench.Options{Seed: 5, Count: 3})
	if diff := cmp.Diff(a, b, same...); diff != "" {
		t.Errorf("seed 5 twice:\n%s", diff)
	}
	alone := generate(t, editbench.Options{Seed: 5, Count: 3, Category: "typos"})
	of := slices.DeleteFunc(slices.Clone(a), func(c editbench.Case) bool { return c.Category != "typos" })
	if diff := cmp.Diff(of, alone, same...); diff != "" {
		t.Errorf("a category alone against the same among all:\n%s", diff)
	}
	other := generate(t, editbench.Options{Seed: 6, Count: 3})
	for i := range other {
		if cmp.Equal(a[i], other[i], same...) {
			t.Errorf("seeds 5 and 6 give the same case of %s", a[i].Category)
		}
	}
}

func TestGenerateReportsUnsupported(t *testing.T) {
	plain := fstest.MapFS{"a.go": {Data: []byte(strings.Repeat("the same line everywhere\n", 60))}}
	same, err := editbench.Load(plain)
	if err != nil || len(same) != 1 {
		t.Fatalf("Load gave %d files, %v; want 1", len(same), err)
	}
	for _, c := range []struct {
		name    string
		sources []editbench.Source
		options editbench.Options
		want    string
	}{
		{"no files", nil, editbench.Options{}, "editbench: there are no files to make cases from"},
		{"no such category", same, editbench.Options{Category: "nonsense"}, `editbench: there is no category "nonsense"`},
		{"files that do not give it", same, editbench.Options{Category: "crlf", Count: 1},
			"editbench: the files give 0 cases of crlf, not 1; add files or ask for fewer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := editbench.Generate(c.sources, c.options); err == nil || err.Error() != c.want {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
}

// lines are some that differ.
func lines(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "line %d of a file that is long enough\n", i)
	}
	return b.Bytes()
}

func TestLoadTakesTextOnly(t *testing.T) {
	files := fstest.MapFS{
		"good.go":        {Data: lines(40)},
		"deep/good.py":   {Data: lines(400)},
		"short.go":       {Data: lines(20)},
		"big.go":         {Data: lines(2000)},
		"unknown.xyz":    {Data: lines(40)},
		"zero.go":        {Data: append(lines(40), 0, '\n')},
		"crlf.go":        {Data: bytes.ReplaceAll(lines(40), []byte("\n"), []byte("\r\n"))},
		"invalid.go":     {Data: append(lines(40), 0xff, '\n')},
		"no-ending.go":   {Data: bytes.TrimSpace(lines(40))},
		"wide.go":        {Data: append(lines(40), []byte(strings.Repeat("x", 300)+"\n")...)},
		"dir.go/good.md": {Data: lines(50)},
	}
	found, err := editbench.Load(files)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range found {
		got = append(got, s.Name)
	}
	if diff := cmp.Diff([]string{"good.go", "dir.go/good.md", "deep/good.py"}, got); diff != "" {
		t.Errorf("files taken (-want +got):\n%s", diff)
	}
}

func BenchmarkGenerate(b *testing.B) {
	files, err := editbench.Sources()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := editbench.Generate(files, editbench.Options{Seed: 1}); err != nil {
			b.Fatal(err)
		}
	}
}
