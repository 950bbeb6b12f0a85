package binaries

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func init() { roles["full"] = runFullDisk }

// runFullDisk keeps a program where there is no room for it: in the shared folder, and then in the reserve too. It is
// for a namespace of its own, which takes the mount along when it ends.
func runFullDisk() {
	at, own := os.Getenv("AT"), os.Getenv("OWN")
	if err := syscall.Mount("full", at, "tmpfs", 0, "size=64k,mode=700"); err != nil {
		fmt.Println("no mount:", err)
		return
	}
	for _, reserve := range []string{own, filepath.Join(at, "own")} {
		r := &replaceRace{path: os.Getenv("PROGRAM"), sum: os.Getenv("SUM")}
		fmt.Println(r.kept(NewStore(filepath.Join(at, "bin"), reserve, slog.New(slog.DiscardHandler))))
	}
}

// On a full disk a copy is made for the host alone; where there is no room for that either, the error says what to
// do.
func TestFullDisk(t *testing.T) {
	r, at, own := newRace(t), t.TempDir(), filepath.Join(t.TempDir(), "own")
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), "ROLE=full", "AT="+at, "OWN="+own, "PROGRAM="+r.path, "SUM="+r.sum)
	runtime.LockOSThread() // the signal means the thread that forked
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Pdeathsig:  syscall.SIGKILL,
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		// else root's folders were another's
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN}, // to mount
	}
	out, err := cmd.CombinedOutput()
	_, ran := errors.AsType[*exec.ExitError](err)
	lines := strings.Split(string(out), "\n")
	switch {
	case err != nil && !ran || strings.HasPrefix(lines[0], "no mount"):
		t.Logf("no disk can be made here (%s %v); what stands in the way of a copy shows the same", out, err)
	case err != nil || len(lines) < 2 || lines[0] != filepath.Join(own, r.sum, "plugin")+" <nil>":
		t.Errorf("with a reserve elsewhere: %s, %v", out, err)
	case !strings.Contains(lines[1], r.path+" cannot be copied") ||
		!strings.HasSuffix(lines[1], "no space left on device; free disk space there"):
		t.Errorf("without: %s", lines[1])
	}
}
