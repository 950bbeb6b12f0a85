package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/testutil"
	"github.com/toolhost/toolhost/internal/wire/client"
	"github.com/toolhost/toolhost/sdk"
)

func names(tools []*host.Tool) (out []string) {
	for _, t := range tools {
		out = append(out, t.Name)
	}
	return out
}

func texts(problems []error) (out []string) {
	for _, p := range problems {
		out = append(out, p.Error())
	}
	return out
}

func TestBrokenPluginDoesNotHideOthers(t *testing.T) {
	t.Parallel()
	broken := &fake{list: func(context.Context) ([]sdk.Tool, error) {
		return nil, &sdk.Error{Code: sdk.CodePluginUnavailable, Name: "Quarantined",
			Message: `plugin "broken" crashed 5 times`}
	}}
	plain := &fake{list: func(context.Context) ([]sdk.Tool, error) { return nil, errors.New("a plain error") }}
	good := answering(sdk.Text("fine"), nil, tool("b"), tool("a"))
	h := newHost(t, map[string]host.Plugin{"zoo": good, "plain": plain, "broken": broken, "art": good, "p2": plain,
		"p1": plain, "p3": plain}, host.Options{})
	for range 2 {
		tools, problems := h.Tools(t.Context())
		diff(t, []string{"art__a", "art__b", "zoo__a", "zoo__b"}, names(tools))
		diff(t, []string{`plugin "broken" crashed 5 times`, `plugin "p1" cannot list its tools: a plain error`,
			`plugin "p2" cannot list its tools: a plain error`,
			`plugin "p3" cannot list its tools: a plain error`, `plugin "plain" cannot list its tools: a plain error`},
			texts(problems))
	}
	succeeded(t, h.Call(t.Context(), call("zoo__a", "")))
	if e := failed(t, h.Call(t.Context(), call("broken__a", "")), sdk.CodePluginUnavailable); e.Name != "Quarantined" {
		t.Errorf("error %+v", e)
	}
	if e := failed(t, h.Call(t.Context(), call("plain__a", "")), sdk.CodePluginUnavailable); e.Name != "NoTools" {
		t.Errorf("error %+v", e)
	}
}

func TestBadDefinitionsAreLeftOut(t *testing.T) {
	t.Parallel()
	with := func(name string, change func(*sdk.Tool)) sdk.Tool {
		d := tool(name)
		change(&d)
		return d
	}
	schema := func(s string) func(*sdk.Tool) { return func(d *sdk.Tool) { d.InputSchema = json.RawMessage(s) } }
	cases := map[string]struct {
		definition sdk.Tool
		why        []string
	}{
		"name":            {tool("Bad Name"), []string{`"Bad Name" must match`}},
		"empty name":      {tool(""), []string{"must match"}},
		"long name":       {tool(strings.Repeat("x", 62)), []string{"62 characters"}},
		"two underscores": {tool("a__b"), []string{`must not contain "__"`}},
		"no description":  {with("a", func(d *sdk.Tool) { d.Description = " " }), []string{"has no description"}},
		"no schema": {with("a", func(d *sdk.Tool) { d.InputSchema = nil }),
			[]string{"input schema must be a JSON object"}},
		"not for objects": {with("a", schema(`{"type":"string"}`)), []string{"object"}},
		"bad schema": {with("a", schema(`{"type":"object","properties":{"x":{"type":"strnig"}}}`)),
			[]string{"its input schema cannot be used", "strnig"}},
		"remote schema": {with("a", schema(`{"type":"object","properties":{"x":{"$ref":"https://example.org/x"}}}`)),
			[]string{"its input schema cannot be used"}},
		"several faults": {with("Bad Name", func(d *sdk.Tool) { d.Description = "" }),
			[]string{"must match", "; ", "has no description"}},
		"a tier without end": {with("a", func(d *sdk.Tool) { d.CostTier = sdk.CostTier(strings.Repeat("x", 1<<20)) }),
			[]string{`cost tier "xx`, "(truncated)"}},
		"a name without end, and no description": {
			with(strings.Repeat("x", 1<<20), func(d *sdk.Tool) { d.Description = "" }),
			[]string{"1048576 characters", "(truncated)"}},
		"a property of many lines": {
			with("a", schema(`{"type":"object","properties":{"`+strings.Repeat(`\u001b[2J\r\n`, 5000)+
				`":{"type":"strnig"}}}`)), []string{"its input schema cannot be used", "[2J; ", "(truncated)"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := single(t, answering(sdk.Text("fine"), nil, tool("good"), c.definition), host.Options{})
			tools, problems := h.Tools(t.Context())
			diff(t, []string{"test__good"}, names(tools))
			if len(problems) != 1 {
				t.Fatalf("problems %v", problems)
			}
			text := problems[0].Error()
			for _, words := range append(c.why, `plugin "test": tool test__`, "is left out: ") {
				if !strings.Contains(text, words) {
					t.Errorf("problem %q lacks %q", text, words)
				}
			}
			if strings.ContainsAny(text, "\n\r\x1b") || len(text) > 2000 {
				t.Errorf("problem %.200q has lines, or %d bytes", text, len(text))
			}
			succeeded(t, h.Call(t.Context(), call("test__good", "")))
		})
	}
}

// A compiled schema takes a thousand times its bytes. All tools are checked, and few are called.
func TestSchemasOfUncalledToolsAreNotKept(t *testing.T) {
	tools := numbered(20)
	for i := range tools {
		tools[i].InputSchema = json.RawMessage(`{"type":"object","properties":{"x":{"anyOf":[{}` +
			strings.Repeat(",{}", 7000) + `]}}}`)
	}
	before := testutil.HeapInUse()
	h := single(t, answering(sdk.Text("fine"), nil, tools...), host.Options{})
	if listed, problems := h.Tools(t.Context()); len(listed) != len(tools) || len(problems) > 0 {
		t.Fatalf("%d tools, %v", len(listed), problems)
	}
	if grown := testutil.HeapInUse() - before; grown > 16<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	succeeded(t, h.Call(t.Context(), call("test__"+tools[0].Name, "")))
}

// Of thousands of broken tools some are named; a call of any says why.
func TestProblemsOfToolsAreLimited(t *testing.T) {
	t.Parallel()
	tools := numbered(2000)
	for i := range tools {
		tools[i].InputSchema = json.RawMessage(`{"type":"object","properties":{"` + xs(2000) + `":{"type":"strnig"}}}`)
	}
	h := single(t, answering(nil, nil, tools...), host.Options{})
	_, problems := h.Tools(t.Context())
	const rest = `plugin "test": tools like these: 1980 more are left out; a call of one says why`
	if all := texts(problems); len(all) != 21 || all[20] != rest || len(strings.Join(all, "\n")) > 50_000 {
		t.Errorf("%d problems, the last %q", len(all), all[len(all)-1])
	}
	e := failed(t, h.Call(t.Context(), call("test__t00007", "")), sdk.CodeToolNotFound)
	if !strings.Contains(e.Message, "input schema cannot be used") {
		t.Error(e.Message)
	}
}

func TestDoubledToolsAreLeftOut(t *testing.T) {
	t.Parallel()
	p := answering(sdk.Text("fine"), nil, tool("twice"), tool("once"), tool("twice"), tool("TWICE"))
	h := single(t, p, host.Options{})
	tools, problems := h.Tools(t.Context())
	diff(t, []string{"test__once"}, names(tools))
	const why = `plugin "test": tool test__twice is left out: the plugin declares it 2 times` // said once
	diff(t, []string{`plugin "test": tool test__TWICE is left out: the plugin declares test__TWICE and test__twice, ` +
		"whose names differ only by letter case: it has to rename one of them; of an MCP server, exclude_tools leaves one out",
		why}, texts(problems))
	e := failed(t, h.Call(t.Context(), call("test__twice", "")), sdk.CodeToolNotFound)
	if strings.Count(e.Message, "declares it 2 times") != 1 || p.called.Load() != 0 {
		t.Errorf("error %+v", e)
	}
}

func TestNamesInCapitals(t *testing.T) {
	t.Parallel()
	p := calling(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) { return sdk.Text(r.Tool), nil },
		tool("getWeather"), tool("setChatAction"), tool("sendmail"), tool("sendMail"))
	h := single(t, p, host.Options{})
	tools, problems := h.Tools(t.Context())
	diff(t, []string{"test__getWeather", "test__setChatAction"}, names(tools))
	const why = "the plugin declares test__sendMail and test__sendmail, whose names differ only by letter case: it has " +
		"to " +
		"rename one of them; of an MCP server, exclude_tools leaves one out"
	diff(t, []string{`plugin "test": tool test__sendMail is left out: ` + why,
		`plugin "test": tool test__sendmail is left out: ` + why}, texts(problems))
	r := h.Call(t.Context(), call("test__getWeather", ""))
	if succeeded(t, r); r.Text() != "getWeather" {
		t.Errorf("the plugin got the tool %q", r.Text())
	}
	for name, want := range map[string]string{
		"test__getweather": "Did you mean test__getWeather", "test__SETCHATACTION": "Did you mean test__setChatAction",
		"test__sendMail": why,
	} {
		if e := failed(t, h.Call(t.Context(), call(name, "")), sdk.CodeToolNotFound); !strings.Contains(e.Message+" "+
			e.Suggestion, want) {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func TestLongNamesAreShortened(t *testing.T) {
	t.Parallel()
	label := strings.Repeat("p", 32)
	fits, long, other := strings.Repeat("t", 30), strings.Repeat("t", 31), strings.Repeat("t", 50)+"_u"
	p := calling(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) { return sdk.Text(r.Tool), nil }, tool(fits),
		tool(long), tool(other))
	h := newHost(t, map[string]host.Plugin{label: p}, host.Options{})
	tools, problems := h.Tools(t.Context())
	if len(tools) != 3 || len(problems) != 0 {
		t.Fatalf("tools %v, problems %v", names(tools), problems)
	}
	for _, listed := range tools {
		r := h.Call(t.Context(), call(listed.Name, ""))
		succeeded(t, r)
		whole := label + "__" + r.Text()
		switch {
		case len(listed.Name) > 64:
			t.Errorf("%s has %d characters", listed.Name, len(listed.Name))
		case len(whole) <= 64 && (listed.Name != whole || listed.OriginalName != ""):
			t.Errorf("%s is called %s, originally %q", whole, listed.Name, listed.OriginalName)
		case len(whole) > 64 && (!strings.HasPrefix(listed.Name, whole[:55]+"_") || listed.OriginalName != r.Text()):
			t.Errorf("%s is called %s, originally %q", whole, listed.Name, listed.OriginalName)
		}
	}
	again, _ := newHost(t, map[string]host.Plugin{label: p}, host.Options{}).Tools(t.Context())
	diff(t, names(tools), names(again))
}

func TestToolJSON(t *testing.T) {
	t.Parallel()
	definition := tool("run")
	definition.Timeout = 90 * time.Second
	h := single(t, answering(nil, nil, definition), host.Options{})
	tools, _ := h.Tools(t.Context())
	const want = `{"plugin":"test","name":"test__run","description":"for ` +
		`tests","input_schema":{"type":"object"},"hints":{"read_only":true},"timeout":"1m30s"}`
	for _, v := range []any{tools[0], *tools[0]} {
		if got, err := json.Marshal(v); err != nil || string(got) != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
}

func TestListingIsSingleFlight(t *testing.T) {
	answers := map[string]error{"that works": nil, "that fails": errors.New("no tools today")}
	for name, err := range answers {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := answering(sdk.Text("fine"), nil)
				answer := make(chan struct{})
				p.list = func(context.Context) ([]sdk.Tool, error) {
					<-answer
					return []sdk.Tool{tool("run")}, err
				}
				h := single(t, p, host.Options{})
				var wg sync.WaitGroup
				var ok atomic.Int64
				for range 20 {
					wg.Go(func() {
						if r := h.Call(t.Context(), call("test__run", "")); r.Error == nil {
							ok.Add(1)
						}
					})
				}
				synctest.Wait() // all of them wait for the plugin
				close(answer)
				wg.Wait()
				if n := p.listed.Load(); n != 1 {
					t.Errorf("the plugin was asked %d times for 20 calls, want once", n)
				}
				if want := map[bool]int64{true: 20, false: 0}[err == nil]; ok.Load() != want {
					t.Errorf("%d calls worked, want %d", ok.Load(), want)
				}
				h.Call(t.Context(), call("test__run", ""))
				if want := map[bool]int64{true: 1, false: 2}[err == nil]; p.listed.Load() != want { // a failure is not cached
					t.Errorf("the plugin was asked %d times after another call, want %d", p.listed.Load(), want)
				}
			})
		})
	}
}

// A caller waits no longer than its own timeout for a plugin that another caller lists.
func TestCallerWhoGivesUpBeforeHisTurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := silent()
		h := single(t, p, host.Options{})
		first := make(chan *host.Result, 1)
		go func() { first <- h.Call(t.Context(), call("test__run", "")) }()
		synctest.Wait()
		c := call("test__run", "")
		c.Timeout = time.Second
		r := h.Call(t.Context(), c)
		if failed(t, r, sdk.CodeTimeout); r.Duration != time.Second {
			t.Errorf("after %s", r.Duration)
		}
		if r := <-first; r.Duration != 2*time.Minute || p.listed.Load() != 1 {
			t.Errorf("the other after %s; the plugin was asked %d times", r.Duration, p.listed.Load())
		}
	})
}

func TestListingDoesNotWaitForEver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newHost(t, map[string]host.Plugin{"silent": silent(), "good": answering(nil, nil)},
			host.Options{DefaultTimeout: time.Minute})
		started := time.Now()
		tools, problems := h.Tools(t.Context())
		diff(t, []string{"good__run"}, names(tools))
		diff(t, []string{`plugin "silent" did not list its tools within the time limit; nothing was run`}, texts(problems))
		if took := time.Since(started); took != time.Minute {
			t.Errorf("listing took %s, want 1m0s", took)
		}
	})
}

// A caller that is canceled while a plugin is being listed does not fail the others.
func TestCallerWhoGivesUpWhileListing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := answering(sdk.Text("fine"), nil)
		answer := make(chan struct{})
		p.list = func(ctx context.Context) ([]sdk.Tool, error) {
			select {
			case <-answer:
				return []sdk.Tool{tool("run")}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		h := single(t, p, host.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		first, second := make(chan *host.Result, 1), make(chan *host.Result, 1)
		go func() { first <- h.Call(ctx, call("test__run", "")) }()
		synctest.Wait()
		go func() { second <- h.Call(t.Context(), call("test__run", "")) }()
		synctest.Wait()
		cancel()
		failed(t, <-first, sdk.CodeCanceled)
		synctest.Wait()
		close(answer)
		succeeded(t, <-second)
	})
}

// A changing is a fake that can report that its tools have changed.
type changing struct {
	*fake
	tools   atomic.Value // []sdk.Tool
	changes chan struct{}
}

func newChanging(tools ...sdk.Tool) *changing {
	c := &changing{fake: answering(sdk.Text("fine"), nil), changes: make(chan struct{})}
	c.tools.Store(tools)
	c.list = func(context.Context) ([]sdk.Tool, error) { return c.tools.Load().([]sdk.Tool), nil }
	return c
}

func (c *changing) Watch(ctx context.Context, changed func()) error {
	for {
		select {
		case <-c.changes:
			changed()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func TestToolsChange(t *testing.T) {
	t.Parallel()
	p := newChanging(tool("old"))
	reported := make(chan string)
	h := single(t, p, host.Options{OnToolsChanged: func(plugin string) {
		reported <- plugin
		panic("which ends nothing")
	}})
	failed(t, h.Call(t.Context(), call("test__new", "")), sdk.CodeToolNotFound)
	succeeded(t, h.Call(t.Context(), call("test__old", "")))

	p.tools.Store([]sdk.Tool{tool("new")})
	p.changes <- struct{}{}
	if got := await(t, 10*time.Second, "the callback", reported); got != "test" {
		t.Errorf("plugin %q changed", got)
	}
	succeeded(t, h.Call(t.Context(), call("test__new", "")))
	failed(t, h.Call(t.Context(), call("test__old", "")), sdk.CodeToolNotFound)
	if n := p.listed.Load(); n != 2 {
		t.Errorf("the plugin was asked %d times, want 2", n)
	}
}

// A list that was requested before the tools changed may be the old one: callers that waited for it get it, and it is
// not kept.
func TestOutdatedListIsNotKept(t *testing.T) {
	checkOutdatedList(t, func(t *testing.T, h *host.Host) lister { return h })
}

// A lister is a host or a catalog.
type lister interface {
	Tools(ctx context.Context) ([]*host.Tool, []error)
}

func checkOutdatedList(t *testing.T, of func(*testing.T, *host.Host) lister) {
	t.Helper()
	bubble(t, func(t *testing.T) {
		p := newChanging()
		answers := make(chan string)
		p.list = func(context.Context) ([]sdk.Tool, error) { return []sdk.Tool{tool(<-answers)}, nil }
		all := of(t, single(t, p, host.Options{}))
		listed := make(chan []string)
		list := func() {
			tools, _ := all.Tools(t.Context())
			listed <- names(tools)
		}
		go list()
		synctest.Wait()
		p.changes <- struct{}{}
		synctest.Wait()
		answers <- "old"
		diff(t, []string{"test__old"}, <-listed)
		go list()
		answers <- "new"
		diff(t, []string{"test__new"}, <-listed)
	})
}

func TestWatchThatFailsIsLogged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := &recorder{}
		h := single(t, failingWatch{answering(nil, nil)}, host.Options{Logger: slogTo(log)})
		synctest.Wait()
		lines := log.named("watching a plugin for changed tools ended")
		if len(lines) != 1 || lines[0].Attrs["plugin"] != "test" || lines[0].Attrs["error"] != "no watching here" {
			t.Errorf("log %+v", log.all())
		}
		succeeded(t, h.Call(t.Context(), call("test__run", "")))
	})
}

type failingWatch struct{ *fake }

func (failingWatch) Watch(context.Context, func()) error { return errors.New("no watching here") }

// Everything concurrently, for the race detector: calls, listings, changes, over four plugins and the wire.
func TestManyCallsAtOnce(t *testing.T) {
	t.Parallel()
	changes := newChanging(tool("run"))
	plugins := map[string]host.Plugin{"one": overWire(t), "two": overWire(t), "three": answering(sdk.Text("fine"), nil),
		"four": changes}
	tools := []string{"one__echo", "two__echo", "three__run", "four__run"}
	h := newHost(t, plugins, host.Options{Logger: slogTo(&recorder{})})
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			for j := range 8 {
				name := tools[(i+j)%len(tools)]
				arguments := fmt.Sprintf(`{"i":%d,"j":%d}`, i, j)
				r := h.Call(t.Context(), call(name, arguments))
				if r.Error != nil || strings.HasSuffix(name, "echo") && r.Text() != arguments {
					t.Errorf("%s with %s: %+v", name, arguments, r)
				}
			}
			switch i % 8 {
			case 0:
				h.Tools(t.Context())
			case 1:
				changes.changes <- struct{}{}
			}
		})
	}
	within(t, time.Minute, "all calls", wg.Wait)
}

func TestDescriptionOfTheUser(t *testing.T) {
	t.Parallel()
	h := single(t, answering(nil, nil, tool("run"), tool("other")),
		host.Options{Tools: map[string]host.ToolOptions{"test__run": {Description: "in other words"}}})
	tools, _ := h.Tools(t.Context())
	diff(t, []string{"for tests", "in other words"}, []string{tools[0].Description, tools[1].Description})
}

// A plugin receives the definition on which a call was decided, as it declared it. If it has changed that silently,
// nothing runs, and it is listed again.
func TestCallOfAChangedDefinition(t *testing.T) {
	t.Parallel()
	now := tool("run")
	p := calling(nil)
	p.list = func(context.Context) ([]sdk.Tool, error) { return []sdk.Tool{now}, nil }
	p.call = func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		if r.Listed == nil || r.Listed.Name != "run" || r.Listed.Description != now.Description {
			return nil, &sdk.Error{Code: sdk.CodePluginUnavailable, Name: client.NameListedOtherwise,
				Outcome: sdk.OutcomeNotSent, Message: "another"}
		}
		return sdk.Text("done"), nil
	}
	var reported []string
	h := single(t, p, host.Options{OnToolsChanged: func(plugin string) { reported = append(reported, plugin) },
		Tools: map[string]host.ToolOptions{"test__run": {Description: "the user's words"}}})
	succeeded(t, h.Call(t.Context(), call("test__run", "")))
	now.Description = "something else"
	if r := h.Call(t.Context(), call("test__run", "")); r.Error == nil || r.Error.Outcome != sdk.OutcomeNotSent {
		t.Errorf("a call of what was listed ends with %+v", r.Error)
	}
	succeeded(t, h.Call(t.Context(), call("test__run", "")))
	diff(t, []string{"test"}, reported)
}
