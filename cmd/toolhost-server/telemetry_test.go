package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	tracecollector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/sdk"
)

// servePlugin is the main function of the test binary as a plugin, whose tool returns the trace of its call.
func servePlugin() {
	p := sdk.New("tracer", "1.0.0")
	if len(os.Args) > 1 {
		serveLate(p, os.Args[1])
	}
	p.AddRawTool(sdk.Tool{Name: "trace", Description: "Returns its trace.",
		InputSchema: json.RawMessage(`{"type":"object"}`), Hints: sdk.Hints{ReadOnly: sdk.Yes}},
		func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
			return sdk.Text("<" + r.TraceParent + " " + r.TraceState + ">"), nil
		})
	sdk.Serve(p)
}

// spans receives traces as a collector does.
type spans struct {
	mu  sync.Mutex
	all map[string]*tracepb.Span // by name
}

func (s *spans) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	var traces tracecollector.ExportTraceServiceRequest
	body, err := io.ReadAll(r.Body)
	if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &traces) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, of := range traces.ResourceSpans {
		for _, scope := range of.ScopeSpans {
			for _, span := range scope.Spans {
				s.all[span.Name] = span
			}
		}
	}
}

// The trace of a caller of the API goes on in the exported spans, and in the plugin.
func TestTraceOfAnAPICallReachesThePlugin(t *testing.T) {
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	received := &spans{all: map[string]*tracepb.Span{}}
	collector := httptest.NewServer(received)
	defer collector.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	h := newHome(t).withPlugin(t, fmt.Sprintf("plugin \"tracer\" {\n  command = [%q]\n}\n"+
		"telemetry {\n  endpoint = %q\n  sample_ratio = 0\n}\n", self, collector.URL))
	url, token, ended := h.serving(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/toolhost.api.v1.HostService/CallOnce",
		strings.NewReader(`{"tool":"tracer__trace"}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "Authorization": "Bearer " + token,
		"traceparent": "00-" + trace + "-" + parent + "-01", "tracestate": "vendor=1"} {
		r.Header.Set(name, value)
	}
	r.Header.Add("tracestate", "other=2") // on a line of its own
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatal(answer.Status, string(body), err)
	}
	expect(t, h.run(t, "serve", "--stop"), "\n0") // which exports what is left
	waitFor(t, ended)
	received.mu.Lock()
	defer received.mu.Unlock()
	whole, stage := received.all["execute_tool tracer__trace"], received.all["call"]
	if whole == nil || stage == nil {
		t.Fatalf("exported: %v", received.all)
	}
	for _, s := range []*tracepb.Span{whole, stage} {
		if got := hex.EncodeToString(s.TraceId); got != trace {
			t.Errorf("%s is of the trace %s", s.Name, got)
		}
	}
	if got := hex.EncodeToString(whole.ParentSpanId); got != parent {
		t.Errorf("the parent of the call's span is %s", got)
	}
	if got, want := hex.EncodeToString(stage.ParentSpanId), hex.EncodeToString(whole.SpanId); got != want {
		t.Errorf("the parent of the stage's span is %s, not %s", got, want)
	}
	var reply struct{ Text string }
	if err := json.Unmarshal(body, &reply); err != nil {
		t.Fatal(string(body), err)
	}
	want := "<00-" + trace + "-" + hex.EncodeToString(stage.SpanId) + "-01 vendor=1,other=2>"
	if reply.Text != want {
		t.Errorf("the plugin gets %s, not %s", reply.Text, want)
	}
}

// The log says once that a change of the telemetry block waits for the next start.
func TestChangeOfTelemetryIsTold(t *testing.T) {
	h := newHome(t).withPlugin(t, "")
	path := filepath.Join(h.dir, "host.log")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	h.log = file
	url, token, ended := h.serving(t)
	good, err := os.ReadFile(filepath.Join(h.dir, "config.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		block string
		lines int // so far
	}{
		{"", 0},
		{"telemetry {\n  content = true\n}\n", 0}, // takes effect at once
		{"telemetry {\n  endpoint = \"http://127.0.0.1:9\"\n}\n", 1},
		{"telemetry {\n  endpoint = \"http://127.0.0.1:9\"\n  content = true\n}\n", 1},
		{"telemetry {\n  endpoint = \"http://127.0.0.1:9\"\n  sample_ratio = 0.1\n}\n", 2},
		{"", 2}, // what is in use
	} {
		h.write(t, "config.hcl", string(good)+step.block)
		for range 2 {
			if err := api(http.DefaultClient, url, token, "ConfigurationService/Reload", "{}", new(any)); err != nil {
				t.Fatal(err)
			}
		}
		log, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(log), "the telemetry block has changed"); n != step.lines {
			t.Errorf("with %q the log says so %d times, not %d:\n%s", step.block, n, step.lines, log)
		}
	}
	expect(t, h.run(t, "serve", "--stop"), "\n0")
	waitFor(t, ended)
}
