package telemetry

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tracecollector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/host/config"
)

// A collector receives OTLP over HTTP.
type collector struct {
	*httptest.Server

	mu       sync.Mutex
	requests []string // paths
	headers  []http.Header
	bodies   []string
	spans    []string
}

func newCollector(t *testing.T) *collector {
	c := &collector{}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *collector) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		body, _ = gzip.NewReader(r.Body)
	}
	text, _ := io.ReadAll(body)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests, c.headers, c.bodies = append(c.requests, r.URL.Path), append(c.headers, r.Header),
		append(c.bodies, string(text))
	var traces tracecollector.ExportTraceServiceRequest
	if r.URL.Path == "/v1/traces" && proto.Unmarshal(text, &traces) == nil {
		for _, of := range traces.ResourceSpans {
			for _, scope := range of.ScopeSpans {
				for _, s := range scope.Spans {
					c.spans = append(c.spans, s.Name)
				}
			}
		}
	}
}

// Traces and metrics go to the collector of the telemetry block, without arguments and results.
func TestExportByTheConfiguration(t *testing.T) {
	c := newCollector(t)
	a := newApp(t, Options{Version: "1.2.3", Settings: config.Telemetry{Endpoint: c.URL + "/otlp/",
		Headers: map[string]string{"Authorization": "Bearer x"}}})
	a.exercise()
	if err := a.telemetry.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, path := range []string{"/otlp/v1/traces", "/otlp/v1/metrics"} {
		if !slices.Contains(c.requests, path) {
			t.Errorf("nothing came to %s: %q", path, c.requests)
		}
	}
	all := strings.Join(c.bodies, "")
	for _, want := range []string{"execute_tool steady__read", "toolhost.call.duration", "1.2.3", "service.name"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not exported", want)
		}
	}
	for _, secret := range []string{"hunter2", "it failed", "done"} {
		if strings.Contains(all, secret) {
			t.Errorf("%q is exported", secret)
		}
	}
	if got := c.headers[0].Get("Authorization"); got != "Bearer x" {
		t.Errorf("the header is %q", got)
	}
}

// The standard variables win over the telemetry block.
func TestExportByVariables(t *testing.T) {
	c, other := newCollector(t), newCollector(t)
	settings := config.Telemetry{Endpoint: other.URL, SampleRatio: new(float64)}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	t.Setenv("OTEL_METRICS_EXPORTER", "none")
	t.Setenv("OTEL_TRACES_SAMPLER", "always_on")
	t.Setenv("OTEL_SERVICE_NAME", "mine")
	a := newApp(t, Options{Settings: settings})
	a.exercise()
	if err := a.telemetry.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.spans, "execute_tool steady__read") || slices.Contains(c.requests, "/v1/metrics") ||
		!strings.Contains(c.bodies[0], "mine") {
		t.Errorf("%q, %q", c.requests, c.spans)
	}
	if len(other.requests) > 0 {
		t.Errorf("the collector of the block received %q", other.requests)
	}
}

// What cannot be used is an error, not another setting.
func TestVariablesThatCannotBeUsed(t *testing.T) {
	for name, value := range map[string]string{"OTEL_TRACES_EXPORTER": "carrier-pigeon",
		"OTEL_METRICS_EXPORTER": "carrier-pigeon", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "udp",
		"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "udp", "OTEL_METRICS_PRODUCERS": "carrier-pigeon"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
			t.Setenv(name, value)
			if _, err := New(t.Context(), Options{}); err == nil {
				t.Error("there is no error")
			}
		})
	}
}

// Without a collector nothing is exported and no traces are made; without the SDK there is nothing at all.
func TestNothingIsExportedUnasked(t *testing.T) {
	tel, err := New(t.Context(), Options{})
	if err != nil || tel.TracerProvider() != nil || tel.MeterProvider() == nil {
		t.Errorf("%v, traces %v, metrics %v", err, tel.TracerProvider(), tel.MeterProvider())
	}
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	t.Setenv("OTEL_SDK_DISABLED", "true")
	t.Setenv("OTEL_TRACES_EXPORTER", "otlp")
	a := newApp(t, Options{})
	a.exercise()
	if a.telemetry.TracerProvider() != nil || a.telemetry.MeterProvider() != nil ||
		strings.Contains(a.scrape(), "toolhost") {
		t.Errorf("with OTEL_SDK_DISABLED there is %s", a.scrape())
	}
}

// The part of the traces that the block says is exported.
func TestSampleRatio(t *testing.T) {
	c := newCollector(t)
	ratio := 0.0
	a := newApp(t, Options{Settings: config.Telemetry{Endpoint: c.URL, SampleRatio: &ratio}})
	a.exercise()
	if err := a.telemetry.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(c.spans) > 0 {
		t.Errorf("exported %q", c.spans)
	}
}

// A collector that never answers delays no call, and the end only as long as the caller says.
func TestCollectorThatHangs(t *testing.T) {
	held, hold := make(chan struct{}, 100), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		held <- struct{}{}
		<-hold
	}))
	defer server.Close()
	defer close(hold)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "1")
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "4")
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1")
	a := newApp(t, Options{Settings: config.Telemetry{Endpoint: server.URL}})
	a.exercise()
	select {
	case <-held:
	case <-time.After(patience):
		t.Fatal("nothing is exported")
	}
	for range 50 { // more spans than the queue takes
		if r := a.call("steady__read"); r.Error != nil {
			t.Fatal(r.Error)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := a.telemetry.Shutdown(ctx); err == nil {
		t.Error("nothing is lost")
	}
}

// The log has one line a minute about exports that fail, whatever the collector answers.
func TestFailuresDoNotFillTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		f := newFailures(slog.New(slog.NewTextHandler(&log, nil)))
		for range 60 * 10 {
			for range 5 {
				f.add(fmt.Errorf("refused: %s", strings.Repeat("x", 1<<16)))
			}
			time.Sleep(time.Second)
		}
		if n := strings.Count(log.String(), "\n"); n != 10 || log.Len() > 10*(maxErrorText+200) || f.total != 3000 {
			t.Errorf("%d lines, %d bytes, %d failures", n, log.Len(), f.total)
		}
	})
}
