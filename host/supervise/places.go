package supervise

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/host/supervise/internal/programs"
)

// A place is a file or a folder that toolhost reads, runs or writes.
type place struct {
	path string // or ""
	kind placeKind
}

type placeKind int

const (
	found   placeKind = iota // it may be there
	hollow                   // a folder that may be there, and is not the plugin's to make
	made                     // a folder that toolhost makes
	private                  // where plugins have sockets and temporary files, and so must write
)

// places of this supervisor and its plugins, as they are seen now.
func (s *Supervisor) places() []sighted {
	out := []place{{s.dir.path, private}, {s.temps.path, private}, {s.vault.Dir(), made}, {s.cache.Dir(), made}}
	out = append(out, protected(s.protect)...)
	for _, p := range s.Processes() {
		out = append(out, place{p.spec.Load().named(), found})
	}
	return s.sights.places(out)
}

// protected are the places of Options.Protect.
func protected(paths []string) (out []place) {
	for _, path := range paths {
		kind := found
		if strings.HasSuffix(path, "/") {
			kind = hollow
		}
		out = append(out, place{filepath.Clean(path), kind})
	}
	return out
}

// Confine says what would keep a plugin in on a machine, without a start. It fails when a start would be refused for it.
func (o Options) Confine(spec Spec, m Means) (Confinement, error) {
	workdir, err := filepath.Abs(o.Workdir)
	if err != nil {
		return Confinement{}, err
	}
	ours := []place{{chooseBase(o.RunDir), private}, {chooseBase(cmp.Or(o.RunDir, os.TempDir())), private}, {programs.NewVault(o.BinDir, "", nil).Dir(), made}, {o.CacheDir, made}}
	ours = append(ours, protected(o.Protect)...)
	got, _, err := spec.Sandbox.confine(folders{work: workdir}, func() []sighted { return new(sights).places(ours) }, m)
	return got, err
}
