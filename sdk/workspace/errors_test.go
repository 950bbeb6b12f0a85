package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/sdk"
)

func TestExplain(t *testing.T) {
	tests := []struct {
		err  error
		want string
	}{
		{&fs.PathError{Op: "openat", Path: "x", Err: syscall.EACCES}, "PermissionDenied"},
		{&fs.PathError{Op: "openat", Path: "x", Err: syscall.EROFS}, "PermissionDenied"},
		{&fs.PathError{Op: "openat", Path: "x", Err: syscall.ENOENT}, "FileNotFound"},
		{&fs.PathError{Op: "openat", Path: "x", Err: syscall.ENOTDIR}, "NotADirectory"},
		{&fs.PathError{Op: "openat", Path: "x", Err: syscall.ENAMETOOLONG}, "InvalidPath"},
		{&os.LinkError{Op: "renameat", Old: "x", New: "y", Err: syscall.EACCES}, "PermissionDenied"},
		{&fs.PathError{Op: "write", Path: "x", Err: syscall.EIO}, "IOError"},
		{errors.New("odd"), "IOError"},
	}
	for _, test := range tests {
		fails(t, Explain("dir/x", test.err), test.want)
	}
	if got := Explain("dir/x", tests[0].err).Error(); got != `"dir/x": permission denied` {
		t.Errorf("the message is %q", got)
	}
}

func TestExplainKeeps(t *testing.T) {
	for _, err := range []error{nil, context.Canceled, context.DeadlineExceeded,
		fmt.Errorf("reading: %w", context.Canceled), &sdk.Error{Name: "Own"}} {
		if got := Explain("x", err); !errors.Is(got, err) {
			t.Errorf("%v became %v", err, got)
		}
	}
}

func TestUnwritten(t *testing.T) {
	full := &fs.PathError{Op: "write", Path: ".toolhost-1", Err: syscall.ENOSPC}
	e := fails(t, explainWrite("dir/x", full), "IOError")
	if want := `"dir/x": no space left on device; nothing was written`; e.Message != want {
		t.Errorf("the message is %q, want %q", e.Message, want)
	}
	contains(t, e.Suggestion, "have room made")
	own := &sdk.Error{Name: "Own"}
	if err := explainWrite("x", own); err != error(own) || explainWrite("x", nil) != nil {
		t.Errorf("an error of ours became %v", err)
	}
}
