package winetest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// limit is for whatever is awaited.
const limit = time.Minute

// bin has the programs.
var bin string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if os.Getenv("TOOLHOST_TEST_WINE") != "required" {
		return m.Run() // all are skipped
	}
	var err error
	if bin, err = os.MkdirTemp("", "toolhost-wine-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(bin)
	const module = "github.com/toolhost/toolhost/"
	for file, source := range map[string]string{"toolhost.exe": module + "cmd/toolhost",
		"toolhost-plugin-readfile.exe": module + "plugins/readfile", "toolhost-plugin-edit.exe": module + "plugins/edit",
		"toolhost-plugin-shell.exe": module + "plugins/shell", "toolhost-plugin-probe.exe": "./testdata/probe"} {
		if !build(filepath.Join(bin, file), source, "-tags=toolhost_wine") {
			return 1
		}
	}
	return m.Run()
}

func build(file, source string, flags ...string) bool {
	cmd := exec.Command("go", slices.Concat([]string{"build", "-o", file}, flags, []string{source})...)
	cmd.Env = append(os.Environ(), "GOOS=windows", "GOARCH="+runtime.GOARCH, "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		fmt.Fprintf(os.Stderr, "building %s: %v\n%s", source, err, out)
	}
	return err == nil
}

// A machine is a folder with a configuration, for programs that run under Wine.
type machine struct {
	t   *testing.T
	dir string
}

func newMachine(t *testing.T, config string) *machine {
	t.Helper()
	if bin == "" {
		t.Skip("TOOLHOST_TEST_WINE is not set; see .ci/try-windows")
	}
	m := &machine{t, t.TempDir()}
	m.write("config.hcl", fmt.Sprintf("plugin_dirs = [%q]\n%s", windows(bin), config))
	t.Cleanup(func() { m.awaitNone() })
	return m
}

// windows is a path as Wine has it.
func windows(path string) string { return "Z:" + strings.ReplaceAll(path, "/", `\`) }

func (m *machine) write(name, text string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) wine(program string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(m.t.Context(), limit)
	m.t.Cleanup(cancel)
	wine := "wine64"
	if _, err := exec.LookPath(wine); err != nil {
		wine = "/usr/lib/wine/wine64"
	}
	cmd := exec.CommandContext(ctx, wine, append([]string{windows(filepath.Join(bin, program))}, args...)...)
	cmd.Dir, cmd.WaitDelay = m.dir, 5*time.Second
	cmd.Env = append(os.Environ(), "WINEDEBUG=-all", "HOME="+m.dir)
	return cmd
}

func (m *machine) host(args ...string) *exec.Cmd {
	return m.wine("toolhost.exe", append([]string{"--config", "config.hcl"}, args...)...)
}

// run runs a command to its end.
func (m *machine) run(cmd *exec.Cmd) (output string, code int) {
	m.t.Helper()
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		m.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// want runs a host, whose exit code and output must be so.
func (m *machine) want(code int, texts []string, args ...string) {
	m.t.Helper()
	out, got := m.run(m.host(args...))
	if got != code {
		m.t.Errorf("%q: exit code %d, want %d\n%s", args, got, code, out)
	}
	for _, text := range texts {
		if !strings.Contains(out, text) {
			m.t.Errorf("%q: no %q in\n%s", args, text, out)
		}
	}
}

// processes are those of the programs whose command line has the text.
func (m *machine) processes(text string) (pids []int) {
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		m.t.Fatal(err)
	}
	for _, path := range all {
		line, _ := os.ReadFile(path)
		if bytes.Contains(line, []byte(filepath.Base(bin))) && bytes.Contains(line, []byte(text)) &&
			!bytes.HasPrefix(line, []byte("/")) { // no loader of Wine's that waits for it
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			pids = append(pids, pid)
		}
	}
	return pids
}

func (m *machine) await(what string, done func() bool) {
	m.t.Helper()
	for end := time.Now().Add(limit); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			m.t.Fatalf("waited %s in vain: %s", limit, what)
		}
	}
}

func (m *machine) awaitNone() {
	m.t.Helper()
	m.await("the end of all processes", func() bool { return len(m.processes("")) == 0 })
}

// waiting starts a host with a call that waits in the plugin, beside a process that the plugin has started.
func (m *machine) waiting() (cmd *exec.Cmd, output *bytes.Buffer) {
	m.t.Helper()
	cmd, output = m.host("call", "probe__wait", `{"ready":"ready"}`, "--approve", "always"), &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.await("a call that waits", func() bool {
		_, err := os.Stat(filepath.Join(m.dir, "ready"))
		return err == nil
	})
	if n := len(m.processes("sleep")); n != 1 {
		m.t.Fatalf("%d processes that the plugin has started", n)
	}
	return cmd, output
}

func (m *machine) kill(program string) {
	m.t.Helper()
	pids := m.processes(program)
	pids = slices.DeleteFunc(pids, func(pid int) bool { return slices.Contains(m.processes("sleep"), pid) })
	if len(pids) != 1 {
		m.t.Fatalf("%d processes of %s", len(pids), program)
	}
	if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
		m.t.Fatal(err)
	}
}

// Plugins are found, start and answer; paths may have backslashes, a drive, and lines end as they do.
func TestCallsOnWindows(t *testing.T) {
	m := newMachine(t, "")
	if err := os.Mkdir(filepath.Join(m.dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	m.write(`sub/a.txt`, "one\r\ntwo\r\n")
	m.want(4, []string{"readfile__read", "edit__replace", "probe__wait", "Git for Windows"}, "discover") // no shell here
	for _, path := range []string{"sub/a.txt", `sub\a.txt`, windows(filepath.Join(m.dir, "sub", "a.txt"))} {
		m.want(0, []string{"one", "two"}, "call", "readfile__read", "path="+path)
	}
	m.want(0, nil, "call", "edit__replace", `path=sub\a.txt`, "old_string=two", "new_string=three", "--approve", "always")
	if text, err := os.ReadFile(filepath.Join(m.dir, "sub", "a.txt")); err != nil || string(text) != "one\r\nthree\r\n" {
		t.Errorf("edited: %q, %v", text, err)
	}
	m.want(4, []string{"Git for Windows"}, "call", "shell__exec", "command=ls", "--approve", "always")
}

// Rules hold for a path however it is written, and another stream of a file is no path.
func TestRulesOnWindows(t *testing.T) {
	m := newMachine(t, `policy "project" {
  rule "no-secrets" {
    tools  = ["readfile__*"]
    when   = inside(args.path, "Secrets")
    effect = "deny"
  }
}
`)
	if err := os.Mkdir(filepath.Join(m.dir, "Secrets"), 0o700); err != nil {
		t.Fatal(err)
	}
	m.write("Secrets/a.txt", "hidden")
	m.write("b.txt", "hidden")
	for _, path := range []string{"Secrets/a.txt", `Secrets\a.txt`, `SECRETS\A.TXT`, `x\..\secrets\a.txt`,
		windows(filepath.Join(m.dir, "Secrets", "a.txt"))} {
		m.want(3, []string{"E_DENIED"}, "call", "readfile__read", "path="+path)
	}
	m.want(1, []string{"PathOutsideWorkspace"}, "call", "readfile__read", "path=b.txt::$DATA")
}

// A plugin that was started by hand is joined.
func TestAttachOnWindows(t *testing.T) {
	m := newMachine(t, "plugin \"probe\" {\n  attach = \"joined.json\"\n}\n")
	plugin := m.wine("toolhost-plugin-probe.exe")
	plugin.Env = append(plugin.Env, "TOOLHOST_ATTACH="+windows(filepath.Join(m.dir, "joined.json")))
	if err := plugin.Start(); err != nil {
		t.Fatal(err)
	}
	m.await("a plugin to join", func() bool {
		_, err := os.Stat(filepath.Join(m.dir, "joined.json"))
		return err == nil
	})
	m.want(1, []string{"NoFile"}, "call", "probe__wait", `{"ready":"no/such/folder"}`, "--approve", "always")
	for _, pid := range m.processes("") {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	_ = plugin.Wait()
}

// There is no sandbox, which is said, and what requires one does not start.
func TestNoSandboxOnWindows(t *testing.T) {
	m := newMachine(t, "plugin \"readfile\" {\n  sandbox {\n    require = \"confined\"\n  }\n}\n")
	m.want(4, []string{"not available on windows"}, "call", "readfile__list")
	m.want(4, []string{"not available on windows"}, "doctor")
}

// A plugin that ends, or is killed, fails its call, and takes along what it has started.
func TestPluginEndsOnWindows(t *testing.T) {
	m := newMachine(t, "")
	m.want(4, []string{"exited with code 3", "last words"}, "call", "probe__crash", "--approve", "always")
	cmd, out := m.waiting()
	m.kill("toolhost-plugin-probe")
	_ = cmd.Wait()
	if cmd.ProcessState.ExitCode() != 4 || !strings.Contains(out.String(), "E_PLUGIN_CRASHED") {
		t.Errorf("%v: %s", cmd.ProcessState, out)
	}
	m.awaitNone()
}

// A program that is no plugin is waited for no longer than start_timeout.
func TestNoHandshakeOnWindows(t *testing.T) {
	m := newMachine(t, "")
	m.write("config.hcl", fmt.Sprintf("plugin \"slow\" {\n  command       = [%q, \"sleep\"]\n  start_timeout = \"2s\"\n}\n",
		windows(filepath.Join(bin, "toolhost-plugin-probe.exe"))))
	m.want(4, []string{": no handshake;"}, "call", "slow__any")
}

// What a plugin has started ends with it, and its folder for temporary files is not the user's.
func TestNothingIsLeftOnWindows(t *testing.T) {
	m := newMachine(t, "")
	m.want(0, []string{`\toolhost-`}, "call", "probe__start", "--approve", "always")
	m.awaitNone()
}

// When the host is killed, so are its plugins, and what they have started.
func TestHostIsKilledOnWindows(t *testing.T) {
	m := newMachine(t, "")
	cmd, _ := m.waiting()
	m.kill("toolhost.exe")
	m.awaitNone()
	_ = cmd.Wait()
}

// A locked plugin runs, and does not once its program has changed.
func TestChecksumOnWindows(t *testing.T) {
	m := newMachine(t, "")
	m.want(0, []string{"sha256 of windows_amd64"}, "plugin", "lock", "readfile")
	m.want(0, nil, "call", "readfile__list")
	f, err := os.OpenFile(filepath.Join(bin, "toolhost-plugin-readfile.exe"), os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = f.Write([]byte{0})
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	m.want(4, []string{"is not the program that was locked"}, "call", "readfile__list")
}

// A plugin talks to the process that has started it alone; without the name of one, to those of its user.
func TestStrangersOnWindows(t *testing.T) {
	m := newMachine(t, "")
	for host, want := range map[string]string{"1": "refused", "": "accepted"} {
		cmd := m.wine("toolhost-plugin-probe.exe")
		cmd.Env = append(cmd.Env, "TOOLHOST_PLUGIN=9b1f3c5e-toolhost-plugin-v1", "TOOLHOST_LIFELINE=stdin",
			"TOOLHOST_HOST_PID="+host)
		stdin, _ := cmd.StdinPipe()
		stdout, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(stdout).ReadString('\n')
		f := strings.Split(line, "|")
		if err != nil || len(f) < 5 || f[2] != "tcp" {
			t.Fatalf("handshake %q, %v", line, err)
		}
		out, _ := m.run(m.wine("toolhost-plugin-probe.exe", "connect", f[3]))
		if !strings.HasPrefix(out, want) {
			t.Errorf("for process %q: %s, want %s", host, out, want)
		}
		_ = stdin.Close()
		_, _ = io.Copy(io.Discard, stdout)
		_ = cmd.Wait()
	}
}

// Without the tag the host refuses a plugin that Wine does not tell.
func TestUnknownPeerIsRefusedOnWindows(t *testing.T) {
	m := newMachine(t, "")
	strict := "strict.exe"
	if !build(filepath.Join(bin, strict), "github.com/toolhost/toolhost/cmd/toolhost") {
		t.FailNow()
	}
	out, code := m.run(m.wine(strict, "--config", "config.hcl", "call", "readfile__list"))
	if code != 4 || !strings.Contains(out, "the system does not say which process it is") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// A plugin of the sdk passes the check of its protocol.
func TestPluginCheckOnWindows(t *testing.T) {
	m := newMachine(t, "")
	out, code := m.run(m.wine("toolhost.exe", "plugin", "check", windows(filepath.Join(bin, "toolhost-plugin-readfile.exe")),
		"--call", "list {}"))
	for _, item := range []string{"answers only requests with its token", "answers the example calls", "ends with its host"} {
		if code != 0 || !strings.Contains(out, "pass  "+item) {
			t.Errorf("exit code %d, or it did not pass %q: %s", code, item, out)
		}
	}
}
