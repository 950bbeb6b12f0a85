package host_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

// shippedAndForeign is a host with the tools that come with toolhost, which a test of cmd/toolhost keeps up to date in
// testdata/shipped.json, beside the foreign ones of testdata/tools.json.
func shippedAndForeign(t testing.TB) *host.Host {
	t.Helper()
	var foreign map[string][]sdk.Tool
	text, err := os.ReadFile("testdata/tools.json")
	if err == nil {
		err = json.Unmarshal(text, &foreign)
	}
	if err != nil {
		t.Fatal(err)
	}
	if text, err = os.ReadFile("testdata/shipped.json"); err != nil {
		t.Fatal(err)
	}
	var shipped []sdk.Tool
	if err := json.Unmarshal(text, &shipped); err != nil || len(shipped) < 5 {
		t.Fatalf("%d tools, %v", len(shipped), err)
	}
	own := map[string][]sdk.Tool{}
	for _, d := range shipped {
		plugin, name, _ := strings.Cut(d.Name, "__")
		d.Name = name
		own[plugin] = append(own[plugin], d)
	}
	maps.Copy(foreign, own)
	plugins := map[string]host.Plugin{}
	for name, tools := range foreign {
		plugins[name] = answering(sdk.Text("done"), nil, tools...)
	}
	return newHost(t, plugins, host.Options{})
}

// naturalQueries are queries as models and people write them, with the tools that do it.
var naturalQueries = map[string][]string{
	"find text in files": {"readfile__grep"}, "regex": {"readfile__grep"}, "search code": {"github__search_code", "readfile__grep"}, "grep": {"readfile__grep"}, "ripgrep": {"readfile__grep"}, "rg": {"readfile__grep"},
	"search file contents": {"readfile__grep"}, "find where a function is used": {"readfile__grep"}, "regular expression search": {"readfile__grep"}, "find all occurrences of a string": {"readfile__grep"},
	"search for a word in the repository": {"github__search_code", "readfile__grep"}, "find lines matching a pattern": {"readfile__grep"},
	"ls": {"readfile__list"}, "list directory": {"readfile__list"}, "list files": {"readfile__list", "readfile__glob"}, "dir": {"readfile__list"}, "show folder contents": {"readfile__list"}, "what files are in this folder": {"readfile__list", "readfile__glob"},
	"directory tree": {"readfile__list"}, "tree": {"readfile__list"},
	"cat": {"readfile__read"}, "read file": {"readfile__read"}, "open a file": {"readfile__read"}, "view file contents": {"readfile__read"}, "show me the file": {"readfile__read"}, "head": {"readfile__read"}, "tail": {"readfile__read"}, "look at an image": {"readfile__read"},
	"read lines 10 to 20": {"readfile__read"}, "read a notebook": {"notebook__run_cell", "readfile__read"}, "print file": {"readfile__read"},
	"find files by name": {"readfile__glob"}, "glob": {"readfile__glob"}, "*.go": {"readfile__glob"}, "find files matching pattern": {"readfile__glob"}, "locate file": {"readfile__glob", "readfile__list"}, "recently changed files": {"readfile__glob"}, "find files with extension": {"readfile__glob"},
	"edit file": {"edit__replace", "edit__multi"}, "replace text": {"edit__replace"}, "change code": {"edit__replace", "edit__multi"}, "modify a file": {"edit__replace", "edit__multi"}, "sed": {"edit__replace", "edit__multi"}, "str_replace": {"edit__replace"}, "search and replace": {"edit__replace"}, "update a line": {"edit__replace"}, "patch": {"edit__multi", "edit__replace"},
	"several edits at once": {"edit__multi"}, "edit many files": {"edit__multi"}, "multi edit": {"edit__multi"},
	"create file": {"edit__write"}, "write file": {"edit__write"}, "new file": {"edit__write"}, "save text to a file": {"edit__write"}, "touch": {"edit__write"}, "overwrite": {"edit__write"},
	"undo": {"edit__undo"}, "revert my last change": {"edit__undo"}, "rollback edit": {"edit__undo"}, "what did I change": {"git__diff", "git__status", "edit__diff"}, "show changes": {"git__diff", "edit__diff"}, "diff": {"git__diff", "edit__diff"},
	"bash": {"shell__exec", "shell__script"}, "run command": {"shell__exec"}, "terminal": {"shell__exec"}, "execute": {"shell__exec", "shell__script"}, "run tests": {"shell__exec"}, "compile": {"shell__exec"}, "npm install": {"shell__exec"}, "shell": {"shell__exec", "shell__script", "shell__job"},
	"run_terminal_command": {"shell__exec"}, "python script": {"notebook__run_cell", "shell__script"}, "run a script": {"shell__script"}, "background process": {"shell__job", "shell__exec"}, "kill job": {"shell__job"}, "output of background job": {"shell__job"},
	"curl": {"web__fetch", "http__get", "http__post"}, "wget": {"web__fetch", "http__get"}, "fetch url": {"web__fetch", "http__get"}, "download web page": {"web__fetch", "http__get"}, "open website": {"web__fetch", "browser__navigate", "http__get"}, "browse": {"web__fetch", "browser__navigate", "http__get"}, "http request": {"http__get", "http__post"}, "post to an api": {"http__post"}, "send json to url": {"http__post"},
}

// Natural queries find the right tool among 70 others: as the first hit for nine of ten, among the first three for all but
// one in thirty.
func TestNaturalQueries(t *testing.T) {
	t.Parallel()
	c := must(shippedAndForeign(t).Catalog(host.Filter{}))
	first, three := 0, 0
	for query, tools := range naturalQueries {
		names := found(c.Search(t.Context(), query, 3))
		is := func(name string) bool { return slices.Contains(tools, name) }
		if len(names) > 0 && is(names[0]) {
			first++
		} else {
			t.Logf("%q finds %q, want %q", query, names, tools)
		}
		if slices.ContainsFunc(names, is) {
			three++
		}
	}
	t.Logf("of %d queries %d have the right tool first, %d among three", len(naturalQueries), first, three)
	if len(naturalQueries) < 60 || first*100 < 90*len(naturalQueries) || three*100 < 97*len(naturalQueries) {
		t.Errorf("of %d queries %d have the right tool first, %d among three", len(naturalQueries), first, three)
	}
}

// A deferred catalog lists the search tool and what is always offered; all tools can be called and found, and what was found
// is listed from then on. The search sees what its catalog holds.
func TestDeferredCatalog(t *testing.T) {
	t.Parallel()
	h := shippedAndForeign(t)
	base := must(h.Catalog(host.Filter{Exclude: []string{"shell__*"}}))
	c := must(base.Deferred("edit__replace"))
	listed := func(c *host.Catalog) []string {
		tools, problems := c.Tools(t.Context())
		if len(problems) > 0 {
			t.Error(problems)
		}
		return names(tools)
	}
	diff(t, []string{"edit__replace", "toolhost__search"}, listed(c))
	if slices.Contains(listed(base), host.SearchToolName) {
		t.Error("a catalog that defers nothing lists the search tool")
	}
	search := func(query string) string {
		r := c.Call(t.Context(), call(host.SearchToolName, `{"query":"`+query+`","limit":2}`))
		succeeded(t, r)
		return r.Text()
	}
	var got struct {
		Tools []struct {
			Name        string          `json:"name"`
			InputSchema json.RawMessage `json:"input_schema"`
		} `json:"tools"`
	}
	if err := json.Unmarshal([]byte(search("regex")), &got); err != nil || len(got.Tools) != 2 || got.Tools[0].Name != "readfile__grep" || len(got.Tools[0].InputSchema) == 0 {
		t.Errorf("found %+v, %v", got, err)
	}
	if now := listed(c); !slices.Contains(now, "readfile__grep") || !slices.Contains(now, got.Tools[1].Name) || len(now) != 4 {
		t.Errorf("listed are %q", now)
	}
	diff(t, 2, len(listed(must(base.Deferred("edit__replace"))))) // another session's
	succeeded(t, c.Call(t.Context(), call("readfile__list", `{}`)))
	failed(t, c.Call(t.Context(), call("shell__exec", `{"command":"ls"}`)), sdk.CodeNotInCatalog)
	if text := search("run a shell command"); strings.Contains(text, "shell__exec\"") {
		t.Errorf("found %s", text)
	}
	diff(t, "No tool fits. Try other words for what it should do, or fewer.", search("xyzzyqwert"))
	failed(t, c.Call(t.Context(), call(host.SearchToolName, `{}`)), sdk.CodeInvalidArgs)
	if _, err := base.Deferred("["); err == nil {
		t.Error("a glob that is none is no error")
	}
	own := newHost(t, map[string]host.Plugin{"toolhost": answering(sdk.Text("own"), nil)}, host.Options{})
	if _, err := must(own.Catalog(host.Filter{})).Deferred(); err == nil {
		t.Error("an embedder's plugin in the place of the search tool is no error")
	}
	diff(t, "own", own.Call(t.Context(), call("toolhost__run", "")).Text())
}
