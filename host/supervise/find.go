package supervise

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/supervise/internal/binaries"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/sdk/proctree"
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

// A Discovery is a command that prints a JSON array of plugin specs:
//
//	[{"name": "team-lint", "command": ["./lint-plugin"], "env": {}, "sha256": "", "eager": false, "config": {}}]
type Discovery struct {
	Name    string
	Command []string
	Dir     string        // where it runs, and where relative programs that it names start from
	Timeout time.Duration // how long it may take
	// Sandbox says how it is kept from the rest of the machine; nil is Supervised. It is that of a plugin, but that nil for
	// its Write is no folder.
	Sandbox *sandbox.Spec
	Protect []string // as Options.Protect
	Source  string   // where it was configured, for people
}

// maxDiscovery bounds what a discovery command may print.
const maxDiscovery = 1 << 20

func (d Discovery) run(caller context.Context) ([]byte, error) {
	if len(d.Command) == 0 {
		return nil, errors.New("it has no command")
	}
	limit := cmp.Or(d.Timeout, 10*time.Second)
	ctx, cancel := context.WithTimeout(caller, limit)
	defer cancel()
	o, hint, err := d.runStaged(ctx)
	switch {
	case caller.Err() != nil:
		return nil, caller.Err()
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s did not end within %s", d.Command[0], limit)
	case err != nil:
		return nil, err
	case o.err != nil || o.exit.Signal != 0 || o.exit.Code != 0:
		return nil, o.withHint(fmt.Errorf("%s: %w%s", d.Command[0], failure(o.exit, o.err), quoted(o.stderr.kept)), hint)
	case o.stdout.over:
		return nil, fmt.Errorf("%s printed more than %d bytes", d.Command[0], maxDiscovery)
	}
	return o.stdout.kept, nil
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
	if n := len(elements) - maxPlugins; n > 0 {
		wrong = append(wrong, fmt.Errorf("it prints %d plugins, at most %d are allowed: the last %d are left out", len(elements), maxPlugins, n))
		elements = elements[:maxPlugins]
	}
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
	if string(p.Config) == "null" {
		s.Config = nil
	}
	if err := s.Check(); err != nil {
		return Spec{}, err
	}
	if program := s.Command[0]; strings.Contains(program, "/") && !filepath.IsAbs(program) {
		s.Command[0] = filepath.Join(d.Dir, program)
	}
	if d.Dir != "" {
		var script int
		if s.Command, script = ResolvePaths(s.Command, d.Dir); script > 0 {
			s.Script = s.Command[script]
		}
	}
	return s, nil
}

// failure says what went wrong with a program, without its name.
func failure(exit proctree.Exit, err error) error {
	e, notStarted := errors.AsType[*proctree.StartError](err)
	switch {
	case notStarted:
		return errors.New(e.Reason)
	case err != nil:
		return err
	}
	return errors.New(exit.String())
}

// reason drops what a path error repeats.
func reason(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
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

// On says what keeps the command in on a machine. It fails when the command would be refused for it.
func (d Discovery) On(m sandbox.Means) (sandbox.Confinement, error) {
	return Options{Workdir: d.Dir, Protect: d.Protect}.Confine(Spec{Sandbox: d.box()}, m)
}

// box is the sandbox with its defaults. The folder of a configuration is not a command's to change, unless it is named.
func (d Discovery) box() sandbox.Spec {
	if d.Sandbox == nil {
		return sandbox.Spec{Level: sandbox.Supervised}
	}
	box := *d.Sandbox
	if box.Write == nil {
		box.Write = []string{}
	}
	return box
}

// site is where a command that is no plugin is staged like one. Its folder is removed by the next host if this one is killed.
// Only from Confined on it matters whether there are namespaces, which is found out by a try.
func (d Discovery) site() (*site, error) {
	dir, err := makeRunDir(os.TempDir())
	if err != nil {
		return nil, fmt.Errorf("making a folder for its temporary files: %w", err)
	}
	machine := sandbox.Presumed
	if d.box().Asked().AtLeast(sandbox.Confined) {
		machine = sandbox.Machine
	}
	return &site{workdir: d.Dir, dir: dir, temps: dir, stores: []string{binaries.NewVault("", "", nil).Dir()}, protect: d.Protect, machine: machine}, nil
}

// staged gives the command as it is really run.
func (d Discovery) staged(s *site) (how sandbox.Stage, err error) {
	box := d.box()
	if err := box.Check(); err != nil {
		return how, err
	}
	spec := Spec{Name: d.Name, Command: d.Command, Dir: d.Dir, Sandbox: box}
	path, err := spec.locate()
	if err != nil {
		return how, err
	}
	temp, err := s.temps.temp()
	if err != nil {
		return how, fmt.Errorf("making a folder for its temporary files: %w", err)
	}
	return s.stage(spec, path, sandbox.Folders{Temp: temp}, append(inheritedEnvironment(spec), "TMPDIR="+temp), func() []string { return nil })
}

// output is what a command printed, and how it ended.
type output struct {
	stdout, stderr bounded
	exit           proctree.Exit
	err            error
}

// runStaged runs the command to its end, or to that of ctx.
func (d Discovery) runStaged(ctx context.Context) (o output, hint string, err error) {
	s, err := d.site()
	if err != nil {
		return output{}, "", err
	}
	defer func() { _ = s.dir.remove() }()
	how, err := d.staged(s)
	if err != nil {
		return output{}, "", err
	}
	defer how.Release()
	cmd := how.Command(d.Dir)
	cmd.Stdout, cmd.Stderr = &o.stdout, &o.stderr
	o.exit, o.err = cmd.Run(ctx)
	return o, how.Hint, d.notStarted(o)
}

// notStarted words why the command was not run, nil if it was.
func (d Discovery) notStarted(o output) error {
	if _, ok := errors.AsType[*proctree.StartError](o.err); ok {
		return startProblem(Spec{Command: d.Command}, o.err)
	}
	return nil
}

// withHint adds what the sandbox may have had to do with an end.
func (o output) withHint(err error, hint string) error {
	if hint == "" || !notPermitted.Match(o.stderr.kept) {
		return err
	}
	return fmt.Errorf("%w (%s)", err, hint)
}
