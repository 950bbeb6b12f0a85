package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/config/internal/when"
	"github.com/toolhost/toolhost/host/policy"
)

const samplePolicies = `
policy "user" {
  rule "everyday" {
    tools = ["shell__*"]
    commands {
      allow     = ["ls", "git status"]
      deny      = ["sudo"]
      otherwise = "ask"
    }
  }
}
policy "project" {
  rule "no-pushes" {
    tools  = ["shell__*"]
    when   = anytrue([for c in commands(args.command) : c.name == "git" && contains(c.args, "push")])
    effect = "deny"
    reason = "pushes are made by people"
  }
}
policy "project" {
  rule "sources" {
    tools  = ["edit__*"]
    when   = inside(args.path, "src")
    effect = "allow"
  }
}
`

// A policy decides as its file says.
func TestDecisions(t *testing.T) {
	c, err := Parse("config.hcl", []byte(samplePolicies))
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.New(c.Policies...)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		tool, arguments string
		effect          policy.Effect
		rule, reason    string
	}{
		{"shell__exec", `{"command":"ls -l"}`, policy.Allow, "everyday", ""},
		{"shell__exec", `{"command":"make"}`, policy.Ask, "everyday", ""},
		{"shell__exec", `{"command":"ls && sudo ls"}`, policy.Deny, "everyday", ""},
		{"shell__exec", `{"command":"git push"}`, policy.Deny, "no-pushes", "pushes are made by people"},
		{"shell__exec", `{"command":"ls && $x push"}`, policy.Ask, "everyday", ""},
		{"shell__exec", `{"command":"ls 'x"}`, policy.Deny, "no-pushes", ""},
		{"shell__exec", `{"command":["ls"]}`, policy.Deny, "everyday", ""},
		{"shell__exec", `{}`, policy.Ask, "not_read_only", ""},
		{"shell__exec", `{"command":"ls","workdir":7}`, policy.Deny, "everyday", ""},
		{"edit__write", `{"path":"src/a"}`, policy.Allow, "sources", ""},
		{"edit__write", `{"path":"a"}`, policy.Ask, "not_read_only", ""},
		{"edit__write", `{"path":"src/e\u0301"}`, policy.Ask, "not_read_only", ""},
	} {
		t.Run(x.tool+" "+x.arguments, func(t *testing.T) {
			q := callWith(x.arguments)
			q.Tool, q.Plugin = x.tool, strings.Split(x.tool, "__")[0]
			d := p.Decide(q)
			if d.Effect != x.effect || d.Rule != x.rule || !strings.Contains(d.Reason, x.reason) {
				t.Errorf("%s by %s, because %q, in %+v", d.Effect, d.Rule, d.Reason, d.Trace)
			}
		})
	}
}

func TestLoadPolicy(t *testing.T) {
	dir := t.TempDir()
	p, err := LoadPolicy(write(t, dir, "policy.hcl",
		"locals {\n  a = \"x\"\n}\npolicy \"user\" {\n  rule \"r\" {\n    effect = \"deny\"\n    when   = args.a == "+
			"local.a\n  }\n}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Layers) != 1 || p.Layers[0].Name != "user" || p.Path != filepath.Join(dir, "policy.hcl") {
		t.Fatalf("policies %+v", p)
	}
	if got, err := p.Layers[0].Rules[0].When(callWith(`{"a":"x"}`)); got != policy.Yes || err != nil {
		t.Errorf("gives %v and the error %v", got, err)
	}
	_, err = LoadPolicy(filepath.Join(dir, "none.hcl"))
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the error is %v", err)
	}
	_, err = LoadPolicy(write(t, dir, "more.hcl", "plugin \"a\" {}\npolicy \"user\" {\n  rule \"r\" {}\n}\n"))
	wrong, ok := errors.AsType[*Error](err)
	if !ok || len(wrong.Mistakes) != 2 || wrong.Mistakes[0].Message != `unknown block "plugin"` {
		t.Errorf("the error is %v", err)
	}
}

var hclFence = regexp.MustCompile("(?ms)^```hcl\n(.*?)^```$")

// The samples of the page about policies load, which runs the examples in them, and a policy accepts their rules.
func TestPolicySamples(t *testing.T) {
	page, err := os.ReadFile("../../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	samples := hclFence.FindAllStringSubmatch(string(page), -1)
	if len(samples) < 4 {
		t.Errorf("%d samples were found", len(samples))
	}
	for _, s := range samples {
		c, err := Parse("config.hcl", []byte(s[1]))
		if err != nil {
			t.Errorf("a sample does not load:\n%v", err)
			continue
		}
		if _, err := policy.New(c.Policies...); err != nil {
			t.Errorf("a sample is no policy: %v", err)
		}
		for _, w := range c.Warnings {
			t.Errorf("a sample is warned of: %s", w)
		}
	}
	for _, name := range when.Functions() {
		if !strings.Contains(string(page), "`"+name) {
			t.Errorf("the page does not mention the function %s", name)
		}
	}
}
