package config

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/toolhost/toolhost/host/policy"
)

// layerNames are the layers, in the order of Config.Policies. The strictest wins, so the order is for readers of a trace.
var layerNames = []string{"system", "user", "project", "profile", "session"}

// Policies are the rules of a file that holds nothing else.
type Policies struct {
	Path   string         // absolute
	Layers []policy.Layer // as Config.Policies
	// Warnings are what is not wrong, but probably not meant either.
	Warnings []Mistake
}

// LoadPolicy reads a file that may hold policy and locals blocks only. Its errors are those of Load.
func LoadPolicy(path string) (*Policies, error) {
	src, err := readFile(path)
	if err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	r := newReader(abs, display(path, abs), src)
	if body := r.parse(); body != nil {
		f := r.open(body, "policy file", "")
		r.declare(f.blocks("locals"))
		f.policies()
		f.done()
	}
	if err := r.finish(); err != nil {
		return nil, err
	}
	return &Policies{Path: abs, Layers: r.config.Policies, Warnings: r.sorted(r.warnings)}, nil
}

// policies reads the policy blocks of a file into one layer for each name.
func (f *fields) policies() {
	layers, names := map[string]*policy.Layer{}, map[string]seen{}
	for _, b := range f.blocks("policy") {
		name, ok := f.layerName(b)
		if !ok {
			name = ""
		}
		if layers[name] == nil {
			layers[name], names[name] = &policy.Layer{Name: name}, seen{}
		}
		in := f.open(b.Body, "policy", fmt.Sprintf("policy %q", brief(name)))
		layers[name].Rules = append(layers[name].Rules, in.rules(names[name])...)
		in.done()
	}
	for _, name := range layerNames {
		if layers[name] != nil {
			f.config.Policies = append(f.config.Policies, *layers[name])
		}
	}
}

// layerName is the label of a policy block. It is false, and says why, when there is no such layer.
func (f *fields) layerName(b *hclsyntax.Block) (string, bool) {
	n := naming{func(s string) bool { return slices.Contains(layerNames, s) }, "the layers are system, user, project, profile and session"}
	name, _, ok := f.label(b, n)
	return name, ok
}

// rules reads the rule blocks in a policy or a profile.
func (f *fields) rules(names seen) []policy.Rule {
	var out []policy.Rule
	for _, b := range f.blocks("rule") {
		out = append(out, f.rule(b, names))
	}
	return out
}

// warn reports what is not wrong.
func (f *fields) warn(at hcl.Range, format string, args ...any) *Mistake {
	m := f.wrong(at, format, args...)
	f.mistakes = f.mistakes[:len(f.mistakes)-1]
	f.warnings = append(f.warnings, m)
	return m
}
