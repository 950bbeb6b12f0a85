package supervise

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host/supervise/internal/placeholder"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// A stage is how a plugin's program is really run.
type stage struct {
	path      string // of the program to start
	argv, env []string
	restrict  *proctree.Restrictions
	namespace bool   // in a process namespace of its own, where the system allows it
	temp      string // the folder for its temporary files, its own

	fixed, readOnly []string // see proctree.Cmd
	held            []*placeholder.Placeholder

	confinement *Confinement
	hint        string // what to tell of a plugin that was not allowed something, "" at levels that allow all
}

// Limits of a plugin's processes that have no others. They are there to be out of the way of all that is sane.
const (
	defaultFiles    = 4096
	defaultFileSize = 16 << 30
)

// stage puts what keeps the plugin in around its program.
func (s *Supervisor) stage(spec Spec, program, temp string, env []string) (stage, error) {
	box, f := spec.Sandbox, folders{work: s.workdir, tmp: temp, socket: lastOf(env, "PLUGIN_UNIX_SOCKET_DIR")}
	m := s.machine() // once: a start beside this one may find out more
	got, h, err := box.confine(f, s.places, m)
	how := stage{path: program, argv: slices.Clone(spec.Command), env: env, temp: temp, confinement: &got}
	if err == nil {
		how.path, how.argv, err = box.wrap(how, f)
	}
	if err != nil {
		return stage{}, &invalidError{err}
	}
	if got.Asked != Supervised { // it can keep nothing elsewhere
		how.env = append(how.env, sdk.EnvKeepDir+"="+f.tmp)
	}
	if !m.Stage {
		return how, nil
	}
	how.restrict = box.orders(m, got, f)
	if how.restrict.Reads {
		how.restrict.Read = append(how.restrict.Read, withoutNested(programFolders(spec, program, how.path), box.writable(f))...)
	}
	if how.restrict.Writes {
		how.hint = box.hint(f, h.readOnly)
	}
	if how.namespace = got.Asked.rank() >= Confined.rank() && m.Namespaces; how.namespace {
		how.held = h.raise(s.dir.path, &got.Missing)
		how.fixed, how.readOnly = h.fixed, h.readOnly
	}
	return how, nil
}

// confine says what keeps the plugin in on a machine, and what is kept from it in its folders.
func (s Sandbox) confine(f folders, ours func() []sighted, m Means) (got Confinement, h shield, err error) {
	if got, err = s.on(m); err != nil {
		return got, h, err
	}
	if err := s.folders(f); err != nil || got.Asked.rank() < Confined.rank() {
		return got, h, err
	}
	if m.Namespaces {
		if err := s.ownMemory(f); err != nil {
			return got, h, err
		}
	}
	h = s.shield(f, ours(), m.protects())
	return got, h, got.protect(s, h)
}

// command is what runs it, in a folder. A gentle end is for the caller to give.
func (s stage) command(dir string) *proctree.Cmd {
	return &proctree.Cmd{Path: s.path, Name: s.argv[0], Args: s.argv[1:], Dir: dir, Env: s.env, Namespace: s.namespace, Fixed: s.fixed,
		ReadOnly: s.readOnly, Restrict: s.restrict, Grace: -1}
}

// release lets go of what stands in its folders for the process, which has ended with all that it started.
func (s stage) release() {
	for _, p := range s.held {
		p.Release()
	}
}

// warnOfLess tells once a start that the plugin has not got what was asked for it.
func (s *Supervisor) warnOfLess(name string, c Confinement) {
	if c.Got != c.Asked {
		s.log.Warn("plugin is kept in less than was asked", "plugin", name, "asked", string(c.Asked), "got", string(c.Got), "missing", c.Missing)
	}
}

// folders are the ones that every plugin has.
type folders struct{ work, tmp, socket string }

// lastOf gives a variable's value as the plugin will see it.
func lastOf(env []string, name string) (value string) {
	for _, entry := range env {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			value = v
		}
	}
	return value
}

// folders says which folder to write to is not there, and which leads elsewhere: leaving it out would only show in the
// middle of a call.
func (s Sandbox) folders(f folders) error {
	var wrong []error
	for _, path := range s.Write {
		if _, err := os.Stat(path); err != nil {
			wrong = append(wrong, fmt.Errorf("its sandbox lets it write to %s, which is not there (%w); make it, or take it out", path, reason(err)))
		}
	}
	if s.level().rank() >= Confined.rank() {
		for _, path := range slices.Concat(s.Write, s.Read) {
			wrong = append(wrong, nested("its sandbox names", path, s.writable(f)))
		}
	}
	return errors.Join(wrong...)
}

// ownMemory says which folder to write to is not there in a namespace, which has shared memory of its own.
func (s Sandbox) ownMemory(f folders) error {
	for _, path := range s.writable(f) {
		if path = resolved(path); path != sharedMemory && within(path, sharedMemory) {
			return fmt.Errorf("it would not find %s: in its sandbox it has a %s of its own; work in a folder elsewhere", path, sharedMemory)
		}
	}
	return nil
}

// wrap gives the program and the arguments with the wrapper before them.
func (s Sandbox) wrap(how stage, f folders) (path string, argv []string, err error) {
	if s.level() == Isolated { // which could not read it
		err = nested("it is run as", how.path, s.writable(f))
	}
	if err != nil || len(s.Wrapper) == 0 {
		return how.path, how.argv, err
	}
	if path, err = exec.LookPath(s.Wrapper[0]); err != nil {
		return "", nil, fmt.Errorf("its wrapper %s cannot be run: %w", s.Wrapper[0], reason(err))
	}
	fill := strings.NewReplacer("{socket_dir}", f.socket, "{tmp_dir}", f.tmp, "{workdir}", f.work)
	for _, word := range s.Wrapper {
		argv = append(argv, fill.Replace(word))
	}
	return path, slices.Concat(argv, []string{how.path}, how.argv[1:]), nil
}

// orders say what of the sandbox this machine can do.
func (s Sandbox) orders(m Means, got Confinement, f folders) *proctree.Restrictions {
	confined := got.Asked.rank() >= Confined.rank()
	o := &proctree.Restrictions{
		Umask: !s.HostUmask, NoNewPrivileges: !s.NewPrivileges && m.NoNewPrivs, ABI: m.Landlock,
		Files: uint64(cmp.Or(s.Limits.Files, defaultFiles)), FileSize: uint64(cmp.Or(s.Limits.FileSize, defaultFileSize)),
		Memory: uint64(s.Limits.Memory), Processes: uint64(s.Limits.Processes),
	}
	if !o.NoNewPrivileges { // nothing below can be done without
		return o
	}
	o.Writes = confined && m.Landlock > 0
	o.Reads = o.Writes && got.Asked == Isolated
	o.NoTCP, o.NoSockets = !s.network(), !s.network() && m.Seccomp
	o.NoKernel = got.Asked == Isolated && m.Seccomp
	o.NoInterference = confined && m.Seccomp
	own := slices.Concat([]string{f.tmp, f.socket}, s.writable(f))
	if confined && m.Namespaces {
		own = append(own, sharedMemory)
	}
	o.Write = slices.Concat(devices, withoutNested(own, s.writable(f)))
	if o.Reads {
		o.Read = slices.Concat(readable, withoutNested(slices.Clone(s.Read), s.writable(f)))
	}
	return o
}

// writable are the user's folders that the plugin may write to.
func (s Sandbox) writable(f folders) []string {
	if s.Write == nil {
		return []string{f.work}
	}
	return s.Write
}

// programFolders are the program and the folder it comes from, which may hold what it needs; but not one that holds the
// user's home.
func programFolders(spec Spec, run, wrapper string) []string {
	out := []string{run, wrapper}
	named, err := program(spec)
	if err != nil {
		return out
	}
	folder := filepath.Dir(named)
	if within(os.Getenv("HOME"), folder) {
		return append(out, named)
	}
	return append(out, folder)
}

// notRestricted words why the program was not run.
func notRestricted(e *proctree.RestrictionError) error {
	return fmt.Errorf("it was not run, because its sandbox cannot be set up: %.200q: %s (%w)", e.Call, cmp.Or(unix.ErrnoName(e.Errno), "error"), e.Errno)
}
