//go:build !proctree_group

package proctree

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/toolhost/toolhost/internal/launcher"
)

// ownProgram is the program of this process, which can be its own launcher.
const ownProgram = "/proc/self/exe"

// launcherSum is the SHA-256 of the program of cmd/toolhost-launcher that belongs to this build, in hexadecimal digits.
// The linker sets it, as the Makefile shows. A host's program is ten times as large as that one, which takes half the
// time to come up, and 0.25 MB less while it waits.
var launcherSum string

// smallLauncher is the launcher's program beside ours, or nil.
var smallLauncher = sync.OnceValue(func() *os.File {
	own, err := os.Executable()
	if err != nil || launcherSum == "" {
		return nil
	}
	return openLauncher(filepath.Join(filepath.Dir(own), launcher.Name), launcherSum)
})

// started is set when this process starts its first launcher, and smallRefused once the system has refused to run
// smallLauncher.
var started, smallRefused atomic.Bool

// openLauncher opens a launcher's program, if it has this sum: no other version, and nothing that a plugin has put
// there, is run. It stays open because the file may be replaced later.
func openLauncher(path, sum string) *os.File {
	const most = 16 << 20
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a named pipe
	if err != nil {
		return nil
	}
	hash := sha256.New()
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		_, err = io.Copy(hash, io.LimitReader(f, most))
	}
	if err != nil || hex.EncodeToString(hash.Sum(nil)) != sum {
		_ = f.Close()
		return nil
	}
	return f
}

func startLauncher(files []*os.File, sys *syscall.SysProcAttr) (*os.Process, error) {
	argv, env := []string{launcher.Name}, launcherEnv()
	var small *os.File
	if started.Swap(true) && !smallRefused.Load() { // its hash takes longer than one start saves
		small = smallLauncher()
	}
	if small == nil {
		return os.StartProcess(ownProgram, argv, &os.ProcAttr{Env: env, Files: files, Sys: sys})
	}
	// By its number there, so that no other file can take its place after our look at it.
	path := "/proc/self/fd/" + strconv.Itoa(len(files))
	p, err := os.StartProcess(path, argv, &os.ProcAttr{Env: env, Files: append(files, small), Sys: sys})
	if err != nil {
		p, err = os.StartProcess(ownProgram, argv, &os.ProcAttr{Env: env, Files: files, Sys: sys})
		smallRefused.Store(err == nil)
	}
	return p, err
}

// launcherEnv has the variables that the dynamic linker needs to load this executable again. The rest of our
// environment must not be readable in another process.
func launcherEnv() []string {
	env := []string{"GOMAXPROCS=1"} // it has one goroutine
	for _, entry := range os.Environ() {
		if strings.HasPrefix(entry, "LD_") {
			env = append(env, entry)
		}
	}
	return env
}
