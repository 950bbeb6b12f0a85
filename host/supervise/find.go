package supervise

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/internal/toolname"
)

// Sources are where plugins come from.
type Sources struct {
	// Plugins are configured by hand. One without a command gets the program of its name in Dirs.
	Plugins []Spec
	// Dirs are folders with programs called toolhost-plugin-NAME.
	Dirs []string
	// DirsSource is where Dirs are configured, such as "config.hcl:5", for error messages; it may be empty.
	DirsSource string
	// Installed is another such folder, which need not exist. Its programs are used only for names that no other source
	// has.
	Installed string
	// Commands print plugin specs.
	Commands []Discovery
	// Enough, if there is one, reports whether the plugins of Plugins and Dirs are all that is needed: then commands that
	// take long are not waited for. The programs that they name are then not protected from other plugins.
	Enough func(known map[string]Spec) bool
}

// Find returns the plugins of all sources, sorted by name. An error is about one source or one plugin, which is
// skipped. A plugin configured by hand takes precedence over a discovered one; of two discovered plugins with the
// same name the first is kept.
func Find(ctx context.Context, from Sources) ([]Spec, []error) {
	f := finder{specs: map[string]Spec{}, configured: map[string]bool{}, surplus: map[string]bool{}}
	programs, installed := f.programsIn(from.Dirs, from.DirsSource), map[string]string{}
	if _, err := os.Stat(from.Installed); from.Installed != "" && err == nil {
		installed = f.programsIn([]string{from.Installed}, "")
	}
	all := maps.Clone(installed)
	maps.Copy(all, programs)
	for _, s := range from.Plugins {
		if len(s.Command) == 0 {
			path, ok := all[s.Name]
			if !ok {
				f.problem("%s: plugin %q has no command, and there is no %s%s in the plugin folders%s", s.Source, s.Name,
					toolname.ProgramPrefix, s.Name, otherProgram(s.Name, from.Dirs, all))
				continue
			}
			s.Command = []string{path}
		}
		delete(all, s.Name)
		f.specs[s.Name], f.configured[s.Name] = s, true // the configuration has checked that the name is unique
	}
	f.addPrograms(programs)
	printed, failed := make([][]byte, len(from.Commands)), make([]error, len(from.Commands))
	awaiting, stop := ctx, context.CancelFunc(func() {})
	if len(from.Commands) > 0 && from.Enough != nil && from.Enough(f.specs) {
		awaiting, stop = context.WithTimeoutCause(ctx, calledPatience, ErrNotAwaited)
	}
	defer stop()
	var commands errgroup.Group // at once: those that hang take no longer than one
	commands.SetLimit(maxDiscoveries)
	for i, d := range from.Commands {
		commands.Go(func() error {
			printed[i], failed[i] = d.run(awaiting)
			return nil
		})
	}
	_ = commands.Wait()
	for i, d := range from.Commands {
		if failed[i] != nil {
			f.problem("%s: %s: %w", d.Source, d.title(), failed[i])
			continue
		}
		specs, err := d.parse(printed[i])
		if err != nil {
			f.problem("%s: %s: %s: %w", d.Source, d.title(), d.Command[0], err)
		}
		for _, s := range specs {
			f.add(s)
		}
	}
	f.addPrograms(installed)
	if len(f.surplus) > 0 {
		f.problem("%d plugins that were found are skipped: the limit is %d. Fix: name the plugins that you want in "+
			"plugin blocks", len(f.surplus), maxPlugins)
	}
	if more := len(f.problems) - maxProblems; more > 0 {
		f.problems = append(f.problems[:maxProblems], fmt.Errorf("and %d more problems of plugins and their sources", more))
	}
	specs := slices.SortedFunc(maps.Values(f.specs), func(a, b Spec) int { return strings.Compare(a.Name, b.Name) })
	return specs, f.problems
}

// otherProgram is the advice about a plugin without a program.
func otherProgram(name string, dirs []string, programs map[string]string) string {
	near := textutil.Nearest(strings.TrimPrefix(name, toolname.ProgramPrefix), slices.Sorted(maps.Keys(programs)))
	switch _, whole := programs[strings.TrimPrefix(name, toolname.ProgramPrefix)]; {
	case whole:
		return fmt.Sprintf("; the name of that plugin is %q", strings.TrimPrefix(name, toolname.ProgramPrefix))
	case near != "":
		return fmt.Sprintf("; did you mean %q?", near)
	case len(dirs) == 0:
		return `: none is named. Fix: name one at the top level, plugin_dirs = ["./bin"], or the program in the block`
	}
	return ""
}

// maxProblems is how many problems Find names, and how many of what one command printed; the rest is counted.
const maxProblems = 50

type finder struct {
	specs      map[string]Spec
	configured map[string]bool // by hand; these take precedence
	problems   []error
	surplus    map[string]bool // plugins found over maxPlugins, each perhaps in several places
}

func (f *finder) problem(format string, a ...any) {
	f.problems = append(f.problems, fmt.Errorf(format, a...))
}

// programsIn lists the plugin programs in the folders, by plugin name. Source is where the folders are configured, if
// they are.
func (f *finder) programsIn(dirs []string, source string) map[string]string {
	out, where := map[string]string{}, ""
	if source != "" {
		where = source + ": "
	}
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			fix := "name a folder that this user can read in plugin_dirs"
			if errors.Is(err, fs.ErrNotExist) {
				fix = "build the plugins into it, or correct plugin_dirs"
			}
			f.problem("%splugin folder %s cannot be read: %w. Fix: %s", where, dir, withoutPath(err), fix)
			continue
		}
		if err := fsutil.CheckOwnership(dir); err != nil {
			f.problem("%splugin folder %s is skipped: %w", where, dir, err)
			continue
		}
		for _, e := range entries {
			name, ok := strings.CutPrefix(fsutil.ProgramName(e.Name()), toolname.ProgramPrefix)
			if !ok {
				continue
			}
			path := filepath.Join(dir, e.Name())
			info, err := os.Stat(path)
			switch {
			case err != nil:
				f.problem("%s is skipped: %w. Fix: repair or remove the link", path, withoutPath(err))
			case !info.Mode().IsRegular():
				f.problem("%s is skipped: not a program. Fix: remove it, or give it another name", path)
			case !fsutil.MayRun(info):
				f.problem("%s is skipped: %s", path, notExecutable(path, info))
			case !toolname.IsPlugin(name):
				f.problem("%s is skipped: plugin name %q must match %s", path, name, toolname.PluginPattern)
			case out[name] != "":
				f.problem("plugin %q is defined twice: %s is used, %s is skipped", name, out[name], path)
			default:
				out[name] = path
			}
		}
	}
	return out
}

// addPrograms adds those whose names no plugin has.
func (f *finder) addPrograms(programs map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		if _, taken := f.specs[name]; !taken {
			f.add(Spec{Name: name, Command: []string{programs[name]}, Source: programs[name]})
		}
	}
}

func (f *finder) add(s Spec) {
	other, taken := f.specs[s.Name]
	err := s.Check()
	switch {
	case err != nil:
		f.problem("%s: %w", s.Source, err)
	case f.configured[s.Name]:
	case taken:
		f.problem("plugin %q is defined twice: %s is used, %s is skipped", s.Name, other.Source, s.Source)
	case len(f.specs) >= maxPlugins:
		f.surplus[s.Name] = true
	default:
		f.specs[s.Name] = s
	}
}
