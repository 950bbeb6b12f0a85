package fsutil_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/internal/fsutil"
)

func TestFolderError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		err  error
		want string // of the advice; "" if there is none
	}{
		"a file":       {os.MkdirAll(filepath.Join(file, "sub"), 0o700), "Fix: make DIR a folder"},
		"full":         {&fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, "Fix: free space for DIR"},
		"read-only":    {&fs.PathError{Op: "open", Path: "x", Err: syscall.EROFS}, "Fix: make DIR a folder"},
		"another's":    {fs.ErrPermission, "Fix: make DIR a folder"},
		"a loop":       {&fs.PathError{Op: "stat", Path: "x", Err: syscall.ELOOP}, "Fix: make DIR a folder"},
		"another kind": {errors.New("it is no list"), ""},
	} {
		got := fsutil.FolderError(c.err, "DIR", "set VAR to another folder")
		if !errors.Is(got, c.err) || !strings.HasPrefix(got.Error(), c.err.Error()) {
			t.Errorf("%s: the error is lost: %v", name, got)
		}
		if advice := strings.TrimPrefix(got.Error(), c.err.Error()); !strings.Contains(advice, c.want) ||
			(c.want != "") != strings.Contains(advice, "or set VAR to another folder") {
			t.Errorf("%s: %v", name, got)
		}
	}
	here, err := os.Getwd()
	if got := fsutil.FolderError(fs.ErrPermission, ".", "set VAR"); err != nil || !strings.Contains(got.Error(), here) {
		t.Errorf("the working folder, %s, is not named: %v, %v", here, got, err)
	}
	if err := fsutil.FolderError(nil, "DIR", "set VAR to another folder"); err != nil {
		t.Error(err)
	}
}
