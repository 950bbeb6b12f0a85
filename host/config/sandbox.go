package config

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
)

var sandboxLevels = []string{string(sandbox.Supervised), string(sandbox.Confined), string(sandbox.Isolated)}

// ownSandbox reads the sandbox block of something that is not kept in one by default; nil when there is none.
func (f *fields) ownSandbox() *sandbox.Spec {
	if len(f.blocks("sandbox")) == 0 {
		return nil
	}
	return new(f.sandbox(false))
}

// mayBeOurs says whether the plugin may be one of those that come with toolhost, which are supervised unless they are asked to
// be kept in more. Whether it is turns out when its program is found.
func mayBeOurs(name string, command []string) bool {
	if len(command) > 0 {
		program := filepath.Base(command[0])
		if name = strings.TrimPrefix(program, "toolhost-plugin-"); name == program {
			return false
		}
	}
	return slices.Contains([]string{"discover", "edit", "http", "readfile", "shell"}, name)
}

// sandbox reads the sandbox block of a plugin, which may be one of ours.
func (f *fields) sandbox(ours bool) sandbox.Spec {
	b := f.block("sandbox")
	if b == nil {
		return sandbox.Spec{}
	}
	in := f.open(b.Body, "sandbox", f.what+", sandbox")
	before := len(in.mistakes)
	out := sandbox.Spec{
		Level:         sandbox.Level(in.oneOf("level", sandboxLevels)),
		Require:       sandbox.Level(in.oneOf("require", sandboxLevels)),
		Write:         in.paths("write"),
		Read:          in.paths("read"),
		Network:       in.choice("network"),
		NewPrivileges: in.boolean("new_privileges"),
		PrivateFiles:  in.declined("host_umask"),
		Wrapper:       in.wrapper(),
		Limits:        in.processLimits(),
	}
	in.done()
	if len(in.mistakes) == before { // else it may be another sandbox that is meant
		in.consistent(out, ours, b)
	}
	return out
}

// paths reads a list of files and folders: nil when there is none, empty when it is.
func (f *fields) paths(name string) []string {
	all, ok := f.texts(name, checkPath)
	if !ok {
		return nil
	}
	for i, path := range all {
		all[i] = f.config.absolute(path)
	}
	return all
}

// wrapper reads the command that is put before a plugin's.
func (f *fields) wrapper() []string {
	words, ok := f.texts("wrapper", checkAny)
	if !ok {
		return nil
	}
	at := f.body.Attributes["wrapper"].Expr
	if len(words) == 0 {
		f.wrong(at.Range(), "wrapper is empty").hint(`write the program and its options, such as ["bwrap", "--unshare-all", …], or remove it`)
		return nil
	}
	if problem, hint := checkPath(words[0]); problem != "" {
		if words[0] == "" {
			hint = "the first item is the program to run"
		}
		f.wrong(itemRange(at, 0), "the program of wrapper %s", problem).Hint = hint
		return nil
	}
	words[0] = f.config.program(words[0])
	words, _ = supervise.ResolvePaths(words, f.config.Dir)
	return words
}

// minMemory is what a plugin written in Go needs to start.
const minMemory = 64 << 20

// processLimits reads the limits of each process.
func (f *fields) processLimits() sandbox.Limits {
	b := f.block("limits")
	if b == nil {
		return sandbox.Limits{}
	}
	in := f.open(b.Body, "sandbox limits", f.what+", limits")
	out := sandbox.Limits{
		Memory:    in.bytes("memory"),
		Processes: in.integer("processes", 1_000_000),
		Files:     in.integer("files", 1_000_000),
		FileSize:  in.bytes("file_size"),
	}
	in.done()
	if out.Memory > 0 && out.Memory < minMemory {
		in.wrong(in.body.Attributes["memory"].Expr.Range(), "memory is less than 64MiB").hint("no plugin written in Go starts with less")
	}
	if out.Files > 0 && out.Files < 16 {
		in.wrong(in.body.Attributes["files"].Expr.Range(), "files is less than 16").hint("a plugin needs about ten for itself")
	}
	return out
}

// consistent reports what does not go together, at the attribute that asks too much.
func (f *fields) consistent(s sandbox.Spec, ours bool, b *hclsyntax.Block) {
	at := b.DefRange()
	for _, name := range []string{"require", "new_privileges"} {
		if f.given[name] {
			at = f.body.Attributes[name].SrcRange
		}
	}
	checked := s
	if ours && s.Level == "" && s.Require == "" && len(s.Wrapper) == 0 && s.Write == nil && s.Read == nil {
		checked.Level = sandbox.Supervised
	}
	if err := checked.Check(); err != nil {
		f.wrong(at, "%s", err).hint("change one of the two")
		return
	}
	level := cmp.Or(s.Level, sandbox.Confined)
	if s.Level == "" && s.Wrapper != nil {
		level = sandbox.Supervised
	}
	if f.given["write"] && level == sandbox.Supervised {
		f.wrong(f.body.Attributes["write"].NameRange, "write means nothing at the level %q, where everything can be written", level).
			hint(`add level = "confined", or remove it`)
	}
	if f.given["read"] && level != sandbox.Isolated {
		f.wrong(f.body.Attributes["read"].NameRange, "read means nothing at the level %q, where everything can be read", level).
			hint(`add level = "isolated", or remove it`)
	}
}
