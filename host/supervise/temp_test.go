package supervise

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/supervise/sandbox"
)

// Each generation has a private folder for temporary files, which is gone after it with all that is in it.
func TestTemporaryFolder(t *testing.T) {
	t.Parallel()
	for _, l := range []sandbox.Level{sandbox.Supervised, sandbox.Confined} {
		t.Run(string(l), func(t *testing.T) {
			t.Parallel()
			s := supervisor(t)
			spec := playing("good", "good")
			spec.Sandbox.Level = l
			p := add(t, s, spec)
			first := mustCall(t, p, "litter", "")
			info, err := os.Stat(first)
			if err != nil || info.Mode().Perm() != 0o700 || filepath.Dir(first) != s.dir.path {
				t.Fatalf("%s: %v, %v", first, info, err)
			}
			_, _ = call(t, p, "die", "it")
			if second := mustCall(t, p, "litter", ""); second == first {
				t.Error("two generations have one folder")
			}
			soon(t, "the first is gone", patience, func() bool { return missing(first) })
			_ = s.Close()
			if !missing(s.dir.path) {
				t.Error("the supervisor left its folder")
			}
		})
	}
}

// Temporary files are not put where only small things have room.
func TestTemporaryFolderIsNotInTheRuntimeFolder(t *testing.T) {
	runtime, tmp := shortDir(t), shortDir(t)
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	t.Setenv("TMPDIR", tmp)
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := add(t, s, playing("good", "good"))
	if got := mustCall(t, p, "litter", ""); filepath.Dir(filepath.Dir(got)) != tmp || filepath.Dir(s.dir.path) != runtime {
		t.Errorf("temporary files in %s, sockets in %s", got, s.dir.path)
	}
	_ = s.Close()
	for _, dir := range []string{runtime, tmp} {
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s holds %v", dir, left)
		}
	}
}

func TestTemporaryFolderOfAFailedStart(t *testing.T) {
	s := supervisor(t)
	_, _ = call(t, add(t, s, playing("bad", "exits")), "echo", "")
	soon(t, "no folder is left", patience, func() bool {
		left, _ := filepath.Glob(filepath.Join(s.dir.path, "t*"))
		return len(left) == 0
	})
}

// Whoever configures TMPDIR for a plugin has the last word.
func TestTemporaryFolderOfTheOperator(t *testing.T) {
	spec := playing("good", "good")
	spec.Env["TMPDIR"] = t.TempDir()
	if got := mustCall(t, add(t, supervisor(t), spec), "litter", ""); got != spec.Env["TMPDIR"] {
		t.Errorf("it has %s", got)
	}
	_ = os.Chmod(filepath.Join(spec.Env["TMPDIR"], "locked"), 0o700)
}

func missing(path string) bool {
	_, err := os.Lstat(path)
	return os.IsNotExist(err)
}

// Discovery commands get the environment that plugins get, and end with all that they have started.
func TestDiscoveryIsContained(t *testing.T) {
	t.Setenv("SECRET_TOKEN", "s3cret")
	d := Discovery{Name: "team", Command: []string{"sh", "-c", "env | grep -c SECRET_TOKEN; echo $$ >&2; setsid sleep 1000 & echo done"}, Dir: t.TempDir(), Timeout: 2 * patience}
	started := time.Now()
	out, err := d.run(t.Context())
	if err != nil || string(out) != "0\ndone\n" || time.Since(started) > patience {
		t.Errorf("%q, %v", out, err)
	}
	d.Command[2] = "echo trouble >&2; exit 3"
	if _, err := d.run(t.Context()); err == nil || !strings.Contains(err.Error(), "exit code 3") || !strings.Contains(err.Error(), "it said: trouble") {
		t.Error(err)
	}
}
