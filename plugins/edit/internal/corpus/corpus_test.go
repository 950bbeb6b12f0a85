package corpus_test

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/plugins/edit/internal/corpus"
	"github.com/toolhost/toolhost/plugins/edit/internal/match"
)

var (
	printTable = flag.Bool("table", false, "print the scores, and the first cases that went wrong")
	seed       = flag.Uint64("seed", 1, "another seed draws other cases")
	count      = flag.Int("cases", 0, "cases of each category; 40 with -table, 17 without")
	category   = flag.String("category", "", "this category only")
	most       = flag.Int("show", 5, "with -table, how many cases to show in full")
)

// The cases live until the tests end. To look at them again and again would be most of the collector's work.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// sources are the toolchain's files and those written for the corpus, read once.
var sources = sync.OnceValues(func() ([]corpus.Source, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	var trees []fs.FS
	for _, dir := range []string{"src", "lib", "misc", "doc", "api"} {
		path := filepath.Join(string(bytes.TrimSpace(root)), dir)
		if _, err := os.Stat(path); err == nil {
			trees = append(trees, os.DirFS(path))
		}
	}
	out, err := corpus.Written()
	for _, tree := range trees {
		if err != nil {
			break
		}
		var found []corpus.Source
		found, err = corpus.Load(tree)
		out = append(out, found...)
	}
	return out, err
})

func generate(t testing.TB, o corpus.Options) []corpus.Case {
	t.Helper()
	files, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	cases, err := corpus.Generate(files, o)
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// quick is the size of the largest file, in bytes, that a run without flags uses.
const quick = 10_000

// drawn are the cases that the flags ask for. Without any, there are as many as a quick run can take.
var drawn = sync.OnceValues(func() ([]corpus.Case, error) {
	files, err := sources()
	if err != nil {
		return nil, err
	}
	n := *count
	if n == 0 && !*printTable {
		n = 17
		files = slices.DeleteFunc(slices.Clone(files), func(s corpus.Source) bool { return len(s.Data) > quick })
	}
	return corpus.Generate(files, corpus.Options{Seed: *seed, Count: n, Category: *category})
})

func drawnCases(t *testing.T) []corpus.Case {
	t.Helper()
	cases, err := drawn()
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// No edit may be wrong, and nearly all must succeed. With less leeway fewer do, and none is wrong either.
func TestCorpus(t *testing.T) {
	cases := drawnCases(t)
	atATime := runtime.GOMAXPROCS(0)
	if *printTable {
		atATime = 1 // which gives honest times
	}
	results := play(cases, match.Full, atATime)
	if safe := scoreOf(play(cases, match.Safe, atATime), all); safe.wrong > 0 || safe.percent(safe.harmful) > 0.5 {
		t.Errorf("with strictness safe %d of %d edits are wrong and %d do harm by the letter", safe.wrong, safe.cases, safe.harmful)
	}
	if *printTable {
		table(os.Stdout, results, play(cases, match.Exact, atATime))
		showAll(os.Stdout, worst(results, *most))
	}
	if fault := gate(results); fault != "" {
		t.Error(fault)
		if !*printTable {
			showAll(t.Output(), worst(results, 3))
			t.Log("make bench-edit prints the scores; -seed, -cases, -category and -show are for a closer look")
		}
	}
}
