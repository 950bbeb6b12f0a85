package audit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What cannot be written, or cannot be made to last, is refused, and the head does not know of it.
func TestDevices(t *testing.T) {
	for name, c := range map[string]struct {
		device string
		sync   bool
		want   string // "" for no error
	}{
		"full":          {"/dev/full", false, "no space left on device"},
		"full, sync":    {"/dev/full", true, "no space left on device"},
		"cannot sync":   {"/dev/null", true, "sync"},
		"needs no sync": {"/dev/null", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			l := onDevice(t, c.device)
			before := read(t, headPath(l.path))
			r := call(1)
			r.Sync = c.sync
			err := l.Append(r)
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "cannot be removed") {
				t.Errorf("Append: %v, want %q in it", err, c.want)
			}
			if after := read(t, headPath(l.path)); after != before {
				t.Errorf("the head was changed to %q", after)
			}
		})
	}
}

// onDevice returns a log whose file is a device, as if it had become one after Open.
func onDevice(t *testing.T, device string) *Log {
	t.Helper()
	l := openLog(t, logPath(t), Options{})
	f, err := os.OpenFile(device, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	l.file.Close()
	path := filepath.Join(t.TempDir(), "device")
	if err := os.Symlink(device, path); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(headPath(l.path), headPath(path)); err != nil {
		t.Fatal(err)
	}
	l.path, l.file = path, f
	return l
}
