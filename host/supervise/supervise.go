// Package supervise keeps plugin processes running: it finds plugins, starts each with its first call, in its
// sandbox, talks to it over go-plugin's handshake and gRPC, notices its death within milliseconds, restarts it within
// limits, and ends it with everything it has started. It has no rules and asks no one; package host does.
// A Supervisor owns what the processes share. A Process is one plugin through all its restarts, and is used as a
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
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/supervise/internal/binaries"
	"github.com/toolhost/toolhost/host/supervise/internal/toolcache"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/nesting"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// Options of a Supervisor. The zero value works. A panic of a function here is logged.
type Options struct {
	// Logger receives the events and the output of plugins; nil disables it. It must not block.
	Logger *slog.Logger
	// Workdir is the folder that plugins start in; "" is the current one.
	Workdir string
	// Config is the configuration's file, by which a host that a plugin starts knows itself again; it may be empty.
	Config string
	// OnState is called when a plugin changes its state or, by a reload, its generation, in order for each plugin. It must
	// not block or call the plugin; Supervisor.Events has no such limits.
	OnState func(Status)
	// OnReduced is called when a plugin is launched at a lower sandbox level than requested: once for each reason, for all
	// plugins that share it; nil logs a warning. It must not block.
	OnReduced func(Reduction)
	// RunDir is the folder for the private folder of sockets and temporary files; "" is $XDG_RUNTIME_DIR for the
	// sockets, if there is one, and otherwise the system's temporary folder.
	RunDir string
	// CacheDir is a folder of this user that stores the tools of plugins, so that listing an unchanged plugin does not
	// start it; it is made if necessary. "" stores nothing. Plugins with dynamic tools, and programs that run others,
	// such as scripts, are always started.
	CacheDir string
	// Refresh starts plugins to list them, whatever CacheDir has, and updates CacheDir.
	Refresh bool
	// Offline starts no plugin. Those in CacheDir are listed, with a notice if their tools may have changed; the others
	// fail.
	Offline bool
	// BinDir is the folder for copies of programs with a checksum, which run in their place; "" is toolhost/bin in the
	// user's cache folder, or the private folder if there is none. Hosts may share it. A copy that cannot be made
	// there, or that another process keeps locked, is made in the private folder, with a warning in the log.
	BinDir string
	// ReadOnly are files and folders that no confined plugin may change unless its sandbox names them in Write, such as
	// configuration and records. A path that ends in a slash is a folder that plugins cannot create either. Plugins'
	// programs and the folders above are always protected. It needs process namespaces, and Linux 5.12.
	ReadOnly []string
	// Masked are files that appear empty to confined plugins, which can neither read nor lock them, such as the record
	// of calls. A file that does not exist is made. It needs what ReadOnly needs.
	Masked []string
	// Reserved are files that no confined plugin may create or change, such as a lock file. While one runs, a dangling
	// symbolic link stands in for each that does not exist. It needs what ReadOnly needs.
	Reserved []string
	// Shared are folders in which links are not the user's alone, such as that of a configuration. A path that a sandbox
	// names does not lead out of them by a link, nor out of the work folder and what other plugins may write to.
	Shared []string
}

const maxPlugins = 256 // the most plugins that one host may have

// A Supervisor owns plugin processes and what they share.
type Supervisor struct {
	launchContext
	log       *slog.Logger
	binaries  *binaries.Store
	cache     *toolcache.Cache // or nil
	storing   sync.WaitGroup   // of descriptions in it
	starts    chan struct{}    // holds one token for each running start
	reloading chan struct{}    // holds a token during a reload
	events    events

	reductions reductions

	close     func() error // once
	mu        sync.Mutex
	closed    bool
	processes []*Process
	removing  map[*Process]struct{} // removed, with calls that may still run
}

// New makes a supervisor and its private folder, and removes the folders of hosts that were killed.
func New(o Options) (*Supervisor, error) {
	var err error
	if o.Workdir, err = filepath.Abs(o.Workdir); err != nil {
		return nil, err
	}
	if info, err := os.Stat(o.Workdir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("the work folder %s is not a folder", o.Workdir)
	}
	run, err := makeRunDir(o.RunDir)
	if err != nil {
		return nil, fmt.Errorf("making a private folder for sockets: %w. Fix: set XDG_RUNTIME_DIR or TMPDIR to another "+
			"folder", err)
	}
	temp := run
	// $XDG_RUNTIME_DIR is for small files and takes memory.
	if o.RunDir == "" && filepath.Dir(run.path) == filepath.Clean(os.Getenv("XDG_RUNTIME_DIR")) {
		if temp, err = makeRunDir(os.TempDir()); err != nil {
			_ = run.remove()
			return nil, fmt.Errorf("making a private folder for temporary files: %w. Fix: set TMPDIR to another folder", err)
		}
	}
	log := cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	var cache *toolcache.Cache
	if o.CacheDir != "" {
		if cache, err = toolcache.Open(o.CacheDir); err != nil {
			log.Warn("the tools of plugins are not cached", "error",
				fsutil.FolderError(err, o.CacheDir, "set XDG_CACHE_HOME to another folder"))
		} else {
			cache.Refresh, cache.Offline = o.Refresh, o.Offline
		}
	}
	store := binaries.NewStore(o.BinDir, filepath.Join(run.path, "bin"), log)
	s := &Supervisor{
		launchContext: launchContext{options: o, runDir: run, tempDir: temp, stores: []string{store.Dir(), cache.Dir()},
			capabilities: proctree.AssumedCapabilities},
		log: log, binaries: store, cache: cache, removing: map[*Process]struct{}{}, reloading: make(chan struct{}, 1),
		reductions: reductions{reported: map[reductionKey][]string{}},
		starts:     make(chan struct{}, max(4, 2*runtime.NumCPU())),
	}
	if o.OnReduced == nil {
		s.options.OnReduced = s.logReduced
	}
	s.close = sync.OnceValue(s.closeAll)
	return s, nil
}

// CheckNesting returns an error if a start of the plugin would fail because that runs this process, or too many hosts
// run each other.
func (o Options) CheckNesting(spec Spec) error {
	if err := nesting.Check(o.Config, spec.title()); err != nil {
		return fmt.Errorf("%s: %w", strings.TrimPrefix(spec.Source+": "+spec.title(), ": "), err)
	}
	return nil
}

// Add adds a plugin, up to 256 of them. It starts nothing unless the spec is eager.
func (s *Supervisor) Add(spec Spec) (*Process, error) {
	if err := spec.Check(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.New("the supervisor is closed")
	}
	if len(s.processes) >= maxPlugins {
		return nil, fmt.Errorf("plugin %q is not added: the limit is %d plugins", spec.Name, maxPlugins)
	}
	for _, p := range s.processes {
		if p.name == spec.Name {
			return nil, fmt.Errorf("plugin %q is defined twice: %s and %s", spec.Name, p.spec.Load().Source, spec.Source)
		}
	}
	p := newProcess(spec.complete(s.options.Workdir), s.log.With("plugin", spec.Name), s.start, s.reporter())
	p.workdir, p.recall, p.cache = s.options.Workdir, s.recall, s.cache
	s.processes = append(s.processes, p)
	nesting.Own(s.options.Config, spec.title()) // also if its tools are those of the cache
	return p, nil
}

// Process returns the plugin of that name, or nil.
func (s *Supervisor) Process(name string) *Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.IndexFunc(s.processes, func(p *Process) bool { return p.name == name }); i >= 0 {
		return s.processes[i]
	}
	return nil
}

// Processes returns all plugins in the order in which they were added.
func (s *Supervisor) Processes() []*Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.processes)
}

// Close ends all plugins, in parallel, each within five seconds, and removes the private folder. It spends at most
// two seconds on storing what it knows of plugins in the cache, and as long on removing files that plugins have left;
// an error reports that some are left for the next host to remove. Closing again waits for the same end, and
// returns the same error.
func (s *Supervisor) Close() error { return s.close() }

func (s *Supervisor) closeAll() error {
	s.mu.Lock()
	processes := slices.AppendSeq(slices.Clone(s.processes), maps.Keys(s.removing))
	s.closed = true
	s.mu.Unlock()
	var wg sync.WaitGroup
	for _, p := range processes {
		wg.Go(func() { _ = p.Close() })
	}
	wg.Wait()
	s.events.close()
	s.binaries.Close()
	stored := make(chan struct{})
	go func() { // the cache may be on a file system that hangs
		defer close(stored)
		s.storing.Wait()
		s.cache.Close()
	}()
	within(storeTime, stored)
	if s.tempDir != s.runDir {
		_ = s.tempDir.remove()
	}
	return s.runDir.remove()
}

// storeTime is how long Close waits for the cache, which costs a later start when it is not written.
const storeTime = 2 * time.Second

// recall returns the description of a plugin from the cache, or nil.
func (s *Supervisor) recall(ctx context.Context, spec Spec) *sdk.Description {
	if s.cache == nil || spec.Attach {
		return nil
	}
	path, err := s.verifiedProgram(spec, s.cache.Native)
	if err != nil {
		return nil // the start reports the error
	}
	return s.cache.Load(ctx, s.cacheKey(spec, path))
}

// cacheKey identifies what the description of a plugin depends on, whose program is the file at path.
func (s *Supervisor) cacheKey(spec Spec, path string) toolcache.Key {
	return toolcache.Key{Program: path, Command: spec.Command, Env: spec.Env, Inherited: inheritedEnvironment(spec),
		Dir: spec.Dir, Workdir: s.options.Workdir, Config: spec.Config}
}

func (s *Supervisor) specs() (all []Spec) {
	for _, p := range s.Processes() {
		all = append(all, *p.spec.Load())
	}
	return all
}

// A launchContext has the folders where programs run, and the paths that are protected from them.
type launchContext struct {
	options      Options  // with an absolute Workdir
	runDir       *runDir  // for sockets
	tempDir      *runDir  // for temporary files; may be runDir
	stores       []string // folders of verified programs and of the tool cache
	capabilities func() proctree.Capabilities
	lookup       sandbox.PathLookup
}

// prepareSandbox prepares a plugin's program for its sandbox, beside those of all plugins: their programs are protected
// from it, and the links in what they may write to are not followed out of there.
func (l *launchContext) prepareSandbox(spec Spec, p sandbox.Program, all []Spec) (sandbox.Prepared, error) {
	if spec.Sandbox.Require != "" {
		proctree.DetectCapabilities() // so that everything that is missing is known before a start
	}
	if spec.Sandbox.Requested() != sandbox.Supervised { // it can store nothing elsewhere
		p.Env = append(slices.Clip(p.Env), wire.EnvKeepDir+"="+p.Temp)
	}
	p.Named, p.Argv = spec.programFile, slices.Clone(spec.Command)
	o := &l.options
	programs, shared := slices.Clone(o.Reserved), append(slices.Clone(o.Shared), o.Workdir)
	for _, other := range all {
		programs, shared = append(programs, other.commandName()), append(shared, other.Sandbox.Write...)
	}
	h := sandbox.Host{
		Workdir: o.Workdir, Shared: shared, Capabilities: l.capabilities(), // once: a parallel start may find out more
		Lookup: &l.lookup, Notes: l.runDir.path,
		Paths: func() sandbox.Paths {
			return sandbox.Paths{
				ReadOnly: o.ReadOnly, Reserved: programs, Masked: o.Masked,
				Stores: l.stores, Private: []string{l.runDir.path, l.tempDir.path},
			}
		},
	}
	prepared, err := h.Prepare(spec.Sandbox, p)
	if err != nil {
		return prepared, &invalidError{err}
	}
	return prepared, nil
}

// Confine reports the sandbox that a plugin would get on a machine, without a start. It fails if a start would be
// refused.
func (o Options) Confine(spec Spec, m proctree.Capabilities) (sandbox.Confinement, error) {
	if spec.Attach {
		return spec.attachedConfinement(), nil
	}
	workdir, err := filepath.Abs(o.Workdir)
	if err != nil {
		return sandbox.Confinement{}, fmt.Errorf("the work folder cannot be found: %w", err)
	}
	paths := sandbox.Paths{
		ReadOnly: o.ReadOnly, Reserved: o.Reserved, Masked: o.Masked,
		Stores:  []string{binaries.NewStore(o.BinDir, "", nil).Dir(), o.CacheDir},
		Private: []string{chooseRunBase(o.RunDir), chooseRunBase(cmp.Or(o.RunDir, os.TempDir()))},
	}
	h := sandbox.Host{Workdir: workdir, Shared: append(slices.Clone(o.Shared), workdir), Capabilities: m,
		Paths: func() sandbox.Paths { return paths }}
	return h.Evaluate(spec.Sandbox)
}
