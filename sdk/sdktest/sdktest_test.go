package sdktest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/toolhost/toolhost/sdk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A trial is a test that may fail, and says how.
type trial struct {
	*testing.T
	failures []string
}

func (f *trial) Helper() {}

func (f *trial) Errorf(format string, a ...any) {
	f.failures = append(f.failures, fmt.Sprintf(format, a...))
}

func (f *trial) Fatalf(format string, a ...any) {
	f.Errorf(format, a...)
	panic(f)
}

// fails runs what should fail a test, and gives what it said.
func fails(t *testing.T, f func(testing.TB)) string {
	t.Helper()
	try := &trial{T: t}
	func() {
		defer func() {
			if cause := recover(); cause != nil && cause != try {
				panic(cause)
			}
		}()
		f(try)
	}()
	return strings.Join(try.failures, "\n")
}

func plugin(handle sdk.Handler) *sdk.Plugin {
	p := sdk.New("p", "1.0.0")
	p.AddRawTool(sdk.Tool{Name: "x", Description: "For tests.", InputSchema: json.RawMessage(`{"type":"object"}`)}, handle)
	return p
}

func TestRunOfAToolThatIsNotThere(t *testing.T) {
	p := Start(t, plugin(func(context.Context, *sdk.Request) (*sdk.Result, error) { return sdk.Text("fine"), nil }))
	got := fails(t, func(t testing.TB) { p.Run(t, "X", "{}") })
	if want := "calling X: the plugin has no such tool; it has x"; got != want {
		t.Errorf("the test fails with %q, want %q", got, want)
	}
}

func TestRunReportsItsFolder(t *testing.T) {
	p := Start(t, plugin(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		return sdk.JSON([]any{r.Workdir, r.Tool, r.Arguments, r.CallID, r.Attempt}), nil
	}))
	want := fmt.Sprintf(`["/w","x",{"a":1},%q,1]`, t.Name())
	if got := p.RunIn(t, "/w", "x", `{"a":1}`); string(got.Structured) != want {
		t.Errorf("the handler sees %s, want %s", got.Structured, want)
	}
	var seen []any
	if err := json.Unmarshal(p.Run(t, "x", "{}").Structured, &seen); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(seen[0].(string)); err != nil || !info.IsDir() {
		t.Errorf("the work folder %v is none: %v", seen[0], err)
	}
}

func TestRunFailsWhenTheWireBreaks(t *testing.T) {
	p := Start(t, plugin(func(context.Context, *sdk.Request) (*sdk.Result, error) { return nil, nil }))
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if got := fails(t, func(t testing.TB) { p.Run(t, "x", "{}") }); !strings.HasPrefix(got,
		"calling x: the plugin or its connection broke") {
		t.Errorf("the test fails with %q", got)
	}
}

func TestMustConfigureFails(t *testing.T) {
	p := plugin(func(context.Context, *sdk.Request) (*sdk.Result, error) { return nil, nil })
	sdk.Configure(p, func(context.Context, *sdk.Request, struct{}) error { return errors.New("not like this") })
	c := Start(t, p)
	if got := fails(t, func(t testing.TB) { c.MustConfigure(t, "{}") }); got != "configuring the plugin: not like this" {
		t.Errorf("the test fails with %q", got)
	}
}

func TestEndOfAPlugin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if got := fails(t, func(t testing.TB) {
			awaitEnd(t,
				make(chan error))
		}); got != "a handler of the plugin still runs 5s after its ctx ended" {
			t.Errorf("the test fails with %q", got)
		}
	})
	ended := make(chan error, 2)
	ended <- errors.New("broke")
	ended <- nil
	if got := fails(t, func(t testing.TB) { awaitEnd(t, ended) }); got != "serving the plugin: broke" {
		t.Errorf("the test fails with %q", got)
	}
	if got := fails(t, func(t testing.TB) { awaitEnd(t, ended) }); got != "" {
		t.Errorf("the test fails with %q", got)
	}
}

// A plugin that is not used ends well also when its test ends before it serves.
func TestStartAlone(t *testing.T) {
	for range 50 {
		t.Run("", func(t *testing.T) { Start(t, sdk.New("p", "1.0.0")) })
	}
}
