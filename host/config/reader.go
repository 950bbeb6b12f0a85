package config

import (
	"path/filepath"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// A reader turns one file into a Config. Its methods report mistakes and go on.
type reader struct {
	*report
	*scope
	config *Config
	most   int // bytes that the file may have
}

func newReader(abs, shown string, src []byte) *reader {
	rep := &report{path: shown, src: src}
	return &reader{
		report: rep, most: maxSize,
		scope: &scope{report: rep, locals: map[string]*local{}, steps: maxLoadSteps},
		config: &Config{
			Path: abs, Dir: filepath.Dir(abs), Tools: map[string]ToolSettings{}, PluginSettings: map[string]PluginSettings{},
			shown: shown, places: map[string]place{},
		},
	}
}

func (r *reader) read() {
	if body := r.parse(); body != nil {
		r.file(body)
	}
}

// file reads the top level. A new kind of block is one line here and a file of its own.
func (r *reader) file(body *hclsyntax.Body) {
	f := r.open(body, "", "")
	r.declare(f.blocks("locals"))

	f.pluginDirs()
	plugins, discoveries := seen{}, seen{}
	for _, b := range f.blocks("plugin") {
		r.plugin(b, plugins)
	}
	for _, b := range f.blocks("plugin_discovery") {
		r.discovery(b, discoveries)
	}
	f.policies()
	f.profiles()
	f.approval()
	f.audit()
	f.roots()
	r.config.LockMode = f.oneOf("lock", lockModes)
	r.config.Defaults = f.defaults()
	f.done()
	if len(r.hidden.Texts) > 0 {
		r.config.References = r.hidden
		for i := range r.config.Plugins {
			r.config.Plugins[i].References.Texts = r.hidden.Texts
		}
	}
}

// seen remembers where each name was used first.
type seen map[string]hcl.Range

// add is false, and reports both places, when the name has been used before. What is the kind of thing it names.
func (s seen) add(r *report, what, name string, at hcl.Range) bool {
	if first, there := s[name]; there {
		r.add(at, "%s %q is already defined at %s", what, name, r.place(first)).
			hint("keep one of the two, or give this one another name")
		return false
	}
	s[name] = at
	return true
}
