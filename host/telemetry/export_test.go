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

// What cannot be used is an error that names the variable and what can be, not another setting; where nothing is
// exported by it, it does not matter.
func TestVariablesThatCannotBeUsed(t *testing.T) {
	const at = "http://127.0.0.1:1"
	for _, c := range []struct{ name, values, want string }{
		{"OTEL_TRACES_EXPORTER", "bogus otlp,console OTLP", "use otlp, console or none"},
		{"OTEL_METRICS_EXPORTER", "bogus otlp,console None", "use otlp, prometheus, console or none"},
		{"OTEL_EXPORTER_OTLP_PROTOCOL", "udp http/json GRPC", "use http/protobuf or grpc"},
		{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "udp", "use http/protobuf or grpc"},
		{"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "udp", "use http/protobuf or grpc"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "::bad localhost:14933 localhost /v1 ftp://a http:///v1 http://:80 http://a:b",
			"use a URL such as http://localhost:4318"},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "localhost:14933", "use a URL"},
		{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "localhost:14933", "use a URL"},
		{"OTEL_EXPORTER_OTLP_TIMEOUT", "10s -1 x", "use a whole number"},
		{"OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "10s", "use a whole number"},
		{"OTEL_BSP_SCHEDULE_DELAY", "5s -1 99999999999", "use a whole number"},
		{"OTEL_BSP_MAX_QUEUE_SIZE", "many", "use a whole number"},
		{"OTEL_METRIC_EXPORT_INTERVAL", "1m", "use a whole number"},
		{"OTEL_TRACES_SAMPLER", "bogus ratio 0.1", "use always_on, always_off, traceidratio,"},
		{"OTEL_METRICS_EXEMPLAR_FILTER", "sometimes", "use trace_based, always_on or always_off"},
		{"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "gamma", "use cumulative, delta or lowmemory"},
		{"OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION", "round", "use explicit_bucket_histogram or"},
		{"OTEL_METRICS_PRODUCERS", "carrier-pigeon", "use prometheus or none"},
		{"OTEL_RESOURCE_ATTRIBUTES", "bad a=1,b =1 a=%zz", "use pairs such as team=core"},
		{"OTEL_EXPORTER_OTLP_HEADERS", "secret =secret a=secret%zz", "use pairs such as Authorization=Bearer%20TOKEN"},
	} {
		for value := range strings.FieldsSeq(c.values) {
			t.Run(c.name+" "+value, func(t *testing.T) {
				t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", at)
				t.Setenv(c.name, value)
				_, err := New(t.Context(), Options{})
				if err == nil || !strings.Contains(err.Error(), c.name) || !strings.Contains(err.Error(), c.want) ||
					strings.Contains(err.Error(), "secret") {
					t.Error(err)
				}
				t.Setenv("OTEL_TRACES_EXPORTER", "none")
				t.Setenv("OTEL_METRICS_EXPORTER", "none")
				if tel, err := New(t.Context(), Options{}); c.name != "OTEL_RESOURCE_ATTRIBUTES" && err != nil {
					t.Errorf("where nothing is exported: %v", err)
				} else if err == nil {
					_ = tel.Shutdown(t.Context())
				}
			})
		}
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", at)
	for _, sampler := range []string{"traceidratio", "parentbased_traceidratio"} {
		t.Setenv("OTEL_TRACES_SAMPLER", sampler)
		for _, argument := range []string{"7", "-0.1", "x", "NaN", "10%"} {
			t.Setenv("OTEL_TRACES_SAMPLER_ARG", argument)
			if _, err := New(t.Context(), Options{}); err == nil ||
				!strings.Contains(err.Error(), `OTEL_TRACES_SAMPLER_ARG is "`+argument+`"; use a number from 0 to 1`) {
				t.Errorf("%s %s: %v", sampler, argument, err)
			}
		}
	}
}

// What can be used is, without an error and without a failure.
func TestVariablesThatCanBeUsed(t *testing.T) {
	c := newCollector(t)
	for _, set := range []map[string]string{
		{"OTEL_TRACES_SAMPLER": "Always_On"}, {"OTEL_TRACES_SAMPLER": "parentbased_traceidratio"},
		{"OTEL_TRACES_SAMPLER": "ParentBased_TraceIdRatio", "OTEL_TRACES_SAMPLER_ARG": " 1.0 "},
		{"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": ""},
		{"OTEL_TRACES_SAMPLER": "always_on", "OTEL_TRACES_SAMPLER_ARG": "not read"},
		{"OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Bearer%20x, Other=y"}, {"OTEL_RESOURCE_ATTRIBUTES": "a=b,c=d%20e"},
		{"OTEL_EXPORTER_OTLP_TIMEOUT": "5000", "OTEL_BSP_SCHEDULE_DELAY": "0"},
	} {
		t.Run(fmt.Sprint(set), func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
			for name, value := range set {
				t.Setenv(name, value)
			}
			c.mu.Lock()
			c.spans = nil
			c.mu.Unlock()
			tel, err := New(t.Context(), Options{})
			if err != nil {
				t.Fatal(err)
			}
			_, span := tel.TracerProvider().Tracer("test").Start(t.Context(), "one")
			span.End()
			if err := tel.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			if tel.failures.total > 0 || !slices.Contains(c.spans, "one") {
				t.Errorf("%d failures, spans %q", tel.failures.total, c.spans)
			}
		})
	}
}

// The headers of the variable are sent to the block's collector, unless the block has some.
func TestHeadersOfTheVariable(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20v")
	for want, headers := range map[string]map[string]string{"Bearer v": nil, "Bearer b": {"Authorization": "Bearer b"}} {
		c := newCollector(t)
		a := newApp(t, Options{Settings: config.Telemetry{Endpoint: c.URL, Headers: headers}})
		a.exercise()
		if err := a.telemetry.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for n, path := range c.requests {
			seen[path] = true
			if got := c.headers[n].Get("Authorization"); got != want {
				t.Errorf("%s is sent with %q, want %q", path, got, want)
			}
		}
		if !seen["/v1/traces"] || !seen["/v1/metrics"] {
			t.Errorf("requests: %q", c.requests)
		}
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
	t.Setenv("OTEL_TRACES_EXPORTER", "otlp")
	for _, value := range []string{"true", "TRUE", "True", " true"} {
		t.Setenv("OTEL_SDK_DISABLED", value)
		a := newApp(t, Options{})
		a.exercise()
		if a.telemetry.TracerProvider() != nil || a.telemetry.MeterProvider() != nil ||
			strings.Contains(a.scrape(), "toolhost") {
			t.Errorf("with OTEL_SDK_DISABLED=%q there is %s", value, a.scrape())
		}
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
