package supervise

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/toolhost/toolhost/host/supervise/internal/binaries"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/internal/commandline"
	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/nesting"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// A Discovery is a command that prints a JSON array of plugin specs:
//
//	[{"name": "team-lint", "command": ["./lint-plugin"], "env": {}, "sha256": "", "eager": false, "config": {}}]
type Discovery struct {
	Name    string
	Command []string
	Dir     string        // where it runs, and the base of relative programs that it prints
	Timeout time.Duration // how long it may take; zero is DiscoveryTimeout
	// Sandbox is its sandbox, nil for Supervised. It works as a plugin's, except that no folder is writable when its
	// Write is nil.
	Sandbox  *sandbox.Spec
	ReadOnly []string // like Options.ReadOnly
	Shared   []string // like Options.Shared
	Config   string   // like Options.Config
	Source   string   // where it was configured, for display
}

// DiscoveryTimeout is how long a discovery command may take unless its Timeout says otherwise.
const DiscoveryTimeout = 10 * time.Second

// ErrNotAwaited is part of the problem of a discovery command for which a call of another plugin no longer waits.
var ErrNotAwaited = fmt.Errorf("a call of another plugin waits %s for it", calledPatience)

const (
	// calledPatience is how long Find waits for discovery commands when Sources.Enough is true.
	calledPatience = 2 * time.Second
	// maxDiscoveries is how many discovery commands run at once.
	maxDiscoveries = 8
)

const maxDiscovery = 1 << 20 // the most bytes that a discovery command may print

// Confine returns the sandbox that the command would get on a machine. It fails if the command would be refused.
func (d Discovery) Confine(m proctree.Capabilities) (sandbox.Confinement, error) {
	return Options{Workdir: d.Dir, ReadOnly: d.ReadOnly, Shared: d.Shared}.Confine(Spec{Sandbox: d.sandbox()}, m)
}

func (d Discovery) title() string { return fmt.Sprintf("plugin_discovery %q", d.Name) }

func (d Discovery) sandbox() sandbox.Spec {
	if d.Sandbox == nil {
		return sandbox.Spec{Level: sandbox.Supervised}
	}
	box := *d.Sandbox
	if box.Write == nil { // the folder of a configuration is not writable by default
		box.Write = []string{}
	}
	return box
}

// run runs the command to its end and returns what it printed.
func (d Discovery) run(caller context.Context) ([]byte, error) {
	if len(d.Command) == 0 {
		return nil, errors.New("it has no command")
	}
	if err := nesting.Check(d.Config, d.title()); err != nil {
		return nil, err
	}
	limit := cmp.Or(d.Timeout, DiscoveryTimeout)
	ctx, cancel := context.WithTimeout(caller, limit)
	defer cancel()
	run, err := makeRunDir(os.TempDir()) // removed by the next host if this one is killed
	if err != nil {
		return nil, fmt.Errorf("making a folder for its temporary files: %w", err)
	}
	defer func() { _ = run.remove() }()
	how, err := d.prepare(run)
	if err != nil {
		return nil, err
	}
	defer how.Release()
	stdout, stderr := boundedBuffer{full: cancel}, boundedBuffer{}
	cmd := how.Command(d.Dir)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	exit, err := cmd.Run(ctx)
	_, notStarted := errors.AsType[*proctree.StartError](err)
	switch {
	case errors.Is(context.Cause(caller), ErrNotAwaited):
		return nil, fmt.Errorf("%s did not end; %w", d.Command[0], ErrNotAwaited)
	case caller.Err() != nil:
		return nil, caller.Err()
	case stdout.over:
		return nil, fmt.Errorf("%s printed more than %d bytes, and was stopped", d.Command[0], maxDiscovery)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s did not end within %s", d.Command[0], limit)
	case notStarted:
		return nil, launchError(Spec{Command: d.Command}, err)
	case err != nil || exit.Signal != 0 || exit.Code != 0:
		if err == nil {
			err = errors.New(exitText(exit))
		}
		err = fmt.Errorf("%s: %w", d.Command[0], err)
		if said := printable(string(stderr.kept[:min(len(stderr.kept), tailWidth)])); said != "" {
			err = fmt.Errorf("%w; it printed: %s", err, said)
		}
		if how.Hint != "" && notPermitted().Match(stderr.kept) {
			err = fmt.Errorf("%w (%s)", err, how.Hint)
		}
		return nil, err
	}
	return stdout.kept, nil
}

// prepare prepares the command's sandbox, with a folder for its temporary files.
func (d Discovery) prepare(run *runDir) (how sandbox.Prepared, err error) {
	box := d.sandbox()
	if err := box.Check(); err != nil {
		return how, err
	}
	capabilities := proctree.AssumedCapabilities
	if box.Requested().AtLeast(sandbox.Confined) { // whether there are namespaces then matters, which takes a probe
		capabilities = proctree.DetectCapabilities
	}
	spec := Spec{Name: d.Name, Command: d.Command, Dir: d.Dir, Sandbox: box}
	path, err := spec.locate()
	if err != nil {
		return how, err
	}
	temp, err := run.temp()
	if err != nil {
		return how, fmt.Errorf("making a folder for its temporary files: %w", err)
	}
	l := &launchContext{options: Options{Workdir: d.Dir, ReadOnly: d.ReadOnly, Shared: d.Shared}, runDir: run,
		tempDir: run, stores: []string{binaries.NewStore("", "", nil).Dir()}, capabilities: capabilities}
	nesting.Own(d.Config, d.title())
	env := nesting.Below(append(inheritedEnvironment(spec), TempEnvironment(temp)...), d.Config, d.title(), false)
	p := sandbox.Program{Path: path, Env: env, Temp: temp}
	return l.prepareSandbox(spec, p, nil)
}

// parse reads what the command printed. The error is about elements that are skipped.
func (d Discovery) parse(out []byte) ([]Spec, error) {
	var elements []json.RawMessage
	if err := json.Unmarshal(out, &elements); err != nil {
		return nil, fmt.Errorf("it must print a JSON array of plugins: %w", err)
	}
	var specs []Spec
	var wrong []error
	if n := len(elements) - maxPlugins; n > 0 {
		wrong = append(wrong, fmt.Errorf("it printed %d plugins, the limit is %d: the last %d are skipped", len(elements),
			maxPlugins, n))
		elements = elements[:maxPlugins]
	}
	for i, raw := range elements {
		s, err := d.parseSpec(raw)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("element %d: %.300s", i+1, err.Error())) // it may quote all that was printed
			continue
		}
		specs = append(specs, s)
	}
	if more := len(wrong) - maxProblems; more > 0 {
		wrong = append(wrong[:maxProblems], fmt.Errorf("and %d more elements", more))
	}
	return specs, errors.Join(wrong...)
}

func (d Discovery) parseSpec(raw json.RawMessage) (Spec, error) {
	var p struct {
		Name    string            `json:"name"`
		Command []string          `json:"command"`
		Env     map[string]string `json:"env"`
		SHA256  string            `json:"sha256"`
		Eager   bool              `json:"eager"`
		Config  json.RawMessage   `json:"config"`
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&p)
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return Spec{}, fmt.Errorf("%s must not be of the type %s", cmp.Or(e.Field, "a plugin"), e.Value)
	} else if err != nil {
		return Spec{}, err
	}
	s := Spec{Name: p.Name, Command: p.Command, Env: p.Env, SHA256: p.SHA256, Eager: p.Eager, Config: p.Config,
		Source: d.title()}
	if string(p.Config) == "null" {
		s.Config = nil
	}
	if err := s.Check(); err != nil {
		return Spec{}, err
	}
	if program := s.Command[0]; fsutil.HasFolder(program) && !filepath.IsAbs(program) {
		s.Command[0] = filepath.Join(d.Dir, program)
	}
	if d.Dir != "" {
		var script int
		if s.Command, script = commandline.ResolvePaths(s.Command, d.Dir); script > 0 {
			s.Script = s.Command[script]
		}
	}
	return s, nil
}

// withoutPath drops the operation and the path of a path error: the message has them already.
func withoutPath(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

type boundedBuffer struct {
	kept []byte
	over bool
	full func() // called for what there is no room for; nil: that is dropped
}

// Write never fails.
func (b *boundedBuffer) Write(p []byte) (int, error) {
	room := maxDiscovery - len(b.kept)
	b.kept = append(b.kept, p[:min(len(p), room)]...)
	if b.over = b.over || len(p) > room; b.over && b.full != nil {
		b.full()
	}
	return len(p), nil
}
