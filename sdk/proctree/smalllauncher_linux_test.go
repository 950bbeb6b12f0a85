//go:build !proctree_group

package proctree

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/internal/launcher"
	"github.com/toolhost/toolhost/internal/testutil"
)

// launcherVar names the launcher's program that the test binary, in all roles, runs in place of itself.
const launcherVar = "PROCTREE_LAUNCHER"

func init() {
	if path := os.Getenv(launcherVar); path != "" {
		program, _ := os.Open(path)
		smallLauncher = func() *os.File { return program }
		started.Store(true)
	}
}

// buildLauncher returns the launcher's program, and its sum.
func buildLauncher(t *testing.T) (path, sum string) {
	t.Helper()
	dir := t.TempDir()
	if err := testutil.Programs(dir); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, launcher.Name)
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256(program)
	return path, hex.EncodeToString(hash[:])
}

// All tests of this package pass with the launcher's own program too.
func TestSmallLauncher(t *testing.T) {
	if os.Getenv(launcherVar) != "" {
		t.Skip("it is what this run does")
	}
	path, _ := buildLauncher(t)
	args := []string{"-test.v", "-test.short"} // what is drawn many times, this run draws
	if testing.Short() {
		args = append(args, "-test.run", "Launcher|Restrictions|Namespace")
	}
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), launcherVar+"="+path)
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "--- PASS: ") < 20 {
		t.Errorf("with %s: %v\n%s", path, err, out)
	}
}

// Programs are started by the launcher's program where there is one, and otherwise by this one.
func TestLauncherProgram(t *testing.T) {
	want := os.Getenv(launcherVar)
	if want == "" {
		want = self(t)
	}
	c, out := script("readlink /proc/$PPID/exe")
	mustRun(t, c)
	if got := strings.TrimSpace(out.String()); got != want {
		t.Errorf("the launcher is %s, want %s", got, want)
	}
}

// Only a file with the sum of this build is run.
func TestOpenLauncher(t *testing.T) {
	path, sum := buildLauncher(t)
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := func(name string, content []byte) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, content, 0o700); err != nil {
			t.Fatal(err)
		}
		return name
	}
	link, pipe := filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, path string
		opened     bool
	}{
		{"of this build", path, true},
		{"a link to it", link, true},
		{"of another build", file("changed", append(program[:len(program)-1:len(program)-1], program[len(program)-1]^1)), false},
		{"cut", file("cut", program[:len(program)/2]), false},
		{"with more behind it", file("longer", append(program[:len(program):len(program)], 0)), false},
		{"empty", file("empty", nil), false},
		{"endless", "/dev/zero", false},
		{"a pipe that nothing writes to", pipe, false},
		{"a folder", dir, false},
		{"missing", filepath.Join(dir, "missing"), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := openLauncher(test.path, sum)
			if (f != nil) != test.opened {
				t.Errorf("opened is %v, want %v", f != nil, test.opened)
			}
			if f != nil {
				f.Close()
			}
		})
	}
}

// Where the system does not run the launcher's program, programs run all the same.
func TestLauncherThatCannotRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), launcher.Name)
	if err := os.WriteFile(path, []byte("no program"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self(t), "echo it runs; echo it runs >&2")
	cmd.Env = append(os.Environ(), roleVar+"=host", launcherVar+"="+path)
	out, err := cmd.CombinedOutput()
	if want := "it runs\nit runs\nhost done: exit code 0 <nil>\n"; err != nil || string(out) != want {
		t.Errorf("the host ended with %v and said %q, want %q", err, out, want)
	}
}

// What docs/embedding.md says makes a program that runs the launcher beside it, but for the first program that it starts.
func TestEmbeddersLauncher(t *testing.T) {
	if os.Getenv(launcherVar) != "" {
		t.Skip("the program is another one")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs/embedding.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, sample, _ := strings.Cut(string(page), "```bash\n")
	sample, _, _ = strings.Cut(sample, "```")
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.sum": string(sums),
		"go.mod": "module agent\n\ngo 1.26\n\nrequire github.com/toolhost/toolhost v0.0.0\n\n" +
			"replace github.com/toolhost/toolhost => " + root + "\n",
		"main.go": `package main

import (
	"context"
	"os"

	"github.com/toolhost/toolhost/sdk/proctree"
)

func main() {
	for range 3 {
		c := proctree.Command("sh", "-c", "readlink /proc/$PPID/exe")
		c.Stdout = os.Stdout
		if _, err := c.Run(context.Background()); err != nil {
			panic(err)
		}
	}
}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("sh", "-ec", sample)
	build.Dir = dir
	build.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod", "GOPROXY=off", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s\n%v\n%s", sample, err, out)
	}
	agent := filepath.Join(dir, "bin/agent")
	small := filepath.Join(dir, "bin", launcher.Name)
	out, err := exec.Command(agent).Output()
	if want := agent + "\n" + small + "\n" + small + "\n"; err != nil || string(out) != want {
		t.Errorf("the launchers are\n%s(%v), want\n%s", out, err, want)
	}
}
