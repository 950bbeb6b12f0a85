package config

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
)

var update = flag.Bool("update", false, "write what is seen to testdata as what is wanted")

// TestGolden reads the config.hcl of each archive and compares its meaning with want.json, or its mistakes with
// want.txt. A new case is a new archive with a config.hcl, and go test -update.
func TestGolden(t *testing.T) {
	t.Setenv("TOOLHOST_TEST_GREETING", "hello")
	t.Setenv("TOOLHOST_TEST_DECOMPOSED", "cafe\u0301")
	t.Setenv("TOOLHOST_TEST_BINARY", "\xff")
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { golden(t, file) })
	}
}

func golden(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(archive.Files) == 0 || archive.Files[0].Name != "config.hcl" {
		t.Fatal("the first file of a case is config.hcl")
	}
	seen := outcome(t, archive.Files[0].Data)
	if *update {
		archive.Files = append(archive.Files[:1], seen)
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if len(archive.Files) != 2 {
		t.Fatal("a case is config.hcl and want.json or want.txt")
	}
	want := archive.Files[1]
	if diff := cmp.Diff(want.Name+"\n"+string(want.Data), seen.Name+"\n"+string(seen.Data)); diff != "" {
		t.Errorf("(-want +seen)\n%s", diff)
	}
}

// outcome is the result of a config file, as a file of an archive.
func outcome(t *testing.T, src []byte) txtar.File {
	c, err := Parse("config.hcl", src)
	if wrong, ok := errors.AsType[*Error](err); ok {
		return txtar.File{Name: "want.txt", Data: []byte(wrong.Error() + "\n")}
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := json.MarshalIndent(viewOf(c), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return txtar.File{Name: "want.json", Data: append(out, '\n')}
}

// A view is a Config as readable JSON: unset fields are left out, times are words, and the folder of the file is DIR.
type view struct {
	PluginDirs []string            `json:"plugin_dirs,omitempty"`
	Plugins    []pluginView        `json:"plugins,omitempty"`
	Discovery  []discoveryView     `json:"discovery,omitempty"`
	Tools      map[string]toolView `json:"tools,omitempty"`

	PluginSettings map[string]pluginSettingsView `json:"plugin_settings,omitempty"`
	Policies       []layerView                   `json:"policies,omitempty"`
	Profiles       map[string]profileView        `json:"profiles,omitempty"`
	Approval       approvalView                  `json:"approval,omitzero"`
	Audit          *auditView                    `json:"audit,omitempty"`
	Identities     []Identity                    `json:"identities,omitempty"`
	Serve          *Serve                        `json:"serve,omitempty"`
	Telemetry      *Telemetry                    `json:"telemetry,omitempty"`
	History        History                       `json:"history,omitzero"`
	MaxCostTier    string                        `json:"max_cost_tier,omitempty"`
	MaxConcurrency int                           `json:"max_concurrency,omitempty"`
	Roots          []rootView                    `json:"roots,omitempty"`
	WithoutFloor   bool                          `json:"without_floor,omitempty"`
	Lock           string                        `json:"lock,omitempty"`
	Warnings       []string                      `json:"warnings,omitempty"`
}

type rootView struct {
	Path, Effect string
}

type limitsView struct {
	Concurrency int     `json:"concurrency,omitzero"`
	Queue       int     `json:"queue,omitzero"`
	Rate        float64 `json:"rate,omitzero"`
	Burst       int     `json:"burst,omitzero"`
	MaxCalls    int     `json:"max_calls,omitzero"`
}

type pluginSettingsView struct {
	Limits      limitsView `json:"limits,omitzero"`
	MayCall     []string   `json:"may_call,omitempty"`
	IgnoreHints bool       `json:"ignore_hints,omitzero"`
	TrustHints  bool       `json:"trust_foreign_hints,omitzero"`
	FreeTools   bool       `json:"free_tools,omitzero"`
}

type layerView struct {
	Name  string     `json:"name"`
	Rules []ruleView `json:"rules"`
}

type ruleView struct {
	Name       string       `json:"name"`
	Source     string       `json:"source"`
	Tools      []string     `json:"tools,omitempty"`
	Hints      policy.Hints `json:"hints,omitzero"`
	Categories []string     `json:"categories,omitempty"`
	CostTiers  []string     `json:"cost_tiers,omitempty"`
	Callers    []string     `json:"callers,omitempty"`
	Names      []string     `json:"names,omitempty"`
	When       bool         `json:"when,omitempty"`
	Effect     string       `json:"effect"`
	Reason     string       `json:"reason,omitempty"`
}

type profileView struct {
	Include     []string   `json:"include,omitempty"`
	Tools       []string   `json:"tools"`
	Exclude     []string   `json:"exclude,omitempty"`
	ReadOnly    bool       `json:"read_only,omitempty"`
	Categories  []string   `json:"categories,omitempty"`
	MaxCostTier string     `json:"max_cost_tier,omitempty"`
	Mode        string     `json:"mode,omitempty"`
	Rules       []ruleView `json:"rules,omitempty"`
	Source      string     `json:"source"`
}

type approvalView struct {
	Mode    string `json:"mode,omitempty"`
	Timeout span   `json:"timeout,omitzero"`
}

type auditView struct {
	Path    string   `json:"path,omitempty"`
	Content bool     `json:"content,omitempty"`
	Secrets []string `json:"secrets,omitempty"`
}

type pluginView struct {
	Name         string            `json:"name"`
	Source       string            `json:"source"`
	Command      []string          `json:"command,omitempty"`
	Dir          string            `json:"dir,omitempty"`
	Env          map[string]string `json:"env,omitempty"`
	SHA256       string            `json:"sha256,omitempty"`
	Eager        bool              `json:"eager,omitempty"`
	Standby      bool              `json:"standby,omitempty"`
	StartTimeout span              `json:"start_timeout,omitzero"`
	DrainTimeout span              `json:"drain_timeout,omitzero"`
	Restart      restartView       `json:"restart,omitzero"`
	Idempotent   []string          `json:"idempotent,omitempty"`
	Sandbox      sandboxView       `json:"sandbox,omitzero"`
	Config       json.RawMessage   `json:"config,omitempty"`
	Refused      string            `json:"refused,omitempty"`
	Attach       bool              `json:"attach,omitempty"`
}

type sandboxView struct {
	Level         string   `json:"level,omitempty"`
	Require       string   `json:"require,omitempty"`
	Write         []string `json:"write,omitzero"`
	Read          []string `json:"read,omitzero"`
	Network       *bool    `json:"network,omitempty"`
	NewPrivileges bool     `json:"new_privileges,omitempty"`
	PrivateFiles  bool     `json:"private_files,omitempty"`
	Wrapper       []string `json:"wrapper,omitempty"`
	Memory        int64    `json:"memory,omitempty"`
	Processes     int      `json:"processes,omitempty"`
	Files         int      `json:"files,omitempty"`
	FileSize      int64    `json:"file_size,omitempty"`
}

func sandboxViewOf(c *Config, s sandbox.Spec) sandboxView {
	v := sandboxView{string(s.Level), string(s.Require), portable(c, s.Write), portable(c, s.Read), s.Network,
		s.NewPrivileges, s.PrivateFiles,
		portable(c, s.Wrapper), s.Limits.Memory, s.Limits.Processes, s.Limits.Files, s.Limits.FileSize}
	if s.Write != nil && v.Write == nil {
		v.Write = []string{} // an empty list is not the default
	}
	return v
}

type restartView struct {
	MaxCrashes int  `json:"max_crashes,omitzero"`
	Window     span `json:"window,omitzero"`
	Backoff    span `json:"backoff,omitzero"`
	BackoffMax span `json:"backoff_max,omitzero"`
}

type discoveryView struct {
	Name    string   `json:"name"`
	Source  string   `json:"source"`
	Command []string `json:"command"`
	Dir     string   `json:"dir"`
	Timeout span     `json:"timeout"`

	Sandbox *sandboxView `json:"sandbox,omitempty"`
}

type toolView struct {
	Source         string `json:"source"`
	Timeout        span   `json:"timeout,omitzero"`
	MaxResultBytes int64  `json:"max_result_bytes,omitzero"`

	Limits limitsView `json:"limits,omitzero"`
}

type span time.Duration

func (s span) MarshalText() ([]byte, error) { return []byte(time.Duration(s).String()), nil }

func viewOf(c *Config) view {
	v := view{PluginDirs: portable(c, c.PluginDirs), Tools: map[string]toolView{}, Lock: string(c.LockMode)}
	for _, p := range c.Plugins {
		r := p.Restart
		if floor := c.Host.Plugins[p.Name].Env; !maps.Equal(p.Env, floor) {
			p.Env = map[string]string{"": fmt.Sprint("the floor has ", floor)}
		}
		v.Plugins = append(v.Plugins, pluginView{
			Name: p.Name, Source: p.Source, Command: portable(c, p.Command), Dir: portable(c, []string{p.Dir})[0], Env: p.Env,
			SHA256: p.SHA256, Eager: p.Eager, Standby: p.Standby, StartTimeout: span(p.StartTimeout),
			DrainTimeout: span(p.DrainTimeout),
			Idempotent:   p.Idempotent, Config: p.Config, Refused: p.Refused, Attach: p.Attach,
			Sandbox: sandboxViewOf(c, p.Sandbox),
			Restart: restartView{r.MaxCrashes, span(r.Window), span(r.Backoff), span(r.BackoffMax)},
		})
	}
	for _, d := range c.Discovery {
		dir := portable(c, []string{d.Dir})[0]
		seen := discoveryView{d.Name, d.Source, portable(c, d.Command), dir, span(d.Timeout), nil}
		if d.Sandbox != nil {
			seen.Sandbox = new(sandboxViewOf(c, *d.Sandbox))
		}
		v.Discovery = append(v.Discovery, seen)
	}
	for name, t := range c.Host.Tools {
		v.Tools[name] = toolView{c.ToolSources[name], span(t.Timeout), t.MaxResultBytes, limitsView(t.Limits)}
	}
	v.rules(c)
	return v
}

// rules adds everything that decides whether calls may run.
func (v *view) rules(c *Config) {
	v.PluginSettings, v.Profiles = map[string]pluginSettingsView{}, map[string]profileView{}
	for name, p := range c.Host.Plugins {
		s := pluginSettingsView{limitsView(p.Limits), p.MayCall, p.IgnoreHints, p.TrustForeignHints, c.FreeTools[name]}
		if !reflect.DeepEqual(s, pluginSettingsView{}) {
			v.PluginSettings[name] = s
		}
	}
	for _, l := range c.Policies {
		v.Policies = append(v.Policies, layerView{l.Name, rulesView(l.Rules)})
	}
	for name, p := range c.Profiles {
		f := p.Filter
		v.Profiles[name] = profileView{p.Include, f.Tools, f.Exclude, p.ReadOnly, f.Categories, string(f.MaxCostTier),
			string(p.Mode),
			rulesView(p.Rules.Rules), p.Source}
	}
	h := c.Host
	v.Approval, v.MaxCostTier = approvalView{string(h.Mode), span(h.ApprovalTimeout)}, string(h.MaxCostTier)
	v.MaxConcurrency, v.WithoutFloor = h.MaxConcurrency, h.WithoutFloor
	for _, r := range h.Roots {
		v.Roots = append(v.Roots, rootView{portable(c, []string{r.Path})[0], string(r.Effect)})
	}
	v.Identities, v.Serve, v.Telemetry, v.History = c.Identities, c.Serve, c.Telemetry, c.History
	if a := c.Audit; a != nil {
		v.Audit = &auditView{portable(c, []string{a.Path})[0], a.Content, a.Secrets}
	}
	for _, w := range c.Warnings {
		v.Warnings = append(v.Warnings, w.String())
	}
}

func rulesView(rules []policy.Rule) (out []ruleView) {
	for _, r := range rules {
		effect := string(r.Effect)
		if r.Judge != nil {
			effect = "judged"
		}
		out = append(out, ruleView{r.Name, r.Source, r.Tools, r.Hints, r.Categories, r.CostTiers, r.Callers, r.Names,
			r.When != nil, effect, r.Reason})
	}
	return out
}

func portable(c *Config, paths []string) []string {
	var out []string
	for _, p := range paths {
		if rel, err := filepath.Rel(c.Dir, p); err == nil && filepath.IsAbs(p) && len(rel) < len(p) {
			p = strings.TrimSuffix("DIR/"+rel, "/.")
		}
		out = append(out, filepath.ToSlash(p))
	}
	return out
}
