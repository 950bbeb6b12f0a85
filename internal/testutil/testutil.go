// Package testutil has helpers that the tests of several packages share.
package testutil

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/png"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/internal/fsutil"
)

// launcher is the name of the launcher's program.
const launcher = "toolhost-launcher"

// Programs puts the programs of packages of this module, such as "cmd/toolhost", into a folder that exists. They are
// those of `make build`: plugins have its names, and on Linux the launcher is beside them. Go links them once for all
// tests, into .bin/test; with the same flags it compiles each package once for both, and for `make test`.
func Programs(dir string, packages ...string) error {
	mod, err := exec.CommandContext(context.Background(), "go", "env", "GOMOD").Output()
	if err != nil {
		return err
	}
	shared := filepath.Join(filepath.Dir(strings.TrimSpace(string(mod))), ".bin", "test")
	if err := os.MkdirAll(shared, 0o755); err != nil {
		return err
	}
	lock, err := fsutil.Lock(context.Background(), filepath.Join(shared, "lock"), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	defer lock.Close()
	link := "-s -w"
	if runtime.GOOS == "linux" {
		if err := build(shared, link, "cmd/"+launcher); err != nil {
			return err
		}
		program, err := os.ReadFile(filepath.Join(shared, launcher))
		if err != nil {
			return err
		}
		link += fmt.Sprintf(" -X github.com/toolhost/toolhost/sdk/proctree.launcherSum=%x", sha256.Sum256(program))
		if err := copyProgram(filepath.Join(dir, launcher), filepath.Join(shared, launcher)); err != nil {
			return err
		}
	}
	if err := build(shared, link, packages...); err != nil {
		return err
	}
	for _, p := range packages {
		name := path.Base(p) + fsutil.ProgramEnding()
		to := name
		if strings.HasPrefix(p, "plugins/") {
			to = "toolhost-plugin-" + name
		}
		if err := copyProgram(filepath.Join(dir, to), filepath.Join(shared, name)); err != nil {
			return err
		}
	}
	return nil
}

// build builds the programs whose sources have changed.
func build(shared, link string, packages ...string) error {
	if len(packages) == 0 {
		return nil
	}
	root := filepath.Dir(filepath.Dir(shared))
	args := []string{"-C", root, "build", "-trimpath", "-tags", "grpcnotrace", "-ldflags", link, "-o", shared}
	for _, p := range packages {
		args = append(args, "./"+p)
	}
	cmd := exec.CommandContext(context.Background(), "go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, text)
	}
	return nil
}

func copyProgram(to, from string) error {
	program, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return WriteProgram(to, program, 0o755)
}

// Launcher puts the launcher's program that TOOLHOST_TEST_LAUNCHER names beside this test binary. Where the binary is
// linked with that program's hash, the plugins that its tests start have that launcher, see the Makefile.
func Launcher() {
	from := os.Getenv("TOOLHOST_TEST_LAUNCHER")
	to := filepath.Join(filepath.Dir(os.Args[0]), launcher)
	if _, err := os.Stat(to); err == nil || from == "" {
		return // the tests' own processes call this too
	}
	if err := copyProgram(to, from); err != nil {
		panic(err)
	}
}

// WriteProgram is [os.WriteFile] while this process starts no other, which would hold the file open for a moment: a
// file that is open for writing cannot run.
func WriteProgram(path string, text []byte, mode os.FileMode) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, text, mode)
}

// Long skips a test that sweeps over many cases in `make test`, which runs with -short. `make check` and CI run all.
func Long(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long: make check runs it")
	}
}

// Rounds is how often a test repeats something: n times, and a quarter of that in `make test`.
func Rounds(n int) int {
	if testing.Short() {
		return max(n/4, 1)
	}
	return n
}

// DefaultSignals gives all programs that the tests start the signals that a terminal would. A shell ignores some
// for what it runs in the background, programs inherit that, and many then rightly continue ignoring them. A signal
// that is caught is not inherited.
func DefaultSignals() {
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGHUP, syscall.SIGTERM} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}

// An NPM is a folder in which .ci/need-mcp installed MCP programs, with a Node that runs all of them.
type NPM struct{ Dir, Node string }

// MCP returns the folder that TOOLHOST_TEST_MCP_DIR names. Without it the test is skipped, or fails where
// TOOLHOST_TEST_MCP is "required".
func MCP(t testing.TB) NPM {
	t.Helper()
	dir := os.Getenv("TOOLHOST_TEST_MCP_DIR")
	_, err := os.Stat(filepath.Join(dir, "node_modules", "@modelcontextprotocol", "sdk"))
	switch required := os.Getenv("TOOLHOST_TEST_MCP") == "required"; {
	case dir != "" && err != nil:
		t.Fatalf("TOOLHOST_TEST_MCP_DIR is not what .ci/need-mcp makes: %v", err)
	case dir == "" && required:
		t.Fatal("TOOLHOST_TEST_MCP_DIR is not set, and the MCP programs from npm are required; `make conformance` sets it")
	case dir == "":
		t.Skip("needs MCP programs from npm; `make conformance` installs them and runs this test")
	}
	node := filepath.Join(dir, "node_modules", ".bin", "node") // not on every system
	if _, err := os.Stat(node); err != nil {
		node = "node"
	}
	return NPM{Dir: dir, Node: node}
}

// Module returns the path of an installed package, and of a file in it.
func (n NPM) Module(name ...string) string {
	return filepath.Join(append([]string{n.Dir, "node_modules"}, name...)...)
}

// Server returns the command of one of the reference servers, such as "everything" or "filesystem".
func (n NPM) Server(name string, args ...string) []string {
	return append([]string{n.Node, n.Module("@modelcontextprotocol", "server-"+name, "dist", "index.js")}, args...)
}

// PNG is an image of so many bytes, or of as few as it takes when size is 0.
func PNG(size int) string {
	var out bytes.Buffer
	_ = png.Encode(&out, image.NewRGBA(image.Rect(0, 0, 8, 8))) // into memory, which never fails
	const around, end = 12, 12                                  // bytes of a chunk besides its data, and of the last one
	padding := size - out.Len() - around
	if padding < 0 {
		return out.String()
	}
	chunk := append([]byte("paDd"), make([]byte, padding)...)
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk))
	last := out.Len() - end
	return string(binary.BigEndian.AppendUint32(bytes.Clone(out.Bytes()[:last]), uint32(padding))) + string(chunk) +
		string(out.Bytes()[last:])
}

// HeapInUse is how many bytes of the heap are in use, without what waits to be collected. The first collection only
// moves pooled memory aside; the second frees it.
func HeapInUse() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
