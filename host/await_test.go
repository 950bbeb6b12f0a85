package host_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

// A latePlugin has no tools until come is closed, if they come at all.
type latePlugin struct {
	*fake
	come   chan struct{}
	failed string // why they will not come
}

func newLatePlugin(failed string) *latePlugin {
	l := &latePlugin{come: make(chan struct{}), failed: failed}
	l.fake = answering(sdk.Text("ran"), nil, tool("run"))
	all := l.list
	l.list = func(ctx context.Context) ([]sdk.Tool, error) {
		select {
		case <-l.come:
			return all(ctx)
		default:
			return nil, nil
		}
	}
	return l
}

func (l *latePlugin) AwaitTools(ctx context.Context, waiting func(why string)) error {
	why := &sdk.Error{Code: sdk.CodePluginUnavailable, Name: "ToolsMissing", Message: "the server is starting"}
	if l.failed != "" {
		why.Message = l.failed
		return why
	}
	waiting("the server is starting")
	select {
	case <-l.come:
		return nil
	case <-ctx.Done():
		return why
	}
}

// A call of a tool that does not exist yet waits for it, and says so; the tool is found by its name, its address, and
// by who wants its definition.
func TestCallWaitsForToolsThatComeLate(t *testing.T) {
	for name, use := range map[string]func(*testing.T, *host.Catalog) string{
		"call": func(t *testing.T, c *host.Catalog) string {
			var said []string
			one := call("test__run", "{}")
			one.Events = func(e sdk.Event) {
				if e.Type == sdk.EventProgress {
					said = append(said, e.Message)
				}
			}
			succeeded(t, c.Call(t.Context(), one))
			return strings.Join(said, "\n")
		},
		"definition": func(t *testing.T, c *host.Catalog) string {
			if d, err := c.Tool(t.Context(), "test__run"); err != nil || d.Name != "test__run" {
				t.Errorf("%v, %v", d, err)
			}
			return ""
		},
		"address": func(t *testing.T, c *host.Catalog) string {
			if full, err := c.Resolve(t.Context(), "mcp://test/run"); err != nil || full != "test__run" {
				t.Errorf("%q, %v", full, err)
			}
			return ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				l := newLatePlugin("")
				c := catalog(t, single(t, l, host.Options{}), host.Filter{})
				if tools, _ := c.Tools(t.Context()); len(tools) != 0 {
					t.Fatalf("%d tools", len(tools))
				}
				time.AfterFunc(20*time.Second, sync.OnceFunc(func() { close(l.come) }))
				began := time.Now()
				said := use(t, c)
				if took := time.Since(began); took != 20*time.Second {
					t.Errorf("it took %s", took)
				}
				if want := `waiting for plugin "test": the server is starting`; name == "call" && said != want {
					t.Errorf("it said %q, not %q", said, want)
				}
			})
		})
	}
}

// It does not wait for what will not come, nor longer than the caller would, nor for a name that its catalog refuses.
func TestCallOfToolsThatDoNotCome(t *testing.T) {
	bubble(t, func(t *testing.T) {
		began := time.Now()
		h := newHost(t, map[string]host.Plugin{"down": newLatePlugin("the server is down"), "slow": newLatePlugin(""),
			"ready": answering(sdk.Text(""), nil)}, host.Options{})
		for _, use := range []func(string) error{
			func(name string) error { return h.Call(t.Context(), call("down__"+name, "{}")).Error },
			func(name string) error {
				_, err := catalog(t, h, host.Filter{}).Resolve(t.Context(), "mcp://down/"+name)
				return err
			},
		} {
			if e := use("x"); sdk.CodeOf(e) != sdk.CodePluginUnavailable || !strings.Contains(e.Error(), "server is down") {
				t.Errorf("%v", e)
			}
		}
		failed(t, h.Call(t.Context(), call("ready__x", "{}")), sdk.CodeToolNotFound)
		only := catalog(t, h, host.Filter{Tools: []string{"slow__run"}})
		failed(t, only.Call(t.Context(), call("slow__other", "{}")), sdk.CodeNotInCatalog)
		if took := time.Since(began); took != 0 {
			t.Errorf("they took %s", took)
		}
		one := call("slow__run", "{}")
		one.Timeout = 7 * time.Second
		e := failed(t, h.Call(t.Context(), one), sdk.CodePluginUnavailable)
		if took := time.Since(began); took != one.Timeout || !strings.Contains(e.Message, "server is starting") {
			t.Errorf("it took %s: %s", took, e.Message)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		failed(t, h.Call(ctx, call("slow__run", "{}")), sdk.CodeTimeout)
	})
}

// A racingPlugin has its tools from the moment on when they are awaited: no one waits for them, and its watcher
// learns of them later, or never.
type racingPlugin struct {
	*latePlugin
	waits bool
}

func (r *racingPlugin) AwaitTools(_ context.Context, waiting func(why string)) error {
	if r.waits {
		waiting("the server is starting")
	}
	close(r.come)
	return nil
}

// Tools that have come are in the next list, whenever they came after the first one.
func TestListAfterAwaitingTools(t *testing.T) {
	for name, waits := range map[string]bool{"while it waited": true, "before it waited": false} {
		t.Run(name, func(t *testing.T) {
			for _, before := range [][]sdk.Tool{nil, {tool("other")}} {
				r := &racingPlugin{newLatePlugin(""), waits}
				all := r.list
				r.list = func(ctx context.Context) ([]sdk.Tool, error) {
					now, err := all(ctx)
					return append(now, before...), err
				}
				h := newHost(t, map[string]host.Plugin{"late": r, "ready": answering(sdk.Text(""), nil, tool("x"))},
					host.Options{})
				if tools, problems := h.Tools(t.Context()); len(tools) != 1+len(before) || len(problems) != 0 {
					t.Fatalf("first it lists %d tools, and %v", len(tools), problems)
				}
				said := ""
				if !h.AwaitTools(t.Context(), func(plugin, why string) { said = plugin + ": " + why }) {
					t.Error("it says that nothing has changed")
				}
				if tools, _ := h.Tools(t.Context()); len(tools) != 2+len(before) {
					t.Errorf("then it lists %d tools", len(tools))
				}
				if (said == "late: the server is starting") != waits {
					t.Errorf("it said %q", said)
				}
			}
		})
	}
}

// What has not changed is not listed again, and what cannot be listed is not started again.
func TestNothingToAwait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		down := answering(sdk.Text(""), nil)
		down.list = func(context.Context) ([]sdk.Tool, error) { return nil, &sdk.Error{Message: "it is broken"} }
		h := newHost(t, map[string]host.Plugin{
			"down": newLatePlugin("the server is down"), "slow": newLatePlugin(""),
			"broken": &latePlugin{fake: down, failed: "it is asked"}, "empty": answering(sdk.Text(""), nil)},
			host.Options{})
		if _, problems := h.Tools(t.Context()); len(problems) != 1 {
			t.Fatalf("%v", problems)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if h.AwaitTools(ctx, func(plugin, why string) {
			if plugin != "slow" {
				t.Errorf("it waits for %s: %s", plugin, why)
			}
		}) {
			t.Error("something has changed")
		}
	})
}
