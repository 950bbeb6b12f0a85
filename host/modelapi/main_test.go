package modelapi_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A plugin is a host.Plugin without process and wire: one read-only tool.
type plugin struct {
	tool sdk.Tool
	call func(r *sdk.Request) (*sdk.Result, error)
}

func (p plugin) Tools(context.Context) ([]sdk.Tool, error) { return []sdk.Tool{p.tool}, nil }

func (p plugin) Call(_ context.Context, r *sdk.Request) (*sdk.Result, error) { return p.call(r) }

func (plugin) Close() error { return nil }

// doer is a host with the tool p__a, which takes any object and answers "done".
func doer(t testing.TB) *host.Host {
	t.Helper()
	h, err := host.New(map[string]host.Plugin{"p": plugin{
		sdk.Tool{Name: "a", Description: "Does it.", Hints: sdk.Hints{ReadOnly: sdk.Yes},
			InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(*sdk.Request) (*sdk.Result, error) { return sdk.Text("done"), nil },
	}}, host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func diff(t testing.TB, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func decoded(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func quoted(text string) string {
	out, _ := json.Marshal(text) // never fails for a string
	return string(out)
}
