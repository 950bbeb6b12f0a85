package main

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toolhost/toolhost/internal/tools/editbench"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

var (
	printTable = flag.Bool("table", false, "print the scores, and the first cases that went wrong")
	seed       = flag.Uint64("seed", 1, "another seed draws other cases")
	cases      = flag.Int("cases", 0, "cases of each category; 40 with -table, 17 without, 8 with -short")
	category   = flag.String("category", "", "this category only")
	most       = flag.Int("show", 5, "with -table, how many cases to show in full")
)

// The cases of a corpus live until the test ends. To look at them again and again would be most of the collector's
// work.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// corpusEditor serves the plugin in memory, and makes each edit with a call of replace.
func corpusEditor(t *testing.T, strictness string) editbench.Editor {
	p := sdktest.Start(t, newPlugin())
	p.MustConfigure(t, `{"strictness":"`+strictness+`","allow_secrets":["**"]}`)
	dir, calls := t.TempDir(), atomic.Int64{}
	return func(c *editbench.Case) (a editbench.Answer) {
		id := strconv.FormatInt(calls.Add(1), 10)
		name := id + "/" + filepath.Base(c.Name) // which gives the language
		file := filepath.Join(dir, name)
		if err := os.Mkdir(filepath.Dir(file), 0o755); err != nil {
			t.Error(err)
		}
		if err := os.WriteFile(file, c.Data, 0o644); err != nil {
			t.Error(err)
		}
		defer os.RemoveAll(filepath.Dir(file))
		r, err := p.Call(t.Context(), &sdk.Request{CallID: id, Tool: "replace", Workdir: dir, SingleCall: true, Attempt: 1,
			Arguments: args{"path": name, "old_string": c.Old, "new_string": c.New, "replace_all": c.All}.json()})
		if err != nil {
			t.Error(err)
			return a
		}
		if r.Error != nil {
			a.Note = r.Error.Name + ": " + r.Error.Message
			for _, part := range r.Content {
				a.Excerpt += part.Text
			}
			_, a.Excerpt, _ = strings.Cut(a.Excerpt, " has, with line numbers:\n")
			a.Excerpt, _, _ = strings.Cut(a.Excerpt, "\n\nold_string (-)")
			a.Follow = a.Excerpt != "" && r.Error.Name != names["already_applied"] || r.Error.Name == names["not_found"]
			return a
		}
		var out replaceOutput
		if err := json.Unmarshal(r.Structured, &out); err != nil {
			t.Error(err)
		}
		a.Note = "pass " + strconv.Itoa(out.Pass) + " " + out.PassName
		if a.After, err = os.ReadFile(file); err != nil {
			t.Error(err)
		}
		return a
	}
}

// No edit may be wrong, and nearly all must succeed. With less leeway fewer do, and none is wrong either.
func TestCorpus(t *testing.T) {
	files, err := editbench.Sources()
	check(t, err)
	o := editbench.Options{Seed: *seed, Count: *cases, Category: *category}
	atATime := 4 * runtime.GOMAXPROCS(0) // calls wait for the disk
	if *printTable {
		atATime = 1 // for true times
	} else if o.Count == 0 {
		o.Count, o.Small = 17, true
		if testing.Short() {
			o.Count = 8
		}
	}
	drawn, err := editbench.Generate(files, o)
	check(t, err)
	results := editbench.Run(drawn, corpusEditor(t, "full"), true, atATime)
	if fault := editbench.Harm(editbench.Run(drawn, corpusEditor(t, "safe"), false, atATime)); fault != "" {
		t.Errorf("with strictness safe: %s", fault)
	}
	if *printTable {
		editbench.Table(os.Stdout, results, editbench.Run(drawn, corpusEditor(t, "exact"), false, atATime))
		editbench.Show(os.Stdout, editbench.Worst(results, *most))
	}
	if fault := editbench.Gate(results); fault != "" {
		t.Error(fault)
		if !*printTable {
			editbench.Show(t.Output(), editbench.Worst(results, 3))
			t.Log("make bench-edit prints the scores; -seed, -cases, -category and -show are for a closer look")
		}
	}
}

// slipPattern matches lines of real files that look like a slip of a model: dots, fences, words for what stays.
var slipPattern = regexp.MustCompile("^\\W*(\\.\\.\\.|…|```|~~~)|(?i)^\\W+(the )?" +
	"(rest|existing|unchanged|remaining|omitted|same as|previous|other)\\b")

// Real files have such lines on purpose: the edit that adds one to a file is not refused.
func TestLinesThatAreMeantAreNotRefused(t *testing.T) {
	files, err := editbench.Sources()
	check(t, err)
	var drawn []editbench.Case
	for _, f := range files {
		lines := strings.SplitAfter(string(f.Data), "\n")
		for i := 3; i+3 < len(lines); i++ {
			if !slipPattern.MatchString(strings.TrimSpace(lines[i])) {
				continue
			}
			data := strings.Join(lines[:i], "") + strings.Join(lines[i+1:], "")
			before, after := strings.Join(lines[i-3:i], ""), strings.Join(lines[i+1:i+3], "")
			if strings.TrimSpace(before+after) != "" && strings.Count(data, before+after) == 1 {
				drawn = append(drawn, editbench.Case{Name: f.Name, Data: []byte(data),
					Old: before + after, New: before + lines[i] + after, Want: f.Data})
			}
		}
	}
	results := editbench.Run(drawn, corpusEditor(t, "full"), false, 4*runtime.GOMAXPROCS(0))
	refused := slices.DeleteFunc(results, func(r editbench.Result) bool { return r.Verdict != editbench.Refused })
	t.Logf("%d of %d refused", len(refused), len(drawn))
	if len(drawn) < 40 || len(refused)*100 > len(drawn) {
		t.Errorf("%d of %d edits of real files are refused, at most 1 %% may be", len(refused), len(drawn))
		editbench.Show(t.Output(), refused)
	}
}
