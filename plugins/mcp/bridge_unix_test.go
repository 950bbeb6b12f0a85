//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/sdk"
)

func TestToolsOfAServer(t *testing.T) {
	f := newFake(t, "echo", "meta")
	f.start(`,"resources":true,"prompts":true`)
	want := []string{"echo", "meta", "list_resources", "read_resource", "list_prompts", "get_prompt"}
	if diff := cmp.Diff(want, f.names()); diff != "" {
		t.Error(diff)
	}
	const arguments = `{ "z": 9007199254740993, "a":"\u00e9" , "a2":[1.50]}`
	if got := f.text("echo", arguments); got != arguments {
		t.Errorf("the server got %s", got)
	}
	d, err := f.Describe(t.Context())
	if err != nil || !d.Cacheable || !d.Dynamic || len(d.Notices) != 0 {
		t.Errorf("%+v %v", d, err)
	}
}

// A list without a tool is not kept: a server that has none yet may have some the next time.
func TestEmptyListIsNotCacheable(t *testing.T) {
	f := newFake(t)
	f.file("static", "")
	f.start("")
	if d, err := f.Describe(t.Context()); err != nil || d.Cacheable || d.Pending || len(d.Notices) != 1 {
		t.Errorf("%+v %v", d, err)
	}
	f = newFake(t)
	f.start(`,"prompts":true`)
	if d, err := f.Describe(t.Context()); err != nil || !d.Cacheable || len(d.Notices) != 0 {
		t.Errorf("%+v %v", d, err)
	}
}

// A server that lists nothing at first, and says that its list may change, is waited for as one that is starting.
func TestServerWhoseToolsComeLate(t *testing.T) {
	f := newFake(t, "echo")
	f.file("empty", "")
	f.startBriefly()
	eventually(t, "its tools are missing", func() bool {
		d, err := f.Describe(t.Context())
		return err == nil && d.Pending && strings.Contains(d.Missing, "lists no tools yet")
	})
	_ = os.Remove(filepath.Join(f.dir, "empty"))
	eventually(t, "the tools are there", func() bool {
		d, err := f.Describe(t.Context())
		return err == nil && len(d.Tools) == 1 && d.Missing == "" && d.Cacheable && len(d.Notices) == 0
	})
}

// So is one whose tools are known, also for a call.
func TestCallOfAServerWhoseToolsComeLate(t *testing.T) {
	first := newFake(t, "echo")
	first.start("")
	known, err := first.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"they come": "", "it ends": "ServerUnavailable"} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, "echo")
			f.file("empty", "")
			f.start("", known...)
			done := make(chan *sdk.Result, 1)
			go func() { done <- f.ask(sdk.Request{Tool: "echo"}) }()
			eventually(t, "it has listed", func() bool { return len(f.lines("lists")) == 1 })
			if names := f.names(); !slices.Equal(names, []string{"echo"}) {
				t.Errorf("meanwhile it offers %q", names)
			}
			if want == "" {
				_ = os.Remove(filepath.Join(f.dir, "empty"))
			} else {
				f.file("fail", "")
			}
			if r := <-done; (r.Error == nil) != (want == "") || r.Error != nil && r.Error.Name != want {
				t.Errorf("%+v", r.Error)
			}
		})
	}
}

// When its time is over, it has no tools.
func TestToolsThatDoNotComeInTime(t *testing.T) {
	f := newFake(t)
	f.file("static", "")
	f.start("")
	u, err := f.upstreams.use(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer u.release()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c, err := u.awaitTools(ctx, u.session, &attempt{changed: make(chan struct{}, 1)}, &catalog{empty: true})
	if err != nil || !c.empty {
		t.Errorf("%+v, %v", c, err)
	}
}

// A plugin in a folder of plugins that no one configured is no mistake.
func TestNoConfiguration(t *testing.T) {
	f := newFake(t)
	f.MustConfigure(t, `{}`)
	if names := f.names(); len(names) != 0 {
		t.Error(names)
	}
}

// Nothing runs for a list that is known; the first call starts the server.
func TestKnownToolsStartNothing(t *testing.T) {
	first := newFake(t, "echo", "a.b")
	first.start("")
	known, err := first.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f := newFake(t, "echo", "a.b")
	f.start("", known...)
	again, err := f.Tools(t.Context())
	if diff := cmp.Diff(known, again); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if starts := f.lines("starts"); len(starts) != 0 {
		t.Errorf("the server was started: %v", starts)
	}
	if got := f.text("echo", `{"a":1}`); got != `{"a":1}` {
		t.Error(got)
	}
	if starts := f.lines("starts"); len(starts) != 1 {
		t.Errorf("%d starts", len(starts))
	}
}

func TestConcurrentFirstCallsStartOneServer(t *testing.T) {
	f := newFake(t, "echo")
	f.file("wait", "")
	f.start("", sdk.Tool{Name: "echo", Description: "d", InputSchema: json.RawMessage(`{"type":"object"}`),
		Category: "mcp", ForeignSchema: true, ForeignHints: true})
	var wait sync.WaitGroup
	for i := range 20 {
		wait.Go(func() {
			if got := f.text("echo", fmt.Sprintf(`{"i":%d}`, i)); got != fmt.Sprintf(`{"i":%d}`, i) {
				t.Errorf("call %d: %s", i, got)
			}
		})
	}
	eventually(t, "the server is started", func() bool { return len(f.lines("starts")) > 0 })
	_ = os.Remove(filepath.Join(f.dir, "wait"))
	wait.Wait()
	if starts := f.lines("starts"); len(starts) != 1 {
		t.Errorf("%d starts", len(starts))
	}
}

// A server that takes long to start keeps no host waiting; its tools come later, and callers learn what they wait for.
func TestSlowServer(t *testing.T) {
	f := newFake(t, "echo")
	f.file("wait", "")
	f.start(`,"connect_timeout":"30s"`, sdk.Tool{Name: "echo", Description: "d", Category: "mcp", ForeignSchema: true,
		ForeignHints: true, InputSchema: json.RawMessage(`{"type":"object"}`)})
	said := make(chan string, 100)
	done := make(chan *sdk.Result, 1)
	go func() {
		r, _ := f.Call(t.Context(), &sdk.Request{Tool: "echo", Workdir: f.dir, Events: func(e sdk.Event) {
			if e.Type == sdk.EventProgress {
				said <- fmt.Sprint(e.Message, " ", e.Done)
			}
		}})
		done <- r
	}()
	if text := <-said; !strings.Contains(text, "starting the MCP server") || !strings.HasSuffix(text, " 0") {
		t.Error(text) // with a progress of its own the server's could not follow it
	}
	_ = os.Remove(filepath.Join(f.dir, "wait"))
	if r := <-done; r == nil || r.Error != nil {
		t.Errorf("%+v", r)
	}
}

// The next start begins with what worked; another release of the server is asked again for the newest revision.
func TestRevisionIsRemembered(t *testing.T) {
	f := newFake(t, "echo")
	f.start("")
	tools, err := f.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	restart := func(remembered string) (now string) {
		again := newFake(t)
		again.dir, again.remembered = f.dir, remembered
		again.start("", tools...)
		again.text("echo", `{}`)
		d, err := again.Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return d.Memory
	}
	d, err := f.Describe(t.Context())
	if err != nil || !strings.HasPrefix(d.Memory, "2025-11-25 ") {
		t.Fatalf("%v, %+v", err, d)
	}
	if again := restart(d.Memory); again != d.Memory || len(f.lines("discoveries")) != 1 {
		t.Errorf("%q becomes %q, and the server was asked %d times", d.Memory, again, len(f.lines("discoveries")))
	}
	f.file("release", "another")
	if again := restart(d.Memory); again != "" || len(f.lines("discoveries")) != 1 {
		t.Errorf("another release: %q, asked %d times", again, len(f.lines("discoveries")))
	}
	if again := restart(""); !strings.HasPrefix(again, "2025-11-25 ") || len(f.lines("discoveries")) != 2 {
		t.Errorf("nothing is known: %q, asked %d times", again, len(f.lines("discoveries")))
	}
}

// Of a server of which nothing is known, the plugin says whether its tools are to be waited for.
func TestPluginSaysWhyToolsAreMissing(t *testing.T) {
	f := newFake(t, "echo")
	f.file("wait", "")
	f.startBriefly()
	describe := func() *sdk.Description {
		d, err := f.Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if d := describe(); !d.Pending || !strings.Contains(d.Missing, "is still starting") || len(d.Tools) > 0 {
		t.Errorf("%+v", d)
	}
	f.file("fail", "")
	_ = os.Remove(filepath.Join(f.dir, "wait"))
	eventually(t, "the failure is known", func() bool { return strings.Contains(describe().Missing, "no license key") })
	if d := describe(); d.Pending || len(d.Tools) > 0 || d.Cacheable {
		t.Errorf("%+v", d)
	}
	_ = os.Remove(filepath.Join(f.dir, "fail"))
	eventually(t, "the tools are there", func() bool { return len(describe().Tools) == 1 })
	eventually(t, "none are missing", func() bool { d := describe(); return d.Missing == "" && !d.Pending })
}

// The call in flight fails with what the server said last; the next one starts it again, and the tools stay.
func TestServerExitsInACall(t *testing.T) {
	f := newFake(t, "echo", "die", "hang")
	f.start("")
	r := f.ask(sdk.Request{Tool: "die"})
	if r.Error == nil || r.Error.Name != "ServerExited" || r.Error.Outcome != sdk.OutcomeUnknown ||
		!strings.Contains(r.Error.Message, "exit code 7") || !strings.Contains(r.Error.Message, "last line") {
		t.Fatalf("%+v", r.Error)
	}
	var details struct {
		Delivered bool   `json:"delivered"`
		ExitCode  int    `json:"exit_code"`
		Stderr    string `json:"stderr"`
	}
	if err := json.Unmarshal(r.Error.Details, &details); err != nil || !details.Delivered || details.ExitCode != 7 ||
		!strings.Contains(details.Stderr, "first line\nlast line") {
		t.Errorf("%s", r.Error.Details)
	}
	if got := f.text("echo", `{}`); got != "{}" {
		t.Error(got)
	}
	if calls := f.lines("calls"); !slices.Equal(calls, []string{"die", "echo"}) {
		t.Errorf("a call was sent twice: %v", calls)
	}
	if names := f.names(); len(names) != 3 {
		t.Error(names)
	}
}

// SIGKILL costs the calls in flight, at once and with what the server said last, and nothing else; none is sent again.
func TestServerIsKilled(t *testing.T) {
	f := newFake(t, "echo", "hang")
	f.start("")
	results := make(chan *sdk.Result, 5)
	for range cap(results) {
		go func() { results <- f.ask(sdk.Request{Tool: "hang"}) }()
	}
	eventually(t, "all calls run", func() bool { return len(f.lines("calls")) == cap(results) })
	killed := time.Now()
	f.kill()
	for range cap(results) {
		r := <-results
		if r.Error == nil || r.Error.Name != "ServerExited" || r.Error.Outcome != sdk.OutcomeUnknown ||
			!strings.Contains(string(r.Error.Details), `"signal":"SIGKILL"`) || !strings.Contains(r.Error.Message, "hanging") {
			t.Errorf("%+v", r.Error)
		}
	}
	if took := time.Since(killed); took > 5*time.Second {
		t.Errorf("the calls failed after %v", took)
	}
	if got := f.text("echo", `{}`); got != "{}" {
		t.Error(got)
	}
	if calls := f.lines("calls"); len(calls) != cap(results)+1 {
		t.Errorf("a call was sent twice: %v", calls)
	}
}

// A server that cannot be used keeps its known tools, with a notice; calls fail with what it said, and say when it is
// tried again; then it works.
func TestServerThatCannotStart(t *testing.T) {
	f := newFake(t, "echo")
	f.file("fail", "")
	f.start("", sdk.Tool{Name: "echo", Description: "d", Category: "mcp", ForeignSchema: true, ForeignHints: true,
		InputSchema: json.RawMessage(`{"type":"object"}`)})
	r := f.ask(sdk.Request{Tool: "echo"})
	if r.Error == nil || r.Error.Code != sdk.CodePluginUnavailable || r.Error.Name != "ServerUnavailable" ||
		!r.Error.Retryable ||
		!strings.Contains(r.Error.Message, "exit code 3") || !strings.Contains(r.Error.Message, "no license key") ||
		!strings.Contains(r.Error.Message, "nothing was run") {
		t.Fatalf("%+v", r.Error)
	}
	d, err := f.Describe(t.Context())
	if err != nil || len(d.Tools) != 1 || len(d.Notices) != 1 || d.Notices[0].Kind != sdk.Problem ||
		!strings.Contains(d.Notices[0].Text, "those of before") {
		t.Errorf("%v %q", d.Tools, d.Notices)
	}
	f.ask(sdk.Request{Tool: "echo"}) // the first retry is at once
	f.ask(sdk.Request{Tool: "echo"})
	if r := f.ask(sdk.Request{Tool: "echo"}); !strings.Contains(r.Error.Message,
		"the next attempt is made by the first call in") {
		t.Errorf("%+v", r.Error)
	}
	_ = os.Remove(filepath.Join(f.dir, "fail"))
	eventually(t, "the server is used", func() bool { return f.ask(sdk.Request{Tool: "echo"}).Error == nil })
	if d, err := f.Describe(t.Context()); err != nil || len(d.Notices) != 0 {
		t.Errorf("%q", d.Notices)
	}
}

// The tools of a server that was not there at first come without anybody's doing.
func TestServerThatStartsLater(t *testing.T) {
	f := newFake(t, "echo")
	f.file("fail", "")
	f.start("")
	d, err := f.Describe(t.Context())
	if err != nil || len(d.Tools) != 0 || d.Cacheable || len(d.Notices) != 1 || d.Notices[0].Kind != sdk.Problem ||
		!strings.Contains(d.Notices[0].Text, "no license key") {
		t.Fatalf("%+v %v", d, err)
	}
	_ = os.Remove(filepath.Join(f.dir, "fail"))
	eventually(t, "the tools are there", func() bool { return len(f.names()) == 1 })
}

// The notice about a server at an address says what to do, as the error of a call does.
func TestNoticesSayWhatToDo(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/login", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	server := httptest.NewServer(mux)
	defer server.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	known := []sdk.Tool{{Name: "echo", Description: "d", InputSchema: json.RawMessage(`{"type":"object"}`)}}
	for url, want := range map[string]string{
		server.URL + "/login": "needs a login.*. A person runs this in a terminal, .*: toolhost mcp login ",
		server.URL + "/other": "404 Not Found.*. Check that the url is that of an MCP endpoint",
		gone.URL:              "the connection is refused.*. Check that the server runs, ",
	} {
		for begins, known := range map[string][]sdk.Tool{"no tools: ": nil, "its tools are those of before: ": known} {
			f := newFake(t)
			r := &sdk.Request{Workdir: f.dir, KnownTools: known}
			if err := f.configure(t.Context(), r, config{URL: url}); err != nil {
				t.Fatal(err)
			}
			if known != nil {
				if r := f.ask(sdk.Request{Tool: "echo"}); sdk.CodeOf(r.Error) != sdk.CodePluginUnavailable {
					t.Errorf("%s: %+v", url, r.Error)
				}
			}
			d, err := f.Describe(t.Context())
			fits := regexp.MustCompile("^" + begins + ".*" + want).MatchString
			if err != nil || len(d.Notices) != 1 || !fits(d.Notices[0].Text) {
				t.Errorf("%s: %v, %q", url, err, d.Notices)
			}
		}
	}
}

func TestMissingProgram(t *testing.T) {
	b := newFake(t)
	err := b.configure(t.Context(), &sdk.Request{Workdir: b.dir}, config{Command: []string{"no-such-program-x"}})
	d, _ := b.Describe(t.Context())
	if err != nil || len(d.Notices) != 1 ||
		!strings.Contains(d.Notices[0].Text, "no-such-program-x is not found; looked in PATH") {
		t.Errorf("%v %q", err, d.Notices)
	}
}

func TestListChanged(t *testing.T) {
	f := newFake(t, "echo", "add", "storm")
	f.start("")
	changes := make(chan struct{}, 1000)
	go func() { _ = f.Watch(t.Context(), func() { changes <- struct{}{} }) }()
	<-changes // the watch has begun
	f.text("storm", `{}`)
	f.text("add", `{}`)
	eventually(t, "the new tool is offered", func() bool { return len(f.names()) == 4 })
	if got := f.text("other", `{"x":1}`); got != `{"x":1}` {
		t.Error(got)
	}
	if n := len(changes); n != 1 {
		t.Errorf("%d changes were announced for one", n)
	}
}

// What was decided on one definition does not run on another.
func TestDefinitionChangedBeforeTheServerWasStarted(t *testing.T) {
	start := func() *fake {
		f := newFake(t, `{"name":"echo","description":"new","inputSchema":{"type":"object"}}`)
		f.start("", sdk.Tool{Name: "echo", Description: "old", Category: "mcp", ForeignSchema: true, ForeignHints: true,
			InputSchema: json.RawMessage(`{"type":"object"}`)}, sdk.Tool{Name: "gone", Description: "old", Category: "mcp",
			ForeignSchema: true, ForeignHints: true, InputSchema: json.RawMessage(`{"type":"object"}`)})
		return f
	}
	f := start()
	if r := f.ask(sdk.Request{Tool: "gone"}); sdk.CodeOf(r.Error) != sdk.CodeToolNotFound || r.Error.Name != "ToolGone" {
		t.Errorf("%+v", r.Error)
	}
	f = start()
	if r := f.ask(sdk.Request{Tool: "echo"}); r.Error == nil || r.Error.Name != "DefinitionChanged" || !r.Error.Retryable {
		t.Errorf("%+v", r.Error)
	}
	if calls := f.lines("calls"); len(calls) != 0 {
		t.Errorf("the call was made: %v", calls)
	}
	if r := f.ask(sdk.Request{Tool: "echo"}); r.Error != nil {
		t.Errorf("%+v", r.Error)
	}
	if names := f.names(); !slices.Equal(names, []string{"echo"}) {
		t.Error(names)
	}
}

func TestEventsComeBeforeTheResult(t *testing.T) {
	f := newFake(t, "progress")
	f.start("")
	var got []string
	r := f.ask(sdk.Request{Tool: "progress", Events: func(e sdk.Event) {
		switch e.Type {
		case sdk.EventProgress:
			got = append(got, fmt.Sprintf("%v of %v %s", e.Done, e.Total, e.Message))
		case sdk.EventLog:
			got = append(got, fmt.Sprintf("%v %s %s", e.Level, e.Message, e.Attributes))
		}
	}})
	if r.Error != nil {
		t.Fatal(r.Error)
	}
	var want []string
	for i := range 3 {
		want = append(want, fmt.Sprintf("%d of 9 step", i+1), fmt.Sprintf(
			`WARN {"n":%d} {"mcp_level":"warning","logger":"l","data":{"n":%d}}`, i, i))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Silence ends a call; the total limit is the host's.
func TestIdleTimeout(t *testing.T) {
	f := newFake(t, "hang", "print")
	f.start(`,"idle_timeout":"200ms","timeout":"10m"`)
	r := f.ask(sdk.Request{Tool: "hang"})
	if r.Error == nil || r.Error.Name != "ServerSilent" || r.Error.Code != sdk.CodeTimeout ||
		r.Error.Outcome != sdk.OutcomeUnknown {
		t.Fatalf("%+v", r.Error)
	}
	eventually(t, "the server is notified", func() bool { return len(f.lines("canceled")) == 1 })
	r = f.ask(sdk.Request{Tool: "print"})
	if r.Error == nil || r.Error.Name != "ServerSilent" || !strings.Contains(r.Error.Message, "logs belong on standard error") ||
		!strings.Contains(r.Error.Message, `The first: "answer: `) {
		t.Errorf("%+v", r.Error)
	}
	tools, err := f.Tools(t.Context())
	if err != nil || tools[0].Timeout != 10*time.Minute {
		t.Errorf("%+v %v", tools, err)
	}
}

func TestErrorsOfTheServer(t *testing.T) {
	f := newFake(t, "raw")
	f.start("")
	r := f.ask(sdk.Request{Tool: "raw", Arguments: json.RawMessage(
		`{"error":{"code":-32602,"message":"bad x","data":{"n":9007199254740993}}}`)})
	if r.Error == nil || r.Error.Code != sdk.CodeInvalidArgs || r.Error.Name != "MCPInvalidParams" ||
		!strings.Contains(r.Error.Message, "bad x") ||
		string(r.Error.Details) != `{"data":{"n":9007199254740993},"jsonrpc_code":-32602}` {
		t.Errorf("%+v %s", r.Error, r.Error.Details)
	}
	r = f.ask(sdk.Request{Tool: "raw", Arguments: json.RawMessage(`{"error":{"code":-32000,"message":"no"}}`)})
	if r.Error == nil || r.Error.Code != sdk.CodeTool || r.Error.Name != "MCPError" {
		t.Errorf("%+v", r.Error)
	}
	for failure, want := range map[string]string{`{"code":-32000}`: "it does not say why",
		`{"code":-32000,"message":" ","data":{"why":"no key"}}`: `{"why":"no key"}`} {
		r = f.ask(sdk.Request{Tool: "raw", Arguments: json.RawMessage(`{"error":` + failure + `}`)})
		if r.Error == nil || !strings.HasSuffix(r.Error.Message, "error -32000: "+want) {
			t.Errorf("%s: %+v", failure, r.Error)
		}
	}
	r = f.ask(sdk.Request{Tool: "raw", Arguments: json.RawMessage(`{"result":{"content":"x"}}`)})
	if r.Error == nil || r.Error.Name != "BadResult" || r.Error.Outcome != sdk.OutcomeUnknown {
		t.Errorf("%+v", r.Error)
	}
}

func TestMetaOfTheCaller(t *testing.T) {
	f := newFake(t, "meta")
	f.file("modern", "")
	f.start("")
	r := f.ask(sdk.Request{Tool: "meta", Capabilities: json.RawMessage(`{"sampling":{}}`),
		Meta: json.RawMessage(`{"traceparent":"00-1","progressToken":5,"io.modelcontextprotocol/logLevel":"info"}`)})
	for _, want := range []string{`"traceparent":"00-1"`, `"sampling":{}`, `"roots":{}`,
		`"io.modelcontextprotocol/logLevel":"info"`} {
		if !strings.Contains(r.Content[0].Text, want) {
			t.Errorf("%s lacks %s", r.Content[0].Text, want)
		}
	}
	if strings.Contains(r.Content[0].Text, `"elicitation"`) {
		t.Errorf("the server learns what the caller does not have: %s", r.Content[0].Text)
	}
}

// The server's process gets no variable of the protocol between the plugin and the host.
func TestEnvironmentOfTheServer(t *testing.T) {
	t.Setenv("TOOLHOST_CANARY", "leaks")
	t.Setenv("PLUGIN_CANARY", "leaks")
	f := newFake(t, "env", "cwd")
	f.start("")
	env := f.text("env", `{}`)
	if strings.Contains(env, "leaks") || !strings.Contains(env, "FAKE_SERVER="+f.dir) {
		t.Error(env)
	}
	dir, err := filepath.EvalSymlinks(f.dir)
	if err != nil || f.text("cwd", `{}`) != dir {
		t.Errorf("%s %v", f.text("cwd", `{}`), err)
	}
}

// Callers of different work folders have servers of their own, as many as there may be.
func TestWorkFoldersHaveServersOfTheirOwn(t *testing.T) {
	f := newFake(t, "roots", "cwd", "hang")
	f.start("")
	if got := f.text("roots", `{}`); !strings.Contains(got, "file://"+f.dir) {
		t.Error(got)
	}
	for range 2 * maxUpstreams {
		dir := t.TempDir()
		r := f.ask(sdk.Request{Tool: "roots", Workdir: dir})
		if r.Error != nil || !strings.Contains(r.Content[0].Text, "file://"+dir) {
			t.Errorf("%+v", r)
		}
	}
	if n := len(f.upstreams.all); n != maxUpstreams {
		t.Errorf("%d servers run; the limit is %d", n, maxUpstreams)
	}
	pids := f.lines("starts")
	eventually(t, "the other servers have ended", func() bool {
		running := 0
		for _, pid := range pids {
			if n, _ := strconv.Atoi(pid); syscall.Kill(n, 0) == nil {
				running++
			}
		}
		return running == maxUpstreams
	})
}

func TestResourcesAndPrompts(t *testing.T) {
	f := newFake(t, "echo")
	f.start(`,"resources":true,"prompts":true`)
	if got := f.text("list_resources", `{}`); got !=
		`{"resources":[{"uri":"x://1","name":"one","size": 9007199254740993}],"resourceTemplates":[]}` {
		t.Error(got)
	}
	r := f.ask(sdk.Request{Tool: "read_resource", Arguments: json.RawMessage(`{"uri":"x://1"}`)})
	if r.Error != nil || r.Content[0].Type != "resource" || r.Content[0].URI != "x://1" || r.Content[0].Text != "content" {
		t.Errorf("%+v", r)
	}
	r = f.ask(sdk.Request{Tool: "get_prompt", Arguments: json.RawMessage(`{"name":"p","arguments":{"a":"b"}}`)})
	if r.Error != nil || len(r.Content) != 2 || r.Content[1].Text != `{"a":"b"}` || r.Structured == nil {
		t.Errorf("%+v", r)
	}
	if got := f.text("list_prompts", `{}`); got != `{"prompts":[]}` {
		t.Error(got)
	}
}

// The end of the plugin ends its servers.
func TestNoServerSurvives(t *testing.T) {
	f := newFake(t, "hang")
	f.start("")
	f.begin(t.Context(), sdk.Request{Tool: "hang"})
	pid, _ := strconv.Atoi(f.lines("starts")[0])
	f.close()
	eventually(t, "the server has ended", func() bool { return syscall.Kill(pid, 0) != nil })
}
