package supervise

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/supervise/sandbox"
)

// discovered is what a shell script finds that runs as a discovery command.
func discovered(t *testing.T, dir string, box *sandbox.Spec, text string) (string, error) {
	t.Helper()
	d := Discovery{Name: "team", Command: []string{"sh", "-c", text}, Dir: dir, Timeout: patience, Sandbox: box}
	out, err := d.run(t.Context())
	return string(out), err
}

// Without a sandbox block a discovery command has what the level supervised has.
func TestDiscoveryIsSupervised(t *testing.T) {
	dir, temps := t.TempDir(), shortDir(t)
	t.Setenv("TMPDIR", temps)
	out, err := discovered(t, dir, nil, `umask; ulimit -n; ulimit -c; grep NoNewPrivs /proc/self/status; ls -x /proc/$$/fd; pwd; echo x >made; echo x >"$TMPDIR"/x && dirname "$(dirname "$TMPDIR")"; env | grep -c TOOLHOST || :`)
	want := []string{fmt.Sprintf("%04o", umask()), "4096", "0", "NoNewPrivs:\t1", "0  1  2", dir, temps, "0", ""}
	if !sandbox.Machine().NoNewPrivs {
		want[3] = "NoNewPrivs:\t0"
	}
	if got := strings.Split(out, "\n"); err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	if missing(filepath.Join(dir, "made")) {
		t.Error("it could not write to its folder")
	}
	if left, _ := os.ReadDir(temps); len(left) != 0 {
		t.Errorf("it left %v", left)
	}
}

// A sandbox block means for a discovery command what it means for a plugin, but that it can write nowhere by itself.
func TestDiscoveryInASandbox(t *testing.T) {
	dir, secret := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("s3cret"), 0o600); err != nil {
		t.Fatal(err)
	}
	write, read := `echo x >made || exit 3; echo written`, `cat `+secret
	tests := []struct {
		name, text string
		box        sandbox.Spec
		want       string // words of the error where its sandbox holds, "" if that lets it
		free       string // what it prints where it is let
	}{
		{"confined, writes", write, sandbox.Spec{}, "can write to its TMPDIR only", "written\n"},
		{"confined, may write", write, sandbox.Spec{Write: []string{dir}}, "", "written\n"},
		{"confined, reads", read, sandbox.Spec{}, "", "s3cret"},
		{"isolated, reads", read, sandbox.Spec{Level: sandbox.Isolated}, "reads no more than it needs to run", "s3cret"},
		{"isolated, may read", read, sandbox.Spec{Level: sandbox.Isolated, Read: []string{secret}}, "", "s3cret"},
		{"wrapped", "echo inner", sandbox.Spec{Wrapper: []string{"sh", "-c", `echo outer; exec "$@"`, "sh"}}, "", "outer\ninner\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			out, err := discovered(t, dir, &test.box, test.text)
			if test.want == "" || sandbox.Machine().Landlock == 0 {
				if err != nil || out != test.free {
					t.Errorf("%q, %v; want %q", out, err, test.free)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.want) ||
				!strings.Contains(err.Error(), "Permission denied") && !strings.Contains(err.Error(), "Read-only file system") {
				t.Errorf("%q, %v; want %q", out, err, test.want)
			}
		})
	}
}

// A command that may write to the folder of the configuration cannot change that, nor what git runs.
func TestDiscoveryChangesNoConfiguration(t *testing.T) {
	dir := project(t, "config.hcl", ".git/config")
	d := Discovery{Name: "x", Command: []string{"sh", "-c", "echo new >config.hcl; echo new >.git/config; echo x >made; cat config.hcl .git/config made"}, Dir: dir,
		Sandbox: &sandbox.Spec{Write: []string{dir}}, Protect: []string{filepath.Join(dir, "config.hcl")}}
	got, err := d.On(sandbox.Machine())
	if err != nil || slices.Contains(got.ReadOnly, filepath.Join(dir, "config.hcl")) != namespaces(t) {
		t.Errorf("%+v, %v", got, err)
	}
	if out, err := d.run(t.Context()); err != nil || namespaces(t) && string(out) != "oldoldx\n" {
		t.Errorf("%q, %v", out, err)
	}
	if !missing(filepath.Join(dir, ".vscode")) {
		t.Error("a placeholder is left")
	}
}

// What cannot be kept to its sandbox is not run.
func TestDiscoveryIsRefused(t *testing.T) {
	dir := t.TempDir()
	tests := map[string]struct {
		box   sandbox.Spec
		words string
	}{
		"contradiction": {sandbox.Spec{Level: sandbox.Supervised, Require: sandbox.Isolated}, `require = "isolated" is more than the level asked for`},
		"folder":        {sandbox.Spec{Write: []string{"/proc/no/such/folder"}}, "its sandbox lets it write to /proc/no/such/folder, which is not there"},
		"wrapper":       {sandbox.Spec{Wrapper: []string{"no-such-wrapper"}}, "its wrapper no-such-wrapper cannot be run"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := discovered(t, dir, &test.box, "echo >ran"); err == nil || !strings.Contains(err.Error(), test.words) {
				t.Errorf("%v, want %q", err, test.words)
			}
			if !missing(filepath.Join(dir, "ran")) {
				t.Error("it was run")
			}
		})
	}
	if _, err := (Discovery{Name: "x", Command: []string{"sh"}, Sandbox: &sandbox.Spec{Require: sandbox.Confined}}).On(sandbox.Means{}); err == nil {
		t.Error("a machine without means reaches what is required")
	}
	if got, err := (Discovery{Name: "x", Command: []string{"sh"}}).On(sandbox.Machine()); err != nil || got.Asked != sandbox.Supervised {
		t.Errorf("asked is %+v, %v", got, err)
	}
}
