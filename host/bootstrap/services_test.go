package bootstrap

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/toolname"
	"github.com/toolhost/toolhost/sdk"
)

type relayArgs struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Padding   string          `json:"padding,omitempty"`
}

// serveServices is a plugin that uses what a host does for plugins.
func serveServices() {
	p := sdk.New("services", "1.0.0")
	sdk.AddTool(p, sdk.Tool{Name: "relay", Description: "Calls a tool.", Hints: sdk.Hints{ReadOnly: sdk.Yes}},
		func(ctx context.Context, r *sdk.Request, in relayArgs) (*sdk.Result, error) {
			return r.CallTool(ctx, in.Tool, in.Arguments)
		})
	sdk.AddTool(p, sdk.Tool{Name: "deploy", Description: "Deploys, once a person says where.",
		Hints: sdk.Hints{ReadOnly: sdk.Yes}},
		func(ctx context.Context, r *sdk.Request, in deployArgs) (*sdk.Result, error) {
			if in.To == "" {
				a, err := sdk.Ask[whereForm](ctx, r, "Where to?")
				if err != nil {
					return nil, err
				}
				if a.Action != sdk.Accepted {
					return sdk.Text("Nothing is deployed."), nil
				}
				in.To = a.Value.To
			}
			greeting, err := r.CallTool(ctx, "greet__hello", greetArgs{in.To})
			if err != nil || greeting.Error != nil {
				return greeting, err
			}
			seen, err := os.ReadFile(filepath.Join(p.StateDir(), "seen"))
			if err != nil {
				seen = []byte("no one")
			}
			err = os.WriteFile(filepath.Join(p.StateDir(), "seen"), []byte(in.To), 0o600)
			return sdk.Textf("%s Before: %s.", greeting.Content[0].Text, seen), err
		})
	sdk.Serve(p)
}

type deployArgs struct {
	To      string `json:"to,omitempty"`
	Padding string `json:"padding,omitempty"`
}

type whereForm struct {
	To string `json:"to" enum:"test|production"`
}

// personFunc is an input handler.
type personFunc func(r *host.InputRequest) json.RawMessage

func (personFunc) Capabilities() json.RawMessage {
	return json.RawMessage(`{"elicitation":{"form":{}}}`)
}

func (f personFunc) AnswerInput(_ context.Context, r *host.InputRequest) (map[string]json.RawMessage, error) {
	answers := map[string]json.RawMessage{}
	for key := range r.Requests {
		answers[key] = f(r)
	}
	return answers, nil
}

// All services together, over a session and over calls of their own, with real processes.
func TestPluginAsksCallsAndKeeps(t *testing.T) {
	var asked []string
	i := withServices(t, `may_call = ["greet__*"]`, Options{Input: personFunc(func(r *host.InputRequest) json.RawMessage {
		asked = append(asked, r.Tool.Name)
		return json.RawMessage(`{"action":"accept","content":{"to":"production"}}`)
	})})
	for n, c := range []struct{ arguments, want string }{
		{`{}`, "Hello, production. Before: no one."},
		{`{"to":"test"}`, "Hello, test. Before: production."},
		{`{"padding":"` + strings.Repeat("x", 200<<10) + `"}`, "Hello, production. Before: test."},
	} {
		r := i.Catalog().Call(t.Context(), host.Call{Tool: "services__deploy", Arguments: json.RawMessage(c.arguments)})
		if r.Error != nil || r.Text() != c.want {
			t.Errorf("call %d: %q %v, want %q", n, r.Text(), r.Error, c.want)
		}
	}
	if fmt.Sprint(asked) != "[services__deploy services__deploy]" {
		t.Errorf("asked by %v", asked)
	}
}

// withServices opens a configuration with the plugins greet and services, each a process.
func withServices(t *testing.T, block string, o Options) *Instance {
	t.Helper()
	dir := t.TempDir()
	config := fmt.Sprintf(`
plugin "greet" {
  command = [%q]
  env     = { %s = "yes" }
}
plugin "services" {
  command = [%[1]q]
  env     = { %[2]s = "services" }
%s
}
audit {
  path = %[4]q
}
policy "project" {
  rule "no-letters" {
    tools   = ["greet__send"]
    callers = ["plugin:services"]
    effect  = "deny"
  }
}
`, os.Args[0], roleVar, block, filepath.Join(dir, "audit.jsonl"))
	o.Config, o.TrustNamed, o.Workdir = filepath.Join(dir, "config.hcl"), true, dir
	if err := os.WriteFile(o.Config, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	i, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Close(); err != nil {
			t.Error(err)
		}
	})
	return i
}

// A tool of one process calls a tool of another one through the host, over a session and, with large arguments, over a
// call of its own.
func TestPluginCallsATool(t *testing.T) {
	i := withServices(t, `may_call = ["greet__*"]`, Options{})
	for _, padding := range []int{0, 200 << 10} {
		relay := func(id, tool string) *host.Result {
			return i.Catalog().Call(t.Context(),
				host.Call{ID: id, SessionID: "s", Tool: "services__relay", Arguments: sdk.Encode(
					relayArgs{tool, json.RawMessage(`{"name":"Ada"}`), strings.Repeat("x", padding)})})
		}
		id := fmt.Sprint("call-", padding)
		if r := relay(id, "greet__hello"); r.Error != nil || r.Text() != "Hello, Ada." {
			t.Fatalf("%+v %v", r, r.Error)
		}
		for tool, want := range map[string]string{"greet__send": "Denied", "other__x": "NotGranted"} {
			if r := relay("refused", tool); r.Error == nil || r.Error.Name != want {
				t.Errorf("%s gives %+v", tool, r.Error)
			}
		}
		found := 0
		for _, r := range records(t, i) {
			if r.Tool == "greet__hello" && r.ViaCallID == id {
				found++
				if r.Plugin != "greet" || r.ViaTool != "services__relay" || r.SessionID != "s" || r.CallID == id {
					t.Errorf("the record says %+v", r)
				}
			}
		}
		if found != 2 {
			t.Errorf("%d records of the nested call, want its decision and its end", found)
		}
	}
}

func TestPluginsCallNoToolsByDefault(t *testing.T) {
	i := withServices(t, "", Options{})
	r := i.Catalog().Call(t.Context(), host.Call{Tool: "services__relay",
		Arguments: json.RawMessage(`{"tool":"greet__hello","arguments":{"name":"Ada"}}`)})
	if r.Error == nil || r.Error.Name != "NotGranted" {
		t.Errorf("%+v", r)
	}
}

// records are those of an instance, once they are all written.
func records(t *testing.T, i *Instance) []audit.Record {
	t.Helper()
	if err := i.record.Append(audit.Record{Kind: audit.KindStart, Sync: true}); err != nil {
		t.Fatal(err)
	}
	all, err := audit.Tail(filepath.Join(filepath.Dir(i.options.Config), "audit.jsonl"), 100)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// What a plugin keeps in one work folder, or for one configuration, is not there in another. Plugins that are installed
// keep theirs apart, and it goes with them.
func TestStateFolders(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	folder, err := PluginFolder()
	if err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, toolname.ProgramPrefix+"kept"), []byte("#!/bin/sh\n"), 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	dirs := map[string]string{}
	find := func(what, config, workdir string, o Options) {
		o.Config, o.TrustNamed, o.Workdir, o.Installed = filepath.Join(config, "config.hcl"), true, workdir, true
		if err := os.WriteFile(o.Config, []byte(`plugin "own" { command = ["/bin/true"] }`), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Load(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range c.Find(t.Context()).Specs {
			dirs[what+" "+s.Name] = s.StateDir
		}
	}
	a, b := t.TempDir(), t.TempDir()
	find("a", a, a, Options{})
	find("again", a, a, Options{})
	find("other folder", a, b, Options{})
	find("other file", b, a, Options{})
	find("remote", a, a, Options{Remote: true})
	seen := map[string]string{}
	for what, dir := range dirs {
		switch {
		case strings.HasPrefix(what, "remote"):
			if dir != "" {
				t.Errorf("%s has %s", what, dir)
			}
			continue
		case strings.HasPrefix(what, "again"):
			if other := dirs["a"+strings.TrimPrefix(what, "again")]; dir != other {
				t.Errorf("%s has %s, before it had %s", what, dir, other)
			}
			continue
		case what == "other file kept": // an installed plugin is the same whatever the configuration
			if dir != dirs["a kept"] {
				t.Errorf("%s has %s", what, dir)
			}
			continue
		}
		if other, twice := seen[dir]; twice || !filepath.IsAbs(dir) {
			t.Errorf("%s has %q, and so has %s", what, dir, other)
		}
		seen[dir] = what
	}
	if len(dirs) != 10 {
		t.Fatalf("%v", dirs)
	}
	for _, dir := range dirs {
		if dir != "" {
			if err := os.MkdirAll(filepath.Join(dir, "deep"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	p, err := OpenPluginFolder(Options{})
	if err == nil {
		err = p.Uninstall("kept")
	}
	if err != nil {
		t.Fatal(err)
	}
	for what, dir := range dirs {
		if _, err := os.Stat(dir); dir != "" && (err == nil) != strings.HasSuffix(what, " own") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
