//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/internal/testutil"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// bin has toolhost and its plugins, built once for all tests. In scripts, toolhost is the test binary under another
// name, so that coverage counts.
var bin string

func TestMain(m *testing.M) {
	if marker := os.Getenv(faultyVar); marker != "" {
		serveFaulty(marker)
	}
	if len(os.Args) == 3 && os.Args[1] == mistakeWord {
		serveMistake(os.Args[2])
	}
	if len(os.Args) == 3 && os.Args[1] == spoofWord {
		serveSpoof(os.Args[2])
	}
	if len(os.Args) == 3 && os.Args[1] == floodWord {
		serveFlood(os.Args[2])
	}
	testscript.Main(built{m}, map[string]func(){"toolhost": main})
}

// built are tests that need the programs. Results that commands store go where the programs are, not to the user.
type built struct{ tests *testing.M }

func (b built) Run() int {
	testutil.DefaultSignals()
	dir, err := os.MkdirTemp("", "toolhost-test")
	if err == nil {
		defer os.RemoveAll(dir)
		err = errors.Join(moveHome(filepath.Join(dir, "home")), buildAll(dir))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	bin = dir
	return b.tests.Run()
}

// moveHome gives programs other user folders, except for Go itself. The developer's environment for toolhost, and
// umask, have no effect.
func moveHome(dir string) (err error) {
	for _, name := range []string{"GOCACHE", "GOPATH", "GOMODCACHE"} {
		value, failed := exec.Command("go", "env", name).Output()
		err = errors.Join(err, failed, os.Setenv(name, strings.TrimSpace(string(value))))
	}
	for _, name := range []string{"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
		"XDG_RUNTIME_DIR", "HOME"} {
		folder := filepath.Join(dir, name)
		err = errors.Join(err, os.MkdirAll(folder, 0o700), os.Setenv(name, folder))
	}
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "TOOLHOST_") || name == "NO_COLOR" {
			err = errors.Join(err, os.Unsetenv(name))
		}
	}
	syscall.Umask(0o022)
	own, failed := os.Executable() // it runs as a plugin too, and with a umask of 0 others could write to it
	return errors.Join(err, failed, os.Chmod(own, 0o755), os.Chmod(filepath.Dir(own), 0o755))
}

// buildAll builds all programs at once, without debugging information.
func buildAll(dir string) error {
	if made := os.Getenv(failingVar); made != "" {
		return os.Symlink(filepath.Join(made, "toolhost"), filepath.Join(dir, "toolhost"))
	}
	plugins, err := filepath.Glob("../../plugins/*")
	packages := []string{"cmd/toolhost", "cmd/toolhost/testdata/versioned"}
	for _, p := range plugins {
		packages = append(packages, "plugins/"+filepath.Base(p))
	}
	return errors.Join(err, testutil.Programs(dir, packages...), os.Symlink("toolhost", filepath.Join(dir, callProgram)))
}

// failingVar makes TestFailing fail, with the programs of the folder that it names.
const failingVar = "TEST_FAILING"

// The folder of programs is removed after the tests, also when they fail.
func TestNothingIsLeft(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestFailing$")
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, failingVar+"="+bin)
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "as asked") {
		t.Errorf("the test did not fail as it should: %v\n%s", err, out)
	}
	checkEmpty(t, dir)
}

// TestFailing fails when TestNothingIsLeft asks for it.
func TestFailing(t *testing.T) {
	if os.Getenv(failingVar) != "" {
		t.Error("as asked")
	}
}

func checkEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		t.Errorf("left in the temporary folder: %v, %v", entries, err)
	}
}

func TestScripts(t *testing.T) {
	shipped, err := filepath.Abs("../../config.hcl")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"auditlog": writeAuditLog,
			"append": appendTo, "waitfor": waitForFile, "zip": zipFolder, "flip": flipDigit},
		Condition: offers,
		Setup: func(e *testscript.Env) error {
			e.Setenv("BIN", bin)
			if own, err := exec.LookPath("toolhost"); err == nil { // as scripts find it
				e.Setenv("TOOLHOST", own)
			}
			e.Setenv("SHIPPED", shipped)
			e.Setenv("NO_COLOR", "1")
			for _, name := range []string{"GOCACHE", "GOFLAGS"} { // or Go's own packages were compiled once more
				e.Setenv(name, os.Getenv(name))
			}
			e.Setenv("GORACE", "atexit_sleep_ms=0") // with the race detector each command would end a second later
			home := e.WorkDir + "-home"             // these are beside the work folder: in it, no plugin would be confined
			e.Defer(func() { _ = os.RemoveAll(home) })
			if err := os.MkdirAll(filepath.Join(home, "tmp"), 0o700); err != nil {
				return err
			}
			e.Setenv("TMPDIR", filepath.Join(home, "tmp"))
			e.Setenv("HOME", home)
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
			e.Setenv("XDG_STATE_HOME", filepath.Join(home, ".local", "state"))
			e.Setenv("DATA", filepath.Join(home, ".local", "share"))
			config := filepath.Join(e.WorkDir, "config.hcl")
			err := os.WriteFile(config, fmt.Appendf(nil, standardConfig, bin), 0o644)
			return errors.Join(err, trustFor(e.Getenv("XDG_CONFIG_HOME"), config))
		},
	})
}

// offers are the conditions about the machine's sandbox features: all of them, or protecting paths from plugins.
func offers(condition string) (bool, error) {
	switch condition {
	case "isolates":
		got, _ := supervise.Options{}.Confine(supervise.Spec{Sandbox: sandbox.Spec{Level: sandbox.Isolated}},
			proctree.DetectCapabilities())
		return got.Effective == sandbox.Isolated, nil
	case "protects":
		return proctree.DetectCapabilities().ReadOnlyMounts(), nil
	}
	return false, fmt.Errorf("there is no condition %q", condition)
}

// trustFor trusts the present content of a file for the user with that configuration folder.
func trustFor(home, config string) error {
	sum, err := checksum(config)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(home, "toolhost"), 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(home, "toolhost", "trusted"), []byte(sum+"  "+config+"\n"), 0o600)
}

// standardConfig is the trusted configuration of a script that does not write its own.
const standardConfig = `
plugin_dirs = [%q]
`
