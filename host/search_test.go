package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

// foreignTools are the 70 tools of testdata/tools.json, by plugin.
func foreignTools(t testing.TB) map[string][]sdk.Tool {
	t.Helper()
	tools, count := map[string][]sdk.Tool{}, 0
	readJSON(t, "testdata/tools.json", &tools)
	for _, of := range tools {
		count += len(of)
	}
	if count != 70 {
		t.Fatalf("%d tools", count)
	}
	return tools
}

func readJSON(t testing.TB, file string, v any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// serving is a host with these tools, by plugin.
func serving(t testing.TB, tools map[string][]sdk.Tool) *host.Host {
	t.Helper()
	plugins := map[string]host.Plugin{}
	for name, of := range tools {
		plugins[name] = answering(sdk.Text("done"), nil, of...)
	}
	h := newHost(t, plugins, host.Options{})
	if _, problems := h.Tools(t.Context()); len(problems) > 0 {
		t.Fatal(problems)
	}
	return h
}

func catalog(t testing.TB, h *host.Host, f host.Filter) *host.Catalog {
	t.Helper()
	c, err := h.Catalog(f)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func found(hits []host.Hit) (out []string) {
	for _, h := range hits {
		out = append(out, h.Tool.Name)
	}
	return out
}

func TestSearchFindsTheRightTool(t *testing.T) {
	t.Parallel()
	c := catalog(t, serving(t, foreignTools(t)), host.Filter{})
	cases := []struct {
		query, want string
		rank        int // the worst allowed rank
	}{
		{"read a file", "readfile__read", 1},
		{"readfile__read", "readfile__read", 1},
		{"list files in a folder", "readfile__list", 1},
		{"grep for a regex in files", "readfile__search", 1},
		{"find files by name pattern", "readfile__glob", 1},
		{"replace text in a file", "edit__replace", 1},
		{"overwrite file", "edit__write", 1},
		{"deleting files", "edit__delete", 1},
		{"move file", "edit__rename", 1},
		{"run a bash command", "shell__exec", 1},
		{"start a dev server in the background", "shell__background", 1},
		{"kill process", "shell__kill", 1},
		{"uncommitted changes", "git__status", 3},
		{"who changed this line", "git__blame", 1},
		{"switch branches", "git__checkout", 1},
		{"commit history", "git__log", 2},
		{"open a github issue", "github__create_issue", 1},
		{"GitHub pull request create", "github__create_pull_request", 1},
		{"merge PR pull request", "github__merge_pull_request", 1},
		{"comment on an issue", "github__add_comment", 1},
		{"ci workflow runs", "github__list_workflow_runs", 1},
		{"search the web", "web__search", 1},
		{"websearch", "web__search", 1},
		{"download url as markdown", "web__fetch", 1},
		{"take a screenshot of the page", "browser__screenshot", 1},
		{"fill in a form field", "browser__type", 3},
		{"run javascript", "browser__evaluate", 1},
		{"sql select", "postgres__query", 1},
		{"columns of a table", "postgres__describe_table", 1},
		{"apply database migrations", "postgres__migrate", 1},
		{"cache expiry ttl", "redis__set_key", 1},
		{"schedule a meeting with people", "calendar__create_event", 2},
		{"when are all attendees available", "calendar__find_free_time", 1},
		{"send an email", "mail__send", 3},
		{"e-mail with attachments", "mail__send", 2},
		{"unread messages", "mail__search", 1},
		{"post to slack", "slack__post_message", 1},
		{"list pods", "k8s__list_pods", 1},
		{"listpods", "k8s__list_pods", 1},
		{"container logs", "k8s__get_logs", 1},
		{"scale replicas", "k8s__scale_deployment", 1},
		{"kubernetes yaml apply", "k8s__apply_manifest", 1},
		{"build docker image", "docker__build-image", 1},
		{"run an image", "docker__run-container", 1},
		{"upload to bucket", "s3__upload_object", 1},
		{"temporary download link", "s3__presign", 1},
		{"draw a picture", "image__generate", 1},
		{"resize images", "image__resize", 1},
		{"save facts for later", "memory__remember", 1},
		{"current time", "time__now", 1},
		{"convert time zones", "time__convert", 1},
		{"will it rain", "weather__forecast", 1},
		{"route between two cities", "maps__directions", 2},
		{"refund payment", "stripe__create_refund", 1},
		{"customer invoices", "stripe__list_invoices", 1},
		{"translate to german", "translate__text", 1},
		{"unresolved exceptions", "sentry__list_errors", 1},
		{"jupyter", "notebook__run_cell", 1},
		// the last word may be incomplete
		{"transl", "translate__text", 1},
		{"create a pull requ", "github__create_pull_request", 1},
		{"weath", "weather__forecast", 1},
		// typing errors
		{"wether forecst", "weather__forecast", 1},
		{"kubernets pods", "k8s__list_pods", 1},
		{"screnshot", "browser__screenshot", 1},
		{"refnud", "stripe__create_refund", 1},
		{"comit message", "git__commit", 1},
	}
	for _, k := range cases {
		t.Run(k.query, func(t *testing.T) {
			hits := found(c.Search(t.Context(), k.query, 0))
			if at := slices.Index(hits, k.want); at < 0 || at >= k.rank {
				t.Errorf("%s is not among the first %d: %v", k.want, k.rank, hits[:min(5, len(hits))])
			}
		})
	}
}

func TestSearchBounds(t *testing.T) {
	t.Parallel()
	c := catalog(t, serving(t, foreignTools(t)), host.Filter{})
	for query, want := range map[string]int{"": 0, "  ": 0, "the of and": 0, "?!": 0, "zzzyx": 0, "\xff\xfe": 0,
		"list": 10} {
		if hits := c.Search(t.Context(), query, 0); len(hits) != want {
			t.Errorf("%q finds %v, want %d", query, found(hits), want)
		}
	}
	all := c.Search(t.Context(), "list", 1000)
	if len(all) <= 10 {
		t.Errorf("list finds only %v", found(all))
	}
	for n, want := range map[int]int{-1: 10, 0: 10, 1: 1, 3: 3} {
		diff(t, found(all[:want]), found(c.Search(t.Context(), "list", n)))
	}
	if hits := c.Search(t.Context(), strings.Repeat("read file ", 1<<20), 1); len(hits) != 1 ||
		hits[0].Tool.Name != "readfile__read" {
		t.Errorf("a long query finds %v", found(hits))
	}
}

// Equal matches are sorted by name, always in the same order.
func TestSearchTies(t *testing.T) {
	t.Parallel()
	same := []sdk.Tool{tool("c"), tool("a"), tool("b")}
	h := newHost(t, map[string]host.Plugin{"two": answering(nil, nil, same...), "one": answering(nil, nil, same...)},
		host.Options{})
	for range 20 {
		hits := catalog(t, h, host.Filter{}).Search(t.Context(), "tests", 0)
		diff(t, []string{"one__a", "one__b", "one__c", "two__a", "two__b", "two__c"}, found(hits))
	}
}

func TestSearchKeepsToTheCatalog(t *testing.T) {
	t.Parallel()
	h := serving(t, foreignTools(t))
	for _, hit := range catalog(t, h, host.Filter{Tools: []string{"git__*"}}).Search(t.Context(),
		"list github issue commit", 100) {
		if hit.Tool.Plugin != "git" {
			t.Errorf("found %s", hit.Tool.Name)
		}
	}
	if hits := catalog(t, h, host.Filter{Tools: []string{}}).Search(t.Context(), "read", 100); len(hits) > 0 {
		t.Errorf("an empty catalog has %v", found(hits))
	}
}

func TestSearchNearWords(t *testing.T) {
	t.Parallel()
	c := catalog(t, single(t, answering(nil, nil, tool("alpha"), tool("alphabetic"), tool("creation")), host.Options{}),
		host.Filter{})
	cases := map[string][]string{
		"alpha":      {"test__alpha"}, // the exact name: nothing else counts
		"zulu alph":  {"test__alpha", "test__alphabetic"},
		"alph zulu":  nil, // only the last word may be incomplete
		"c":          nil,
		"al":         {"test__alpha", "test__alphabetic"},
		"creates":    {"test__creation"},
		"alppa zulu": {"test__alpha"},
		"alppa":      {"test__alpha"},
		"alxxa":      nil, // two errors in five letters
		"alphxxetic": {"test__alphabetic"},
		"alxxxbetic": nil, // three errors
		"blpha":      nil, // the first letter
		"apha":       nil, // four letters
	}
	for query, want := range cases {
		diff(t, want, found(c.Search(t.Context(), query, 0)))
	}
}

func TestSearchWithoutSpaces(t *testing.T) {
	t.Parallel()
	described := func(name, text string) sdk.Tool { return toolWith(name, func(d *sdk.Tool) { d.Description = text }) }
	p := answering(nil, nil, described("read", "读取工作目录中的文件内容"), described("send", "发送电子邮件"),
		described("weather", "查询天气预报"))
	c := catalog(t, single(t, p, host.Options{}), host.Filter{})
	for query, want := range map[string]string{"文件": "test__read", "读取文件": "test__read", "发邮件": "test__send",
		"天气": "test__weather"} {
		if hits := found(c.Search(t.Context(), query, 1)); len(hits) != 1 || hits[0] != want {
			t.Errorf("%s finds %v, want %s", query, hits, want)
		}
	}
}

// New definitions are searched at once.
func TestSearchSeesChanges(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newChanging(tool("alpha"))
		c := catalog(t, single(t, p, host.Options{}), host.Filter{})
		diff(t, []string{"test__alpha"}, found(c.Search(t.Context(), "alpha beta", 0)))
		p.become(tool("beta"))
		diff(t, []string{"test__beta"}, found(c.Search(t.Context(), "alpha beta", 0)))
	})
}

// Any query: at most n hits, each once, best first, and the same again.
func TestSearchAnything(t *testing.T) {
	t.Parallel()
	c := catalog(t, serving(t, foreignTools(t)), host.Filter{})
	words := []string{"list", "git", "Fiel", "pullRequest", "a", "-", "_", "é", "日本", "\xff", " "}
	rapid.Check(t, func(r *rapid.T) {
		query := rapid.OneOf(rapid.String(),
			rapid.Map(rapid.SliceOf(rapid.SampledFrom(words)), func(w []string) string { return strings.Join(w, " ") })).Draw(r,
			"query")
		n := rapid.IntRange(1, 80).Draw(r, "n")
		hits := c.Search(t.Context(), query, n)
		seen := map[string]bool{}
		for i, h := range hits {
			if seen[h.Tool.Name] || i >= n || !(h.Score > 0) || i > 0 && h.Score > hits[i-1].Score {
				r.Fatalf("%q: hit %d is %s with %g, of %v", query, i, h.Tool.Name, h.Score, found(hits))
			}
			seen[h.Tool.Name] = true
		}
		if again := c.Search(t.Context(), query, n); !slices.Equal(hits, again) {
			r.Fatalf("%q: first %v, then %v", query, hits, again)
		}
	})
}

// shippedAndForeign is a host with the tools that come with toolhost, which a test of cmd/toolhost keeps up to date in
// testdata/shipped.json, and the foreign ones of other plugins.
func shippedAndForeign(t testing.TB) *host.Host {
	t.Helper()
	var shipped []sdk.Tool
	readJSON(t, "testdata/shipped.json", &shipped)
	if len(shipped) < 5 {
		t.Fatalf("%d tools", len(shipped))
	}
	own := map[string][]sdk.Tool{}
	for _, d := range shipped {
		plugin, name, _ := strings.Cut(d.Name, "__")
		d.Name = name
		own[plugin] = append(own[plugin], d)
	}
	all := foreignTools(t)
	maps.Copy(all, own)
	return serving(t, all)
}

// naturalQueries are queries as models and people write them, with the tools that answer them. Each line has tools, and
// the queries.
var naturalQueries = func() map[string][]string {
	out := map[string][]string{}
	for line := range strings.SplitSeq(strings.TrimSpace(`
readfile__grep = find text in files, regex, grep, ripgrep, rg, search file contents, find where a function is used
readfile__grep = regular expression search, find all occurrences of a string, find lines matching a pattern
github__search_code readfile__grep = search code, search for a word in the repository
readfile__list = ls, list directory, dir, show folder contents, directory tree, tree
readfile__list readfile__glob = list files, what files are in this folder
readfile__read = cat, read file, open a file, view file contents, show me the file, head, tail, look at an image
readfile__read = read lines 10 to 20, print file
notebook__run_cell readfile__read = read a notebook
readfile__glob = find files by name, glob, *.go, find files matching pattern, recently changed files
readfile__glob = find files with extension
readfile__glob readfile__list = locate file
edit__replace edit__multi = edit file, change code, modify a file, sed
edit__replace = replace text, str_replace, search and replace, update a line
edit__multi edit__replace = patch
edit__multi = several edits at once, edit many files, multi edit
edit__write = create file, write file, new file, save text to a file, touch, overwrite
edit__undo = undo, revert my last change, rollback edit
git__diff git__status edit__diff = what did I change
git__diff edit__diff = show changes, diff
shell__exec shell__script = bash, execute
shell__exec = run command, terminal, run tests, compile, npm install, run_terminal_command
shell__exec shell__script shell__job = shell
notebook__run_cell shell__script = python script
shell__script = run a script
shell__job shell__exec = background process
shell__job = kill job, output of background job
web__fetch http__get http__post = curl
web__fetch http__get = wget, fetch url, download web page
web__fetch browser__navigate http__get = open website, browse
http__get http__post = http request
http__post = post to an api, send json to url`), "\n") {
		tools, queries, _ := strings.Cut(line, " = ")
		for query := range strings.SplitSeq(queries, ", ") {
			out[query] = strings.Fields(tools)
		}
	}
	return out
}()

// Natural queries find the right tool among 70 others: as the first hit for nine of ten, among the first three for
// all but one in thirty.
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

// A deferred catalog lists the search tool and the tools that are always offered; all tools can be called and found,
// and found ones are listed from then on. The search is limited to its catalog.
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
	if err := json.Unmarshal([]byte(search("regex")), &got); err != nil || len(got.Tools) != 2 ||
		got.Tools[0].Name != "readfile__grep" || len(got.Tools[0].InputSchema) == 0 {
		t.Errorf("found %+v, %v", got, err)
	}
	if now := listed(c); !slices.Contains(now, "readfile__grep") || !slices.Contains(now, got.Tools[1].Name) ||
		len(now) != 4 {
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

// A search says which plugins it left out: a model takes a tool that is not found for one that does not exist.
func TestSearchSaysWhatWasNotSearched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		starting := answering(nil, nil)
		starting.list = func(ctx context.Context) ([]sdk.Tool, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		h := newHost(t, map[string]host.Plugin{"late": starting, "test": answering(nil, nil)}, host.Options{})
		const late = `plugin "late" did not list its tools within the time limit`
		for query, want := range map[string]string{
			"run": `"not_searched":["` + strings.ReplaceAll(late, `"`, `\"`) + `"]}`,
			"xyzzyqwert": "No tool fits of those that are known by now. Not searched: " + late +
				". Search again in a moment for tools of a plugin that is still starting.",
		} {
			r := h.Call(t.Context(), call(host.SearchToolName, `{"query":"`+query+`"}`))
			if succeeded(t, r); !strings.HasSuffix(r.Text(), want) {
				t.Errorf("%s: found %s", query, r.Text())
			}
		}
		many := map[string]host.Plugin{}
		for n := range 12 {
			many[fmt.Sprint("late", n)] = starting
		}
		r := newHost(t, many, host.Options{}).Call(t.Context(), call(host.SearchToolName, `{"query":"run"}`))
		if got := r.Text(); strings.Count(got, "did not list") != 10 || !strings.Contains(got, "; 2 more plugins. Search") {
			t.Errorf("of twelve plugins: %s", got)
		}
	})
}

func BenchmarkSearch(b *testing.B) {
	c := catalog(b, hostOf(b, 500), host.Filter{})
	for name, query := range map[string]string{"exact": "read lines of text files",
		"typing error": "raed liness of textt fils", "unfinished": "read lines of te"} {
		b.Run(name, func(b *testing.B) {
			c.Search(b.Context(), query, 10)
			b.ReportAllocs()
			for b.Loop() {
				c.Search(b.Context(), query, 10)
			}
		})
	}
}
