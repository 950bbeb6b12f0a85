package telemetry

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/sdk"
)

// The files for operators, and the page about them.
const (
	folder    = "../../packaging/observability/"
	dashboard = folder + "dashboard.json"
	alerts    = folder + "alerts.yml"
	page      = "../../docs/observability.md"
)

// A family is a metric as Prometheus sees it.
type family struct {
	kind   string
	help   string
	labels map[string]map[string]bool // the values of each
}

var sample = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? `)

var label = regexp.MustCompile(`([a-z_]+)="((?:[^"\\]|\\.)*)"`)

// families reads what was scraped.
func families(t testing.TB, text string) map[string]*family {
	out := map[string]*family{}
	help := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "# HELP "); ok {
			name, about, _ := strings.Cut(rest, " ")
			help[name] = about
		}
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, kind, _ := strings.Cut(rest, " ")
			out[name] = &family{kind: kind, help: help[name], labels: map[string]map[string]bool{}}
		}
		m := sample.FindStringSubmatch(line)
		if m == nil || strings.HasPrefix(line, "#") {
			continue
		}
		f := out[m[1]]
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			if base, ok := strings.CutSuffix(m[1], suffix); ok && f == nil {
				f = out[base]
			}
		}
		if f == nil {
			t.Fatalf("a sample without a type: %s", line)
		}
		for _, l := range label.FindAllStringSubmatch(m[2], -1) {
			if f.labels[l[1]] == nil {
				f.labels[l[1]] = map[string]bool{}
			}
			f.labels[l[1]][l[2]] = true
		}
	}
	return out
}

// scraped has what a host shows that has done all that is measured.
func scraped(t testing.TB) map[string]*family {
	a := newApp(t, Options{Version: "1.0"})
	defer func() { _ = a.telemetry.Shutdown(t.Context()) }()
	a.exercise()
	return families(t, a.scrape())
}

// dashboardQueries returns the expressions of the dashboard.
func dashboardQueries(t testing.TB) (out []string) {
	text, err := os.ReadFile(dashboard)
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			ID      int
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	ids := map[int]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.GridPos.W == 0 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %q: id %d, place %+v", p.Title, p.ID, p.GridPos)
		}
		ids[p.ID] = true
		for _, target := range p.Targets {
			out = append(out, target.Expr)
		}
	}
	return out
}

// alertQueries returns the expressions of the alert rules.
func alertQueries(t testing.TB) (out []string) {
	text, err := os.ReadFile(alerts)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct{ Rules []struct{ Expr string } }
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			out = append(out, r.Expr)
		}
	}
	return out
}

var (
	metricName = regexp.MustCompile(`\b(?:toolhost|process|gen_ai|error)_[a-z0-9_]+`)
	matcher    = regexp.MustCompile(`([a-z_]+)(=~?)"([^"$]+)"`)
)

// Every metric and every label that the dashboard and the alert rules name is in a scrape, and every state, stage,
// outcome and error code that they name exists.
func TestDashboardAndAlertsNameWhatExists(t *testing.T) {
	seen := scraped(t)
	known, values := map[string]bool{}, map[string]map[string]bool{"job": {"toolhost": true}}
	for name, f := range seen {
		known[name] = true
		if f.kind == "histogram" {
			known[name+"_bucket"], known[name+"_count"], known[name+"_sum"] = true, true, true
		}
		for l, v := range f.labels {
			known[l] = true
			if values[l] == nil {
				values[l] = map[string]bool{}
			}
			maps.Copy(values[l], v)
		}
	}
	for _, s := range []supervise.State{supervise.Crashed, supervise.Backoff, supervise.Quarantined, supervise.Stuck,
		supervise.Invalid} {
		values["toolhost_plugin_state"][string(s)] = true
	}
	for _, c := range []sdk.Code{sdk.CodePluginUnavailable, sdk.CodeProtocol, sdk.CodeInternal, sdk.CodeTimeout} {
		values["error_type"][string(c)] = true
	}
	queries := append(dashboardQueries(t), alertQueries(t)...)
	if len(queries) < 30 {
		t.Fatalf("only %d queries", len(queries))
	}
	for _, q := range queries {
		for _, name := range metricName.FindAllString(q, -1) {
			if !known[name] {
				t.Errorf("there is no metric and no label %s, in %s", name, q)
			}
		}
		for _, m := range matcher.FindAllStringSubmatch(q, -1) {
			for _, value := range strings.Split(m[3], "|") {
				if !values[m[1]][value] {
					t.Errorf("the label %s has no value %s, in %s", m[1], value, q)
				}
			}
		}
	}
}

var increase = regexp.MustCompile(`increase\(([a-z_]+(?:\{[^}]*\})?)\[([^\]]+)\]\)`)

// A counter that appears with the first call, error or crash that it counts is 1 then, and its increase 0. So queries
// count one that is new in full.
func TestQueriesCountTheFirstOfAKind(t *testing.T) {
	counted := 0
	for _, q := range append(dashboardQueries(t), alertQueries(t)...) {
		q = strings.Join(strings.Fields(q), " ")
		for _, m := range increase.FindAllStringSubmatch(q, -1) {
			counted++
			if want := "(" + m[1] + " unless max_over_time(" + m[1] + "[5m] offset " + m[2] + ")) or " + m[0]; !strings.Contains(q,
				want) {
				t.Errorf("%s lacks %s", q, want)
			}
		}
		if strings.Contains(q, "error_type") && strings.Contains(q, "rate(") {
			t.Errorf("%s has the rate of errors, which lacks the first one", q)
		}
	}
	if counted < 10 {
		t.Errorf("only %d queries have an increase", counted)
	}
}

var tableRow = regexp.MustCompile("(?m)^\\| `(toolhost[a-z._]*)` \\| `(toolhost[a-z_]*)` \\| ([a-z]+) \\| ([^|]*) \\| ([^|]*) \\|$")

// The page's table of metrics has those that there are, with their kinds and labels.
func TestMetricsAreDocumented(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, row := range tableRow.FindAllStringSubmatch(string(text), -1) {
		labels := strings.Fields(strings.NewReplacer("`", "", ",", "").Replace(row[4]))
		documented[row[2]] = strings.Join(append([]string{row[3]}, labels...), " ")
		if !strings.HasPrefix(row[2], strings.ReplaceAll(row[1], ".", "_")) {
			t.Errorf("%s is not the name of %s in Prometheus", row[2], row[1])
		}
	}
	there := map[string]string{}
	for name, f := range scraped(t) {
		if !strings.HasPrefix(name, "toolhost_") {
			continue
		}
		labels := slices.Sorted(maps.Keys(f.labels))
		labels = slices.DeleteFunc(labels, func(l string) bool { return l == "le" })
		there[name] = strings.TrimSpace(f.kind + " " + strings.Join(labels, " "))
		if f.help == "" {
			t.Errorf("%s has no help", name)
		}
	}
	if diff := cmp.Diff(there, documented); diff != "" {
		t.Errorf("%s is not up to date (-there +documented)\n%s", page, diff)
	}
}

// Names that no tool has are no labels, and a plugin's processes are those of its tree.
func TestScrape(t *testing.T) {
	seen := scraped(t)
	tools := seen["toolhost_calls_total"].labels["gen_ai_tool_name"]
	if diff := cmp.Diff([]string{"fragile__die", "steady__fail", "steady__read", "steady__sleep", "steady__write", "unknown"},
		slices.Sorted(maps.Keys(tools))); diff != "" {
		t.Errorf("labels of tools: %s", diff)
	}
	stages := slices.Sorted(maps.Keys(seen["toolhost_call_stage_duration_seconds"].labels["toolhost_stage"]))
	if diff := cmp.Diff([]string{"approval", "call", "queue", "start"}, stages); diff != "" {
		t.Errorf("stages: %s", diff)
	}
}
