package telemetry

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// prometheusDir returns the folder with Prometheus and promtool that TOOLHOST_TEST_PROMETHEUS_DIR names. Without it the
// test is skipped, or fails where TOOLHOST_TEST_PROMETHEUS is "required".
func prometheusDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("TOOLHOST_TEST_PROMETHEUS_DIR")
	switch {
	case dir == "" && os.Getenv("TOOLHOST_TEST_PROMETHEUS") == "required":
		t.Fatal("TOOLHOST_TEST_PROMETHEUS_DIR is not set, and Prometheus is required; `make test-observability` sets it")
	case dir == "":
		t.Skip("needs Prometheus; `make test-observability` gets it and runs this test")
	}
	return dir
}

// promtool runs a check.
func promtool(t *testing.T, dir, stdin string, args ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), filepath.Join(dir, "promtool"), args...)
	c.Stdin = strings.NewReader(stdin)
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("promtool %q: %v\n%s", args, err, out)
	}
}

// Prometheus takes the metrics and the alert rules, and the rules fire when they should, and only then.
func TestPromtool(t *testing.T) {
	dir := prometheusDir(t)
	promtool(t, dir, "", "check", "rules", alerts)
	promtool(t, dir, "", "check", "config", "--syntax-only", folder+"prometheus.yml")
	promtool(t, dir, "", "test", "rules", folder+"alerts-test.yml")
	a := newApp(t, Options{})
	defer func() { _ = a.telemetry.Shutdown(t.Context()) }()
	a.exercise()
	promtool(t, dir, a.scrape(), "check", "metrics")
}

// A Prometheus that scrapes a host answers each query of the dashboard with data, and evaluates all alert rules.
func TestPrometheusScrapes(t *testing.T) {
	dir := prometheusDir(t)
	a := newApp(t, Options{})
	defer func() { _ = a.telemetry.Shutdown(t.Context()) }()
	a.exercise()
	target := httptest.NewServer(a.telemetry.Handler())
	defer target.Close()
	p := startPrometheus(t, dir, strings.TrimPrefix(target.URL, "http://"))
	var queries []string
	for _, q := range dashboardQueries(t) {
		queries = append(queries, strings.NewReplacer("$__rate_interval", "1m", "$instance", ".*", "$plugin", ".*").Replace(q))
	}
	deadline := time.Now().Add(patience)
	for _, q := range queries {
		for p.results(q) == 0 { // a rate needs two scrapes
			if time.Now().After(deadline) {
				t.Fatalf("no data for %s", q)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	for _, q := range alertQueries(t) {
		p.results(q)
	}
	var rules struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	p.get("rules", "", &rules)
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			if r.LastError != "" || r.Health == "err" {
				t.Errorf("the rule %s: %s", r.Name, r.LastError)
			}
		}
	}
	if len(rules.Groups) == 0 {
		t.Error("no rules are loaded")
	}
}

// A scraper is a running Prometheus.
type scraper struct {
	t   *testing.T
	url string
}

// startPrometheus starts one that scrapes the target, and waits until it has.
func startPrometheus(t *testing.T, dir, target string) *scraper {
	t.Helper()
	own := t.TempDir()
	rules, err := filepath.Abs(alerts)
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(own, "prometheus.yml")
	text := fmt.Sprintf("global: {scrape_interval: 250ms, scrape_timeout: 250ms, evaluation_interval: 250ms}\n"+
		"rule_files: [%q]\nscrape_configs: [{job_name: toolhost, static_configs: [{targets: [%q]}]}]\n", rules, target)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0") // Prometheus does not say which port it got
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	var log strings.Builder
	c := exec.Command(filepath.Join(dir, "prometheus"), "--config.file="+config, "--storage.tsdb.path="+filepath.Join(own, "data"),
		"--web.listen-address="+address)
	c.Stdout, c.Stderr = &log, &log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		http.DefaultClient.CloseIdleConnections()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	p := &scraper{t, "http://" + address + "/api/v1/"}
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		r, err := http.Get(p.url + "query?query=up%3D%3D1")
		if err == nil {
			_ = r.Body.Close()
			if r.StatusCode == http.StatusOK && p.results("up==1") == 1 {
				return p
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("Prometheus does not scrape: %v", err)
		}
	}
}

// get reads an answer of the API.
func (p *scraper) get(method, query string, data any) {
	p.t.Helper()
	r, err := http.Get(p.url + method + "?query=" + url.QueryEscape(query))
	if err != nil {
		p.t.Fatal(err)
	}
	defer r.Body.Close()
	answer := struct {
		Status, Error string
		Data          any
	}{Data: data}
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil || answer.Status != "success" {
		p.t.Fatalf("%s %s: %v, %s", method, query, err, answer.Error)
	}
}

// results returns how many series a query has now.
func (p *scraper) results(query string) int {
	p.t.Helper()
	var data struct{ Result []json.RawMessage }
	p.get("query", query, &data)
	return len(data.Result)
}
