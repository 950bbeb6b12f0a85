package supervise

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/fsutil"
)

// Sources are the three places that plugins come from.
type Sources struct {
	// Plugins are configured by hand. One without a command takes the binary of its name from Dirs.
	Plugins []Spec
	// Dirs are folders with programs called toolhost-plugin-NAME.
	Dirs []string
	// Commands print plugin specs.
	Commands []Discovery
}

// binaryPrefix is how a plugin's program is called in a plugin folder.
const binaryPrefix = "toolhost-plugin-"

// Find gathers the plugins of all sources, by name. What is wrong with one source or one plugin is told, and costs only
// that one. A plugin configured by hand wins over a found one; two found ones of one name are an error, and the first
// is kept.
func Find(ctx context.Context, from Sources) ([]Spec, []error) {
	f := finder{specs: map[string]Spec{}, byHand: map[string]bool{}}
	binaries := f.search(from.Dirs)
	for _, s := range from.Plugins {
		f.configured(s, binaries)
	}
	for _, name := range slices.Sorted(maps.Keys(binaries)) {
		f.found(Spec{Name: name, Command: []string{binaries[name]}, Source: binaries[name]})
	}
	for _, d := range from.Commands {
		f.discover(ctx, d)
	}
	if f.surplus > 0 {
		f.problem("%d plugins that were found are left out: at most %d are used; name those that you want in plugin blocks", f.surplus, maxPlugins)
	}
	specs := slices.SortedFunc(maps.Values(f.specs), func(a, b Spec) int { return strings.Compare(a.Name, b.Name) })
	return specs, f.problems
}

type finder struct {
	specs    map[string]Spec
	byHand   map[string]bool // these win
	problems []error
	surplus  int // plugins found over maxPlugins
}

// maxPlugins is how many plugins one host has.
const maxPlugins = 256

func (f *finder) problem(format string, a ...any) {
	f.problems = append(f.problems, fmt.Errorf(format, a...))
}

// search lists the plugin programs in the folders, by plugin name.
func (f *finder) search(dirs []string) map[string]string {
	out := map[string]string{}
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			f.problem("plugin folder %s cannot be read: %w", dir, reason(err))
			continue
		}
		if err := fsutil.CheckOwnership(dir); err != nil {
			f.problem("plugin folder %s is left out: %w", dir, err)
			continue
		}
		for _, e := range entries {
			f.look(dir, e, out)
		}
	}
	return out
}

func (f *finder) look(dir string, e fs.DirEntry, out map[string]string) {
	name, ok := strings.CutPrefix(e.Name(), binaryPrefix)
	if !ok {
		return
	}
	path := filepath.Join(dir, e.Name())
	info, err := os.Stat(path)
	switch {
	case err != nil:
		f.problem("%s cannot be followed: it is left out; mend the link, or remove it: %w", path, reason(err))
	case !info.Mode().IsRegular():
		f.problem("%s is no program: it is left out; remove it, or give it another name", path)
	case info.Mode()&0o111 == 0:
		f.problem("%s is not executable: it is left out; chmod +x it", path)
	case !pluginName.MatchString(name):
		f.problem("%s is left out: plugin name %q must match %s", path, name, pluginName)
	case out[name] != "":
		f.problem("plugin %q is there twice: %s is used, %s is not", name, out[name], path)
	default:
		out[name] = path
	}
}

// configured takes a plugin of the configuration. Its name is checked there to be the only one.
func (f *finder) configured(s Spec, binaries map[string]string) {
	if len(s.Command) == 0 {
		path, ok := binaries[s.Name]
		if !ok {
			f.problem("%s: plugin %q has no command, and there is no %s%s in the plugin folders", s.Source, s.Name, binaryPrefix, s.Name)
			return
		}
		s.Command = []string{path}
	}
	delete(binaries, s.Name)
	f.specs[s.Name], f.byHand[s.Name] = s, true
}

func (f *finder) found(s Spec) {
	if err := s.Check(); err != nil {
		f.problem("%s: %w", s.Source, err)
		return
	}
	if f.byHand[s.Name] {
		return
	}
	if other, taken := f.specs[s.Name]; taken {
		f.problem("plugin %q is there twice: %s is used, %s is not", s.Name, other.Source, s.Source)
		return
	}
	if len(f.specs) >= maxPlugins {
		f.surplus++
		return
	}
	f.specs[s.Name] = s
}

// discover runs one discovery command and takes what it prints.
func (f *finder) discover(ctx context.Context, d Discovery) {
	out, err := d.run(ctx)
	if err != nil {
		f.problem("%s: plugin_discovery %q: %w", d.Source, d.Name, err)
		return
	}
	specs, err := d.parse(out)
	if err != nil {
		f.problem("%s: plugin_discovery %q: %s: %w", d.Source, d.Name, d.Command[0], err)
	}
	for _, s := range specs {
		f.found(s)
	}
}
