package supervise

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/sdk"
)

func init() {
	plays["locker"] = func() { sdk.Serve(lockerPlugin()) }
}

// lockerPlugin locks all that is in the folders DIRS, as far as it can read it, for as long as it lives.
func lockerPlugin() *sdk.Plugin {
	p := sdk.New("locker", "1.0.0")
	sdk.AddTool(p, sdk.Tool{Name: "lock", Description: "locks everything"}, func(context.Context, *sdk.Request, textArgs) (*sdk.Result, error) {
		locked := 0
		for _, dir := range filepath.SplitList(os.Getenv("DIRS")) {
			_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, _ error) error {
				fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
				if err == nil && syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB) == nil {
					locked++
				}
				return nil
			})
		}
		return sdk.Textf("%d", locked), nil
	})
	return p
}

// A confined plugin that locks what it can read keeps no other from starting, or from starting again: not in the folder of
// copies, and not in the host's own.
func TestAPluginThatLocksCopies(t *testing.T) {
	bin, run := filepath.Join(t.TempDir(), "bin"), shortDir(t)
	host := func() *Supervisor {
		s := must(New(Options{RunDir: run, BinDir: bin}))
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	spec := playing("p", "good")
	spec.SHA256 = must(sumOf(os.Args[0]))
	first := host()
	mustCall(t, add(t, first, spec), "pid", "")
	check(t, first.Close())
	s := host()
	locker := playing("locker", "locker")
	locker.Env["DIRS"], locker.Sandbox = bin+":"+run, sandbox.Spec{Level: sandbox.Confined, Write: []string{t.TempDir()}}
	l, p := add(t, s, locker), add(t, s, spec)
	for i := range 3 {
		if n := mustCall(t, l, "lock", ""); i == 0 && n == "0" { // later it has most of it
			t.Error("nothing could be locked")
		}
		mustCall(t, p, "pid", "")
		if exe := must(s.verified(spec)); !strings.HasPrefix(exe, s.dir.path) {
			t.Errorf("it runs from %s", exe)
		}
		p.Reset() // its crashes are forgotten
		_ = mustStop(t, p)
	}
	mustCall(t, add(t, host(), spec), "pid", "")
}
