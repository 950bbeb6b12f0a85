package telemetry

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/sdk"
)

// patience bounds what a test waits for.
const patience = time.Minute

// Started by a supervisor, the test binary is a plugin.
func TestMain(m *testing.M) {
	if os.Getenv(collectorVariable) != "" {
		serveCollector()
	}
	if os.Getenv(wire.EnvCookie) != "" {
		servePlugin()
	}
	// with a umask of 0 others could write to it, and it would not be run as a plugin
	if own, err := os.Executable(); err == nil {
		_, _ = os.Chmod(own, 0o755), os.Chmod(filepath.Dir(own), 0o755)
	}
	for _, v := range os.Environ() { // a collector of the machine's is none of the tests'
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "OTEL_") {
			_ = os.Unsetenv(name)
		}
	}
	goleak.VerifyTestMain(m)
}

// servePlugin is the main function of the plugin.
func servePlugin() {
	p := sdk.New("tester", "1.0.0")
	add := func(name string, readOnly *bool, f func(ctx context.Context) (*sdk.Result, error)) {
		p.AddRawTool(sdk.Tool{Name: name, Description: "For tests.", InputSchema: json.RawMessage(`{"type":"object"}`),
			Hints: sdk.Hints{ReadOnly: readOnly}},
			func(ctx context.Context, _ *sdk.Request) (*sdk.Result, error) { return f(ctx) })
	}
	ok := func(context.Context) (*sdk.Result, error) { return sdk.Text("done"), nil }
	add("read", sdk.Yes, ok)
	add("write", sdk.No, ok)
	add("fail", sdk.Yes, func(context.Context) (*sdk.Result, error) { return nil, errors.New("it failed") })
	add("die", sdk.Yes, func(context.Context) (*sdk.Result, error) { os.Exit(3); return nil, nil })
	add("sleep", sdk.Yes, func(ctx context.Context) (*sdk.Result, error) {
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
		return sdk.Text("done"), nil
	})
	sdk.Serve(p)
}

// An app is a host of two plugins with telemetry.
type app struct {
	t          testing.TB
	telemetry  *Telemetry
	supervisor *supervise.Supervisor
	host       *host.Host
}

// newApp makes an app that ends with the test. Its plugin "fragile" is quarantined with the second crash.
func newApp(t testing.TB, o Options) *app {
	t.Helper()
	tel, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	supervisor, err := supervise.New(supervise.Options{CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	plugins := map[string]host.Plugin{}
	for name, crashes := range map[string]int{"steady": 5, "fragile": 1} {
		plugins[name], err = supervisor.Add(supervise.Spec{Name: name, Command: []string{os.Args[0]}, Renamed: true,
			Restart: supervise.Restart{MaxCrashes: crashes}})
		if err != nil {
			t.Fatal(err)
		}
	}
	log, err := audit.Open(filepath.Join(t.TempDir(), "audit.jsonl"), audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.New(plugins, host.Options{TracerProvider: tel.TracerProvider(), MeterProvider: tel.MeterProvider(),
		Audit: log, Plugins: map[string]host.PluginOptions{"steady": {Limits: host.Limits{Concurrency: 1}}},
		Approver: host.ApproverFunc(func(context.Context, *host.ApprovalRequest) (host.Answer, error) {
			return host.Yes(),
				nil
		})})
	if err != nil {
		t.Fatal(err)
	}
	stop, err := tel.Observe(supervisor)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		if err := errors.Join(h.Close(), supervisor.Close(), log.Close()); err != nil {
			t.Error(err)
		}
	})
	return &app{t, tel, supervisor, h}
}

func (a *app) call(tool string) *host.Result {
	return a.host.Call(context.Background(), host.Call{Tool: tool, Arguments: json.RawMessage(`{"secret":"hunter2"}`)})
}

// exercise has everything happen that is measured.
func (a *app) exercise() {
	a.t.Helper()
	for _, tool := range []string{"steady__read", "steady__write"} {
		if r := a.call(tool); r.Error != nil {
			a.t.Fatal(r.Error)
		}
	}
	for tool, want := range map[string]sdk.Code{"steady__fail": sdk.CodeTool, "no__tool": sdk.CodeToolNotFound} {
		if r := a.call(tool); r.Error == nil || r.Error.Code != want {
			a.t.Fatalf("%s: %v", tool, r.Error)
		}
	}
	done := make(chan *host.Result, 3)
	for range cap(done) { // two of them wait for a slot
		go func() { done <- a.call("steady__sleep") }()
	}
	for range cap(done) {
		if r := <-done; r.Error != nil {
			a.t.Fatal(r.Error)
		}
	}
	for range 2 {
		if r := a.call("fragile__die"); r.Error == nil || r.Error.Code != sdk.CodePluginCrashed {
			a.t.Fatal(r.Error)
		}
	}
}

// scrape returns what Prometheus gets.
func (a *app) scrape() string {
	a.t.Helper()
	out := httptest.NewRecorder()
	a.telemetry.Handler().ServeHTTP(out, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	body, err := io.ReadAll(out.Body)
	if err != nil || out.Code != 200 {
		a.t.Fatalf("status %d, %v: %s", out.Code, err, body)
	}
	return string(body)
}
