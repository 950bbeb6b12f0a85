// Package local finds the host that serves a configuration to its user on this machine, and connects to it.
package local

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/toolhost/toolhost/internal/fsutil"
)

// A Place is where the files of a running host are: its socket, its token and its log. Hosts of different
// configurations, work folders or profiles have different places.
type Place struct{ base string }

// Find returns the place of the host of a configuration file with a work folder and a profile. Without a file, config
// is the folder whose plugins are used. Links are resolved, so that all names of a file lead to one place: also the
// name of a link that was deleted or changed while its host runs, see Name.
func Find(config, workdir, profile string) (Place, error) {
	path, err := absolute(config)
	if err != nil {
		return Place{}, err
	}
	p, err := find(fsutil.Resolved(path), workdir, profile) // also of a file that was deleted since
	if err != nil {
		return p, err
	}
	named, err := find(linkPath(path), workdir, profile)
	if err != nil {
		return p, err
	}
	if id, err := os.Readlink(named.name()); err == nil && filepath.Base(id) == id && !fsutil.Locked(p.Lock()) {
		served := Place{filepath.Join(filepath.Dir(p.base), id)}
		if fsutil.Locked(served.Lock()) {
			return served, nil
		}
	}
	return p, nil
}

// linkPath is the path of a file which may be a link: those before it are resolved.
func linkPath(path string) string {
	return filepath.Join(fsutil.Resolved(filepath.Dir(path)), filepath.Base(path))
}

func absolute(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("the current folder cannot be found, such as when it was deleted: %w; go to a folder "+
			"that exists, or name the configuration and the work folder by whole paths", err)
	}
	return path, nil
}

// find is Find for the whole path of a configuration, whose links are resolved.
func find(config, workdir, profile string) (Place, error) {
	folder, err := Folder()
	if err != nil {
		return Place{}, err
	}
	workdir, err = absolute(cmp.Or(workdir, "."))
	if err != nil {
		return Place{}, err
	}
	sum := sha256.Sum256([]byte(config + "\x00" + fsutil.Resolved(workdir) + "\x00" + profile))
	return Place{filepath.Join(folder, hex.EncodeToString(sum[:])[:16])}, nil
}

const maxLinks = 40 // how many links of a path are followed, as by Linux

// name is a link to the ID of the place that a configuration leads to which is itself a link.
func (p Place) name() string { return p.base + ".name" }

// Name has Find find the place by each link that leads to its configuration, also after that was deleted or changed,
// until Unname. A place whose configuration is no link needs none.
func (p Place) Name(config, workdir, profile string) error {
	for range maxLinks {
		info, err := os.Lstat(config)
		if err != nil || info.Mode()&os.ModeSymlink == 0 {
			return err
		}
		target, err := os.Readlink(config)
		if err != nil {
			return err
		}
		at, err := find(linkPath(config), workdir, profile)
		if err != nil {
			return err
		}
		_ = os.Remove(at.name()) // of a host that was killed
		if err := os.Symlink(p.ID(), at.name()); err != nil {
			return p.FolderError(err)
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(config), target)
		}
		config = target
	}
	return nil
}

// Unname takes back Name, also what a predecessor has named.
func (p Place) Unname() {
	dir := filepath.Dir(p.base)
	files, _ := os.ReadDir(dir) // what is left there names a place that no host has
	for _, f := range files {
		name := filepath.Join(dir, f.Name())
		if id, err := os.Readlink(name); err == nil && id == p.ID() {
			_ = os.Remove(name)
		}
	}
}

// Folder is toolhost's folder of the user's runtime files: in $XDG_RUNTIME_DIR, otherwise in the system's folder for
// temporary files, with the user's number. It need not exist.
func Folder() (string, error) {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "toolhost"), nil
	}
	dir := os.TempDir()
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("there is no place for runtime files: %q, the folder for temporary files, is not an absolute "+
			"path; set XDG_RUNTIME_DIR", dir)
	}
	return filepath.Join(dir, "toolhost-"+strconv.Itoa(os.Getuid())), nil
}

// MaxSocket is how many bytes the path of a Unix socket may have on this system.
const MaxSocket = len(syscall.RawSockaddrUnix{}.Path) - 1

// Check fails where no host could have its files, with what to do.
func (p Place) Check() error {
	at := filepath.Dir(filepath.Dir(p.base)) // of toolhost's folder
	named := "the folder for temporary files"
	if filepath.IsAbs(os.Getenv("XDG_RUNTIME_DIR")) {
		named = "$XDG_RUNTIME_DIR"
	}
	if info, err := os.Stat(at); err != nil || !info.IsDir() {
		return fmt.Errorf("there is no place for runtime files: %s, %s, is not a folder; make it, or set XDG_RUNTIME_DIR to "+
			"one of yours", named, at)
	}
	if n := len(p.Socket()); n > MaxSocket {
		return fmt.Errorf("the path of the socket would have %d bytes, and the limit is %d: %s; set XDG_RUNTIME_DIR to a "+
			"folder with a shorter path", n, MaxSocket, p.Socket())
	}
	return nil
}

// Make makes the folder if it does not exist, and fails if another user can reach it.
func (p Place) Make() error {
	if err := p.Check(); err != nil {
		return err
	}
	dir := filepath.Dir(p.base)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return p.FolderError(err)
	}
	return fsutil.CheckPrivateDir(dir)
}

// FolderError adds to an error of the place's files what to do, if it is one of the file system.
func (p Place) FolderError(err error) error {
	return fsutil.FolderError(err, filepath.Dir(p.base), "set XDG_RUNTIME_DIR to another folder")
}

// ID identifies the configuration, work folder and profile, by 16 hexadecimal digits.
func (p Place) ID() string { return filepath.Base(p.base) }

// Socket is the path of the socket.
func (p Place) Socket() string { return p.base + ".sock" }

// Token is the path of the file with the token for HTTP.
func (p Place) Token() string { return p.base + ".token" }

// Lock is the path of the file that a running host keeps locked.
func (p Place) Lock() string { return p.base + ".lock" }

// Log is the path of the log of a host that was started in the background.
func (p Place) Log() string { return p.base + ".log" }

// Limits of a connection.
const (
	maxMessage   = 64 << 20 // bytes of a message that is received
	probeTimeout = 2 * time.Second
)

// ErrNotRunning means that no host serves the place.
var ErrNotRunning = errors.New("no host is running")

// Dial connects to the host that serves the place. The error is ErrNotRunning when there is none.
func (p Place) Dial(ctx context.Context) (*grpc.ClientConn, error) {
	if _, err := os.Lstat(p.Socket()); err != nil {
		return nil, ErrNotRunning
	}
	if err := fsutil.CheckPrivateDir(filepath.Dir(p.base)); err != nil {
		return nil, err
	}
	probe, err := (&net.Dialer{Timeout: probeTimeout}).DialContext(ctx, "unix", p.Socket())
	if err != nil { // a host that was killed leaves its socket
		return nil, ErrNotRunning
	}
	_ = probe.Close()
	return grpc.NewClient("passthrough:///toolhost", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", p.Socket())
		}), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)), grpc.WithAuthority("localhost"))
}

// What a host says to the program that has started it.
const (
	// ReadyVar names the open file to which a host writes ReadyText when it serves, and otherwise why it does not.
	ReadyVar  = "TOOLHOST_READY_FILE"
	ReadyText = "ready\n"
	// MaxReason is how many bytes the starter reads: a pipe takes so many at once.
	MaxReason = 4 << 10
	// ExitLocked is with which code a host in the background ends when another process is the host.
	ExitLocked = 75
)

// State says what the process that has a place does.
type State string

// The states of a Holder.
const (
	Starts State = "starts"
	Serves State = "serves"
	Stops  State = "stops"
)

// A Holder is the process that has a place, also while its socket cannot be reached.
type Holder struct {
	// PID is 0 when the process has ended, also when it was killed, and one that has handed over to it still ends its
	// calls: Earlier, 0 where the system does not tell.
	PID, Earlier int
	State        State
}

// Ending says of a process that takes no calls any more what goes on, and what to do.
func (h Holder) Ending() string {
	pid, text := h.PID, fmt.Sprintf("process %d is stopping: it ends its calls, and takes no others", h.PID)
	if h.PID == 0 {
		pid, text = h.Earlier, "the host has ended, and an earlier process, which had handed over to it, still ends its calls"
	}
	if pid == 0 {
		return text + "; wait for it"
	}
	return fmt.Sprintf("%s; wait for it, or end it: kill %d", text, pid)
}

const maxHeld = 4 << 10 // how many bytes of a lock file are read

// Holder returns the process that has the place; nil when none has.
func (p Place) Holder() *Holder {
	if !fsutil.Locked(p.Lock()) {
		return nil
	}
	f, err := os.Open(p.Lock())
	if err != nil {
		return &Holder{}
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, maxHeld)) // without it the lock alone tells
	line, _, _ := strings.Cut(string(text), "\n")
	words := append(strings.Fields(line), "", "") // of an older version parts are missing
	pid, _ := strconv.Atoi(words[0])
	if pid != 0 && !gone(pid) && (words[2] == "" || words[2] == beginning(pid)) {
		return &Holder{PID: pid, State: State(words[1])}
	}
	h := &Holder{} // what was killed has not written that it has ended
	for _, name := range words[min(3, len(words)):] {
		number, began, _ := strings.Cut(name, "/")
		if pid, _ := strconv.Atoi(number); pid != 0 && !gone(pid) && began == beginning(pid) {
			h.Earlier = pid
		}
	}
	return h
}

// beginning tells a process from later ones with its number; "" where the system does not say it.
func beginning(pid int) string {
	name, _, _ := Process(pid) // empty with an error
	_, began, _ := strings.Cut(name, "/")
	return began
}

// Hold writes into the locked file of a place what this process does, and the names of those that have handed over to
// it and may still end their calls.
func Hold(lock *os.File, s State, predecessors ...string) error {
	return write(lock, fmt.Sprintf("%d %-6s %s", os.Getpid(), s, beginning(os.Getpid())), predecessors)
}

// Release writes into the locked file of a place that this process has ended.
func Release(lock *os.File, predecessors ...string) error { return write(lock, "0 - -", predecessors) }

// write replaces the text with blanks to one width: who reads meanwhile never finds an empty file, which says that the
// process has ended. They may find a part of the old text and a part of the new one, as the file systems of Linux copy
// without a lock: so in all texts of one process its number and beginning are at the same place.
func write(lock *os.File, text string, predecessors []string) error {
	const width = 48
	text = fmt.Sprintf("%-*s\n", width-1, strings.Join(append([]string{text}, predecessors...), " "))
	if _, err := lock.WriteAt([]byte(text), 0); err != nil {
		return err
	}
	return lock.Truncate(int64(len(text))) // of what was longer
}

// AwaitStart has a host started with a file to write to, and returns what it writes there: ReadyText once it serves,
// else why it does not; "" when it, or ctx, ends before.
func AwaitStart(ctx context.Context, start func(ready *os.File) error) (said string, err error) {
	read, write, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer read.Close()
	err = start(write)
	_ = write.Close()
	if err != nil {
		return "", err
	}
	defer context.AfterFunc(ctx, func() { _ = read.SetReadDeadline(time.Now()) })()
	text := make([]byte, MaxReason)
	n, _ := read.Read(text)
	return string(text[:n]), nil
}
