package host_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/sdk"
)

// Started by a supervisor, the test binary is the plugin of the example.
func TestMain(m *testing.M) {
	if os.Getenv(wire.EnvCookie) != "" {
		serveGreet()
	}
	// with a umask of 0 others could write to it, and it would not be run as a plugin
	if own, err := os.Executable(); err == nil {
		_, _ = os.Chmod(own, 0o755), os.Chmod(filepath.Dir(own), 0o755)
	}
	goleak.VerifyTestMain(m)
}

// A fake is a plugin without process and wire.
type fake struct {
	list  func(ctx context.Context) ([]sdk.Tool, error)
	call  func(ctx context.Context, r *sdk.Request) (*sdk.Result, error)
	close func() error

	listed, called, closed atomic.Int64
}

func (f *fake) Tools(ctx context.Context) ([]sdk.Tool, error) {
	f.listed.Add(1)
	return f.list(ctx)
}

func (f *fake) Call(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
	f.called.Add(1)
	return f.call(ctx, r)
}

func (f *fake) Close() error {
	f.closed.Add(1)
	if f.close == nil {
		return nil
	}
	return f.close()
}

// answering is a fake with these tools that returns the same result for every call, an empty one for nil.
func answering(r *sdk.Result, err error, tools ...sdk.Tool) *fake {
	if r == nil && err == nil {
		r = &sdk.Result{}
	}
	return calling(func(context.Context, *sdk.Request) (*sdk.Result, error) { return r, err }, tools...)
}

// calling is a fake with these tools, or one called "run", that runs f.
func calling(f func(context.Context, *sdk.Request) (*sdk.Result, error), tools ...sdk.Tool) *fake {
	if len(tools) == 0 {
		tools = []sdk.Tool{tool("run")}
	}
	return &fake{call: f, list: func(context.Context) ([]sdk.Tool, error) { return slices.Clone(tools), nil }}
}

// tool is a definition of a tool that takes any object and runs without approval.
func tool(name string) sdk.Tool {
	return sdk.Tool{Name: name, Description: "for tests", InputSchema: json.RawMessage(`{"type":"object"}`),
		Hints: sdk.Hints{ReadOnly: sdk.Yes}}
}

// newHost makes a host that is closed with the test.
func newHost(t testing.TB, plugins map[string]host.Plugin, o host.Options) *host.Host {
	t.Helper()
	h, err := host.New(plugins, o)
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

// single is a host of one plugin called "test".
func single(t testing.TB, p host.Plugin, o host.Options) *host.Host {
	t.Helper()
	return newHost(t, map[string]host.Plugin{"test": p}, o)
}

// within runs f and fails the test when it takes longer.
func within(t testing.TB, limit time.Duration, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	await(t, limit, what, done)
}

func await[T any](t testing.TB, limit time.Duration, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(limit):
		t.Fatalf("not within %s: %s", limit, what)
	}
	return v
}

// failed returns the error that a result must have.
func failed(t testing.TB, r *host.Result, code sdk.Code) *sdk.Error {
	t.Helper()
	if r.Status != host.StatusError || r.Error == nil {
		t.Fatalf("status %s, error %v; want the code %s", r.Status, r.Error, code)
	}
	if r.Error.Code != code {
		t.Errorf("code %s, want %s; message: %s", r.Error.Code, code, r.Error.Message)
	}
	return r.Error
}

func succeeded(t testing.TB, r *host.Result) {
	t.Helper()
	if r.Status != host.StatusOK || r.Error != nil {
		t.Fatalf("status %s, error %+v", r.Status, r.Error)
	}
}

// bubble runs a test with a fake clock: waiting takes no time, and deadlines are exact.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Parallel()
	synctest.Test(t, f)
}

// A recorder is a slog.Handler that keeps the records.
type recorder struct {
	mu    sync.Mutex
	lines []line
	attrs []slog.Attr
	under *recorder // the one that keeps them
}

type line struct {
	Level   slog.Level
	Message string
	Attrs   map[string]string
}

func (r *recorder) Enabled(context.Context, slog.Level) bool { return true }

func (r *recorder) Handle(_ context.Context, rec slog.Record) error {
	attrs := map[string]string{}
	for _, a := range slices.AppendSeq(slices.Clone(r.attrs), rec.Attrs) {
		attrs[a.Key] = a.Value.String()
	}
	r = r.root()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, line{rec.Level, rec.Message, attrs})
	return nil
}

func (r *recorder) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &recorder{attrs: slices.Concat(r.attrs, attrs), under: r.root()}
}

func (r *recorder) root() *recorder {
	if r.under != nil {
		return r.under
	}
	return r
}

func (r *recorder) WithGroup(string) slog.Handler { return r }

func (r *recorder) all() []line {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.lines)
}

// named returns the lines with one of these messages.
func (r *recorder) named(messages ...string) []line {
	return slices.DeleteFunc(r.all(), func(l line) bool { return !slices.Contains(messages, l.Message) })
}

// diff reports how two values differ.
func diff(t testing.TB, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got, helpOfTheHost); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// helpOfTheHost leaves out the links that the host adds to errors, which TestHelpURLs is about.
var helpOfTheHost = cmp.FilterValues(func(a, b string) bool {
	return (a == "" || b == "") && strings.Contains(a+b, "/docs/troubleshooting.md#e_")
}, cmp.Ignore())
