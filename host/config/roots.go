package config

import (
	"github.com/toolhost/toolhost/host/policy"
)

// A Root is a folder outside of the work folder in which tools that know of such folders may read.
type Root struct {
	Name, Path string        // absolute
	Effect     policy.Effect // allow, ask or always_ask
	Source     string        // such as "config.hcl:12"
}

var rootEffects = []string{"allow", "ask", "always_ask"}

// roots reads the root blocks.
func (f *fields) roots() {
	names, paths := seen{}, map[string]string{}
	for _, b := range f.blocks("root") {
		name, in := f.named(b, pluginNaming, names)
		r := Root{Name: name, Path: in.folder("path"), Effect: policy.Effect(in.oneOf("effect", rootEffects)), Source: f.place(b.TypeRange)}
		if r.Effect == "" {
			r.Effect = policy.Ask
		}
		in.require("path", `"../shared-docs"`, b)
		switch other := paths[r.Path]; {
		case r.Path == "":
		case r.Path == "/":
			in.wrong(b.Body.Attributes["path"].Expr.Range(), "path is all of the machine").hint("name the folders that are meant, a root block for each")
		case other != "":
			in.wrong(b.Body.Attributes["path"].Expr.Range(), "%s is the path of root %q too", r.Path, other).hint("remove one of them")
		default:
			paths[r.Path] = name
		}
		in.done()
		f.config.Roots = append(f.config.Roots, r)
	}
}
