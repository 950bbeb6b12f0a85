package supervise

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/supervise/internal/binaries"
	"github.com/toolhost/toolhost/host/supervise/internal/stage"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
)

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
	sights  stage.Sights
}

// stage puts what keeps the plugin in around its program, the file at path, with the folders of this start. Others gives the
// programs beside it.
func (s *site) stage(spec Spec, path string, f stage.Folders, env []string, others func() []string) (stage.Stage, error) {
	f.Work = s.workdir
	if spec.Sandbox.Require != "" {
		sandbox.Machine() // so that all that is missing is known before a start
	}
	how, err := stage.Plan{
		Box: spec.Sandbox, Means: s.machine(), // once: a start beside this one may find out more
		Folders: f,
		Own: func() []stage.Sighted {
			return s.sights.Places(ours([]string{s.dir.path, s.temps.path}, s.stores, s.protect, s.hide, slices.Concat(s.reserve, others())))
		},
		Notes: s.dir.path,
	}.Build(stage.Program{Named: func() (string, error) { return program(spec) }, Path: path, Argv: slices.Clone(spec.Command), Env: env})
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
func ours(runDirs, stores, protect, hide, reserved []string) (out []stage.Place) {
	add := func(kind stage.Kind, paths ...string) {
		for _, path := range paths {
			out = append(out, stage.Place{Path: path, Kind: kind})
		}
	}
	add(stage.Private, runDirs...)
	add(stage.Made, stores...)
	add(stage.Reserved, reserved...)
	add(stage.Unseen, hide...)
	for _, path := range protect {
		kind := stage.Found
		if strings.HasSuffix(path, "/") {
			kind = stage.Hollow
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
	return stage.Plan{Box: spec.Sandbox, Means: m, Folders: stage.Folders{Work: workdir},
		Own: func() []stage.Sighted { return new(stage.Sights).Places(places) }}.Confine()
}
