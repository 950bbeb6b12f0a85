package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/supervise/internal/placeholder"
	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// A Host is the machine on which plugins are started: its capabilities, and the paths of toolhost.
type Host struct {
	Workdir      string
	Shared       []string // folders in which others than the plugin can change links
	Capabilities proctree.Capabilities
	// Paths returns toolhost's own paths; nil is none. It is called only for sandboxes from Confined on.
	Paths func() Paths
	// Lookup looks up Paths; nil uses a new one.
	Lookup *PathLookup
	// Notes is a folder for this host's notes about placeholders, see placeholder.Hold.
	Notes string
}

// A Program is a program to start, with the folders of this start.
type Program struct {
	Named        func() (string, error) // returns the file that the user names
	Path         string                 // the file to run, which may be a copy
	Argv         []string
	Env          []string
	Temp, Socket string // its folders for temporary files and for its socket, or ""
	State        string // its folder for what it keeps, or ""
}

// A Prepared program can be run in its sandbox. Call Release when the program and all that it started have ended.
type Prepared struct {
	Confinement Confinement
	Hint        string // for errors of a plugin that was refused something, "" at levels that refuse nothing
	Temp        string // see Program

	cmd          proctree.Cmd
	placeholders []*placeholder.Placeholder
}

// Command runs the program in a folder, and kills it at once when the context ends.
func (p Prepared) Command(dir string) *proctree.Cmd {
	cmd := p.cmd
	cmd.Dir = dir
	return &cmd
}

// Release releases the placeholders in the program's folders.
func (p Prepared) Release() {
	for _, h := range p.placeholders {
		h.Release()
	}
}

// A request is one sandbox on one host, for a program if one is started.
type request struct {
	Host
	Program
	spec Spec
}

// Evaluate returns the effect of a sandbox on this host, without a start. It fails when a start would be refused.
func (h Host) Evaluate(s Spec) (Confinement, error) {
	c, _, err := request{Host: h, spec: s}.evaluate()
	return c, err
}

// CheckFolders reports writable folders that do not exist or lead elsewhere: a plugin without them would fail only
// during a call.
func (h Host) CheckFolders(s Spec) error { return request{Host: h, spec: s}.checkFolders() }

func (r request) evaluate() (c Confinement, p protection, err error) {
	if c, err = r.spec.Evaluate(r.Capabilities); err != nil {
		return c, p, err
	}
	if err := r.checkFolders(); err != nil || !r.spec.confined() {
		return c, p, err
	}
	p = r.protection()
	c.ReadOnly, c.Masked = slices.Sorted(slices.Values(slices.Concat(p.readOnly, p.fixed))), slices.Clone(p.masked)
	c.Missing = append(c.Missing, p.missing...)
	if p.broken && c.Effective.AtLeast(Confined) {
		c.Effective = Supervised
	}
	return c, p, c.meets(r.spec.Require)
}

// Prepare creates what the sandbox of a program needs, such as placeholders.
func (h Host) Prepare(s Spec, p Program) (Prepared, error) {
	r := request{h, p, s}
	c, protects, err := r.evaluate()
	if err != nil {
		return Prepared{}, err
	}
	path, argv, err := r.wrap()
	if err != nil {
		return Prepared{}, err
	}
	out := Prepared{Confinement: c, Temp: p.Temp,
		cmd: proctree.Cmd{Path: path, Name: argv[0], Args: argv[1:], Env: p.Env, Grace: -1}}
	if !h.Capabilities.Sandbox {
		return out, nil
	}
	box := r.restrictions()
	if box.RestrictReads {
		box.Read = append(box.Read, withoutNested(programFolders(p, path), r.writable())...)
	}
	if box.RestrictWrites {
		out.Hint = r.hint(protects.readOnly)
	}
	if s.HasNamespaces(h.Capabilities) {
		if box.ReadOnlyRoot, box.Writable, err = r.writableMounts(); err != nil {
			return Prepared{}, err
		}
		out.placeholders = protects.hold(h.Notes, &out.Confinement.Missing)
		box.Namespaces, box.Pinned, box.ReadOnly = true, protects.pinned, protects.readOnly
		box.Masked, box.PinnedLinks = protects.masked, slices.Concat(protects.links, protects.fixed)
	}
	out.cmd.Sandbox = box
	return out, nil
}

// wrap returns the program and its arguments, preceded by the wrapper.
func (r request) wrap() (path string, argv []string, err error) {
	if r.spec.Requested() == Isolated { // the plugin could not read it
		err = LinkError("it is run as", r.Path, r.writable())
	}
	wrapper := r.spec.Wrapper
	if err != nil || len(wrapper) == 0 {
		return r.Path, r.Argv, err
	}
	if path, err = exec.LookPath(wrapper[0]); err != nil {
		return "", nil, fmt.Errorf("its wrapper %s cannot be run: %w", wrapper[0], reason(err))
	}
	fill := strings.NewReplacer("{socket_dir}", r.Socket, "{tmp_dir}", r.Temp, "{workdir}", r.Workdir)
	for _, word := range wrapper {
		argv = append(argv, fill.Replace(word))
	}
	return path, slices.Concat(argv, []string{r.Path}, r.Argv[1:]), nil
}

// oomScoreAdj makes the kernel end a plugin before the host when there is no memory left: half of the maximum.
const oomScoreAdj = 500

// restrictions are the restrictions of the sandbox that this machine supports, without mounts.
func (r request) restrictions() proctree.Sandbox {
	s, m, confined := r.spec, r.Capabilities, r.spec.confined()
	box := proctree.Sandbox{
		OOMScoreAdj: oomScoreAdj, NoCoreDumps: true, Umask: s.PrivateFiles,
		NoNewPrivileges: !s.NewPrivileges && m.NoNewPrivs, Landlock: m.Landlock,
		MaxFiles:    uint64(cmp.Or(s.Limits.Files, DefaultFiles)),
		MaxFileSize: uint64(cmp.Or(s.Limits.FileSize, DefaultFileSize)),
		MaxMemory:   uint64(s.Limits.Memory), MaxProcesses: uint64(s.Limits.Processes),
	}
	if !box.NoNewPrivileges { // everything below depends on it
		return box
	}
	box.RestrictWrites = confined && m.Landlock > 0
	box.RestrictReads = box.RestrictWrites && s.Requested() == Isolated
	box.NoTCP, box.NoSockets = !s.hasNetwork(), !s.hasNetwork() && m.Seccomp
	box.NoRareCalls = s.Requested() == Isolated && m.Seccomp
	box.NoInterference, box.NoSetID = confined && m.Seccomp, confined && m.Seccomp
	box.NoMetadata = box.NoRareCalls && !m.ReadOnlyMounts() // otherwise everything but the plugin's folders is read-only
	box.Write = slices.Concat(devices, r.ownFolders())
	if confined && m.Namespaces {
		box.Write = append(box.Write, SharedMemory, pseudoTerminals)
	}
	if box.RestrictReads {
		box.Read = slices.Concat(readable, withoutNested(slices.Clone(s.Read), r.writable()))
	}
	return box
}

// devices are the devices that every program may write to.
var devices = []string{
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx",
}

// SharedMemory is where programs keep memory that their processes share, locks above all. A plugin has its own in a
// process namespace; without one it shares the folder with the user's other programs.
const SharedMemory = "/dev/shm"

// pseudoTerminals are a plugin's own in a process namespace. Without one, a plugin that can open them can write to
// its user's terminals, and read what is typed there: then only write = ["/dev/pts"] grants them.
const pseudoTerminals = "/dev/pts"

// readable are the paths that programs need to run, without secrets: /etc has those, so it is not included as a whole.
// The kernel hides other processes in /proc: Landlock protects their memory and environment.
var readable = []string{
	"/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin", "/nix/store", "/gnu/store",
	"/proc", "/sys/devices/system/cpu", "/sys/kernel/mm/transparent_hugepage", "/sys/fs/cgroup",
	"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/alternatives",
	"/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/openssl.cnf", "/etc/pki/tls/certs", "/etc/pki/ca-trust",
	"/etc/ca-certificates", "/etc/crypto-policies", "/etc/resolv.conf", "/etc/hosts", "/etc/host.conf", "/etc/hostname",
	"/etc/nsswitch.conf", "/etc/gai.conf", "/etc/passwd", "/etc/group", "/etc/localtime", "/etc/timezone",
	"/etc/protocols", "/etc/services", "/etc/os-release", "/etc/locale.conf", "/etc/locale.alias", "/etc/default/locale",
	"/etc/inputrc", "/etc/terminfo", "/etc/mime.types", "/etc/bash.bashrc", "/etc/profile", "/etc/gitconfig",
}

// programFolders are the program and the folder it is in, which may hold files that it needs; but not one in which
// others keep theirs. Run is the file that is started, such as a wrapper.
func programFolders(p Program, run string) []string {
	out := []string{p.Path, run}
	named, err := p.Named()
	if err != nil {
		return out
	}
	folder := filepath.Dir(named)
	if isShared(folder) {
		return append(out, named)
	}
	return append(out, folder)
}

// isShared reports a folder that contains a home folder, or a folder for the temporary files of all programs.
func isShared(folder string) bool {
	folder = fsutil.Resolved(folder)
	shared := []string{os.Getenv("HOME"), os.TempDir(), "/tmp", "/var/tmp", "/root"}
	if own, err := user.Current(); err == nil {
		shared = append(shared, own.HomeDir)
	}
	return slices.ContainsFunc(shared, func(path string) bool {
		return path != "" && fsutil.Within(fsutil.Resolved(path), folder)
	})
}

// writable are the user's folders that the plugin may write to.
func (r request) writable() []string {
	if r.spec.Write == nil {
		return []string{r.Workdir}
	}
	return r.spec.Write
}

// ownFolders are all folders that the plugin may write to, except for shared memory and terminals. A folder that is
// reached through another of them is covered by that one.
func (r request) ownFolders() []string {
	own := slices.DeleteFunc([]string{r.Temp, r.Socket, r.State}, func(path string) bool { return path == "" })
	return withoutNested(slices.Concat(own, r.writable()), r.writable())
}

// writableMounts reports whether all file systems become read-only for the plugin, and the folders that do not. They
// do not when it may write everywhere, which is reported as missing. It looks again at where links lead, since other
// plugins run meanwhile: what it returns has no links, and the launcher follows none in it.
func (r request) writableMounts() (readOnlyRoot bool, writable []string, err error) {
	if !r.Capabilities.ReadOnlyMounts() {
		return false, nil, nil
	}
	for _, path := range r.ownFolders() {
		to := fsutil.Resolved(path)
		if to == "/" {
			return false, nil, nil
		}
		if slices.Contains(r.spec.Write, path) {
			err = errors.Join(err, r.linkError(path, to))
		}
		writable = append(writable, to)
	}
	return true, writable, err
}

// linkError is that of a path that the sandbox names, and that leads to another.
func (r request) linkError(path, to string) error {
	return linkError("its sandbox names", path, to, slices.Concat(r.writable(), r.Shared))
}

func (r request) checkFolders() error {
	var wrong []error
	for _, path := range r.spec.Write {
		if _, err := os.Stat(path); err != nil {
			wrong = append(wrong, fmt.Errorf("its sandbox lets it write to %s, which is not there (%w); make it, or take it out",
				path, reason(err)))
		}
	}
	if r.spec.confined() {
		for _, path := range slices.Concat(r.spec.Write, r.spec.Read) {
			wrong = append(wrong, r.linkError(path, fsutil.Resolved(path)))
		}
	}
	if err := errors.Join(wrong...); err != nil || !r.spec.confined() || !r.Capabilities.Namespaces {
		return err
	}
	for _, path := range r.writable() {
		if path = fsutil.Resolved(path); path != SharedMemory && fsutil.Within(path, SharedMemory) {
			return fmt.Errorf("it would not find %s: in its sandbox it has a %s of its own; work in a folder elsewhere",
				path, SharedMemory)
		}
	}
	return nil
}

// hint says what a confined plugin may do, and how to allow more.
func (r request) hint(readOnly []string) string {
	level, folders, but := r.spec.Requested(), strings.Join(r.writable(), ", "), ""
	if len(readOnly) > 0 {
		but = " (but not to " + strings.Join(readOnly, ", ") + ", unless its write names them)"
	}
	text := fmt.Sprintf("it runs at the sandbox level %q and can write to %s%s and its TMPDIR only",
		level, folders, but)
	if folders == "" {
		text = fmt.Sprintf("it runs at the sandbox level %q and can write to its TMPDIR only", level)
	}
	more := `write = ["FOLDER"], or level = "supervised"`
	if level == Isolated {
		text += ", reads no more than it needs to run"
		more = `read = ["FOLDER"], write = ["FOLDER"], network = true, or level = "confined"`
	}
	text += "; if that is what it lacks, its sandbox block allows more: " + more
	if len(r.spec.Wrapper) > 0 {
		text += "; a wrapper that mounts needs to stand without a level"
	}
	return text
}

// reason is an error of the file system, or of a lookup of a program, without the operation and the path.
func reason(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*exec.Error](err); ok {
		return e.Err
	}
	return err
}
