package supervise

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
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

// A Discovery is a command that prints a JSON array of plugin specs:
//
//	[{"name": "team-lint", "command": ["./lint-plugin"], "env": {}, "sha256": "", "eager": false, "config": {}}]
type Discovery struct {
	Name    string
	Command []string
	Dir     string        // where it runs, and where relative programs that it names start from
	Timeout time.Duration // how long it may take
	Source  string        // where it was configured, for people
}

// binaryPrefix is how a plugin's program is called in a plugin folder.
const binaryPrefix = "toolhost-plugin-"

// Find gathers the plugins of all sources, by name. What is wrong with one source or one plugin is told, and costs only
// that one. A plugin configured by hand wins over a found one; two found ones of one name are an error, and the first
// is kept.
func Find(ctx context.Context, from Sources) ([]Spec, []error) {
	f := finder{specs: map[string]Spec{}}
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
	specs := slices.SortedFunc(maps.Values(f.specs), func(a, b Spec) int { return strings.Compare(a.Name, b.Name) })
	return specs, f.problems
}

type finder struct {
	specs    map[string]Spec
	problems []error
}

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
	case err != nil || !info.Mode().IsRegular():
		f.problem("%s is no program: it is left out", path)
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
	delete(binaries, s.Name) // by hand wins
	f.specs[s.Name] = s
}

func (f *finder) found(s Spec) {
	if err := s.Check(); err != nil {
		f.problem("%s: %w", s.Source, err)
		return
	}
	if other, taken := f.specs[s.Name]; taken {
		f.problem("plugin %q is there twice: %s is used, %s is not", s.Name, other.Source, s.Source)
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

// maxDiscovery bounds what a discovery command may print.
const maxDiscovery = 1 << 20

func (d Discovery) run(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, orDefault(d.Timeout, 10*time.Second))
	defer cancel()
	var stdout, stderr bounded
	cmd := exec.CommandContext(ctx, d.Command[0], d.Command[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = d.Dir, &stdout, &stderr, time.Second
	endGroup(cmd)
	err := cmd.Run()
	if cmd.Process != nil {
		_ = cmd.Cancel() // what it left behind
	}
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s did not end within %s", d.Command[0], orDefault(d.Timeout, 10*time.Second))
	case err != nil && !errors.Is(err, exec.ErrWaitDelay): // something it left behind held its output
		return nil, fmt.Errorf("%s: %w%s", d.Command[0], reason(err), quoted(stderr.kept))
	case stdout.over:
		return nil, fmt.Errorf("%s printed more than %d bytes", d.Command[0], maxDiscovery)
	}
	return stdout.kept, nil
}

// quoted gives the beginning of what a program said on standard error.
func quoted(stderr []byte) string {
	text := printable(string(stderr[:min(len(stderr), tailWidth)]))
	if text == "" {
		return ""
	}
	return "; it said: " + text
}

// A printedSpec is one element of what a discovery command prints.
type printedSpec struct {
	Name    string            `json:"name"`
	Command []string          `json:"command"`
	Env     map[string]string `json:"env"`
	SHA256  string            `json:"sha256"`
	Eager   bool              `json:"eager"`
	Config  json.RawMessage   `json:"config"`
}

func (d Discovery) parse(out []byte) ([]Spec, error) {
	var elements []json.RawMessage
	if err := json.Unmarshal(out, &elements); err != nil {
		return nil, fmt.Errorf("it must print a JSON array of plugins: %w", err)
	}
	var specs []Spec
	var wrong []error
	for i, raw := range elements {
		s, err := d.spec(raw)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("element %d: %w", i+1, err))
			continue
		}
		specs = append(specs, s)
	}
	return specs, errors.Join(wrong...)
}

func (d Discovery) spec(raw json.RawMessage) (Spec, error) {
	var p printedSpec
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&p); err != nil {
		return Spec{}, err
	}
	s := Spec{Name: p.Name, Command: p.Command, Env: p.Env, SHA256: p.SHA256, Eager: p.Eager, Config: p.Config,
		Source: fmt.Sprintf("plugin_discovery %q", d.Name)}
	if err := s.Check(); err != nil {
		return Spec{}, err
	}
	if program := s.Command[0]; strings.Contains(program, "/") && !filepath.IsAbs(program) {
		s.Command[0] = filepath.Join(d.Dir, program)
	}
	return s, nil
}

// reason drops what a path or exec error repeats.
func reason(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*exec.Error](err); ok {
		return e.Err
	}
	return err
}

// A bounded keeps the first maxDiscovery bytes.
type bounded struct {
	kept []byte
	over bool
}

// Write never fails.
func (b *bounded) Write(p []byte) (int, error) {
	room := maxDiscovery - len(b.kept)
	b.over = b.over || len(p) > room
	b.kept = append(b.kept, p[:min(len(p), room)]...)
	return len(p), nil
}
