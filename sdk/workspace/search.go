package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/sdk"
)

const (
	maxLinks = 40      // on the way of one path, as Linux has it
	maxPath  = 4 << 10 // bytes, likewise
	maxParts = 512     // of a path and of the links on its way; each is looked for from the workspace on
)

// A search walks a path part by part, and makes its place. os.Root would follow links too, but refuses absolute ones
// that stay inside, and does not tell where a link leads, which replacing a file behind a link needs.
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
				Message: fmt.Sprintf("%s leads through more than %d folders and links", quoteShort(s.Path), maxParts)}
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

// step goes on to next, which is a neighbor of where the search is.
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
		return notADirectory(s.root.shows(next))
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
		s.Missing = s.root.shows(gap)
	}
	return nil
}

func (s *search) follow(link string) error {
	if s.links++; s.links > maxLinks {
		return &sdk.Error{Name: "LinkLoop", Message: quote(s.Path) + " leads through too many symlinks; some may form a loop"}
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
