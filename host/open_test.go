package host_test

import (
	"context"
	"errors"
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
	diff(t, &sdk.Error{Code: sdk.CodeCanceled, Name: "HostClosed", Message: "the host is closed; nothing was run", Outcome: sdk.OutcomeNotSent}, e)
	if p.called.Load() != 0 || p.listed.Load() != 0 || p.closed.Load() != 1 {
		t.Errorf("listed %d times, called %d, closed %d", p.listed.Load(), p.called.Load(), p.closed.Load())
	}
	if n := len(log.named("call")); n != 1 {
		t.Errorf("%d lines in the log, want 1", n)
	}
}

// Calls and Close may meet at any moment: each call is either run or refused, and none outlives Close.
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
			return nil, nil
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

func TestCloseTellsWhatWentWrong(t *testing.T) {
	t.Parallel()
	good, bad := answering(nil, nil), answering(nil, nil)
	bad.close = func() error { return errors.New("it bites") }
	h, err := host.New(map[string]host.Plugin{"good": good, "bad": bad}, host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err == nil || err.Error() != `closing plugin "bad": it bites` {
		t.Errorf("error %v", err)
	}
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

func TestHostWithoutPlugins(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil, host.Options{})
	if tools, problems := h.Tools(t.Context()); len(tools)+len(problems) != 0 {
		t.Errorf("tools %v, problems %v", tools, problems)
	}
	failed(t, h.Call(t.Context(), call("a__b", "")), sdk.CodeToolNotFound)
}
