package host_test

import (
	"context"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

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
			if !strings.HasPrefix(e.Message, "the call was stopped by a panic, which is a bug; the host's log tells more under call id c-1") || e.Name != "Panic" {
				t.Errorf("error %+v", e)
			}
			lines := log.named("a panic was caught", "call")
			if len(lines) != 2 && (name != "in a receiver of events" || len(lines) != 3) { // it panics at the last word too
				t.Fatalf("log %+v", log.all())
			}
			if attrs := lines[0].Attrs; attrs["call_id"] != "c-1" || attrs["panic"] == "" || !strings.Contains(attrs["stack"], ".go:") {
				t.Errorf("log line %+v", lines[0])
			}
			if attrs := lines[1].Attrs; attrs["call_id"] != "c-1" || attrs["code"] != "E_INTERNAL" {
				t.Errorf("audit line %+v", lines[1])
			}
		})
	}
}

// Plugins are listed in goroutines of the host's own, where a panic would end the process.
func TestPanicWhileListing(t *testing.T) {
	t.Parallel()
	log := &recorder{}
	bad := &fake{list: func(context.Context) ([]sdk.Tool, error) { panic("boom") }}
	h := newHost(t, map[string]host.Plugin{"bad": bad, "good": answering(nil, nil)}, host.Options{Logger: slogTo(log)})
	tools, problems := h.Tools(t.Context())
	if len(tools) != 1 || len(problems) != 1 || problems[0].Error() != `plugin "bad" cannot list its tools: it panicked: boom` {
		t.Errorf("tools %v, problems %v", tools, problems)
	}
	if lines := log.named("a panic was caught"); len(lines) != 1 || lines[0].Attrs["plugin"] != "bad" {
		t.Errorf("log %+v", log.all())
	}
	failed(t, h.Call(t.Context(), call("bad__run", "")), sdk.CodePluginUnavailable)
}
