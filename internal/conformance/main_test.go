//go:build unix

package conformance

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/testutil"
)

// canary stands in the environment of every toolhost that a test starts. Nothing that comes out of one may have it.
const canary = "canary-7f3a9c51e2"

func TestMain(m *testing.M) {
	if role, ok := roles[os.Getenv(roleVar)]; ok {
		role()
		return
	}
	adoptOrphans()
	code := m.Run()
	if programs.dir != "" {
		_ = os.RemoveAll(programs.dir)
	}
	os.Exit(code)
}

// roles are programs that the test binary plays when roleVar names one: MCP servers of all sorts.
var roles = map[string]func(){}

const roleVar = "TOOLHOST_TEST_ROLE"

// programs are toolhost and the plugins that the tests use, built once.
var programs struct {
	once sync.Once
	dir  string
	err  error
}

func bin(t testing.TB, name string) string {
	t.Helper()
	programs.once.Do(func() {
		if programs.dir, programs.err = os.MkdirTemp("", "toolhost-conformance"); programs.err != nil {
			return
		}
		programs.err = testutil.Programs(programs.dir, "cmd/toolhost", "plugins/mcp", "internal/tools/mcpfixture")
	})
	if programs.err != nil {
		t.Fatal(programs.err)
	}
	return filepath.Join(programs.dir, name)
}

// long skips a test that takes many seconds, unless `make conformance` runs it.
func long(t testing.TB) {
	t.Helper()
	if os.Getenv("TOOLHOST_TEST_LONG") == "" {
		t.Skip("takes long; `make conformance` runs it, or TOOLHOST_TEST_LONG=1")
	}
}

// A bed is a configuration with a home folder of its own.
type bed struct {
	t                  testing.TB
	home, work, config string
	secrets            []string // beside the canary
	variables          []string // beside the usual ones
}

// newBed writes a configuration. At the end of the test no process of it may be left, and no file of its home may have
// the canary.
func newBed(t testing.TB, config string) *bed {
	t.Helper()
	b := &bed{t: t, home: t.TempDir(), work: t.TempDir()}
	b.config = filepath.Join(b.home, "config.hcl")
	if err := os.WriteFile(b.config, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		checkNoneLeft(t)
		b.checkFiles()
	})
	if strings.Contains(config, `plugin "fixture"`) {
		b.run("discover", "--plugin", "fixture") // from now on it is listed at once, however busy the machine is
	}
	return b
}

// environment is the one in which toolhost runs. Variables of the person who runs the tests are not in it.
func (b *bed) environment() []string {
	return append([]string{"HOME=" + b.home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + b.t.TempDir(),
		"XDG_CONFIG_HOME=" + filepath.Join(b.home, "config"), "XDG_STATE_HOME=" + filepath.Join(b.home, "state"),
		"XDG_CACHE_HOME=" + filepath.Join(b.home, "cache"), "NO_COLOR=1", "SECRET_CANARY=" + canary,
		"AWS_SECRET_ACCESS_KEY=" + canary}, b.variables...)
}

// command is a toolhost with this configuration.
func (b *bed) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, bin(b.t, "toolhost"), b.args(args...)...)
	cmd.Env, cmd.Dir = b.environment(), b.work
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	return cmd
}

func (b *bed) args(args ...string) []string {
	return append([]string{"--config", b.config, "--workdir", b.work}, args...)
}

// An outcome is what a command printed, and its exit code.
type outcome struct {
	out, errs string
	code      int
}

// run runs a toolhost to its end.
func (b *bed) run(args ...string) outcome { return b.feed("", args...) }

func (b *bed) feed(stdin string, args ...string) outcome {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := b.command(ctx, args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	err := cmd.Run()
	if ctx.Err() != nil {
		b.t.Fatalf("toolhost %.200q does not end\n%s", args, tail(errs.String()))
	}
	if exit, is := errors.AsType[*exec.ExitError](err); err != nil && (!is || exit.ExitCode() < 0) {
		b.t.Fatalf("toolhost %.200q: %v\n%s", args, err, tail(errs.String()))
	}
	b.checkText("standard output", out.Bytes())
	b.checkText("standard error", errs.Bytes())
	return outcome{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

func (b *bed) checkText(where string, text []byte) {
	for _, secret := range append(b.secrets, canary) {
		if bytes.Contains(text, []byte(secret)) && where != b.config {
			b.t.Errorf("the secret %s is in %s", secret, where)
		}
	}
}

// checkFiles looks for the canary in what was kept: the record, results, caches.
func (b *bed) checkFiles() {
	for _, root := range []string{b.home, b.work} {
		_ = filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				if text, err := os.ReadFile(path); err == nil {
					b.checkText(path, text)
				}
			}
			return nil
		})
	}
}

// tail is the end of a text that may be long.
func tail(text string) string {
	if excess := len(text) - 4000; excess > 0 {
		return "…" + text[excess:]
	}
	return text
}

// referenceServers is a configuration of four plugins.
func referenceServers(t *testing.T, npm testutil.NPM, work string) string {
	t.Helper()
	return npmConfig(t, "everything", npm.Server("everything")) +
		npmConfig(t, "filesystem", npm.Server("filesystem", work)) +
		npmConfig(t, "memory", npm.Server("memory"), `env = { MEMORY_FILE_PATH = "`+work+`/memory.jsonl" }`) +
		npmConfig(t, "thinking", npm.Server("sequential-thinking"))
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
