package config

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/toolhost/toolhost/host/supervise"
)

// plugin reads a plugin block.
func (r *reader) plugin(b *hclsyntax.Block, plugins seen) {
	name, at, ok := r.label(b, pluginNaming)
	f := r.open(b.Body, "plugin", fmt.Sprintf("plugin %q", brief(name)))
	if !ok {
		name = ""
	} else {
		plugins.add(r.report, "plugin", name, at)
	}
	spec := supervise.Spec{
		Name:         name,
		Source:       r.place(b.TypeRange),
		Command:      f.command("write the program and its arguments, or remove it to run toolhost-plugin-" + name + " from plugin_dirs"),
		Dir:          f.folder("dir"),
		Env:          f.textMap("env", checkEnvName, checkAny),
		InheritEnv:   f.choice("inherit_env"),
		SHA256:       strings.ToLower(f.text("sha256", checkSHA256)),
		Eager:        f.boolean("eager"),
		StartTimeout: f.duration("start_timeout", 10*time.Minute),
		DrainTimeout: f.duration("drain_timeout", time.Hour),
		Restart:      f.restart(),
		Idempotent:   f.tools(name),
	}
	spec.Sandbox = f.sandbox(mayBeOurs(name, spec.Command))
	values := map[string]string{}
	if spec.Config = f.pluginConfig(name, b, values); len(values) > 0 {
		spec.References.Config = values
	}
	spec.References.Words, spec.References.Locked = f.writtenWords("command", spec.Command)
	f.resolve(&spec)
	f.checkModule(spec)
	if env := f.body.Attributes["env"]; env != nil {
		f.referLocals(env.Expr)
	}
	trust, pin := f.choice("trust_hints"), f.choice("pin_tools")
	r.config.PluginSettings[name] = PluginSettings{Limits: f.pluginLimits(), IgnoreHints: trust != nil && !*trust,
		FreeTools: pin != nil && !*pin, Source: spec.Source}
	f.done()
	r.config.Plugins = append(r.config.Plugins, spec)
}

// folder reads the path of a folder, "" when there is none.
func (f *fields) folder(name string) string {
	dir := f.text(name, checkPath)
	if dir == "" {
		return ""
	}
	return f.config.absolute(dir)
}

// restart reads the restart block of a plugin.
func (f *fields) restart() supervise.Restart {
	b := f.block("restart")
	if b == nil {
		return supervise.Restart{}
	}
	in := f.open(b.Body, "restart", f.what+", restart")
	out := supervise.Restart{
		MaxCrashes: in.integer("max_crashes", 1000),
		Window:     in.duration("window", 24*time.Hour),
		Backoff:    in.duration("backoff", time.Hour),
		BackoffMax: in.duration("backoff_max", time.Hour),
	}
	in.done()
	d := supervise.Defaults.Restart
	if first, most := cmp.Or(out.Backoff, d.Backoff), cmp.Or(out.BackoffMax, d.BackoffMax); first > most {
		in.wrong(b.DefRange(), "backoff, %s, is longer than backoff_max, %s", short(first), short(most)).hint("change one of them")
	}
	return out
}
