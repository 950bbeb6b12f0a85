//go:build unix

package proctree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// SignalName returns the name of the signal that ended the program, such as
// SIGKILL, or "" if none did. Numbers differ between systems, names do not.
func (e Exit) SignalName() string {
	if e.Signal == 0 {
		return ""
	}
	if name := unix.SignalName(e.Signal); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", int(e.Signal))
}

// execError converts the errno of execve for this program.
func execError(p program, errno syscall.Errno) *StartError {
	file := p.path
	if !filepath.IsAbs(file) && p.dir != "" {
		file = p.dir + "/" + file // not filepath.Join, which removes "link/.."
	}
	info, err := os.Stat(file)
	reason := errno.Error()
	switch {
	case errno == syscall.EACCES && err == nil && info.IsDir():
		reason = "is a directory"
	case errno == syscall.EACCES && err == nil && info.Mode()&0o111 == 0:
		reason = "permission denied: it is not executable"
	case errno == syscall.ENOENT && err == nil:
		reason = "its interpreter does not exist: " + interpreter(file)
	case errno == syscall.ENOENT && errors.Is(err, os.ErrNotExist):
		reason = "no such file"
	case errno == syscall.ENOEXEC:
		reason = "exec format error: neither a script with a #! line nor a program for this machine"
	}
	return &StartError{p.name, reason, errno}
}

func interpreter(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return "unknown"
	}
	defer f.Close()
	head, _ := io.ReadAll(io.LimitReader(f, 256))
	line, _, _ := bytes.Cut(head, []byte("\n"))
	if text, ok := strings.CutPrefix(string(line), "#!"); ok {
		if strings.HasSuffix(text, "\r") {
			return fmt.Sprintf("%q, since its lines end with CR LF, as on Windows; save it with LF alone",
				strings.TrimLeft(text, " \t"))
		}
		return strings.TrimSpace(text)
	}
	return "the loader of the program"
}
