package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// On a machine that refuses namespaces a plugin that requires a level is not run, and one that only asks for it is, with a
// warning on standard error, whatever is logged.
func TestNoNamespacesAreWarnedOf(t *testing.T) {
	if m := sandbox.Machine(); !m.Seccomp || !m.Protects() {
		t.Log("this machine has no filter that refuses namespaces, or has none to refuse")
		return
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "config.hcl")
	text := ""
	for name, require := range map[string]string{"strict": `require = "isolated"`, "loose": ""} {
		text += fmt.Sprintf("plugin %q {\n  command = [%q]\n  sandbox {\n    level = \"isolated\"\n    %s\n    write = [%q]\n  }\n}\n",
			name, filepath.Join(bin, "toolhost-plugin-shell"), require, dir)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct {
		code  int
		words []string
	}{
		"strict": {exitUnavailable, []string{`requires the sandbox level "isolated", but would have "supervised"`, "no process namespaces", "such as .git", "Allow user namespaces"}},
		"loose":  {exitOK, []string{`warning: plugin "loose" asks for the sandbox level "isolated", and is kept at "supervised"`, "such as .git"}},
	} {
		var out, errs bytes.Buffer
		c := proctree.Cmd{Path: program, Name: "toolhost", Stdout: &out, Stderr: &errs, Dir: dir,
			Args:     []string{"--config", path, "call", name + "__exec", `{"command":"touch ran-` + name + `"}`, "--approve", "always"},
			Env:      append(os.Environ(), "HOME="+dir, "TMPDIR="+dir, "XDG_RUNTIME_DIR="),
			Restrict: &proctree.Restrictions{NoNewPrivileges: true, NoKernel: true}}
		exit, err := c.Run(t.Context())
		if err != nil || exit.Code != want.code {
			t.Errorf("%s: %v, %v, %s", name, exit, err, out.String())
		}
		for _, words := range want.words {
			if !strings.Contains(errs.String(), words) {
				t.Errorf("%s: standard error lacks %q: %s", name, words, errs.String())
			}
		}
		if _, err := os.Stat(filepath.Join(dir, "ran-"+name)); (err == nil) != (want.code == exitOK) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
