// Package confine is the stage between a launcher and a plugin: this executable, started again under the name
// "toolhost-confine". It takes its orders from one variable of its environment, takes from itself what the plugin is not
// to have, and becomes the plugin: the same process, with the plugin's own arguments and the rest of the environment. What
// fails ends it before anything of the plugin has run. Linux only.
//
// An init function sees the name and never returns, so main does not run, nor do most other init functions; an executable
// that imports the package needs no other hook. Orders hold no secrets: whoever may read the process's environment may
// read the plugin's too.
package confine

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
)

const (
	// Name is the argv[0] that makes this executable a stage.
	Name = "toolhost-confine"
	// usage is the exit code of a stage without orders.
	usage = 2
	// variable holds the orders. The plugin does not get it.
	variable = "TOOLHOST_CONFINE"
	// word begins the one line, on standard output, of a stage that failed.
	word = "toolhost-confine: "
)

// Orders say what a plugin is not to have. Zero values leave it.
type Orders struct {
	// Program is the file to run.
	Program string
	// Umask is set to 077 if true.
	Umask bool
	// NoNewPrivileges keeps programs such as sudo from gaining any. All below need it.
	NoNewPrivileges bool
	// Files, FileSize, Memory and Processes are the resource limits NOFILE, FSIZE, DATA and NPROC.
	Files, FileSize, Memory, Processes uint64
	// ABI is the version of Landlock that is there: what it can do is done, and must succeed. 0 is no Landlock.
	ABI int
	// Writes restricts writing to Write, and keeps signals and abstract sockets in; Reads restricts reading to Read and
	// Write. Paths that are not there are left out.
	Writes, Reads bool
	Write, Read   []string
	// NoTCP forbids to bind and connect TCP sockets, by Landlock.
	NoTCP bool
	// NoSockets forbids all sockets but listening Unix ones, and NoKernel what ordinary programs do not ask of the kernel,
	// both by a filter of system calls.
	NoSockets, NoKernel bool
	// OwnLimits forbids to set the resource limits of other processes, by the same filter: one of processor time ends them.
	OwnLimits bool
}

// flags and limits name the fields on the wire.
func (o *Orders) flags() map[string]*bool {
	return map[string]*bool{"umask": &o.Umask, "no_new_privileges": &o.NoNewPrivileges, "writes": &o.Writes, "reads": &o.Reads,
		"no_tcp": &o.NoTCP, "no_sockets": &o.NoSockets, "no_kernel": &o.NoKernel, "own_limits": &o.OwnLimits}
}

func (o *Orders) limits() map[string]*uint64 {
	return map[string]*uint64{"files": &o.Files, "file_size": &o.FileSize, "memory": &o.Memory, "processes": &o.Processes}
}

// Variable gives the entry of the environment that brings the orders to a stage: a line for each.
func (o *Orders) Variable() string {
	var b strings.Builder
	b.WriteString(variable + "=")
	for name, on := range o.flags() {
		fmt.Fprintf(&b, "%s %t\n", name, *on)
	}
	for name, n := range o.limits() {
		fmt.Fprintf(&b, "%s %d\n", name, *n)
	}
	fmt.Fprintf(&b, "abi %d\nprogram %q\n", o.ABI, o.Program)
	for _, path := range o.Write {
		fmt.Fprintf(&b, "write %q\n", path)
	}
	for _, path := range o.Read {
		fmt.Fprintf(&b, "read %q\n", path)
	}
	b.WriteString("end")
	return b.String()
}

// takeOrders parts the orders from the environment. Of several the last counts: what was put there before is not ours.
func takeOrders(all []string) (orders string, env []string, found bool) {
	for _, entry := range all {
		if value, ours := strings.CutPrefix(entry, variable+"="); ours {
			orders, found = value, true
			continue
		}
		env = append(env, entry)
	}
	return orders, env, found
}

// parse reads what Variable wrote. A text that was cut, or that another version wrote, is an error: orders are followed
// whole or not at all.
func parse(text string) (*Orders, error) {
	o := &Orders{}
	lines := strings.Split(text, "\n")
	last := len(lines) - 1
	if lines[last] != "end" {
		return nil, syscall.EBADMSG
	}
	for _, line := range lines[:last] {
		key, value, _ := strings.Cut(line, " ")
		if err := o.set(key, value); err != nil {
			return nil, err
		}
	}
	if o.Program == "" {
		return nil, syscall.EBADMSG
	}
	return o, nil
}

func (o *Orders) set(key, value string) (err error) {
	if flag, ok := o.flags()[key]; ok {
		*flag, err = strconv.ParseBool(value)
		return err
	}
	if limit, ok := o.limits()[key]; ok {
		*limit, err = strconv.ParseUint(value, 10, 64)
		return err
	}
	if key == "abi" {
		o.ABI, err = strconv.Atoi(value)
		return err
	}
	path, err := strconv.Unquote(value)
	if err != nil {
		return err
	}
	return o.name(key, path)
}

func (o *Orders) name(key, path string) error {
	switch key {
	case "program":
		o.Program = path
	case "write":
		o.Write = append(o.Write, path)
	case "read":
		o.Read = append(o.Read, path)
	default:
		return syscall.EBADMSG
	}
	return nil
}

// A Failure is why a stage did not become the plugin, none of which has run.
type Failure struct {
	Call  string        // the system call, such as "landlock_restrict_self"; "execve" is the plugin's program itself
	Errno syscall.Errno // and what it said
}

func (f *Failure) Error() string { return fmt.Sprintf("%s: %s", f.Call, f.Errno) }

// Unwrap gives the number, for errors.Is.
func (f *Failure) Unwrap() error { return f.Errno }

// line is what the stage prints of it.
func (f *Failure) line() string { return fmt.Sprintf("%s%d %s\n", word, int(f.Errno), f.Call) }

// ParseFailure reads the line that a stage prints when it fails; nil when that is another line.
func ParseFailure(line string) *Failure {
	rest, ok := strings.CutPrefix(line, word)
	number, call, found := strings.Cut(rest, " ")
	n, err := strconv.ParseUint(number, 10, 16)
	if ok && found && err == nil {
		return &Failure{call, syscall.Errno(n)}
	}
	return nil
}
