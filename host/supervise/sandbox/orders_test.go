package sandbox

import (
	"os"
	"slices"
	"testing"
)

// The folder of an isolated plugin's program can be read, but not when that is where the user lives.
func TestProgramFolder(t *testing.T) {
	t.Setenv("HOME", "/home/user")
	for named, want := range map[string]string{"/home/user/bin/plugin": "/home/user/bin", "/home/user/plugin": "/home/user/plugin", "/home/plugin": "/home/plugin"} {
		if got := programFolders(Program{Named: func() (string, error) { return named, nil }, Path: "/kept/copy"}, "/usr/bin/wrapper"); !slices.Equal(got, []string{"/kept/copy", "/usr/bin/wrapper", want}) {
			t.Errorf("%s: %v, want %s", named, got, want)
		}
	}
	if got := programFolders(Program{Named: func() (string, error) { return "", os.ErrNotExist }, Path: "/kept/copy"}, "run"); !slices.Equal(got, []string{"/kept/copy", "run"}) {
		t.Errorf("without a program: %v", got)
	}
}
