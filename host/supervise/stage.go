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

	"github.com/toolhost/toolhost/host/supervise/internal/confine"
	"github.com/toolhost/toolhost/sdk"
)

// A stage is how a plugin's program is really run.
type stage struct {
	path      string // of the program to start
	argv, env []string
	namespace bool   // in a process namespace of its own, where the system allows it
	temp      string // the folder for its temporary files, its own

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
	got, err := box.On(s.machine())
	if err == nil {
		err = cmp.Or(box.folders(f), s.exposed(box, f, &got))
	}
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
	s.warnOfLess(spec.Name, got)
	if !confine.Here {
		return how, nil
	}
	o := box.orders(s.machine(), got, f)
	if o.Reads {
		o.Read = append(o.Read, withoutNested(programFolders(spec, program, how.path), box.writable(f))...)
	}
	if o.Writes {
		how.hint = box.hint(f)
	}
	how.namespace = got.Asked.rank() >= Confined.rank() && s.machine().Namespaces
	return how.behind(o), nil
}

// warnOfLess tells once a start that the plugin has not got what was asked for it.
func (s *Supervisor) warnOfLess(name string, c Confinement) {
	if c.Got != c.Asked {
		s.log.Warn("plugin is kept in less than was asked", "plugin", name, "asked", string(c.Asked), "got", string(c.Got), "missing", c.Missing)
	}
}

// behind has this executable follow the orders before it becomes the program.
func (s stage) behind(o *confine.Orders) stage {
	o.Program = s.path
	s.path, s.argv, s.env = "/proc/self/exe", append([]string{confine.Name}, s.argv...), append(s.env, o.Variable())
	return s
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
			wrong = append(wrong, nested(path, s.writable(f)))
		}
	}
	return errors.Join(wrong...)
}

// wrap gives the program and the arguments with the wrapper before them.
func (s Sandbox) wrap(how stage, f folders) (path string, argv []string, err error) {
	if len(s.Wrapper) == 0 {
		return how.path, how.argv, nil
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
func (s Sandbox) orders(m Means, got Confinement, f folders) *confine.Orders {
	confined := got.Asked.rank() >= Confined.rank()
	o := &confine.Orders{
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
	o.OwnLimits = confined && m.Seccomp && !m.Namespaces // in one there is nobody else
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
	if inside, err := filepath.Rel(folder, os.Getenv("HOME")); err == nil && filepath.IsLocal(inside) {
		return append(out, named)
	}
	return append(out, folder)
}

// notStaged words why what was to become the plugin did not.
func notStaged(spec Spec, err error) error {
	f, ok := errors.AsType[*confine.Failure](err)
	switch {
	case !ok:
		return err
	case f.Call == "execve":
		return startProblem(spec, f.Errno)
	}
	return fmt.Errorf("it was not run, because its sandbox cannot be set up: %.200q: %s (%w)", f.Call, cmp.Or(unix.ErrnoName(f.Errno), "error"), f.Errno)
}
