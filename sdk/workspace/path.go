package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/toolhost/toolhost/sdk"
)

// A Place is where a path leads. Find and Child make one; it describes what they found, and its methods work on what is
// there when they are called. None of them leaves the workspace. One goroutine at a time may use it.
type Place struct {
	// Path is the path to show: relative to the workspace, with slashes, with links as they were given.
	Path string
	// Info describes what is there, or is nil when nothing is. Only a place of Child can be a symlink.
	Info fs.FileInfo
	// Target is where a symlink points, unresolved; else it is empty.
	Target string
	// Missing is the first folder on the way that does not exist, in the form of Path; empty when all do.
	Missing string

	root *Root
	name string // the path with its links resolved, for root
	gap  string // the first part of name that does not exist; empty when all do
}

// Real is the absolute path of the place, without links on the way. It is for comparing places, and for programs to run
// in. Whoever opens it by this name goes where it leads then: open files with Open.
func (p *Place) Real() string { return filepath.Join(p.root.real, p.name) }

// Resolved is the path of the place relative to the workspace, with slashes, without links on the way.
func (p *Place) Resolved() string { return filepath.ToSlash(p.name) }

// Links is how many names (hard links) the file has, as far as the system knows; 1 for a place where nothing is.
func (p *Place) Links() int {
	if p.Info == nil {
		return 1
	}
	return links(p.Info)
}

// Open opens a regular file for reading, and makes Info that of the open file. It never waits: a pipe that took the
// file's place meanwhile is opened without waiting for its other end, and then refused. Its errors are those of
// Regular, and what the system says (FileNotFound, PermissionDenied, IOError).
func (p *Place) Open() (*os.File, error) { return p.open(os.O_RDONLY, p.Regular) }

// OpenWritable opens a regular file for reading and writing, as Open does, and refuses one that is read-only with
// PermissionDenied. To replace the content of a file use Write, which is atomic.
func (p *Place) OpenWritable() (*os.File, error) { return p.open(os.O_RDWR, p.writable) }

func (p *Place) open(flag int, check func() error) (*os.File, error) {
	if err := check(); err != nil {
		return nil, err
	}
	f, err := p.root.root.OpenFile(p.name, flag|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, Explain(p.Path, err)
	}
	if p.Info, err = opened(p.root.root, p.name, f, p.Info); err == nil {
		err = check()
	}
	if err == nil {
		err = notMadeUp(f, p.Path)
	}
	if err != nil {
		_ = f.Close()
		return nil, Explain(p.Path, err)
	}
	return f, nil
}

// notMadeUp refuses an open file that looks regular and is none: reading it may wait forever, or tell the environment
// of another process.
func notMadeUp(f *os.File, shown string) error {
	name := kernelFilesystem(f)
	if name == "" {
		return nil
	}
	return &sdk.Error{Name: "NotARegularFile",
		Message:    fmt.Sprintf("%s is made up by the kernel (%s), not a regular file", quote(shown), name),
		Suggestion: "Read what it says with a program, such as cat, through a shell tool."}
}

// opened returns the FileInfo of a file that was opened by its name; when a symlink took its place meanwhile and was
// followed, of that: who asked whether the name is one to open did not mean what the link leads to.
func opened(in *os.Root, name string, f *os.File, before fs.FileInfo) (fs.FileInfo, error) {
	info, err := f.Stat()
	if err != nil || before != nil && os.SameFile(before, info) {
		return info, err
	}
	now, err := in.Lstat(name)
	if err == nil && now.Mode()&fs.ModeSymlink != 0 {
		return now, nil
	}
	return info, nil // what replaced or removed the file is none of our business
}

// Names returns at most limit names in a directory, in no order, or all when limit is not positive. Its errors
// are FileNotFound, NotADirectory, and what the system says (PermissionDenied, IOError).
func (p *Place) Names(limit int) ([]string, error) {
	if err := p.directory(); err != nil {
		return nil, err
	}
	names, err := p.root.names(p.name, limit)
	return names, Explain(p.Path, err)
}

func (r *Root) names(dir string, limit int) ([]string, error) {
	f, err := r.root.OpenFile(dir, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	names, err := f.Readdirnames(limit)
	if len(names) > 0 || errors.Is(err, io.EOF) {
		return names, nil
	}
	return nil, err
}

// Child is the place of a name in a directory, one that Names gave. When it is a symlink that is not followed: Info
// reports the link, and Open refuses it with NotARegularFile; Find with its Path follows it. The errors are
// InvalidPath for what is no single name, and what the system says, such as FileNotFound.
func (p *Place) Child(name string) (*Place, error) {
	if err := singleName(name); err != nil {
		return nil, err
	}
	c := &Place{Path: path.Join(p.Path, name), root: p.root, name: filepath.Join(p.name, name)}
	info, err := p.root.root.Lstat(c.name)
	if err != nil {
		return nil, Explain(c.Path, err)
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		c.Target, _ = p.root.root.Readlink(c.name) // empty when it is gone since
	}
	c.Info = info
	return c, nil
}

// Kind says in a word what a file is: file, dir, symlink, pipe, socket or device.
func Kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "dir"
	case m&fs.ModeSymlink != 0:
		return "symlink"
	case m&fs.ModeNamedPipe != 0:
		return "pipe"
	case m&fs.ModeSocket != 0:
		return "socket"
	case m.IsRegular():
		return "file"
	}
	return "device"
}

const (
	maxLinks = 40      // on the way of one path, as Linux has it
	maxPath  = 4 << 10 // bytes, likewise
	maxParts = 512     // of a path and of the links on its way; each is searched for from the workspace on
)

// A search walks a path part by part, and makes its place. os.Root would follow links too, but refuses absolute ones
// that stay inside, and does not say where a link leads, which replacing a file behind a link needs.
type search struct {
	*Place
	todo  []string
	links int
	taken int // parts of the path, and of links
}

func parts(rel string) []string { return strings.Split(rel, string(filepath.Separator)) }

func (s *search) run() error {
	err := s.restart()
	for err == nil && s.Info != nil && len(s.todo) > 0 {
		if s.taken++; s.taken+len(s.todo) > maxParts {
			return &sdk.Error{Name: "InvalidPath",
				Message:    fmt.Sprintf("%s leads through more than %d folders and links", quoteShort(s.Path), maxParts),
				Suggestion: "Give a shorter path to the file, without links on the way."}
		}
		part := s.todo[0]
		s.todo = s.todo[1:]
		switch part {
		case ".", "":
		case "..": // only links have it
			err = s.step(filepath.Dir(s.name), s.name == ".")
		default:
			err = s.step(filepath.Join(s.name, part), false)
		}
	}
	return err
}

// restart goes to the workspace itself.
func (s *search) restart() (err error) {
	s.name = "."
	s.Info, err = s.root.root.Lstat(".")
	return Explain(s.Path, err)
}

// step moves to next, which is a neighbor of where the search is.
func (s *search) step(next string, out bool) error {
	if out {
		return s.root.outside(s.Path)
	}
	info, err := s.root.root.Lstat(next)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s.stop(next)
	case err != nil:
		return Explain(s.Path, err)
	case info.Mode()&fs.ModeSymlink != 0:
		return s.follow(next)
	case !info.IsDir() && len(s.todo) > 0:
		return notADirectory(s.root.shown(next))
	}
	s.name, s.Info = next, info
	return nil
}

// stop ends the search at gap, which does not exist.
func (s *search) stop(gap string) error {
	s.Info, s.gap, s.name = nil, gap, filepath.Join(append([]string{gap}, s.todo...)...)
	if !filepath.IsLocal(s.name) { // by the ".." of a link
		return s.root.outside(s.Path)
	}
	if s.name != gap {
		s.Missing = s.root.shown(gap)
	}
	return nil
}

func (s *search) follow(link string) error {
	if s.links++; s.links > maxLinks {
		return &sdk.Error{Name: "LinkLoop",
			Message:    quote(s.Path) + " leads through too many symlinks; some may form a loop",
			Suggestion: "Name the file itself. A list tool shows where each link on the way leads."}
	}
	target, err := s.root.root.Readlink(link)
	if err != nil {
		return Explain(s.Path, err)
	}
	if filepath.IsAbs(target) {
		rel, ok := s.root.relative(target)
		if !ok {
			return s.root.outside(s.Path)
		}
		if err := s.restart(); err != nil {
			return err
		}
		target = rel
	}
	s.todo = slices.Concat(parts(target), s.todo)
	return nil
}

// Etag identifies the content of a file: the first 12 hex digits of the SHA-256 of its bytes on disk.
// Tools that read return it; tools that write compare it, and so know whether the file has changed since it was read.
func Etag(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:6])
}
