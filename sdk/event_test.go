package sdk_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/slogtest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

// events calls the tool x and returns its events.
func events(t *testing.T, handle func(ctx context.Context, r *sdk.Request)) (out []sdk.Event) {
	t.Helper()
	p := sdktest.Start(t, with(func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
		handle(ctx, r)
		return sdk.Text("done"), nil
	}))
	result, err := p.Call(t.Context(), &sdk.Request{Tool: "x", Events: func(e sdk.Event) { out = append(out, e) }})
	if err != nil || result.Error != nil {
		t.Fatalf("the call gives %+v, %v", result, err)
	}
	return out
}

func TestEventsComeInOrder(t *testing.T) {
	got := events(t, func(_ context.Context, r *sdk.Request) {
		r.Progress(1, 3, "step %d", 1)
		r.Output("stdout", []byte("a\xff"))
		r.Output("stdout", nil)
		r.Logger().Info("said", "n", 1)
		r.Progress(2, 0, "")
		r.Output("stderr", []byte("b"))
		r.Logger().With("a", 1).WithGroup("g").Warn("more", "b", 2)
		r.Events(sdk.Event{Type: "sang"})
	})
	want := []sdk.Event{
		{Type: sdk.EventStarted},
		{Type: sdk.EventProgress, Done: 1, Total: 3, Message: "step 1"},
		{Type: sdk.EventOutput, Stream: "stdout", Data: []byte("a\xff")},
		{Type: sdk.EventLog, Message: "said", Attributes: json.RawMessage(`{"n":1}`)},
		{Type: sdk.EventProgress, Done: 2},
		{Type: sdk.EventOutput, Stream: "stderr", Data: []byte("b")},
		{Type: sdk.EventLog, Level: slog.LevelWarn, Message: "more", Attributes: json.RawMessage(`{"a":1,"g.b":2}`)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEventsFromManyGoroutines(t *testing.T) {
	const goroutines, each = 20, 50
	got := events(t, func(_ context.Context, r *sdk.Request) {
		log := r.Logger().With("a", 1).With("b", 2).With("c", 3)
		var all sync.WaitGroup
		for g := range goroutines {
			all.Go(func() {
				for i := range each {
					r.Progress(float64(i), each, "%d", g)
					log.Info("said", "d", fmt.Sprint(g, "/", i))
				}
			})
		}
		all.Wait()
	})
	next, lines := map[string]float64{}, map[string]int{}
	for _, e := range got[1:] {
		switch e.Type {
		case sdk.EventProgress:
			if e.Done != next[e.Message] {
				t.Fatalf("goroutine %s tells %v, want %v", e.Message, e.Done, next[e.Message])
			}
			next[e.Message]++
		case sdk.EventLog:
			lines[string(e.Attributes)]++
		}
	}
	for g := range goroutines {
		for i := range each {
			if want := fmt.Sprintf(`{"a":1,"b":2,"c":3,"d":"%d/%d"}`, g, i); lines[want] != 1 {
				t.Fatalf("%s is there %d times", want, lines[want])
			}
		}
	}
}

func TestEventsAfterTheResult(t *testing.T) {
	stop, ended := make(chan struct{}), make(chan struct{})
	got := events(t, func(_ context.Context, r *sdk.Request) {
		running := make(chan struct{})
		go func() {
			defer close(ended)
			r.Progress(0, 0, "on and on")
			close(running)
			for {
				select {
				case <-stop:
					return
				default:
					r.Progress(0, 0, "on and on")
				}
			}
		}()
		<-running
	})
	n := len(got)
	close(stop)
	<-ended
	if n < 2 || len(got) != n {
		t.Errorf("%d events came in the call and %d after it", n, len(got)-n)
	}
}

func TestEventsWithoutAWatcher(t *testing.T) {
	p := sdktest.Start(t, with(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		r.Progress(1, 2, "x")
		return sdk.Text("done"), nil
	}))
	if got := p.Run(t, "x", ""); got.Content[0].Text != "done" {
		t.Errorf("the result is %+v", got)
	}
	var r sdk.Request // as in a test that calls the handler directly
	r.Progress(1, 2, "x")
	r.Output("stdout", []byte("x"))
	r.Logger().Info("x")
}

func TestLogAttributes(t *testing.T) {
	for want, attrs := range map[string][]any{
		``:                          {},
		`{"b":true,"s":"<&>"}`:      {"b", true, "s", "<&>"},
		`{"f":1.5,"i":-1,"u":1}`:    {"f", 1.5, "i", -1, "u", uint8(1)},
		`{"inf":"+Inf","n":"NaN"}`:  {"inf", math.Inf(1), "n", math.NaN()},
		`{"d":"1s"}`:                {"d", time.Second},
		`{"e":"context canceled"}`:  {"e", context.Canceled},
		`{"c":"[1 2]"}`:             {"c", []int{1, 2}},
		`{"g.a":1,"g.h.b":2,"o":3}`: {slog.Group("g", "a", 1, slog.Group("h", "b", 2)), slog.Group("", "o", 3)},
		`{"o":1}`:                   {slog.Group("g"), slog.Attr{}, "o", 1},
	} {
		got := events(t, func(_ context.Context, r *sdk.Request) { r.Logger().Info("x", attrs...) })[1].Attributes
		if strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(got)) != want {
			t.Errorf("%v becomes %s, want %s", attrs, got, want)
		}
	}
}

// The logger is a proper slog.Handler. The host sets the time, so slogtest's rule about it does not apply.
func TestLoggerKeepsTheRulesOfSlog(t *testing.T) {
	var last sdk.Event
	r := &sdk.Request{Events: func(e sdk.Event) { last = e }}
	slogtest.Run(t, func(*testing.T) slog.Handler { return r.Logger().Handler() }, func(t *testing.T) map[string]any {
		out := map[string]any{slog.LevelKey: last.Level, slog.MessageKey: last.Message}
		if !strings.Contains(t.Name(), "zero-time") {
			out[slog.TimeKey] = time.Now()
		}
		var flat map[string]any
		if last.Attributes != nil && json.Unmarshal(last.Attributes, &flat) != nil {
			t.Fatalf("attributes are %s", last.Attributes)
		}
		for key, value := range flat {
			put(out, strings.Split(key, "."), value)
		}
		return out
	})
}

// put nests dotted keys, as slogtest expects.
func put(object map[string]any, path []string, value any) {
	if len(path) == 1 {
		object[path[0]] = value
		return
	}
	inner, ok := object[path[0]].(map[string]any)
	if !ok {
		inner = map[string]any{}
		object[path[0]] = inner
	}
	put(inner, path[1:], value)
}
