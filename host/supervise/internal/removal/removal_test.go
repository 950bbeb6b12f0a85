//go:build unix

package removal

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestMain can be a program that removes a folder with few open files.
func TestMain(m *testing.M) {
	at := os.Getenv("REMOVE")
	if at == "" {
		os.Exit(m.Run())
	}
	err := errors.Join(syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 64, Max: 64}), All(at, time.Minute))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// A folder is removed whatever the modes in it, and nothing that a link in it names.
func TestModesAndLinks(t *testing.T) {
	outside, dir := t.TempDir(), filepath.Join(t.TempDir(), "dir")
	kept := filepath.Join(outside, "kept")
	check(t, os.MkdirAll(filepath.Join(dir, "a", "b", "c"), 0o700), os.WriteFile(kept, nil, 0o400),
		os.Symlink(outside, filepath.Join(dir, "a", "link")),
		os.Chmod(outside, 0o500), os.Chmod(filepath.Join(dir, "a", "b"), 0), os.Chmod(filepath.Join(dir, "a"), 0),
		os.Chmod(dir, 0))
	defer os.Chmod(outside, 0o700)
	if err := All(dir, time.Minute); err != nil || !missing(dir) {
		t.Error(err)
	}
	if info, err := os.Stat(outside); err != nil || info.Mode().Perm() != 0o500 || missing(kept) {
		t.Errorf("outside: %v, %v", info, err)
	}
}

// It does not matter what the owner of a folder may do with it, nor where it is.
func TestEveryMode(t *testing.T) {
	folders := []string{".", "a", "a/b", "a/b/c"}
	for mode := range os.FileMode(8) {
		for _, locked := range folders {
			t.Run(fmt.Sprintf("%o of %s", mode<<6, locked), func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "dir")
				check(t, os.MkdirAll(filepath.Join(dir, "a", "b", "c"), 0o700))
				for _, f := range folders {
					check(t, os.WriteFile(filepath.Join(dir, f, "file"), nil, 0o400))
				}
				locked := filepath.Join(dir, locked)
				check(t, os.Chmod(locked, mode<<6))
				if err := All(dir, time.Minute); err != nil || !missing(dir) {
					t.Error(err)
					_ = os.Chmod(locked, 0o700) // it may be elsewhere by now
				}
			})
		}
	}
}

// A folder in place of the file that goes last holds up nothing.
func TestFolderInPlaceOfTheLastFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dir")
	check(t, os.MkdirAll(filepath.Join(dir, "kept", "full"), 0o700))
	if err := Keeping(dir, "kept", time.Minute); err != nil || !missing(dir) {
		t.Error(err)
	}
}

// Folders may be deeper than paths can be long, and than one has files open, and hold more than is read at once.
func TestDeepFolders(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dir")
	check(t, os.Mkdir(dir, 0o700), makeDeepFolders(dir))
	for i := range 2*batch + 1 {
		check(t, os.Mkdir(filepath.Join(dir, fmt.Sprint(i)), 0o500))
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "REMOVE="+dir)
	if out, err := cmd.CombinedOutput(); err != nil || !missing(dir) {
		t.Errorf("%v: %.1000s", err, out)
		_ = All(dir, time.Minute)
	}
	if err := All(dir, time.Minute); err != nil {
		t.Errorf("what is not there: %v", err)
	}
}

// makeDeepFolders makes folders within folders, 3000 deep, some with a file.
func makeDeepFolders(dir string) error {
	at, err := os.OpenRoot(dir)
	for i := 0; i < 3000 && err == nil; i++ {
		if i%1000 == 0 {
			err = at.WriteFile("file", nil, 0)
		}
		err = errors.Join(err, at.Mkdir("d", 0o700))
		below, openErr := at.OpenRoot("d")
		err = errors.Join(err, openErr, at.Close())
		at = below
	}
	if err != nil {
		return err
	}
	return at.Close()
}

func missing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, os.ErrNotExist)
}

func check(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
