package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A host in the foreground stops when its terminal is closed; SIGHUP alone has it read its configuration again.
func TestHostEndsWithItsTerminal(t *testing.T) {
	for name, ignored := range map[string]bool{"foreground": false, "nohup": true} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t).withPlugin(t, "")
			log := &logBuffer{}
			h.log = log
			m, tty := openTerminal(t)
			cmd := h.command(t, "--config", filepath.Join(h.dir, "config.hcl"), "serve", "--address", "127.0.0.1:0")
			if ignored {
				cmd.Args = append([]string{"sh", "-c", `trap "" HUP; exec "$0" "$@"`}, append([]string{cmd.Path},
					cmd.Args[1:]...)...)
				cmd.Path, _ = exec.LookPath("sh")
			}
			cmd.Stdin = tty
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			_, _, ended := h.servedBy(t, cmd)
			hangUp(t, h.process(t))
			eventually(t, "it is not reloaded", func() bool { return reloads(log) == 1 })
			if ignored { // the successor outlives it, too
				expect(t, h.run(t, "serve", "--upgrade"), "serves in place of", "\n0")
			}
			_, _ = m.Close(), tty.Close()
			if ignored {
				hangUp(t, h.process(t)) // the kernel's is the same one while neither was received
				eventually(t, "it is not reloaded", func() bool { return reloads(log) > 1 })
				expect(t, h.run(t, "serve", "--stop"), "stops", "\n0")
			}
			waitFor(t, ended)
		})
	}
}

func reloads(log *logBuffer) int { return strings.Count(log.String(), "configuration reloaded") }

func hangUp(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
}

// openTerminal makes a terminal; it is closed with m.
func openTerminal(t *testing.T) (m, tty *os.File) {
	t.Helper()
	m, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err) // of a container without terminals
	}
	t.Cleanup(func() { _ = m.Close() })
	if err := unix.IoctlSetPointerInt(int(m.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(m.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tty.Close() })
	return m, tty
}
