// Package supervise keeps plugin processes running: it finds them, starts each with the first call, speaks to it over
// go-plugin's handshake and gRPC, notices its death within milliseconds, starts it again within limits, and ends it with
// everything it started. It knows no rules, no people and no route; package host does.
//
// A Supervisor owns what the processes share. A Process is one plugin, whatever becomes of its process; it is used as a
// host.Plugin.
package supervise

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
)

// Options of a Supervisor. The zero value works.
type Options struct {
	// Logger gets what happens to plugins and what they print; nil drops it. It must not block.
	Logger *slog.Logger
	// Workdir is the folder that plugins start in; "" is the current one.
	Workdir string
	// OnState is told when a plugin comes to another state, in order for each plugin. It must not block.
	OnState func(Status)
	// RunDir is where the private folder for sockets is made; "" is $XDG_RUNTIME_DIR, else the system's temporary folder.
	RunDir string
}

// A Supervisor owns plugin processes and what they share.
type Supervisor struct {
	log     *slog.Logger
	workdir string
	dir     *runDir
	forks   *forker
	starts  chan struct{} // holds one token for each start under way
	onState func(Status)

	mu        sync.Mutex
	closed    bool
	processes []*Process
}

// New makes a supervisor and its private folder, and removes the folders that dead hosts have left.
func New(o Options) (*Supervisor, error) {
	workdir, err := filepath.Abs(o.Workdir)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(workdir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("supervise: the work folder %s is not a folder", workdir)
	}
	dir, err := makeRunDir(o.RunDir)
	if err != nil {
		return nil, fmt.Errorf("supervise: making a private folder for sockets: %w", err)
	}
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Supervisor{log: log, workdir: workdir, dir: dir, onState: o.OnState, forks: newForker(),
		starts: make(chan struct{}, max(4, 2*runtime.NumCPU()))}, nil
}

// Add takes a plugin under supervision. Nothing is started unless the spec is eager.
func (s *Supervisor) Add(spec Spec) (*Process, error) {
	if err := spec.Check(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.New("supervise: the supervisor is closed")
	}
	for _, p := range s.processes {
		if p.spec.Name == spec.Name {
			return nil, fmt.Errorf("plugin %q is there twice: %s and %s", spec.Name, p.spec.Source, spec.Source)
		}
	}
	spec = spec.withDefaults()
	spec.Dir = orDefault(spec.Dir, s.workdir)
	p := newProcess(spec, s.log.With("plugin", spec.Name), s.start, s.onState)
	s.processes = append(s.processes, p)
	return p, nil
}

// Close ends all plugins, in parallel, each within five seconds, and removes the private folder. Closing again does
// nothing.
func (s *Supervisor) Close() error {
	s.mu.Lock()
	processes, again := s.processes, s.closed
	s.closed = true
	s.mu.Unlock()
	if again {
		return nil
	}
	var wg sync.WaitGroup
	for _, p := range processes {
		wg.Go(func() { _ = p.Close() })
	}
	wg.Wait()
	s.forks.close()
	return s.dir.remove()
}
