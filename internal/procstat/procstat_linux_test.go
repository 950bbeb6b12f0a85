package procstat

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// TestNamesDoNotMoveFields runs programs whose names look like further fields.
func TestNamesDoNotMoveFields(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(sleep)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "a b", "a) T 1 (", "(", ")", ") ) )", "a\nb"} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, program, 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(path, "600")
		cmd.Args[0] = "sleep" // where one program is many by its name
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		pid := cmd.Process.Pid
		f := Read(pid)
		if f.Text(Name) != name || ParentOf(pid) != os.Getpid() || f.Int(Start) <= 0 || IsStopped(pid) {
			t.Errorf("%q: fields %q", name, f)
		}
		if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		if _, err := syscall.Wait4(pid, nil, syscall.WUNTRACED, nil); err != nil {
			t.Fatal(err)
		}
		if !IsStopped(pid) {
			t.Errorf("%q: stopped, and has the fields %q", name, Read(pid))
		}
	}
}

func TestAProcessThatIsNotThere(t *testing.T) {
	const none = 1 << 30 // above the largest number that Linux gives
	if f := Read(none); f.Text(Name) != "" || ParentOf(none) != 0 || IsStopped(none) {
		t.Errorf("fields %q", f)
	}
}
