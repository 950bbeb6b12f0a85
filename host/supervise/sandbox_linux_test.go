package supervise

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// A holding says at which levels an attack works.
type holding struct{ supervised, confined, isolated bool }

var (
	always   = holding{true, true, true}
	reach    = holding{true, true, false}  // from Isolated on it does not
	touch    = holding{true, false, false} // from Confined on it does not
	roots    = holding{supervised: os.Geteuid() == 0}
	holdings = map[string]holding{
		"create outside": touch, "overwrite outside": touch, "append outside": touch, "truncate outside": touch,
		"remove outside": touch,
		"mkdir outside":  touch, "symlink outside": touch, "fifo outside": touch, "link in from outside": touch,
		"link out":             touch,
		"move in from outside": touch, "move out": touch, "write by symlink": touch, "make a disk": touch,
		"chmod outside": touch, "fchmod outside": touch, "fchmodat2 outside": touch, "chmod by /proc": touch,
		"chown outside": touch, "lchown outside": touch,
		"times outside": touch, "old times outside": touch, "attribute outside": touch, "attribute removed": touch,
		"attribute by a call of 2024": touch,
		"access list outside":         touch, "flags outside": touch, "folder's mode outside": touch, "setuid outside": touch,
		"setuid inside": touch, "setgid inside": touch, "new setuid file": touch, "setuid node": touch, "openat2": touch,
		"chmod inside": always, "times inside": always, "chmod in TMPDIR": always,
		"hook inside": touch, "hook's mode": touch, "priority of the host": touch,
		"read outside": reach, "list outside": reach, "run from outside": reach,
		"host's environment": touch, "host's memory": touch, "trace the host": touch, "signal the host": touch,
		"limit the host": touch, "lease outside": touch, "signal its parent": touch,
		"parent's memory": roots, "parent's environment": roots, "parent's files": roots,
		"signal its group": always, "pidfd_getfd": touch, "terminal": always, "user's terminal": touch,
		"mount in namespaces": touch,
		"tcp":                 reach, "tcp listen": reach, "udp": reach, "mptcp": reach, "netlink": reach, "vsock": reach,
		"unix socket outside": reach, "datagram outside": reach, "abstract socket": touch, "own unix socket": always,
		"own socket pair": always,
		"io_uring":        touch, "new mount namespace": touch, "x32": touch, "keys": reach,
		"move between folders": always, "write inside": always, "write to TMPDIR": always, "write to /dev/null": always,
		"shared memory": always,
		"run a shell":   always, "threads": always,
	}
)

func (h holding) at(l sandbox.Level) bool {
	return map[sandbox.Level]bool{sandbox.Supervised: h.supervised, sandbox.Confined: h.confined,
		sandbox.Isolated: h.isolated}[l]
}

// makeAttackTargets makes a world to attack.
func makeAttackTargets(t *testing.T) attackTargets {
	t.Helper()
	dir := shortDir(t)
	p := attackTargets{Outside: dir + "/outside", Inside: dir + "/inside", Secret: dir + "/outside/secret", Lease: dir +
		"/outside/lease", Host: os.Getpid(),
		Unix: dir + "/outside/unix", Gram: dir + "/outside/gram", Abstract: "@" + dir}
	for _, d := range []string{p.Outside, p.Inside + "/a", p.Inside + "/b", p.Inside + "/.git/hooks"} {
		must(0, os.MkdirAll(d, 0o755))
	}
	for _, f := range []string{p.Secret, p.Lease, p.Outside + "/waste", p.Outside + "/doomed", p.Outside + "/marked",
		p.Inside + "/mine", p.Inside + "/tool", p.Inside + "/a/file"} {
		must(0, os.WriteFile(f, []byte("text"), 0o644))
	}
	must(0, os.WriteFile(p.Outside+"/run", []byte("#!/bin/sh\n"), 0o755))
	_ = unix.Setxattr(p.Outside+"/marked", "user.toolhost", []byte("x"), 0) // not all file systems have them
	tcp := must(net.Listen("tcp", "127.0.0.1:0"))
	unixes := []net.Listener{tcp, must(net.Listen("unix", p.Unix)), must(net.Listen("unix", p.Abstract))}
	udp := must(net.ListenPacket("udp", "127.0.0.1:0"))
	gram := must(net.ListenPacket("unixgram", p.Gram))
	t.Cleanup(func() {
		for _, l := range unixes {
			_ = l.Close()
		}
		_, _ = udp.Close(), gram.Close()
	})
	p.TCP, p.UDP = tcp.Addr().String(), udp.LocalAddr().String()
	if master, terminal, err := pty.Open(); err == nil { // some systems have none
		t.Cleanup(func() { _, _ = master.Close(), terminal.Close() })
		var st unix.Stat_t
		must(0, unix.Fstat(int(terminal.Fd()), &st))
		p.Terminal, p.TerminalDevice = terminal.Name(), st.Dev
	}
	return p
}

// attacker is the spec of a plugin that may write to the inside.
func attacker(p attackTargets, box sandbox.Spec) Spec {
	spec := fixture("attacker", "attacker")
	if box.Write == nil {
		box.Write = []string{p.Inside}
	}
	spec.Env["PREY"], spec.Sandbox = string(must(json.Marshal(p))), box
	return spec
}

// worksUnconfined returns the attacks that work without any sandbox on this machine, as this user.
func worksUnconfined(t *testing.T, p attackTargets) map[string]bool {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "FIXTURE=attacks", "TMPDIR="+p.Inside, "PREY="+string(must(json.Marshal(p))))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	said, works := map[string]string{}, map[string]bool{}
	must(0, json.Unmarshal(out, &said))
	for name, problem := range said {
		works[name] = problem == ""
	}
	return works
}

func init() {
	fixtures["attacks"] = func() {
		var p attackTargets
		must(0, json.Unmarshal([]byte(os.Getenv("PREY")), &p))
		out := map[string]string{}
		for name, attack := range attacks {
			out[name] = message(attack(p))
		}
		must(0, json.NewEncoder(os.Stdout).Encode(out))
	}
}

// Each attack is tried at each level, with process namespaces and without. An attack that does not even work without
// a sandbox, on this machine and as this user, works at no level; where the machine lacks what a level needs, the
// reached level must hold.
func TestAttacks(t *testing.T) {
	free := worksUnconfined(t, makeAttackTargets(t))
	for _, level := range allLevels {
		t.Run(string(level), func(t *testing.T) {
			attackAt(t, sandbox.Spec{Level: level}, proctree.DetectCapabilities().Namespaces,
				free)
		})
		t.Run(string(level)+" by a confiner", func(t *testing.T) { // a limit of memory needs one
			attackAt(t, sandbox.Spec{Level: level, Limits: sandbox.Limits{Memory: 1 << 40}},
				proctree.DetectCapabilities().Namespaces, free)
		})
		t.Run(string(level)+" without namespaces",
			func(t *testing.T) { attackAt(t, sandbox.Spec{Level: level}, false, free) })
	}
}

func attackAt(t *testing.T, box sandbox.Spec, namespaces bool, free map[string]bool) {
	p, s, m := makeAttackTargets(t), supervisor(t), proctree.DetectCapabilities()
	m.Namespaces = namespaces
	s.capabilities = func() proctree.Capabilities { return m }
	proc := add(t, s, attacker(p, box))
	var said map[string]string
	must(0, json.Unmarshal([]byte(mustCall(t, proc, "attack", "")), &said))
	got, tried := proc.Status().Sandbox.Effective, proc.Status().Sandbox.Effective
	if !namespaces && box.Level.AtLeast(sandbox.Confined) && m.Landlock > 0 && m.Seccomp {
		tried = box.Level // most of it holds anyway, which is not enough for the level
		if got != sandbox.Supervised {
			t.Errorf("without namespaces it is called %s", got)
		}
	}
	for name := range attacks {
		h, known := holdings[name]
		if !known {
			t.Errorf("%s: no row says at which levels it works", name)
		}
		if !namespaces {
			h = withoutNamespaces(name, h)
		}
		if want, works := h.at(tried) && free[name], said[name] == ""; want != works {
			t.Errorf("%s at %s: works: %t, want %t (%s)", name, tried, works, want, said[name])
		}
	}
}

// withoutNamespaces says at which levels an attack works where there are no namespaces.
func withoutNamespaces(name string, h holding) holding {
	switch name {
	case "hook inside":
		return always
	case "priority of the host": // it takes root's capabilities
		return holding{true, os.Geteuid() != 0, os.Geteuid() != 0}
	case "chmod outside", "fchmod outside", "fchmodat2 outside", "chmod by /proc", "chown outside", "lchown outside",
		"times outside",
		"old times outside", "attribute outside", "attribute removed", "attribute by a call of 2024", "access list outside",
		"flags outside", "folder's mode outside", "hook's mode":
		return reach // a filter refuses them all at isolated
	case "chmod inside", "times inside", "chmod in TMPDIR":
		return reach
	case "x32", // the filter that keeps limits cannot distinguish its calls
		"terminal",      // it would be one of its user's
		"shared memory": // others have theirs in it
		return touch
	}
	return h
}

// Properties of every level from Supervised on.
func TestEveryLevel(t *testing.T) {
	leak := must(syscall.Open(makeAttackTargets(t).Secret, syscall.O_RDONLY, 0)) // not closed on exec
	defer syscall.Close(leak)
	t.Setenv("SECRET_TOKEN", "s3cret")
	known := strings.Fields("PATH HOME USER LOGNAME LANG TZ TMPDIR TERM XDG_STATE_HOME FIXTURE PREY GORACE " +
		"PLUGIN_UNIX_SOCKET_DIR " +
		"PLUGIN_MIN_PORT PLUGIN_MAX_PORT " +
		"PLUGIN_PROTOCOL_VERSIONS TOOLHOST_PLUGIN TOOLHOST_LIFELINE TOOLHOST_HOST_PID TOOLHOST_KEEP_DIR TOOLHOST_INSTANCE " +
		"TOOLHOST_STATE_DIR " +
		"PROCTREE_ID")
	for _, level := range allLevels {
		for _, memory := range []int64{0, 1 << 30} { // they have a confiner
			t.Run(fmt.Sprintf("%s %d", level, memory), func(t *testing.T) {
				p := makeAttackTargets(t)
				proc := add(t, supervisor(t),
					attacker(p, sandbox.Spec{Level: level, Limits: sandbox.Limits{Memory: memory, Files: 512, FileSize: 1 << 20}}))
				var f self
				must(0, json.Unmarshal([]byte(mustCall(t, proc, "facts", "")), &f))
				f.check(t, level, memory, known)
				if out := mustCall(t, proc, "run",
					fmt.Sprintf("cd %s; head -c 2000000 /dev/zero > big; stat -c %%s big", p.Inside)); !strings.Contains(out,
					"1048576") {
					t.Errorf("a file of 2 MB: %s", out)
				}
			})
		}
	}
}

func (f *self) check(t *testing.T, level sandbox.Level, memory int64, known []string) {
	t.Helper()
	var own syscall.Rlimit
	must(0, syscall.Getrlimit(syscall.RLIMIT_DATA, &own))
	if memory > 0 {
		own.Max = min(own.Max, uint64(memory))
	}
	if f.Umask != umask() || f.Core != 0 || f.Files != 512 || f.File != 1<<20 || f.Memory != own.Max || !f.NoNewPrivs {
		t.Errorf("umask and limits: %+v", f)
	}
	if f.Admin && level != sandbox.Supervised {
		t.Error("it may administer the system")
	}
	if len(f.Foreign) > 0 {
		t.Errorf("it has files of ours: %v", f.Foreign)
	}
	for _, name := range f.Environment {
		if !slices.Contains(known, name) && !strings.HasPrefix(name, "LC_") {
			t.Errorf("it has the variable %s", name)
		}
	}
}

func TestDefaultLimits(t *testing.T) {
	var own syscall.Rlimit
	must(0, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &own))
	var f self
	must(0, json.Unmarshal([]byte(mustCall(t, add(t, supervisor(t), attacker(makeAttackTargets(t), sandbox.Spec{})),
		"facts", "")),
		&f))
	if f.Files != min(sandbox.DefaultFiles, own.Max) || f.File != sandbox.DefaultFileSize {
		t.Errorf("%+v", f)
	}
}

// umask is the umask of this process.
func umask() int {
	ours := syscall.Umask(0o022)
	syscall.Umask(ours)
	return ours
}

// Files get the same modes as the user's other files, at every level, unless they are to be private.
func TestFilesGetTheUsersUmask(t *testing.T) {
	ours := syscall.Umask(0o027)
	defer syscall.Umask(ours)
	for _, level := range allLevels {
		for private, want := range map[bool]string{false: "640 750\n", true: "600 700\n"} {
			p := makeAttackTargets(t)
			proc := add(t, supervisor(t), attacker(p, sandbox.Spec{Level: level, PrivateFiles: private}))
			if out := mustCall(t, proc, "run", "cd "+p.Inside+
				" && echo x > new && mkdir newer && stat -c %a new newer | tr '\\n' ' ' | sed 's/ $//'; echo"); out != want {
				t.Errorf("%s, private %t: %q, want %q", level, private, out, want)
			}
		}
	}
}

// network = false removes the network at every level, and network = true gives it to an isolated plugin.
func TestNetwork(t *testing.T) {
	free := worksUnconfined(t, makeAttackTargets(t))
	for _, level := range allLevels {
		for _, network := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s %t", level, network), func(t *testing.T) {
				proc := add(t, supervisor(t), attacker(makeAttackTargets(t), sandbox.Spec{Level: level, Network: &network}))
				var said map[string]string
				must(0, json.Unmarshal([]byte(mustCall(t, proc, "attack", "")), &said))
				open := proc.Status().Sandbox.Network
				if open != (network || !proctree.DetectCapabilities().Seccomp) {
					t.Errorf("the status says %t of the network", open)
				}
				for _, name := range []string{"tcp", "tcp listen", "udp", "mptcp", "netlink", "vsock"} {
					if want := open && free[name]; (said[name] == "") != want {
						t.Errorf("%s: works: %t, want %t (%s)", name, said[name] == "", want, said[name])
					}
				}
				for _, name := range []string{"own unix socket", "own socket pair", "write inside"} {
					if said[name] != "" {
						t.Errorf("%s: %s", name, said[name])
					}
				}
			})
		}
	}
}

// Ordinary programs work in a confined plugin's folders.
func TestProgramsInside(t *testing.T) {
	scripts := map[string]string{
		"bash": `echo "$(cat <<< text)" > bash.txt && cat <(cat bash.txt)`,
		"git": `git init -q repo && cd repo && echo x > f && git add f && git -c user.name=a -c user.email=a@b commit ` +
			`-qm one && git log --oneline && git checkout -q -b two && git mv f g`,
		"python3": `python3 -c 'import subprocess, tempfile; t = tempfile.NamedTemporaryFile(); ` +
			`print(subprocess.check_output(["/bin/echo", "text"]).decode())'`,
	}
	p := makeAttackTargets(t)
	proc := add(t, supervisor(t), attacker(p, sandbox.Spec{Level: sandbox.Confined}))
	for program, script := range scripts {
		if exec.Command(program, "--version").Run() != nil {
			t.Logf("there is no %s here", program)
			continue
		}
		cmd := exec.Command(program, "-c", "cd "+p.Inside+" && "+script)
		if program != "bash" {
			script = "cd " + p.Inside + " && " + script
		} else {
			script = strings.Join(cmd.Args[:2], " ") + " '" + cmd.Args[2] + "'"
		}
		if out := mustCall(t, proc, "run", script+" && echo worked"); !strings.HasSuffix(out, "worked\n") {
			t.Errorf("%s: %s", program, out)
		}
	}
}

// A plugin may be a script with an interpreter.
func TestScriptPlugin(t *testing.T) {
	for _, level := range allLevels {
		t.Run(string(level), func(t *testing.T) {
			dir := shortDir(t)
			script := filepath.Join(dir, "plugin")
			must(0, os.WriteFile(script, fmt.Appendf(nil, "#!/bin/sh\nexec %s \"$@\"\n", os.Args[0]), 0o755))
			spec := fixture("good", "good")
			spec.Command, spec.Sandbox = []string{script, "an argument"},
				sandbox.Spec{Level: level, Read: []string{filepath.Dir(os.Args[0])}}
			if got := mustCall(t, add(t, supervisor(t), spec), "echo", "hello"); got != "hello" {
				t.Errorf("it answered %q", got)
			}
		})
	}
}

// With /dev/pts among its folders a confined plugin has terminals.
func TestTerminalsAreGranted(t *testing.T) {
	if !worksUnconfined(t, makeAttackTargets(t))["terminal"] {
		t.Log("this user has no terminals at all")
		return
	}
	p := makeAttackTargets(t)
	proc := add(t, supervisor(t), attacker(p, sandbox.Spec{Write: []string{p.Inside, "/dev/pts"}}))
	var said map[string]string
	must(0, json.Unmarshal([]byte(mustCall(t, proc, "attack", "")), &said))
	if said["terminal"] != "" {
		t.Error(said["terminal"])
	}
}

func TestNewPrivileges(t *testing.T) {
	proc := add(t, supervisor(t),
		attacker(makeAttackTargets(t), sandbox.Spec{Level: sandbox.Supervised, NewPrivileges: true}))
	var f self
	must(0, json.Unmarshal([]byte(mustCall(t, proc, "facts", "")), &f))
	if f.NoNewPrivs {
		t.Error("sudo cannot work")
	}
}

// The error of a plugin that dies of a refused access says what the sandbox allows.
func TestHint(t *testing.T) {
	t.Setenv("HOME", shortDir(t))
	p := makeAttackTargets(t)
	proc := add(t, supervisor(t), attacker(p, sandbox.Spec{Level: sandbox.Confined}))
	_, err := call(t, proc, "give-up", "")
	words := []string{"read-only file system", `sandbox level "confined"`, p.Inside, "write = "}
	if proctree.DetectCapabilities().Landlock == 0 {
		words = []string{"exited with code 3"}
	}
	checkError(t, err, sdk.CodePluginCrashed, words...)
	proc = add(t, supervisor(t), attacker(p, sandbox.Spec{Level: sandbox.Supervised}))
	_, err = call(t, proc, "give-up", "")
	if err == nil || strings.Contains(err.Error(), "sandbox") {
		t.Errorf("a plugin that may write: %v", err)
	}
}

// A plugin that requires more than the machine has is not run; one that does not is run, and its status says what is
// missing.
func TestMachinesBelowTheLevel(t *testing.T) {
	mark := filepath.Join(shortDir(t), "ran")
	for name, c := range map[string]struct {
		lack    func(*proctree.Capabilities)
		level   sandbox.Level
		require sandbox.Level
		got     sandbox.Level // "" for no start
		works   string
	}{
		"no Landlock": {func(m *proctree.Capabilities) { m.Landlock = 0 }, sandbox.Confined, "", sandbox.Supervised,
			"abstract socket"},
		"no Landlock, required": {func(m *proctree.Capabilities) { m.Landlock = 0 }, sandbox.Confined, sandbox.Confined, "",
			""},
		"the fifth Landlock": {func(m *proctree.Capabilities) { m.Landlock, m.Namespaces = min(m.Landlock, 5), false },
			sandbox.Confined, "", sandbox.Supervised, "signal the host"},
		"no namespaces": {func(m *proctree.Capabilities) { m.Namespaces = false }, sandbox.Isolated, "",
			sandbox.Supervised, "hook inside"},
		"no namespaces, required": {func(m *proctree.Capabilities) { m.Namespaces = false }, sandbox.Isolated,
			sandbox.Isolated,
			"", ""},
		"no namespaces, less required": {func(m *proctree.Capabilities) { m.Namespaces = false }, sandbox.Isolated,
			sandbox.Confined,
			"", ""},
		"no mounts": {func(m *proctree.Capabilities) { m.NoReadOnlyMounts = true }, sandbox.Confined, "",
			sandbox.Supervised, "chmod outside"},
		"no filters": {func(m *proctree.Capabilities) { m.Seccomp = false }, sandbox.Isolated, "",
			sandbox.Supervised, "udp"},
		"no filters, required": {func(m *proctree.Capabilities) { m.Seccomp = false }, sandbox.Isolated, sandbox.Isolated,
			"", ""},
		// the network is open
		"no filters, required: less": {func(m *proctree.Capabilities) { m.Seccomp, m.Landlock = false, 0 }, sandbox.Isolated,
			sandbox.Supervised, "", ""},
		"no Landlock, but filters": {func(m *proctree.Capabilities) { m.Landlock = 0 }, sandbox.Isolated, "",
			sandbox.Supervised,
			"read outside"},
		"nothing, and nothing asked of": {func(m *proctree.Capabilities) { m.Landlock, m.Seccomp = 0, false },
			sandbox.Supervised,
			sandbox.Supervised, sandbox.Supervised, "udp"},
	} {
		t.Run(name, func(t *testing.T) {
			s, m := supervisor(t), proctree.DetectCapabilities()
			c.lack(&m)
			s.capabilities = func() proctree.Capabilities { return m }
			spec := attacker(makeAttackTargets(t), sandbox.Spec{Level: c.level, Require: c.require})
			if c.got == "" {
				spec.Command = []string{"/bin/sh", "-c", "touch " + mark}
			}
			p := add(t, s, spec)
			out, err := call(t, p, "attack", "")
			if c.got == "" {
				checkError(t, err, sdk.CodePluginUnavailable, "it requires")
				if p.Status().State != Invalid {
					t.Errorf("the state is %s", p.Status().State)
				}
				return
			}
			var said map[string]string
			if err != nil || json.Unmarshal([]byte(out), &said) != nil {
				t.Fatal(err)
			}
			if box := p.Status().Sandbox; box.Effective != c.got || said[c.works] != "" || box.Effective != box.Requested &&
				len(box.Missing) == 0 {
				t.Errorf("the status says %+v, and %s: %q", box, c.works, said[c.works])
			}
		})
	}
	if _, err := os.Stat(mark); !errors.Is(err, os.ErrNotExist) {
		t.Error("a program was run")
	}
}

// A sandbox that cannot be set up is reported as such.
func TestSandboxThatCannotBeSetUp(t *testing.T) {
	s := supervisor(t)
	if proctree.DetectCapabilities().Landlock == 0 {
		t.Log("nothing can fail here that this test knows of")
		return
	}
	_, err := call(t, add(t, s,
		Spec{Name: "x", Command: []string{"/bin/true"},
			Sandbox: sandbox.Spec{Level: sandbox.Isolated, Read: []string{"/etc/passwd/x"}}}), "x", "")
	checkError(t, err, sdk.CodePluginUnavailable, "its sandbox cannot be set up", "/etc/passwd/x", "ENOTDIR")
}

// A start that requires more than there is fails, and nothing is run.
func TestRefusedStarts(t *testing.T) {
	mark := filepath.Join(shortDir(t), "ran")
	toucher := func(box sandbox.Spec) Spec {
		return Spec{Name: "toucher", Command: []string{"/bin/sh", "-c", "touch " + mark}, Sandbox: box}
	}
	for name, c := range map[string]struct {
		spec  Spec
		words string
	}{
		"a folder to write to is missing": {toucher(sandbox.Spec{Write: []string{"/proc/nowhere/at/all"}}),
			"/proc/nowhere/at/all, which is not there"},
		"no wrapper": {toucher(sandbox.Spec{Wrapper: []string{"no-such-wrapper"}}),
			"no-such-wrapper cannot be run"},
		"no program": {Spec{Name: "x", Command: []string{"/bin/sh/x"}}, "/bin/sh/x"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := call(t, add(t, supervisor(t), c.spec), "x", "")
			if err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("got %v, want words %q", err, c.words)
			}
		})
	}
	if _, err := os.Stat(mark); !errors.Is(err, os.ErrNotExist) {
		t.Error("the program was run")
	}
}

// A missingFeature is something that a real kernel, or a container on it, refuses: which system calls, and with what
// error. A refusal of clone is one of new namespaces only.
type missingFeature struct {
	calls []uint32
	errno syscall.Errno
}

// missingFeatures are those that the test's machines combine.
var missingFeatures = map[string]missingFeature{
	"namespaces": {[]uint32{unix.SYS_UNSHARE, unix.SYS_CLONE, unix.SYS_CLONE3, unix.SYS_SETNS}, unix.EPERM},
	"landlock": {[]uint32{unix.SYS_LANDLOCK_CREATE_RULESET, unix.SYS_LANDLOCK_ADD_RULE, unix.SYS_LANDLOCK_RESTRICT_SELF},
		unix.ENOSYS},
	"mounts":  {[]uint32{unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT}, unix.EPERM},
	"filters": {[]uint32{unix.SYS_SECCOMP, unix.SYS_PRCTL}, unix.EINVAL},
	// Refusals that a probe of the kernel does not find, and only a start does.
	"mount":              {[]uint32{unix.SYS_MOUNT}, unix.EPERM},
	"move_mount":         {[]uint32{unix.SYS_MOVE_MOUNT}, unix.EPERM},
	"open_tree":          {[]uint32{unix.SYS_OPEN_TREE}, unix.EPERM},
	"clone3 alone":       {[]uint32{unix.SYS_CLONE3}, unix.ENOSYS},
	"landlock, at last":  {[]uint32{unix.SYS_LANDLOCK_RESTRICT_SELF}, unix.EPERM},
	"filters, at last":   {[]uint32{unix.SYS_PRCTL}, unix.EPERM},
	"openat2, as it was": {[]uint32{unix.SYS_OPENAT2}, unix.ENOSYS},
}

const newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID |
	unix.CLONE_NEWNET | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// refuse makes the kernel refuse this process, and all that it starts, what the machine lacks.
func refuse(names []string) error {
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}}
	when := func(number uint32, errno syscall.Errno, argument, bits uint32, equal bool) {
		compare := uint16(unix.BPF_JSET)
		if equal {
			compare = unix.BPF_JEQ
		}
		filter = append(filter,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: number, Jf: 4},
			unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 16 + 8*argument},
			unix.SockFilter{Code: unix.BPF_JMP | compare | unix.BPF_K, K: bits, Jf: 1},
			unix.SockFilter{Code: unix.BPF_RET, K: unix.SECCOMP_RET_ERRNO | uint32(errno)},
			unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS})
	}
	for _, name := range names {
		l := missingFeatures[name]
		for _, call := range l.calls {
			switch call {
			case unix.SYS_CLONE:
				when(call, l.errno, 0, newNamespaces, false)
			case unix.SYS_PRCTL:
				when(call, l.errno, 0, unix.PR_SET_SECCOMP, true)
			case unix.SYS_CLONE3: // libraries use clone then
				filter = append(filter, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: call, Jf: 1},
					unix.SockFilter{Code: unix.BPF_RET, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)})
			default:
				filter = append(filter, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: call, Jf: 1},
					unix.SockFilter{Code: unix.BPF_RET, K: unix.SECCOMP_RET_ERRNO | uint32(l.errno)})
			}
		}
	}
	filter = append(filter, unix.SockFilter{Code: unix.BPF_RET, K: unix.SECCOMP_RET_ALLOW})
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return errnoOf(syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program))))
}

// A verdict is the result of a plugin on such a machine.
type verdict struct {
	Box    *sandbox.Confinement
	Said   map[string]string // of the attacks
	Err    string            // of the plugin that requires nothing
	Strict string            // of one that requires the level it asks for
	Log    string
	Told   sandbox.Confinement // as doctor reports it
}

func init() { fixtures["lesser host"] = runWeakHost }

// runWeakHost is a host on a machine that lacks LACKS. It probes the machine before its first start, or not.
func runWeakHost() {
	if names := os.Getenv("LACKS"); names != "" {
		must(0, refuse(strings.Split(names, "+")))
	}
	if os.Getenv("LOOKS") != "" {
		proctree.DetectCapabilities()
	}
	var p attackTargets
	must(0, json.Unmarshal([]byte(os.Getenv("PREY")), &p))
	p.Host = os.Getpid()
	var log bytes.Buffer
	o := Options{RunDir: os.Getenv("RUN"), Workdir: p.Inside, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	s := must(New(o))
	level := sandbox.Level(os.Getenv("LEVEL"))
	spec := attacker(p, sandbox.Spec{Level: level})
	loose := must(s.Add(spec))
	var v verdict
	r, err := loose.Call(context.Background(), request("attack", ""))
	if v.Err, v.Box = message(err), loose.Status().Sandbox; err == nil {
		must(0, json.Unmarshal([]byte(r.Content[0].Text), &v.Said))
	}
	strict := Spec{Name: "strict", Command: []string{"/bin/sh", "-c", "touch " + os.Getenv("MARK")},
		StartTimeout: patience, Sandbox: sandbox.Spec{Level: level, Require: level}}
	_, err = must(s.Add(strict)).Call(context.Background(), request("x", ""))
	v.Strict = message(err)
	v.Told, _ = o.Confine(spec, proctree.DetectCapabilities())
	must(0, s.Close())
	v.Log = log.String()
	must(0, json.NewEncoder(os.Stdout).Encode(v))
	os.Exit(0)
}

// On machines that lack things, in whatever combination, a plugin can do nothing that its reported level forbids; one
// that requires the level is not run; and each start reports what is missing.
func TestMachinesWithMissingFeatures(t *testing.T) {
	if reached(sandbox.Isolated) != sandbox.Isolated {
		t.Logf("this machine lacks things itself: it reaches %s", reached(sandbox.Isolated))
		return
	}
	main := []string{"namespaces", "landlock", "mounts", "filters"}
	var machines []string
	for set := range 1 << len(main) {
		var names []string
		for i, name := range main {
			if set&(1<<i) != 0 {
				names = append(names, name)
			}
		}
		machines = append(machines, strings.Join(names, "+"))
	}
	for name := range missingFeatures {
		if !slices.Contains(main, name) {
			machines = append(machines, name)
		}
	}
	drawn := 0
	for _, machine := range machines {
		for i, level := range []sandbox.Level{sandbox.Confined, sandbox.Isolated} {
			for _, looks := range []string{"", "yes"} {
				if slices.Contains(machines[:1<<len(main)], machine) && (looks == "") != (i == strings.Count(machine, "+")%2) {
					continue // half of them are enough
				}
				if drawn++; testing.Short() && drawn%3 != 0 {
					continue
				}
				t.Run(fmt.Sprintf("%s, %s, %s", machine, level, looks), func(t *testing.T) {
					t.Parallel()
					v, mark := onMachine(t, machine, level, looks)
					v.check(t, machine, level)
					if !missing(mark) && v.Box.Effective != level {
						t.Error("a plugin that requires what it cannot have was run")
					}
				})
			}
		}
	}
}

func onMachine(t *testing.T, machine string, level sandbox.Level, looks string) (v verdict, mark string) {
	t.Helper()
	mark = filepath.Join(shortDir(t), "ran")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "FIXTURE=lesser host", "RUN="+shortDir(t), "LACKS="+machine, "LEVEL="+string(level),
		"LOOKS="+looks, "MARK="+mark,
		"PREY="+string(must(json.Marshal(makeAttackTargets(t)))))
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil || json.Unmarshal(out, &v) != nil {
		t.Fatalf("%v: %s%s", err, out, errors.String())
	}
	return v, mark
}

// notRefused are machines where the refused calls are not needed, and lateRefusals those whose probe of the kernel
// promises what a start does not get: it fails then.
var (
	notRefused   = []string{"", "clone3 alone"}
	lateRefusals = []string{"landlock, at last", "filters, at last", "openat2, as it was"}
)

func (v verdict) check(t *testing.T, machine string, level sandbox.Level) {
	t.Helper()
	switch whole := slices.Contains(notRefused, machine); {
	case slices.Contains(lateRefusals, machine):
		if v.Err == "" || !strings.Contains(v.Err, "sandbox cannot be set up") || len(v.Said) > 0 {
			t.Errorf("it was run: %q, %+v", v.Err, v.Box)
		}
		return
	case v.Err != "" || v.Box == nil:
		t.Fatalf("it was not run: %s", v.Err)
	case whole && (v.Box.Effective != level || strings.Contains(v.Strict, "requires")):
		t.Errorf("it has %+v; %s", v.Box, v.Strict)
	case !whole && (v.Box.Effective != sandbox.Supervised || len(v.Box.Missing) == 0):
		t.Errorf("it is said to have %+v", v.Box)
	case !whole && (!strings.Contains(v.Strict, "it requires the sandbox level") ||
		!strings.Contains(v.Strict, "the plugin can ")):
		t.Errorf("one that requires more hears %s", v.Strict)
	case !whole && (!strings.Contains(v.Log, "level=WARN") ||
		!strings.Contains(v.Log, "lower sandbox level than requested")):
		t.Errorf("the log says %s", v.Log)
	}
	if v.Told.Effective != v.Box.Effective || !slices.Equal(v.Told.Missing, v.Box.Missing) {
		t.Errorf("doctor says %+v, status %+v", v.Told, v.Box)
	}
	for name, problem := range v.Said {
		if problem == "" && !holdings[name].at(v.Box.Effective) {
			t.Errorf("%s works at %s, which keeps it from that", name, v.Box.Effective)
		}
	}
}

func init() { fixtures["refused"] = runRefused }

// runRefused is a host that starts confined plugins without having probed the machine, and prints the results.
func runRefused() {
	s := must(New(Options{RunDir: os.Getenv("RUN")}))
	for _, name := range []string{"first", "second"} {
		spec := fixture(name, "good")
		spec.Sandbox.Level = sandbox.Confined
		p := must(s.Add(spec))
		_ = must(p.Call(context.Background(), request("echo", "")))
		fmt.Println(string(must(json.Marshal(p.Status().Sandbox))), p.Status().Containment)
	}
	must(0, s.Close())
	os.Exit(0)
}

// The first start finds out whether there are namespaces: where they are refused, the plugin is started without, and
// its status has the remaining level, as on a machine that is known to have none.
func TestFirstStartDetectsNamespaces(t *testing.T) {
	for name, refuse := range map[string]proctree.Sandbox{"as it is": {},
		"refused": {NoNewPrivileges: true, NoRareCalls: true}} {
		t.Run(name, func(t *testing.T) {
			m, containment := proctree.DetectCapabilities(), "pid-namespace"
			if refuse.NoRareCalls && !m.Seccomp {
				t.Log("nothing refuses here")
				refuse = proctree.Sandbox{}
			}
			if m.Namespaces = m.Namespaces && !refuse.NoRareCalls; !m.Namespaces {
				containment = "process-tree"
			}
			var out bytes.Buffer
			c := proctree.Cmd{Path: os.Args[0], Env: append(os.Environ(), "FIXTURE=refused", "RUN="+shortDir(t)), Stdout: &out,
				Stderr: &out, Sandbox: refuse}
			if exit, err := c.Run(t.Context()); err != nil || exit.Code != 0 {
				t.Fatalf("%v, %v: %s", exit, err, out.String())
			}
			lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
			want := must(Options{}.Confine(Spec{Sandbox: sandbox.Spec{Level: sandbox.Confined}}, m))
			for _, line := range lines {
				text, contained, _ := bytes.Cut(line, []byte("} "))
				var got sandbox.Confinement
				if err := json.Unmarshal(append(slices.Clone(text), '}'), &got); err != nil || string(contained) != containment {
					t.Fatalf("%s: %v", line, err)
				}
				if got.Effective != want.Effective || len(got.Missing) != len(want.Missing) {
					t.Errorf("got %+v, want %+v", got, want)
				}
			}
			if len(lines) != 2 {
				t.Errorf("it says %s", out.String())
			}
		})
	}
}

// A discovery by a concurrent start does not change the machine in the middle of this one.
func TestStartProbesTheMachineOnce(t *testing.T) {
	s, looks := supervisor(t), 0
	s.capabilities = func() proctree.Capabilities {
		looks++
		return proctree.Capabilities{Sandbox: true, NoNewPrivs: true, Landlock: 7, Seccomp: true, Namespaces: looks == 1}
	}
	spec := fixture("good", "good")
	spec.Sandbox = sandbox.Spec{Write: []string{shortDir(t)}}
	how, err := s.prepareSandbox(spec, sandbox.Program{Path: os.Args[0], Temp: t.TempDir()}, s.specs())
	cmd := how.Command("")
	box := cmd.Sandbox
	if err != nil || looks != 1 || !box.Namespaces || !box.NoInterference ||
		!slices.Contains(box.Write, sandbox.SharedMemory) {
		t.Errorf("after %d looks: %v, %+v", looks, err, box)
	}
}

// bubblewrap returns a command that lets the plugin write to the inside alone, and whether it is the real bwrap:
// otherwise it is a script that only does what every wrapper must.
func bubblewrap(t *testing.T, p attackTargets) (command []string, genuine bool) {
	t.Helper()
	if path, err := exec.LookPath("bwrap"); err == nil {
		bwrap := []string{"bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc",
			"/proc",
			"--bind", p.Inside, p.Inside, "--bind", "{tmp_dir}", "{tmp_dir}", "--bind", "{socket_dir}", "{socket_dir}", "--"}
		if exec.Command(path, "--unshare-all", "--ro-bind", "/", "/", "true").Run() == nil {
			return bwrap, true
		}
	}
	script := filepath.Join(shortDir(t), "wrapper")
	must(0, os.WriteFile(script, []byte("#!/bin/sh\ntest -d \"$1\" -a -d \"$2\" && shift 2 && exec \"$@\"\n"), 0o755))
	return []string{script, "{tmp_dir}", "{socket_dir}"}, false
}

func TestWrapper(t *testing.T) {
	p := makeAttackTargets(t)
	wrapper, genuine := bubblewrap(t, p)
	proc := add(t, supervisor(t), attacker(p, sandbox.Spec{Wrapper: wrapper}))
	var said map[string]string
	must(0, json.Unmarshal([]byte(mustCall(t, proc, "attack", "")), &said))
	if s := proc.Status().Sandbox; s.Effective != sandbox.Container || s.Wrapper != wrapper[0] {
		t.Errorf("the status says %+v", s)
	}
	for _, name := range []string{"write inside", "write to TMPDIR", "own unix socket", "run a shell"} {
		if said[name] != "" {
			t.Errorf("%s: %s", name, said[name])
		}
	}
	for _, name := range []string{"create outside", "overwrite outside", "chmod outside", "tcp", "signal the host",
		"abstract socket"} {
		if worked := said[name] == ""; worked == genuine {
			t.Errorf("%s: worked: %t with the real bwrap: %t (%s)", name, worked, genuine, said[name])
		}
	}
	var f self
	must(0, json.Unmarshal([]byte(mustCall(t, proc, "facts", "")), &f))
	if f.Umask != umask() || f.Core != 0 || f.Files > sandbox.DefaultFiles || !f.NoNewPrivs {
		t.Errorf("what holds at every level does not around a wrapper: %+v", f)
	}
}

// A requested level also holds around the wrapper.
func TestWrapperWithinALevel(t *testing.T) {
	p := makeAttackTargets(t)
	proc := add(t, supervisor(t),
		attacker(p, sandbox.Spec{Level: sandbox.Confined, Wrapper: []string{"/usr/bin/env", "MORE=1"}}))
	var said map[string]string
	must(0, json.Unmarshal([]byte(mustCall(t, proc, "attack", "")), &said))
	if s := proc.Status().Sandbox; s.Requested != sandbox.Confined || s.Wrapper != "/usr/bin/env" {
		t.Errorf("the status says %+v", s)
	}
	if holds := proctree.DetectCapabilities().Landlock > 0; (said["create outside"] == "") == holds {
		t.Errorf("with Landlock: %t; outside: %q", holds, said["create outside"])
	}
}

// The process that embeds the host is not changed: neither its signals, its children, its mask, its limits nor its
// environment.
func TestEmbedderIsNotChanged(t *testing.T) {
	for _, l := range levels {
		h := hostFixture(t, "FIXTURE=embedder", "RUN="+shortDir(t), "LEVEL="+string(l))
		if got := h.line(t); got != "as before" {
			t.Errorf("%s: %s", l, got)
		}
		_ = h.cmd.Wait()
	}
}

// runEmbedder compares itself before and after it has run plugins, one of which was killed. The caught signals are
// compared from the second host on: the runtime sets up some of its own once, such as the one that wakes threads.
func runEmbedder() {
	child := exec.Command("sh", "-c", "exit 7")
	if err := child.Start(); err != nil {
		panic(err)
	}
	before := condition()
	_ = runPlugins(sandbox.Supervised)
	caught := caughtSignals()
	pids := runPlugins(sandbox.Level(os.Getenv("LEVEL")))
	after := condition()
	err := child.Wait()
	switch {
	case before != after:
		fmt.Printf("%q became %q\n", before, after)
	case caughtSignals() != caught:
		fmt.Printf("%q became %q\n", caught, caughtSignals())
	case err == nil || err.Error() != "exit status 7":
		fmt.Printf("its child was reaped by somebody: %v\n", err)
	case unix.Kill(pids, 0) == nil:
		fmt.Println("the plugin is there")
	default:
		fmt.Println("as before")
	}
}

// runPlugins runs a plugin, has it killed, runs it again, and returns the last pid.
func runPlugins(l sandbox.Level) int {
	s := must(New(Options{RunDir: os.Getenv("RUN")}))
	spec := fixture("good", "good")
	spec.Sandbox.Level = l
	p := must(s.Add(spec))
	_, _ = p.Call(context.Background(), request("die", "it"))
	_ = must(p.Call(context.Background(), request("echo", "")))
	pid := p.Status().PID
	if err := s.Close(); err != nil {
		panic(err)
	}
	return pid
}

// caughtSignals are those that the process handles.
func caughtSignals() string {
	_, rest, _ := strings.Cut(string(must(os.ReadFile("/proc/self/status"))), "SigCgt:")
	mask, _, _ := strings.Cut(rest, "\n")
	return "caught" + mask
}

// condition is the state of a process that a host could change.
func condition() string {
	var out []string
	status := must(os.ReadFile("/proc/self/status"))
	for line := range strings.Lines(string(status)) {
		for _, key := range []string{"SigBlk", "SigIgn", "Umask", "NoNewPrivs", "Cap", "Seccomp:"} {
			if strings.HasPrefix(line, key) {
				out = append(out, strings.TrimSpace(line))
			}
		}
	}
	var subreaper int32
	_ = unix.Prctl(unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&subreaper)), 0, 0, 0)
	out = append(out, fmt.Sprint("subreaper ", subreaper), string(must(os.ReadFile("/proc/self/limits"))),
		strings.Join(os.Environ(), "\n"))
	out = append(out, must(os.Readlink("/proc/self/ns/pid")), must(os.Getwd()), fmt.Sprint(syscall.Getpgrp()))
	return strings.Join(out, "; ")
}
