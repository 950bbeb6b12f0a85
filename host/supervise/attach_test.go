//go:build unix

package supervise

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/sdk"
)

// byHand starts the good plugin as a person does under a debugger, and returns the process and the file that it wrote.
func byHand(t *testing.T, file string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "FIXTURE=good", wire.EnvAttach+"="+file, raceOptions+"="+races,
		"TMPDIR="+filepath.Dir(file))
	out := must(cmd.StderrPipe())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.Contains(lines.Text(), "plugin run --attach") {
			return cmd
		}
	}
	t.Fatal("the plugin does not say how to join it")
	return nil
}

// The folder for temporary files may have a path that is too long for sockets.
func TestAttachInALongFolder(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), strings.Repeat("a", 100), "good.json")
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	byHand(t, file)
	if spec, err := Attached(file); err != nil || spec.Name != "good" {
		t.Errorf("the spec is %+v, %v", spec, err)
	}
}

func TestJoinAProcessThatWasStartedByHand(t *testing.T) {
	t.Parallel()
	file := filepath.Join(shortDir(t), "good.json")
	cmd := byHand(t, file)
	spec, err := Attached(file)
	if err != nil || spec.Name != "good" {
		t.Fatalf("the spec is %+v, %v", spec, err)
	}
	for range 2 { // it outlives the host
		s := must(New(Options{RunDir: shortDir(t), CacheDir: t.TempDir()}))
		p := add(t, s, spec)
		if got := mustCall(t, p, "pid", ""); got != fmt.Sprint(cmd.Process.Pid) {
			t.Errorf("the call ran in process %s, not in %d", got, cmd.Process.Pid)
		}
		status := p.Status()
		if c := status.Sandbox; status.PID != cmd.Process.Pid || c == nil || c.Effective != sandbox.None {
			t.Errorf("the status is %+v", status)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal("it ended with its host")
	}
	if err := cmd.Wait(); err != nil {
		t.Error("Ctrl-C ended it with:", err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("its file is left")
	}
}

func TestJoinedProcessEndsAndIsStartedAgain(t *testing.T) {
	t.Parallel()
	file := filepath.Join(shortDir(t), "good.json")
	cmd := byHand(t, file)
	p := add(t, supervisor(t), must(Attached(file)))
	waiting := begin(t, t.Context(), p, "")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-waiting; sdk.CodeOf(err) != sdk.CodePluginCrashed ||
		!strings.Contains(err.Error(), "started by hand, has ended") {
		t.Errorf("the call during which it ended: %v", err)
	}
	if _, err := call(t, p, "echo", ""); sdk.CodeOf(err) != sdk.CodePluginUnavailable ||
		!strings.Contains(err.Error(), "has ended; start it again with "+wire.EnvAttach) {
		t.Errorf("a call without a process: %v", err)
	}
	cmd = byHand(t, file)
	if got := mustCall(t, p, "pid", ""); got != fmt.Sprint(cmd.Process.Pid) {
		t.Errorf("after a restart the call ran in process %s, not in %d", got, cmd.Process.Pid)
	}
}

// A debugger stops the process: the host waits, and does not end it.
func TestJoinedProcessIsStoppedDuringACall(t *testing.T) {
	t.Parallel()
	file := filepath.Join(shortDir(t), "good.json")
	cmd := byHand(t, file)
	p := add(t, supervisor(t), must(Attached(file)))
	limit := lateIn(t)
	waiting := begin(t, limit, p, "")
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	limit.pass()
	if err := <-waiting; sdk.CodeOf(err) != sdk.CodeTimeout {
		t.Errorf("the call whose time is over: %v", err)
	}
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if got := mustCall(t, p, "pid", ""); got != fmt.Sprint(cmd.Process.Pid) || p.Status().Generation != 1 {
		t.Errorf("afterwards the call ran in process %s of generation %d", got, p.Status().Generation)
	}
}

func TestJoinIsRefused(t *testing.T) {
	t.Parallel()
	file := filepath.Join(shortDir(t), "good.json")
	byHand(t, file)
	good := must(os.ReadFile(file))
	with := func(change func(a *wire.Attachment)) []byte {
		var a wire.Attachment
		if err := json.Unmarshal(good, &a); err != nil {
			t.Fatal(err)
		}
		change(&a)
		return must(json.Marshal(a))
	}
	open := shortDir(t)
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		content []byte
		mode    os.FileMode
		change  func(*Spec)
		want    string
	}{
		"another token":   {content: with(func(a *wire.Attachment) { a.Token = "guessed" }), want: "Unauthenticated"},
		"another process": {content: with(func(a *wire.Attachment) { a.PID = os.Getpid() }), want: "is process"},
		"a later version": {content: with(func(a *wire.Attachment) { a.Version = 2 }), want: "has the version 2"},
		"a later protocol": {content: with(func(a *wire.Attachment) { a.Protocol = 2 }),
			want: `version "2" of the plugin protocol`},
		"no socket": {content: with(func(a *wire.Attachment) { a.Socket += "x" }), want: "does not exist"},
		"a socket of anyone": {content: with(func(a *wire.Attachment) { a.Socket = filepath.Join(open, "s") }),
			want: "writable by other users"},
		"a relative socket": {content: with(func(a *wire.Attachment) { a.Socket = "s" }),
			want: "names no process, socket and token"},
		"no token": {content: with(func(a *wire.Attachment) { a.Token = "" }),
			want: "names no process, socket and token"},
		"no JSON":            {content: []byte("x"), want: "is not the file of a plugin"},
		"too long":           {content: bytes.Repeat([]byte(" "), 1<<20), want: "is not the file of a plugin"},
		"others may read it": {content: good, mode: 0o644, want: "only you can access"},
		"it is locked": {content: good, change: func(s *Spec) { s.Lock.SHA256 = strings.Repeat("0", 64) },
			want: "it is locked"},
		"locks are required":  {content: good, change: func(s *Spec) { s.Lock.Refused = "no lock" }, want: "no lock"},
		"it would be allowed": {content: good},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(shortDir(t), "f")
			mode := c.mode
			if mode == 0 {
				mode = 0o600
			}
			if err := os.WriteFile(path, c.content, mode); err != nil {
				t.Fatal(err)
			}
			spec := Spec{Name: "good", Command: []string{path}, Attach: true}
			if c.change != nil {
				c.change(&spec)
			}
			_, err := call(t, add(t, supervisor(t), spec), "echo", "hello")
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("the error is %v, want %q", err, c.want)
			}
		})
	}
	for want, spec := range map[string]Spec{
		"takes no arguments": {Command: []string{"f", "x"}},
		"with a sha256":      {Command: []string{"f"}, SHA256: strings.Repeat("0", 64)},
		"is in no sandbox":   {Command: []string{"f"}, Sandbox: sandbox.Spec{Require: sandbox.Confined}},
	} {
		spec.Name, spec.Attach = "good", true
		if err := spec.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
}
