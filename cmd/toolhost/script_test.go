package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// bin holds toolhost and its plugins, built once for all tests. In scripts, toolhost is the test binary under another
// name, so that coverage counts.
var bin string

func TestMain(m *testing.M) {
	if os.Getenv("TESTSCRIPT_COMMAND") == "" && len(os.Args) > 0 && filepath.Base(os.Args[0]) != "toolhost" {
		dir, err := buildAll()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		bin = dir
		defer os.RemoveAll(dir)
	}
	testscript.Main(m, map[string]func(){"toolhost": main})
}

func buildAll() (string, error) {
	dir, err := os.MkdirTemp("", "toolhost-test")
	if err != nil {
		return "", err
	}
	plugins, err := filepath.Glob("../../plugins/*")
	if err != nil {
		return "", err
	}
	for _, p := range plugins {
		if err := build(filepath.Join(dir, "toolhost-plugin-"+filepath.Base(p)), p); err != nil {
			return "", err
		}
	}
	return dir, build(filepath.Join(dir, "toolhost"), ".")
}

func build(program, source string) error {
	if out, err := exec.Command("go", "build", "-o", program, "./"+source).CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", source, err, out)
	}
	return nil
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("BIN", bin)
			e.Setenv("NO_COLOR", "1")
			return os.WriteFile(filepath.Join(e.WorkDir, "config.hcl"), fmt.Appendf(nil, standardConfig, bin), 0o644)
		},
	})
}

// standardConfig is what a script has unless it writes its own.
const standardConfig = `
plugin_dirs = [%q]
`
