//go:build unix

package workspace

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func init() {
	if path := os.Getenv("WORKSPACE_DRAFT"); path != "" { // a process that is killed in the middle of a write
		r, err := Open(filepath.Dir(path))
		if err != nil {
			panic(err)
		}
		p, err := r.Find(filepath.Base(path))
		if err != nil {
			panic(err)
		}
		if _, err := p.Prepare([]byte("new")); err != nil {
			panic(err)
		}
		_, _ = os.Stdout.WriteString("ready")
		select {}
	}
}

// What a process that was killed has left goes with the first write of the next, and nothing else does: neither what
// one that lives is about to put in place, nor what is somebody's own.
func TestLeftoversAreRemoved(t *testing.T) {
	dir := t.TempDir()
	drafting := func() *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "WORKSPACE_DRAFT="+filepath.Join(dir, "file"))
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		if _, err := out.Read(make([]byte, 5)); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	temps := func() []string { all, _ := filepath.Glob(filepath.Join(dir, ".toolhost-*")); return all }
	dead := drafting()
	_ = dead.Process.Kill()
	_ = dead.Wait()
	if len(temps()) != 1 {
		t.Fatalf("left are %q", temps())
	}
	left := temps()[0]
	drafting() // which lives on
	kept := []string{filepath.Join(dir, ".toolhost-notes"), filepath.Join(dir, ".toolhost-"+rand.Text()),
		filepath.Join(dir, ".toolhost-"+rand.Text())}
	if err := errors.Join(os.WriteFile(kept[0], nil, 0o600), os.Mkdir(kept[1], 0o700),
		os.Symlink(kept[0], kept[2])); err != nil {
		t.Fatal(err)
	}
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, err := r.Find("file")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Write([]byte("mine"), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was left is there: %v", err)
	}
	if got := temps(); len(got) != len(kept)+1 {
		t.Errorf("there are %q", got)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || !bytes.Equal(text, []byte("mine")) {
		t.Errorf("%q, %v", text, err)
	}
}
