package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

func TestCloseEndsCalls(t *testing.T) {
	t.Parallel()
	h := single(t, overWire(t), host.Options{})
	const calls = 8
	begun, results := make(chan struct{}, calls), make(chan *host.Result, calls)
	for range calls {
		c := call("test__wait", "")
		c.Events = func(e sdk.Event) {
			if e.Type == sdk.EventProgress {
				begun <- struct{}{}
			}
		}
		go func() { results <- h.Call(context.Background(), c) }()
	}
	for range calls {
		await(t, 10*time.Second, "a call's begin", begun)
	}
	within(t, 4*time.Second, "the host's end", func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	for range calls {
		failed(t, await(t, time.Second, "a call's end", results), sdk.CodeCanceled)
	}
}

func TestCallAfterClose(t *testing.T) {
	t.Parallel()
	log := &recorder{}
	p := answering(sdk.Text(""), nil)
	h := single(t, p, host.Options{Logger: slogTo(log)})
	for range 2 {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
	e := failed(t, h.Call(t.Context(), call("test__run", "")), sdk.CodeCanceled)
	diff(t, &sdk.Error{Code: sdk.CodeCanceled, Name: "HostClosed", Message: "the host is closed; nothing was run",
		Outcome: sdk.OutcomeNotSent}, e)
	if p.called.Load() != 0 || p.listed.Load() != 0 || p.closed.Load() != 1 {
		t.Errorf("listed %d times, called %d, closed %d", p.listed.Load(), p.called.Load(), p.closed.Load())
	}
	if n := len(log.named("call")); n != 1 {
		t.Errorf("%d lines in the log, want 1", n)
	}
}

// Calls and Close are safe at any moment: each call either runs or is refused, and none outlives Close.
func TestCallsDuringClose(t *testing.T) {
	t.Parallel()
	for range 50 {
		p := answering(sdk.Text("ran"), nil)
		h := single(t, p, host.Options{})
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if r := h.Call(t.Context(), call("test__run", "")); r.Error != nil {
					failed(t, r, sdk.CodeCanceled)
				}
			})
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		ran := p.called.Load()
		wg.Wait()
		if p.called.Load() != ran {
			t.Error("a call ran after the host was closed")
		}
	}
}

func TestCloseDoesNotWaitForEver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		begun, release := make(chan struct{}), make(chan struct{})
		p := calling(func(context.Context, *sdk.Request) (*sdk.Result, error) {
			close(begun)
			<-release
			return &sdk.Result{}, nil
		})
		p.close = func() error { close(release); return nil }
		h := single(t, p, host.Options{})
		result := make(chan *host.Result)
		go func() { result <- h.Call(context.Background(), call("test__run", "")) }()
		<-begun
		started := time.Now()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(started); took != 5*time.Second {
			t.Errorf("closing took %s, want 5s", took)
		}
		succeeded(t, <-result)
	})
}

func TestCloseReportsFailures(t *testing.T) {
	t.Parallel()
	good, bad := answering(nil, nil), answering(nil, nil)
	bad.close = func() error { return errors.New("it bites") }
	h, err := host.New(map[string]host.Plugin{"good": good, "bad": bad}, host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var closers sync.WaitGroup
	for range 4 { // all wait for the same end
		closers.Go(func() {
			if err := h.Close(); err == nil || err.Error() != `closing plugin "bad": it bites` || good.closed.Load() != 1 {
				t.Errorf("error %v", err)
			}
		})
	}
	closers.Wait()
	if good.closed.Load() != 1 {
		t.Error("the other plugin is not closed")
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	ok := answering(nil, nil)
	cases := map[string]struct {
		plugins map[string]host.Plugin
		want    string
	}{
		"nil plugin":       {map[string]host.Plugin{"test": nil}, `host: plugin "test" is nil`},
		"empty label":      {map[string]host.Plugin{"": ok}, `host: plugin name "" must match`},
		"capital":          {map[string]host.Plugin{"Test": ok}, `host: plugin name "Test" must match`},
		"underscore":       {map[string]host.Plugin{"a__b": ok}, `host: plugin name "a__b" must match`},
		"leading digit":    {map[string]host.Plugin{"1a": ok}, `host: plugin name "1a" must match`},
		"line break":       {map[string]host.Plugin{"a\n": ok}, `host: plugin name "a\n" must match`},
		"too long":         {map[string]host.Plugin{strings.Repeat("a", 33): ok}, `must match`},
		"first of several": {map[string]host.Plugin{"b": nil, "a": nil, "c": nil}, `host: plugin "a" is nil`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := host.New(c.plugins, host.Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
}

func TestNewChecksOptions(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		options host.Options
		want    string
	}{
		"a tool without its plugin": {host.Options{Tools: map[string]host.ToolOptions{"run": {}}},
			`"run", which is not a full name`},
		"a glob of models": {host.Options{Tools: map[string]host.ToolOptions{
			"test__run": {DescriptionFor: map[string]string{"gpt-[": "x"}}}}, `the glob "gpt-["`},
		"a glob of tools": {host.Options{Plugins: map[string]host.PluginOptions{"test": {MayCall: []string{"[a"}}}},
			`the glob "[a"`},
		"no middleware": {host.Options{Middleware: []host.Middleware{nil}}, "Middleware[0] is nil"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := host.New(map[string]host.Plugin{"test": answering(nil, nil)}, c.options)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
}

func TestHostWithoutPlugins(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil, host.Options{})
	if tools, problems := h.Tools(t.Context()); len(tools)+len(problems) != 0 {
		t.Errorf("tools %v, problems %v", tools, problems)
	}
	failed(t, h.Call(t.Context(), call("a__b", "")), sdk.CodeToolNotFound)
}

func TestPanics(t *testing.T) {
	t.Parallel()
	good := answering(sdk.Text("fine"), nil)
	cases := map[string]struct {
		plugin     *fake
		middleware host.Middleware
	}{
		"in a middleware": {good, before(func(*host.Call) error { panic("boom") })},
		"in a plugin": {calling(func(context.Context, *sdk.Request) (*sdk.Result, error) { panic("boom") }),
			before(func(*host.Call) error { return nil })},
		"in a receiver of events": {calling(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
			r.Events(sdk.Event{Type: sdk.EventStarted})
			return nil, nil
		}), before(func(c *host.Call) error { c.Events = func(sdk.Event) { panic("boom") }; return nil })},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := &recorder{}
			h := single(t, c.plugin, host.Options{Logger: slogTo(log), Middleware: []host.Middleware{c.middleware}})
			r := h.Call(t.Context(), host.Call{ID: "c-1", Tool: "test__run"})
			e := failed(t, r, sdk.CodeInternal)
			if !strings.HasPrefix(e.Message,
				"the call was stopped by a panic, which is a bug; see the host's log for call id c-1") ||
				e.Name != "Panic" {
				t.Errorf("error %+v", e)
			}
			lines := log.named("a panic was caught", "call")
			if len(lines) != 2 && (name != "in a receiver of events" || len(lines) != 3) { // it panics at the final status too
				t.Fatalf("log %+v", log.all())
			}
			if attrs := lines[0].Attrs; attrs["call_id"] != "c-1" || attrs["panic"] == "" ||
				!strings.Contains(attrs["stack"], ".go:") {
				t.Errorf("log line %+v", lines[0])
			}
			if attrs := lines[1].Attrs; attrs["call_id"] != "c-1" || attrs["code"] != "E_INTERNAL" {
				t.Errorf("audit line %+v", lines[1])
			}
		})
	}
}

// A middleware that panics while the chain is made, or makes nothing, fails the calls and nothing else.
func TestPanicOfAMiddlewareInTheMaking(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]host.Middleware{
		"panics":  func(host.CallFunc) host.CallFunc { panic("boom") },
		"is none": func(host.CallFunc) host.CallFunc { return nil },
	} {
		log := &recorder{}
		h := single(t, answering(sdk.Text("fine"), nil), host.Options{Logger: slogTo(log), Middleware: []host.Middleware{m}})
		failed(t, h.Call(t.Context(), call("test__run", "")), sdk.CodeInternal)
		if lines := log.named("a panic was caught"); name == "panics" && lines[0].Attrs["callback"] != "Options.Middleware" {
			t.Errorf("log %+v", lines)
		}
	}
}

// Plugins are listed in the host's own goroutines, where a panic would end the process.
func TestPanicWhileListing(t *testing.T) {
	t.Parallel()
	log := &recorder{}
	bad := &fake{list: func(context.Context) ([]sdk.Tool, error) { panic("boom") }}
	h := newHost(t, map[string]host.Plugin{"bad": bad, "good": answering(nil, nil)}, host.Options{Logger: slogTo(log)})
	tools, problems := h.Tools(t.Context())
	if len(tools) != 1 || len(problems) != 1 ||
		problems[0].Error() != `plugin "bad" cannot list its tools: it panicked: boom` {
		t.Errorf("tools %v, problems %v", tools, problems)
	}
	if lines := log.named("a panic was caught"); len(lines) != 1 || lines[0].Attrs["plugin"] != "bad" {
		t.Errorf("log %+v", log.all())
	}
	failed(t, h.Call(t.Context(), call("bad__run", "")), sdk.CodePluginUnavailable)
}

// A panicking is a plugin that panics wherever the host calls it in a goroutine of its own.
type panicking struct {
	*fake
	watched chan struct{}
}

func (p *panicking) Watch(context.Context, func()) error { close(p.watched); panic("no watch") }
func (p *panicking) Checked([]sdk.Tool) bool             { panic("no memory") }
func (p *panicking) SetChecked([]sdk.Tool)               { panic("no memory") }

// Panics of what a plugin may implement are logged, and end neither the process nor calls.
func TestPanicsOfAPlugin(t *testing.T) {
	t.Parallel()
	log := &recorder{}
	p := &panicking{answering(nil, nil, tool("run"), tool("other")), make(chan struct{})}
	p.close = func() error { panic("no end") }
	_, pin := host.Definition(tool("run"))
	h, err := host.New(map[string]host.Plugin{"bad": p}, host.Options{Logger: slogTo(log),
		Pins:   map[string]map[string]string{"bad": {"run": pin, "other": "gone"}},
		Pinned: func(string) json.RawMessage { panic("no pin") }})
	if err != nil {
		t.Fatal(err)
	}
	await(t, 10*time.Second, "the watch", p.watched)
	succeeded(t, h.Call(t.Context(), call("bad__run", "")))
	failed(t, h.Call(t.Context(), call("bad__other", "")), sdk.CodeDenied)
	if err := h.Close(); err == nil || err.Error() != `closing plugin "bad": it panicked: no end` {
		t.Errorf("Close gives %v", err)
	}
	var caught []string
	for _, line := range log.named("a panic was caught") {
		caught = append(caught, fmt.Sprint(line.Attrs["callback"], ": ", line.Attrs["panic"]))
	}
	slices.Sort(caught)
	diff(t, []string{": no end", "CheckCache.Checked: no memory", "CheckCache.SetChecked: no memory",
		"Options.Pinned: no pin", "Watcher.Watch: no watch"}, slices.Compact(caught))
}

// A plugin that ends the goroutine that lists or closes it, as the end of a test does, keeps neither waiting.
func TestAPluginEndsItsGoroutine(t *testing.T) {
	t.Parallel()
	bad := &fake{list: func(context.Context) ([]sdk.Tool, error) { runtime.Goexit(); return nil, nil },
		close: func() error { runtime.Goexit(); return nil }}
	h, err := host.New(map[string]host.Plugin{"bad": bad, "good": answering(nil, nil)}, host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		tools, problems := h.Tools(t.Context())
		if len(tools) != 1 || len(problems) != 1 || !strings.Contains(problems[0].Error(), "it ended its goroutine") {
			t.Errorf("tools %v, problems %v", tools, problems)
		}
		_ = h.Close()
	}()
	await(t, 10*time.Second, "the end of the host", done)
}

func TestRelativeWorkdirIsRefused(t *testing.T) {
	t.Parallel()
	h := single(t, newRecordingPlugin(tool("a")), host.Options{})
	r := h.Call(t.Context(), host.Call{Tool: "test__a", Workdir: "relative"})
	if e := failed(t, r, sdk.CodeInvalidArgs); e.Name != "BadWorkdir" {
		t.Errorf("error %+v", e)
	}
}
