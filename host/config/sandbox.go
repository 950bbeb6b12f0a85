package config

import (
	"cmp"

	"github.com/toolhost/toolhost/host/internal/hclfile"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/internal/commandline"
)

var sandboxLevels = []string{string(sandbox.Supervised), string(sandbox.Confined), string(sandbox.Isolated)}

// sandbox reads the sandbox block of a plugin or a discovery command.
func (r *reader) sandbox(outer *hclfile.Body, mayBeShipped bool) sandbox.Spec {
	in := outer.Inner("sandbox")
	if in == nil {
		return sandbox.Spec{}
	}
	before := r.Count()
	out := sandbox.Spec{
		Level:         sandbox.Level(in.OneOf("level", sandboxLevels)),
		Require:       sandbox.Level(in.OneOf("require", sandboxLevels)),
		Write:         r.paths(in, "write"),
		Read:          r.paths(in, "read"),
		Network:       in.OptionalBool("network"),
		NewPrivileges: in.Bool("new_privileges"),
		PrivateFiles:  in.IsFalse("host_umask"),
	}
	noWords := `write the program and its options, such as ["bwrap", "--unshare-all", …], or remove it`
	if out.Wrapper = r.command(in, "wrapper", noWords); out.Wrapper != nil {
		out.Wrapper, _ = commandline.ResolvePaths(out.Wrapper, r.config.Dir)
	}
	if limits := in.Inner("limits"); limits != nil {
		out.Limits = readProcessLimits(limits)
	}
	in.Done()
	if r.Count() == before { // otherwise the report could be about a value that is not the intended one
		checkSandbox(in, out, mayBeShipped)
	}
	return out
}

// paths reads a list of files and folders: nil when there is none, empty when it is empty.
func (r *reader) paths(in *hclfile.Body, name string) []string {
	all, ok := in.Texts(name, hclfile.CheckPath)
	if !ok {
		return nil
	}
	for i, path := range all {
		all[i] = r.absolute(path)
	}
	return all
}

// readProcessLimits reads the limits of each process.
func readProcessLimits(in *hclfile.Body) sandbox.Limits {
	out := sandbox.Limits{
		Memory:    in.Bytes("memory"),
		Processes: in.Int("processes", 1_000_000),
		Files:     in.Int("files", 1_000_000),
		FileSize:  in.Bytes("file_size"),
	}
	in.Done()
	if out.Memory > 0 && out.Memory < 64<<20 {
		in.Wrong(in.ExprOf("memory").Range(), "memory is less than 64MiB").
			WithHint("no plugin written in Go starts with less")
	}
	if out.Files > 0 && out.Files < 16 {
		in.Wrong(in.ExprOf("files").Range(), "files is less than 16").WithHint("a plugin needs about ten for itself")
	}
	return out
}

// checkSandbox reports contradictions, at the attribute that requires too much.
func checkSandbox(in *hclfile.Body, s sandbox.Spec, mayBeShipped bool) {
	at := in.Header()
	for _, name := range []string{"require", "new_privileges"} {
		if in.Given(name) {
			at = in.Syntax.Attributes[name].SrcRange
		}
	}
	checked := s
	if mayBeShipped && s.Level == "" && s.Require == "" && len(s.Wrapper) == 0 && s.Write == nil && s.Read == nil {
		checked.Level = sandbox.Supervised
	}
	if err := checked.Check(); err != nil {
		in.Wrong(at, "%s", err).WithHint("change one of the two")
		return
	}
	level := cmp.Or(s.Level, sandbox.Confined)
	if s.Level == "" && s.Wrapper != nil {
		level = sandbox.Supervised
	}
	if in.Given("write") && level == sandbox.Supervised {
		in.Wrong(in.NameRange("write"), "write means nothing at the level %q, where everything can be written", level).
			WithHint(`add level = "confined", or remove it`)
	}
	if in.Given("read") && level != sandbox.Isolated {
		in.Wrong(in.NameRange("read"), "read means nothing at the level %q, where everything can be read", level).
			WithHint(`add level = "isolated", or remove it`)
	}
}
