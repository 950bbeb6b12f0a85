package sandbox

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/supervise/internal/placeholder"
)

// Sights look at paths beside those who ask, since a file system may hang. Each path is looked at once at a time, by whom
// all wait that ask for it. The zero value is ready.
type Sights struct {
	mu    sync.Mutex
	under map[string]*sight // under way
}

// A sight is what a path leads to, once done is closed.
type sight struct {
	done     chan struct{}
	path     string   // without links
	links    []string // symbolic links on the way
	there    bool
	dangling bool // the path is a link that leads nowhere
}

func (s *Sights) look(path string) *sight {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := s.under[path]; at != nil {
		return at
	}
	if s.under == nil {
		s.under = map[string]*sight{}
	}
	at := &sight{done: make(chan struct{})}
	s.under[path] = at
	go func() {
		defer close(at.done)
		at.see(path)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.under, path)
	}()
	return at
}

// see looks for a name without slashes in PATH.
func (s *sight) see(path string) {
	if path == "" {
		return
	}
	if !strings.Contains(path, "/") {
		found, err := exec.LookPath(path)
		if err != nil {
			return
		}
		path = found
	}
	if placeholder.IsLink(path) { // nothing is there
		s.path, s.links = onTheWay(filepath.Dir(path))
		s.path = filepath.Join(s.path, filepath.Base(path))
		return
	}
	s.path, s.links = onTheWay(path)
	info, err := os.Lstat(s.path)
	s.there, s.dangling = err == nil, err == nil && info.Mode()&os.ModeSymlink != 0
}

// seen says whether it is known before ctx ends.
func (s *sight) seen(ctx context.Context) bool {
	select {
	case <-s.done:
	case <-ctx.Done():
	}
	select { // both may have ended
	case <-s.done:
		return true
	default:
		return false
	}
}

// sightPatience is how long places are looked at, so that one on a file system that hangs keeps no plugin from starting.
const sightPatience = time.Second

// A Sighted place is one that was looked at; silent, if that could not be done in time.
type Sighted struct {
	Place
	links    []string
	dangling bool // there is nothing but links
	silent   bool
}

// Places gives them without links, and leaves out what need not be there and is not.
func (s *Sights) Places(named []Place) (out []Sighted) {
	ctx, cancel := context.WithTimeout(context.Background(), sightPatience)
	defer cancel()
	looks := make([]*sight, len(named))
	for i, p := range named {
		looks[i] = s.look(p.Path)
	}
	for i, p := range named {
		switch at := looks[i]; {
		case !at.seen(ctx):
			out = append(out, Sighted{Place: p, silent: true})
		case at.there || p.Kind != Found:
			out = append(out, Sighted{Place: Place{at.path, p.Kind}, links: at.links, dangling: at.dangling})
		case len(at.links) > 0:
			out = append(out, Sighted{Place: p, links: at.links, dangling: true})
		}
	}
	return out
}
