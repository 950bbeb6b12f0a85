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
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/sdk"
)

func init() {
	plays["hung"] = func() { fmt.Println(hungMount(os.Getenv("AT"), os.Getenv("RUN"))) }
}

// hungMount tries a plugin whose program comes to be on a file system that never answers. It is for a namespace of its own,
// which takes the mount along when it ends.
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
		err = syscall.Mount("hung", at, "fuse", syscall.MS_NOSUID|syscall.MS_NODEV, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fuse))
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

// neighbors of a plugin whose program hangs start as if it were not there.
func neighbors(at, run string) error {
	s, err := New(Options{RunDir: run, BinDir: filepath.Join(run, "bin"), Protect: []string{filepath.Join(at, "config.hcl")}})
	if err != nil {
		return err
	}
	defer s.Close()
	if _, err := s.Add(Spec{Name: "hung", Command: []string{filepath.Join(at, "plugin")}}); err != nil {
		return err
	}
	for _, level := range []sandbox.Level{sandbox.Supervised, sandbox.Confined} {
		spec := playing(string(level), "good")
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

// leaveInTime asks all that looks at the plugin's program, and says who did not leave when its time was over, or left
// something behind each time.
func leaveInTime(p *Process) error {
	spec := *p.spec.Load()
	asks := map[string]func(context.Context) error{
		"call":   func(ctx context.Context) error { _, err := p.Call(ctx, request("x", "")); return cmp.Or(err, errWorks) },
		"tools":  func(ctx context.Context) error { _, err := p.Tools(ctx); return cmp.Or(err, errWorks) },
		"reload": func(ctx context.Context) error { return p.Reload(ctx, spec) },
		"follow": func(ctx context.Context) error { return p.follow(ctx, spec) },
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
		if e, ok := errors.AsType[*sdk.Error](err); err != nil && (!ok || e.Code != sdk.CodeTimeout && e.Code != sdk.CodePluginUnavailable) {
			return fmt.Errorf("it ended with %w", err)
		}
		return nil
	case <-time.After(patience):
		return errors.New("it did not leave")
	}
}

// Whoever asks for a plugin leaves when its time is over, also if the program is on a file system that hangs, and however
// often it asks.
func TestHungFileSystem(t *testing.T) {
	t.Run("a mount", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), slack*patience)
		defer cancel()
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), "PLAY=hung", "AT="+t.TempDir(), "RUN="+shortDir(t))
		runtime.LockOSThread() // the signal means the thread that forked
		defer runtime.UnlockOSThread()
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Pdeathsig:   syscall.SIGKILL, // what waits for a file system hears no other
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
		checkError(t, err, sdk.CodePluginUnavailable, "is not there")
		p.looks <- struct{}{}
		p.recalls <- struct{}{}
		p.checks <- struct{}{}
		if err := leaveInTime(p); err != nil {
			t.Error(err)
		}
	})
}
