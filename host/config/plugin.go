package config

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/internal/hclfile"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/toolname"
	"github.com/toolhost/toolhost/sdk"
)

// plugin reads a plugin block.
func (r *reader) plugin(name string, in *hclfile.Body) {
	if !hclfile.PluginNaming.OK(name) {
		name = ""
	}
	noWords := "write the program and its arguments, or remove it to run toolhost-plugin-" + name + " from plugin_dirs"
	spec := supervise.Spec{
		Name:         name,
		Source:       in.Where(),
		InheritEnv:   in.OptionalBool("inherit_env"),
		SHA256:       strings.ToLower(in.Text("sha256", hclfile.CheckSHA256)),
		Eager:        in.Bool("eager"),
		Standby:      in.Bool("standby"),
		StartTimeout: in.Duration("start_timeout", 10*time.Minute),
		DrainTimeout: in.Duration("drain_timeout", time.Hour),
		Restart:      r.restart(in),
		Idempotent:   r.tools(in, name),
	}
	values := map[string]string{}
	unset := r.Collect(func() {
		spec.Command = r.command(in, "command", noWords)
		r.attach(in, &spec)
		spec.Dir = r.resolvePath(in, "dir")
		spec.Env = in.TextMap("env", hclfile.CheckVariable, hclfile.CheckArgument)
		spec.Config = r.pluginConfig(in, name, values)
	})
	spec.Refused = r.refusal(unset)
	spec.Sandbox = r.sandbox(in, mayBeShipped(name, spec.Command))
	if len(values) > 0 {
		spec.References.Config = values
	}
	r.referCommand(in, &spec)
	if _, given := in.Syntax.Attributes["env"]; given {
		r.referLocals(in.ExprOf("env"))
	}
	if in.IsFalse("pin_tools") {
		r.config.FreeTools[name] = true
	}
	options := host.PluginOptions{Env: spec.Env}
	if trust := in.OptionalBool("trust_hints"); trust != nil {
		options.IgnoreHints, options.TrustForeignHints = !*trust, *trust
	}
	if globs, ok := in.Texts("may_call", checkToolGlob); ok {
		options.MayCall = globs
	}
	if limits := in.Inner("limits"); limits != nil {
		options.Limits = readLimits(limits)
		limits.Done()
	}
	r.config.Host.Plugins[name] = options
	r.config.Plugins = append(r.config.Plugins, spec)
}

// attach reads the file of a process to join, which stands in place of the command.
func (r *reader) attach(in *hclfile.Body, spec *supervise.Spec) {
	file := r.resolvePath(in, "attach")
	if file == "" {
		return
	}
	for _, other := range []string{"command", "sha256", "inherit_env", "env"} {
		if _, both := in.Syntax.Attributes[other]; both {
			in.Wrong(in.NameRange(other), "%s and attach are both set", other).
				WithHint("attach joins a process that was started by hand; remove one of the two")
		}
	}
	spec.Command, spec.Attach = []string{file}, true
}

// refusal says why a plugin that needs variables which are not set cannot be started, "" if there are none. That costs
// no other plugin.
func (r *reader) refusal(unset []hclfile.Unset) string {
	if len(unset) == 0 {
		return ""
	}
	slices.SortStableFunc(unset, func(a, b hclfile.Unset) int { return a.At.Start.Byte - b.At.Start.Byte })
	var parts []string
	named := map[string]bool{}
	for _, u := range unset {
		if !named[u.Name] {
			named[u.Name] = true
			parts = append(parts, fmt.Sprintf("the environment variable %s (%s) is not set", hclfile.Brief(u.Name),
				r.Position(u.At)))
		}
	}
	return fmt.Sprintf("%s. Fix: set it where toolhost runs, or write env(%q, \"default\")",
		strings.Join(hclfile.Shortened(parts), "; "), hclfile.Brief(unset[0].Name))
}

// restart reads the restart block of a plugin.
func (r *reader) restart(plugin *hclfile.Body) supervise.Restart {
	in := plugin.Inner("restart")
	if in == nil {
		return supervise.Restart{}
	}
	out := supervise.Restart{
		MaxCrashes: in.Int("max_crashes", 1000),
		Window:     in.Duration("window", 24*time.Hour),
		Backoff:    in.Duration("backoff", time.Hour),
		BackoffMax: in.Duration("backoff_max", time.Hour),
	}
	in.Done()
	d := supervise.Defaults.Restart
	if first, most := cmp.Or(out.Backoff, d.Backoff), cmp.Or(out.BackoffMax, d.BackoffMax); first > most {
		in.Wrong(in.Header(), "backoff, %s, is longer than backoff_max, %s", hclfile.Short(first), hclfile.Short(most)).
			WithHint("change one of them")
	}
	return out
}

// readLimits reads the limits in a block.
func readLimits(in *hclfile.Body) host.Limits {
	out := host.Limits{
		Concurrency: in.Int("concurrency", 1000),
		Queue:       in.Int("queue", 100_000),
		Rate:        in.Rate("rate"),
		Burst:       in.Int("burst", 100_000),
		MaxCalls:    in.Int("max_calls", 1_000_000),
	}
	in.Needs("queue", "concurrency", "4")
	in.Needs("burst", "rate", `"10/s"`)
	return out
}

// tools reads the tool blocks of a plugin, and returns the names of idempotent tools.
func (r *reader) tools(in *hclfile.Body, plugin string) (idempotent []string) {
	names := hclfile.Names{}
	for _, b := range in.Blocks("tool") {
		name, at, ok := r.Label(b, hclfile.ToolNaming)
		full := plugin + "__" + name
		if ok && len(full) > hclfile.MaxToolName {
			r.Add(at, "%s has %d characters", full, len(full)).
				WithHint("the full name of a tool has at most %d; give the plugin a shorter one", hclfile.MaxToolName)
		} else if ok {
			names.Add(r.Report, "tool", name, at)
		}
		tool := in.Open(b, fmt.Sprintf("%s, tool %q", in.What(), hclfile.Brief(name)))
		r.config.Host.Tools[full] = host.ToolOptions{
			Description:    r.Hidden.Hide(tool.Text("description", checkDescription)),
			DescriptionFor: r.descriptions(tool),
			Timeout:        tool.Duration("timeout", host.MaxTimeout),
			MaxResultBytes: int64(tool.Int("max_result_bytes", maxResult)),
			Aliases:        r.aliases(tool, full),
			Limits:         readLimits(tool),
		}
		r.config.ToolSources[full] = tool.Where()
		if tool.Bool("idempotent") {
			idempotent = append(idempotent, name)
		}
		tool.Done()
	}
	return idempotent
}

func checkDescription(s string) (problem, hint string) {
	switch {
	case strings.TrimSpace(s) == "":
		return "is blank", "models choose a tool by its description; remove the line to keep the plugin's"
	case len(s) > sdk.MaxDescription:
		return fmt.Sprintf("has %d bytes", len(s)), fmt.Sprintf("write %d at most", sdk.MaxDescription)
	}
	return "", ""
}

// descriptions reads those for single models.
func (r *reader) descriptions(in *hclfile.Body) map[string]string {
	out := in.TextMap("description_for", func(glob string) (problem, hint string) {
		if _, err := path.Match(glob, ""); err != nil || glob == "" {
			return "is not a glob of model names", `write one such as "gemini-*": close each [ with ], and end none with a \`
		}
		return "", ""
	}, checkDescription)
	for glob, text := range out {
		out[glob] = r.Hidden.Hide(text)
	}
	return out
}

// aliases reads the other names of a tool. An alias that another tool has too is reported with both.
func (r *reader) aliases(in *hclfile.Body, tool string) []string {
	names, _ := in.Texts("aliases", func(s string) (problem, hint string) {
		if !toolname.Alias().MatchString(s) {
			return "is not a name for a tool",
				`a name has at most 64 letters, digits, "_" and "-", and begins with a letter or "_"`
		}
		return "", ""
	})
	for _, alias := range names {
		for _, owner := range slices.Sorted(maps.Keys(r.config.Host.Tools)) {
			same := func(s string) bool { return strings.EqualFold(s, alias) }
			if owner != tool && slices.ContainsFunc(r.config.Host.Tools[owner].Aliases, same) {
				in.Wrong(in.NameRange("aliases"), "%s and %s have the alias %q both", owner, tool, alias).
					WithHint("keep one of the two")
			}
		}
	}
	return names
}

// discovery reads a plugin_discovery block.
func (r *reader) discovery(name string, in *hclfile.Body) {
	d := supervise.Discovery{
		Name:    name,
		Command: r.command(in, "command", "write the program that prints plugin specs, and its arguments"),
		Dir:     r.config.Dir,
		Timeout: cmp.Or(in.Duration("timeout", 10*time.Minute), supervise.DiscoveryTimeout),
		Source:  in.Where(),
	}
	if len(in.Blocks("sandbox")) > 0 { // without one the command runs in none
		d.Sandbox = new(r.sandbox(in, false))
	}
	in.Require("command", `["./list-plugins"]`)
	r.config.Discovery = append(r.config.Discovery, d)
}

// ShippedPlugins are the plugins that come with toolhost. They run supervised by default.
var ShippedPlugins = []string{"discover", "edit", "http", "mcp", "readfile", "shell"}

// mayBeShipped reports whether the plugin may be one of ShippedPlugins. The final check is made when its program is
// found.
func mayBeShipped(name string, command []string) bool {
	if len(command) > 0 {
		program := fsutil.ProgramName(command[0])
		if name = strings.TrimPrefix(program, toolname.ProgramPrefix); name == program {
			return false
		}
	}
	return slices.Contains(ShippedPlugins, name)
}
