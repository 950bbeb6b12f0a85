package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host/supervise/internal/removal"
	"github.com/toolhost/toolhost/sdk"
)

func init() {
	plays["burrows"] = func() {
		p := sdk.New("burrows", "1")
		sdk.AddTool(p, sdk.Tool{Name: "burrow", Description: "makes folders in folders"}, func(context.Context, *sdk.Request, textArgs) (*sdk.Result, error) {
			return sdk.Text("done"), errors.Join(burrow(os.Getenv("TMPDIR"), burrowDepth), burrow(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), burrowDepth))
		})
		sdk.Serve(p)
	}
}

// burrowDepth is more than a path may be long, and than a host has files open.
const burrowDepth = 700

// burrow makes folders within folders, each with a file.
func burrow(dir string, depth int) error {
	at, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	for range depth {
		if err != nil {
			return err
		}
		above := at
		err = errors.Join(unix.Mkdirat(above, "deeper", 0o700), unix.Mknodat(above, "file", unix.S_IFREG|0o600, 0))
		if err == nil {
			at, err = unix.Openat(above, "deeper", unix.O_PATH|unix.O_DIRECTORY, 0)
		}
		_ = unix.Close(above)
	}
	_ = unix.Close(at)
	return err
}

// What there is no time for is left together with the lock, and the next host goes on with it.
func TestRemovalInTime(t *testing.T) {
	base := shortDir(t)
	d := must(makeRunDir(base))
	for n := range 20 {
		must(0, os.Mkdir(filepath.Join(d.path, fmt.Sprint("t", n)), 0o700))
	}
	lock := filepath.Join(d.path, lockName)
	if err := removal.Keeping(d.path, lockName, -1); !errors.Is(err, removal.ErrLate) || missing(lock) {
		t.Errorf("%v; the lock is gone: %t", err, missing(lock))
	}
	_ = d.lock.Close()
	soon(t, "other hosts remove it", patience, func() bool { sweep(base); return missing(d.path) })
}

// A link is not taken for the folder that it leads to, nor is another's folder for one that a host has left.
func TestRemovalOfWhatIsNotOurs(t *testing.T) {
	base := shortDir(t)
	for _, dir := range []string{"kept", runPrefix + "others", runPrefix + "own"} {
		must(0, os.Mkdir(filepath.Join(base, dir), 0o700))
		must(0, os.WriteFile(filepath.Join(base, dir, lockName), nil, 0o666))
	}
	must(0, os.Symlink("kept", filepath.Join(base, runPrefix+"link")))
	theirs := runPrefix + "others"
	if os.Chown(filepath.Join(base, theirs), 1, 1) != nil {
		t.Log("only root can give a folder away: the link alone is tried")
		theirs = "kept"
	}
	sweep(base)
	if err := removal.All(filepath.Join(base, runPrefix+"link"), time.Minute); err == nil {
		t.Error("a link was removed as a folder")
	}
	for _, dir := range []string{"kept", theirs} {
		if missing(filepath.Join(base, dir, lockName)) {
			t.Errorf("%s was emptied", dir)
		}
	}
	if !missing(filepath.Join(base, runPrefix+"own")) {
		t.Error("what a dead host left is still there")
	}
}

// What a plugin leaves in its folders costs the host neither files nor, at its end, time.
func TestPluginsLeaveDeepFolders(t *testing.T) {
	s := supervisor(t)
	p := add(t, s, playing("burrows", "burrows"))
	mustCall(t, p, "burrow", "")
	before := len(must(os.ReadDir("/proc/self/fd")))
	_ = syscall.Kill(p.Status().PID, syscall.SIGKILL)
	soon(t, "its folders are gone", patience, func() bool {
		if open := len(must(os.ReadDir("/proc/self/fd"))); open > before+burrowDepth/2 {
			t.Fatalf("%d open files, %d before", open, before)
		}
		return len(foldersOf(s)) == 0
	})
	mustCall(t, p, "burrow", "") // by the next generation, for the end of the host
	began := time.Now()
	_ = s.Close()
	if took := time.Since(began); took > stopTime+removalTime+time.Second { // the second is the machine's
		t.Errorf("closing took %s", took)
	}
	soon(t, "nothing is left", patience, func() bool { sweep(filepath.Dir(s.dir.path)); return missing(s.dir.path) })
}

// foldersOf are those of plugins.
func foldersOf(s *Supervisor) (names []string) {
	entries, _ := os.ReadDir(s.dir.path)
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}
