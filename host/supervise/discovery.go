package supervise

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/sdk/proctree"
)

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
