package host_test

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

func slogTo(r *recorder) *slog.Logger { return slog.New(r) }

func TestAuditLines(t *testing.T) {
	t.Parallel()
	deny := before(func(c *host.Call) error {
		if strings.Contains(string(c.Arguments), "secret") {
			return &sdk.Error{Code: "E_DENIED", Name: "Denied", Message: "no secrets"}
		}
		return nil
	})
	p := calling(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		r.Attempt, r.Generation = 2, 7 // as a supervisor does
		if strings.Contains(string(r.Arguments), "fail") {
			return &sdk.Result{Error: &sdk.Error{Name: "MatchNotFound", Message: "no match"}}, nil
		}
		return sdk.Text("the answer"), nil
	})
	cases := map[string]struct {
		tool, arguments string
		want            map[string]string
	}{
		"ok":        {"test__run", `{"a":1}`, map[string]string{"status": "ok", "attempts": "2", "generation": "7"}},
		"failed":    {"test__run", `{"a":"fail"}`, map[string]string{"status": "error", "code": "E_TOOL", "name": "MatchNotFound", "outcome": "failed", "attempts": "2", "generation": "7"}},
		"denied":    {"test__run", `{"a":"secret"}`, map[string]string{"status": "error", "code": "E_DENIED", "name": "Denied", "outcome": "not_sent", "attempts": "0", "generation": "0"}},
		"malformed": {"test__run", `{`, map[string]string{"status": "error", "code": "E_TOOL_INVALID_ARGS", "name": "MalformedArguments", "outcome": "not_sent", "attempts": "0", "generation": "0"}},
		"not found": {"test__none", ``, map[string]string{"status": "error", "code": "E_TOOL_NOT_FOUND", "name": "ToolNotFound", "outcome": "not_sent", "attempts": "0", "generation": "0"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := &recorder{}
			h := single(t, p, host.Options{Logger: slogTo(log), Middleware: []host.Middleware{deny}})
			h.Call(t.Context(), host.Call{ID: "c-1", SessionID: "s-1", Tool: c.tool, Arguments: []byte(c.arguments)})
			lines := log.all()
			if len(lines) != 1 {
				t.Fatalf("log %+v", lines)
			}
			got := lines[0].Attrs
			if d, err := time.ParseDuration(got["duration"]); err != nil || d <= 0 {
				t.Errorf("duration %q", got["duration"])
			}
			delete(got, "duration")
			c.want["call_id"], c.want["session_id"], c.want["tool"] = "c-1", "s-1", c.tool
			c.want["arguments_bytes"] = strconv.Itoa(len(c.arguments))
			diff(t, line{Level: slog.LevelInfo, Message: "call", Attrs: c.want}, lines[0])
		})
	}
}

func TestAuditCutsNames(t *testing.T) {
	t.Parallel()
	log := &recorder{}
	h := single(t, answering(nil, nil), host.Options{Logger: slogTo(log)})
	h.Call(t.Context(), call(strings.Repeat("x", 1<<20), ""))
	if got := log.all()[0].Attrs["tool"]; got != strings.Repeat("x", 100)+"... (truncated)" {
		t.Errorf("%d bytes", len(got))
	}
}
