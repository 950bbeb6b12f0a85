// Package supervise keeps plugin processes running: it finds them, starts each with the first call, keeps it from what its
// sandbox does not allow, speaks to it over go-plugin's handshake and gRPC, notices its death within milliseconds, starts it
// again within limits, and ends it with everything it started. It knows no rules, no people and no route; package host does.
//
// A Supervisor owns what the processes share. A Process is one plugin, whatever becomes of its process; it is used as a
// host.Plugin.
package supervise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/host/supervise/internal/binaries"
	"github.com/toolhost/toolhost/host/supervise/internal/placeholder"
	"github.com/toolhost/toolhost/host/supervise/internal/toolcache"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/sdk"
)

// Options of a Supervisor. The zero value works.
type Options struct {
	// Logger gets what happens to plugins and what they print; nil drops it. It must not block.
	Logger *slog.Logger
	// Workdir is the folder that plugins start in; "" is the current one.
	Workdir string
	// OnState is told when a plugin comes to another state or, by a reload, to another generation, in order for each
	// plugin. It must not block or call the plugin. Supervisor.Events tells the same to readers that may.
	OnState func(Status)
	// RunDir is where the private folder for sockets and the plugins' temporary files is made; "" is $XDG_RUNTIME_DIR for the
	// sockets, if there is one, and else the system's temporary folder.
	RunDir string
	// CacheDir is a folder of the user's own that keeps what plugins say of themselves, so that listing a plugin that has not
	// changed since does not start it; it is made if need be. "" keeps nothing. Plugins whose tools are dynamic, and programs
	// that only run others, such as scripts, are started all the same.
	CacheDir string
	// Refresh starts plugins to list them whatever CacheDir has, and renews that.
	Refresh bool
	// Offline starts nothing. What CacheDir has is listed, also of plugins whose tools may be others by now, which a notice
	// tells; the others cannot be used.
	Offline bool
	// BinDir is where copies of programs with a checksum are kept, which are run in their place; "" is toolhost/bin in the
	// user's cache folder, or the private folder when there is none. Hosts may share it. A copy that cannot be made
	// there, or that another process keeps locked, is made in the private folder, and Logger told.
	BinDir string
	// Protect are files and folders that no confined plugin may change unless its sandbox names them with Write, such as
	// configuration and records. One that ends in a slash is a folder that they cannot make either. Plugins' programs and the
	// folders above need not be named. It takes process namespaces, and Linux 5.12.
	Protect []string
	// Hide are files that confined plugins find empty, so that they can neither read nor lock them, such as the record of calls.
	// One that is not there is made. It takes what Protect takes.
	Hide []string
	// Reserve are files that no confined plugin may make where they are not there, nor change where they are, such as a lock
	// file; plugins' programs need not be named. While one runs, a link that leads nowhere stands in for each that is not there.
	// It takes what Protect takes.
	Reserve []string
}

// IsPlaceholder says whether a path is a link that leads nowhere, which stands in for what confined plugins must not make: nothing
// is there.
func IsPlaceholder(path string) bool { return placeholder.IsLink(path) }

// A Supervisor owns plugin processes and what they share.
type Supervisor struct {
	site
	log     *slog.Logger
	vault   *binaries.Vault
	starts  chan struct{} // holds one token for each start under way
	onState func(Status)
	events  events
	turn    chan struct{} // holds a token during a reload
	offline bool
	cache   *toolcache.Cache // or nil

	mu        sync.Mutex
	closed    bool
	processes []*Process
	leaving   map[*Process]struct{} // removed, with calls that may end
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
		return nil, fmt.Errorf("supervise: making a private folder for sockets: %w; XDG_RUNTIME_DIR or TMPDIR can name another place", err)
	}
	temps, err := dir.forTemps(o.RunDir)
	if err != nil {
		_ = dir.remove()
		return nil, fmt.Errorf("supervise: making a private folder for temporary files: %w; TMPDIR can name another place", err)
	}
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	vault, cache := binaries.NewVault(o.BinDir, filepath.Join(dir.path, "bin"), log), openCache(o, log)
	return &Supervisor{
		site: site{workdir: workdir, dir: dir, temps: temps, stores: []string{vault.Dir(), cache.Dir()}, protect: o.Protect, hide: o.Hide, reserve: o.Reserve, machine: sandbox.Presumed},
		log:  log, vault: vault, cache: cache, offline: o.Offline, onState: o.OnState, leaving: map[*Process]struct{}{},
		turn: make(chan struct{}, 1), starts: make(chan struct{}, max(4, 2*runtime.NumCPU())),
	}, nil
}

// Add takes a plugin under supervision, up to 256 of them. Nothing is started unless the spec is eager.
func (s *Supervisor) Add(spec Spec) (*Process, error) {
	if err := spec.Check(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.New("supervise: the supervisor is closed")
	}
	if len(s.processes) >= maxPlugins {
		return nil, fmt.Errorf("plugin %q is one too many: at most %d are allowed", spec.Name, maxPlugins)
	}
	for _, p := range s.processes {
		if p.name == spec.Name {
			return nil, fmt.Errorf("plugin %q is there twice: %s and %s", spec.Name, p.spec.Load().Source, spec.Source)
		}
	}
	p := newProcess(spec.complete(s.workdir), s.log.With("plugin", spec.Name), s.start, s.teller())
	p.workdir, p.recall = s.workdir, s.recall
	s.processes = append(s.processes, p)
	return p, nil
}

// Process gives the plugin of that name, or nil.
func (s *Supervisor) Process(name string) *Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.IndexFunc(s.processes, func(p *Process) bool { return p.name == name }); i >= 0 {
		return s.processes[i]
	}
	return nil
}

// Processes gives all plugins, in the order in which they were added.
func (s *Supervisor) Processes() []*Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.processes)
}

// programs are those of all plugins, as they are named.
func (s *Supervisor) programs() (paths []string) {
	for _, p := range s.Processes() {
		paths = append(paths, p.spec.Load().named())
	}
	return paths
}

// Close ends all plugins, in parallel, each within five seconds, and removes the private folder. What plugins have left there
// is removed for two seconds at most; an error tells of more, which is the next host's to remove. Closing again does nothing.
func (s *Supervisor) Close() error {
	s.mu.Lock()
	processes, again := slices.AppendSeq(slices.Clone(s.processes), maps.Keys(s.leaving)), s.closed
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
	s.events.close()
	s.vault.Close()
	if s.temps != s.dir {
		_ = s.temps.remove()
	}
	return s.dir.remove()
}

// Reload makes the plugins those of the specs: new ones are added, those that are gone end when their calls have, and those
// whose spec or program has changed are reloaded, side by side. All others run on untouched. What goes wrong with one plugin
// costs only that one: it stays as it was.
//
// Of a program the file of the command counts, by its place, size and times; what it loads by itself does not.
func (s *Supervisor) Reload(ctx context.Context, specs []Spec) []error {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return []error{context.Cause(ctx)}
	}
	known, err := s.removeOthers(specs)
	if err != nil {
		return []error{err}
	}
	problems := make([]error, len(specs))
	var wg sync.WaitGroup
	for i, spec := range specs {
		if slices.ContainsFunc(specs[:i], func(o Spec) bool { return o.Name == spec.Name }) {
			problems[i] = fmt.Errorf("plugin %q is there twice; %s is left out", spec.Name, cmp.Or(spec.Source, "the second"))
			continue
		}
		wg.Go(func() { problems[i] = s.reloadOne(ctx, known[spec.Name], spec) })
	}
	wg.Wait()
	return slices.DeleteFunc(problems, func(e error) bool { return e == nil })
}

func (s *Supervisor) reloadOne(ctx context.Context, p *Process, spec Spec) error {
	if p == nil {
		_, err := s.Add(spec)
		return err
	}
	if err := spec.Check(); err != nil {
		return err
	}
	return p.follow(ctx, spec)
}

// removeOthers has all plugins leave that no spec names, and gives the others by their names.
func (s *Supervisor) removeOthers(specs []Spec) (map[string]*Process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.New("supervise: the supervisor is closed")
	}
	known := map[string]*Process{}
	s.processes = slices.DeleteFunc(s.processes, func(p *Process) bool {
		gone := !slices.ContainsFunc(specs, func(spec Spec) bool { return spec.Name == p.name })
		if gone || isClosed(p.closing) { // which whoever uses it has done
			s.remove(p)
			return true
		}
		known[p.name] = p
		return false
	})
	return known, nil
}

// remove lets the plugin's calls end, and then ends the plugin.
func (s *Supervisor) remove(p *Process) {
	s.leaving[p] = struct{}{}
	p.leaveOnce.Do(func() { close(p.leaving) })
	go func() {
		<-p.done
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.leaving, p)
	}()
}

// follow reloads the plugin if its process would be another, and else takes over what the spec says of looking after it.
func (p *Process) follow(ctx context.Context, spec Spec) error {
	spec = spec.complete(p.workdir)
	now, known := p.status.Load(), *p.spec.Load()
	program, ok := p.look(ctx, spec)
	r, by := reload{ctx: ctx, spec: spec, program: program}, p.describedBy(now.ran)
	switch {
	case !ok:
		return p.unasked(ctx)
	case !sameProcess(known, spec), by.Known() && by != program:
		return p.askVerified(r)
	case now.State != Starting && now.LastError == "" && reflect.DeepEqual(known, spec):
		return nil
	}
	return p.ask(r)
}

// openCache makes the cache that the options ask for, or nil. A folder that cannot be used is no reason to fail.
func openCache(o Options, log *slog.Logger) *toolcache.Cache {
	if o.CacheDir == "" {
		return nil
	}
	c, err := toolcache.Open(o.CacheDir)
	if err != nil {
		log.Warn("what plugins say of themselves is not kept", "error", err)
		return nil
	}
	c.Refresh, c.Offline = o.Refresh, o.Offline
	return c
}

// recall gives what is known of a plugin without a start, or nil.
func (s *Supervisor) recall(ctx context.Context, spec Spec) *sdk.Description {
	if s.cache == nil {
		return nil
	}
	path, err := s.verified(spec)
	if err != nil {
		return nil // which the start tells
	}
	return s.cache.Recall(ctx, s.describing(spec, path))
}

// describing is what the description of a plugin depends on, whose program is the file at path.
func (s *Supervisor) describing(spec Spec, path string) toolcache.Plugin {
	return toolcache.Plugin{Program: path, Command: spec.Command, Env: spec.Env, Inherited: inheritedEnvironment(spec),
		Dir: spec.Dir, Workdir: s.workdir, Config: spec.Config}
}

// A site is where programs are run: their folders, and what toolhost has there of its own.
type site struct {
	workdir string
	dir     *runDir  // for sockets
	temps   *runDir  // for temporary files; it may be the same
	stores  []string // folders of verified programs and of definitions
	protect []string // see Options.Protect
	hide    []string // see Options.Hide
	reserve []string // see Options.Reserve
	machine func() sandbox.Means
	sights  sandbox.Sights
}

// stage puts what keeps the plugin in around its program, the file at path, with the folders of this start. Others gives the
// programs beside it.
func (s *site) stage(spec Spec, path string, f sandbox.Folders, env []string, others func() []string) (sandbox.Stage, error) {
	f.Work = s.workdir
	if spec.Sandbox.Require != "" {
		sandbox.Machine() // so that all that is missing is known before a start
	}
	if spec.Sandbox.Asked() != sandbox.Supervised { // it can keep nothing elsewhere
		env = append(slices.Clip(env), wire.EnvKeepDir+"="+f.Temp)
	}
	how, err := sandbox.Plan{
		Box: spec.Sandbox, Means: s.machine(), // once: a start beside this one may find out more
		Folders: f,
		Own: func() []sandbox.Sighted {
			return s.sights.Places(ours([]string{s.dir.path, s.temps.path}, s.stores, s.protect, s.hide, slices.Concat(s.reserve, others())))
		},
		Notes: s.dir.path,
	}.Build(sandbox.Program{Named: func() (string, error) { return program(spec) }, Path: path, Argv: slices.Clone(spec.Command), Env: env})
	if err != nil {
		return how, &invalidError{err}
	}
	return how, nil
}

// warnOfLess tells once a start that the plugin has not got what was asked for it.
func (s *Supervisor) warnOfLess(name string, c sandbox.Confinement) {
	if c.Got != c.Asked {
		s.log.Warn("plugin is kept in less than was asked", "plugin", name, "asked", string(c.Asked), "got", string(c.Got), "missing", c.Missing)
	}
}

// ours are the places of toolhost and its plugins. One in protect that ends in a slash is a folder that they cannot make.
func ours(runDirs, stores, protect, hide, reserved []string) (out []sandbox.Place) {
	add := func(kind sandbox.Kind, paths ...string) {
		for _, path := range paths {
			out = append(out, sandbox.Place{Path: path, Kind: kind})
		}
	}
	add(sandbox.Private, runDirs...)
	add(sandbox.Made, stores...)
	add(sandbox.Reserved, reserved...)
	add(sandbox.Unseen, hide...)
	for _, path := range protect {
		kind := sandbox.Found
		if strings.HasSuffix(path, "/") {
			kind = sandbox.Hollow
		}
		add(kind, filepath.Clean(path))
	}
	return out
}

// Confine says what would keep a plugin in on a machine, without a start. It fails when a start would be refused for it.
func (o Options) Confine(spec Spec, m sandbox.Means) (sandbox.Confinement, error) {
	workdir, err := filepath.Abs(o.Workdir)
	if err != nil {
		return sandbox.Confinement{}, err
	}
	places := ours([]string{chooseBase(o.RunDir), chooseBase(cmp.Or(o.RunDir, os.TempDir()))}, []string{binaries.NewVault(o.BinDir, "", nil).Dir(), o.CacheDir}, o.Protect, o.Hide, o.Reserve)
	return sandbox.Plan{Box: spec.Sandbox, Means: m, Folders: sandbox.Folders{Work: workdir},
		Own: func() []sandbox.Sighted { return new(sandbox.Sights).Places(places) }}.Confine()
}
