package supervise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// discovered runs a shell script as a discovery command and returns what it finds.
func discovered(t *testing.T, dir string, box *sandbox.Spec, text string) (string, error) {
	t.Helper()
	d := Discovery{Name: "team", Command: []string{"sh", "-c", text}, Dir: dir, Timeout: patience, Sandbox: box}
	out, err := d.run(t.Context())
	return string(out), err
}

// Without a sandbox block, a discovery command runs at the level supervised.
func TestDiscoveryIsSupervised(t *testing.T) {
	dir, temps := t.TempDir(), shortDir(t)
	t.Setenv("TMPDIR", temps)
	out, err := discovered(t, dir, nil,
		`umask; ulimit -n; ulimit -c; grep NoNewPrivs /proc/self/status; ls -x /proc/$$/fd; pwd; echo x >made; echo x `+
			`>"$TMPDIR"/x && dirname "$(dirname "$TMPDIR")"; env | grep -c TOOLHOST || :`)
	want := []string{fmt.Sprintf("%04o", umask()), "4096", "0", "NoNewPrivs:\t1", "0  1  2", dir, temps, "0", ""}
	if !proctree.DetectCapabilities().NoNewPrivs {
		want[3] = "NoNewPrivs:\t0"
	}
	if got := strings.Split(out, "\n"); err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	if missing(filepath.Join(dir, "made")) {
		t.Error("it could not write to its folder")
	}
	if left, _ := os.ReadDir(temps); len(left) != 0 {
		t.Errorf("it left %v", left)
	}
}

// A sandbox block has the same effect on a discovery command as on a plugin, except that by default it can write
// nowhere.
func TestDiscoveryInASandbox(t *testing.T) {
	dir, secret := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("s3cret"), 0o600); err != nil {
		t.Fatal(err)
	}
	write, read := `echo x >made || exit 3; echo written`, `cat `+secret
	tests := []struct {
		name, text string
		box        sandbox.Spec
		want       string // in the error where the sandbox refuses it, "" if allowed
		free       string // its output where it is allowed
	}{
		{"confined, writes", write, sandbox.Spec{}, "can write to its TMPDIR only", "written\n"},
		{"confined, may write", write, sandbox.Spec{Write: []string{dir}}, "", "written\n"},
		{"confined, reads", read, sandbox.Spec{}, "", "s3cret"},
		{"isolated, reads", read, sandbox.Spec{Level: sandbox.Isolated}, "reads no more than it needs to run", "s3cret"},
		{"isolated, may read", read, sandbox.Spec{Level: sandbox.Isolated, Read: []string{secret}}, "", "s3cret"},
		{"wrapped", "echo inner", sandbox.Spec{Wrapper: []string{"sh", "-c", `echo outer; exec "$@"`, "sh"}}, "",
			"outer\ninner\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			out, err := discovered(t, dir, &test.box, test.text)
			if test.want == "" || proctree.DetectCapabilities().Landlock == 0 {
				if err != nil || out != test.free {
					t.Errorf("%q, %v; want %q", out, err, test.free)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.want) ||
				!strings.Contains(err.Error(), "Permission denied") && !strings.Contains(err.Error(), "Read-only file system") {
				t.Errorf("%q, %v; want %q", out, err, test.want)
			}
		})
	}
}

// A command that may write to the folder of the configuration cannot change the configuration, nor what git runs.
func TestDiscoveryChangesNoConfiguration(t *testing.T) {
	dir := project(t, "config.hcl", ".git/config")
	d := Discovery{Name: "x",
		Command: []string{"sh", "-c",
			"echo new >config.hcl; echo new >.git/config; echo x >made; cat config.hcl .git/config made"}, Dir: dir,
		Sandbox: &sandbox.Spec{Write: []string{dir}}, ReadOnly: []string{filepath.Join(dir, "config.hcl")}}
	got, err := d.Confine(proctree.DetectCapabilities())
	if err != nil || slices.Contains(got.ReadOnly, filepath.Join(dir, "config.hcl")) != namespaces(t) {
		t.Errorf("%+v, %v", got, err)
	}
	if out, err := d.run(t.Context()); err != nil || namespaces(t) && string(out) != "oldoldx\n" {
		t.Errorf("%q, %v", out, err)
	}
	if !missing(filepath.Join(dir, ".vscode")) {
		t.Error("a placeholder is left")
	}
}

// A command whose sandbox cannot be set up is not run.
func TestDiscoveryIsRefused(t *testing.T) {
	dir := t.TempDir()
	tests := map[string]struct {
		box   sandbox.Spec
		words string
	}{
		"contradiction": {sandbox.Spec{Level: sandbox.Supervised, Require: sandbox.Isolated},
			`require = "isolated" is more than the requested level`},
		"folder": {sandbox.Spec{Write: []string{"/proc/no/such/folder"}},
			"its sandbox lets it write to /proc/no/such/folder, which is not there"},
		"wrapper": {sandbox.Spec{Wrapper: []string{"no-such-wrapper"}}, "its wrapper no-such-wrapper cannot be run"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := discovered(t, dir, &test.box, "echo >ran"); err == nil || !strings.Contains(err.Error(), test.words) {
				t.Errorf("%v, want %q", err, test.words)
			}
			if !missing(filepath.Join(dir, "ran")) {
				t.Error("it was run")
			}
		})
	}
	if _, err := (Discovery{Name: "x", Command: []string{"sh"},
		Sandbox: &sandbox.Spec{Require: sandbox.Confined}}).Confine(proctree.Capabilities{}); err == nil {
		t.Error("a machine without means reaches what is required")
	}
	if got, err := (Discovery{Name: "x", Command: []string{"sh"}}).Confine(proctree.DetectCapabilities()); err != nil ||
		got.Requested != sandbox.Supervised {
		t.Errorf("asked is %+v, %v", got, err)
	}
}

func init() {
	fixtures["hung"] = func() { fmt.Println(hungMount(os.Getenv("AT"), os.Getenv("RUN"))) }
}

// hungMount runs a plugin whose program is on a file system that never answers. It needs its own namespace, which
// removes the mount when it ends.
func hungMount(at, run string) error {
	s, err := New(Options{RunDir: run, CacheDir: filepath.Join(run, "cache"), BinDir: filepath.Join(at, "bin")})
	if err != nil {
		return err
	}
	spec := Spec{Name: "p", Command: []string{filepath.Join(at, "plugin")}, StartTimeout: time.Second}
	p, err := s.Add(spec)
	if err != nil {
		return err
	}
	if _, err := p.Call(context.Background(), request("x", "")); err == nil {
		return errors.New("a program that is not there ran")
	}
	spec.Name = "q"
	q, err := s.Add(spec)
	if err != nil {
		return err
	}
	spec.Name, spec.Command, spec.SHA256 = "r", os.Args[:1], must(sumOf(os.Args[0])) // its copy will be there
	r, err := s.Add(spec)
	if err != nil {
		return err
	}
	fuse, err := syscall.Open("/dev/fuse", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err == nil {
		err = syscall.Mount("hung", at, "fuse", syscall.MS_NOSUID|syscall.MS_NODEV,
			fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fuse))
	}
	if err != nil {
		return fmt.Errorf("no mount: %w", err)
	}
	if err := errors.Join(leaveInTime(p), leaveInTime(q), leaveInTime(r), neighbors(at, run)); err != nil {
		return err
	}
	began := time.Now()
	err = s.Close()
	if took := time.Since(began); took > slack*stopTime {
		err = fmt.Errorf("closing took %s", took)
	}
	return err
}

// neighbors checks that plugins start normally beside one whose program hangs.
func neighbors(at, run string) error {
	s, err := New(Options{RunDir: run, BinDir: filepath.Join(run, "bin"),
		ReadOnly: []string{filepath.Join(at, "config.hcl")}})
	if err != nil {
		return err
	}
	defer s.Close()
	if _, err := s.Add(Spec{Name: "hung", Command: []string{filepath.Join(at, "plugin")}}); err != nil {
		return err
	}
	for _, level := range []sandbox.Level{sandbox.Supervised, sandbox.Confined} {
		spec := fixture(string(level), "good")
		spec.Sandbox = sandbox.Spec{Level: level, Write: []string{run}}
		p, err := s.Add(spec)
		if err != nil {
			return err
		}
		if _, err := p.Call(context.Background(), request("pid", "")); err != nil {
			return fmt.Errorf("a neighbor that is %s: %w", level, err)
		}
	}
	return nil
}

// leaveInTime calls everything that looks at the plugin's program, and reports calls that did not return in time, or
// leaked something each time.
func leaveInTime(p *Process) error {
	spec := *p.spec.Load()
	asks := map[string]func(context.Context) error{
		"call":   func(ctx context.Context) error { _, err := p.Call(ctx, request("x", "")); return cmp.Or(err, errWorks) },
		"tools":  func(ctx context.Context) error { _, err := p.Tools(ctx); return cmp.Or(err, errWorks) },
		"reload": func(ctx context.Context) error { return p.Reload(ctx, spec) },
		"follow": func(ctx context.Context) error { return p.reloadIfChanged(ctx, spec) },
	}
	before := runtime.NumGoroutine()
	for range 20 {
		for name, ask := range asks {
			if err := leaves(ask); err != nil {
				return fmt.Errorf("%s, plugin %s: %w", name, p.name, err)
			}
		}
	}
	if n := runtime.NumGoroutine() - before; n > 10 {
		return fmt.Errorf("%d goroutines more than before", n)
	}
	return nil
}

var errWorks = errors.New("success")

func leaves(ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- ask(ctx) }()
	select {
	case err := <-ended:
		if e, ok := errors.AsType[*sdk.Error](err); err != nil &&
			(!ok || e.Code != sdk.CodeTimeout && e.Code != sdk.CodePluginUnavailable) {
			return fmt.Errorf("it ended with %w", err)
		}
		return nil
	case <-time.After(patience):
		return errors.New("it did not leave")
	}
}

// Every request for a plugin returns in time, also if the program is on a file system that hangs, and however often
// it is repeated.
func TestHungFileSystem(t *testing.T) {
	t.Run("a mount", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), slack*patience)
		defer cancel()
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), "FIXTURE=hung", "AT="+t.TempDir(), "RUN="+shortDir(t))
		runtime.LockOSThread() // the death signal is about the forking thread
		defer runtime.UnlockOSThread()
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Pdeathsig:   syscall.SIGKILL, // a process that waits for a file system handles no other signal
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
		}
		out, err := cmd.CombinedOutput()
		_, ran := errors.AsType[*exec.ExitError](err)
		if text := string(out); err != nil && !ran || strings.HasPrefix(text, "no mount") {
			t.Logf("no such mount can be made here (%s %v); what stands for it shows the same", text, err)
		} else if text != "<nil>\n" {
			t.Errorf("%s%v", text, err)
		}
	})
	t.Run("a question that hangs", func(t *testing.T) {
		p := add(t, supervisor(t), Spec{Name: "p", Command: []string{filepath.Join(t.TempDir(), "gone")}})
		_, err := call(t, p, "x", "")
		checkError(t, err, sdk.CodePluginUnavailable, "does not exist")
		p.identifying <- struct{}{}
		p.recalling <- struct{}{}
		p.verifying <- struct{}{}
		if err := leaveInTime(p); err != nil {
			t.Error(err)
		}
	})
}
