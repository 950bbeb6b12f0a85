package supervise

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/supervise/sandbox"
)

// What a plugin keeps is there at its next start, at every level; another plugin that is confined cannot change it, one
// that is isolated not even read it.
func TestStateFolder(t *testing.T) {
	for _, level := range allLevels {
		t.Run(string(level), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "state", "plugins", "own")
			spec := attacker(makeAttackTargets(t), sandbox.Spec{Level: level})
			spec.StateDir = dir
			first := add(t, supervisor(t), spec)
			if out := mustCall(t, first, "run",
				`cd "$TOOLHOST_STATE_DIR" && pwd && mkdir a && echo kept > a/b`); strings.TrimSpace(
				out) != dir {
				t.Errorf("it prints %s, want %s", out, dir)
			}
			if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("the folder is %v, %v", info, err)
			}
			if out := mustCall(t, add(t, supervisor(t), spec), "run",
				`cat "$TOOLHOST_STATE_DIR/a/b"`); strings.TrimSpace(out) != "kept" {
				t.Errorf("the next start reads %s", out)
			}
			other := attacker(makeAttackTargets(t), sandbox.Spec{Level: level})
			other.StateDir = filepath.Join(filepath.Dir(dir), "other")
			attack := fmt.Sprintf("cat %[1]s/a/b; echo changed > %[1]s/a/b; rm -r %[1]s/a; echo done", dir)
			out := mustCall(t, add(t, supervisor(t), other), "run", attack)
			kept, err := os.ReadFile(filepath.Join(dir, "a", "b"))
			switch {
			case level == sandbox.Supervised:
			case err != nil || string(kept) != "kept\n":
				t.Errorf("another plugin has changed it: %q, %v", kept, err)
			case strings.Contains(out, "kept\n") != (level == sandbox.Confined):
				t.Errorf("another plugin prints %s", out)
			}
		})
	}
}

// A folder that is not the user's own is not used, and costs no start.
func TestStateFolderThatCannotBeUsed(t *testing.T) {
	file, link := filepath.Join(t.TempDir(), "file"), filepath.Join(t.TempDir(), "link")
	must(0, os.WriteFile(file, nil, 0o600))
	must(0, os.Symlink(t.TempDir(), link))
	for name, dir := range map[string]string{"none": "", "a file": file, "below a file": file + "/x", "a link": link} {
		t.Run(name, func(t *testing.T) {
			spec := attacker(makeAttackTargets(t), sandbox.Spec{})
			spec.StateDir = dir
			if out := mustCall(t, add(t, supervisor(t), spec), "run",
				`echo "$TOOLHOST_STATE_DIR"`); strings.TrimSpace(out) != "" {
				t.Errorf("it has %s", out)
			}
		})
	}
	open := t.TempDir()
	must(0, os.Chmod(open, 0o755))
	if dir, err := makeStateDir(open); err != nil || dir != open {
		t.Errorf("%s, %v", dir, err)
	}
	if info, _ := os.Stat(open); info.Mode().Perm() != 0o700 {
		t.Errorf("it stays %v", info.Mode())
	}
}
