package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/toolhost/toolhost/host/supervise/internal/binaries"
	"github.com/toolhost/toolhost/host/supervise/internal/stage"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/sdk/proctree"
)

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
func (d Discovery) staged(s *site) (how stage.Stage, err error) {
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
	return s.stage(spec, path, stage.Folders{Temp: temp}, append(inheritedEnvironment(spec), "TMPDIR="+temp), func() []string { return nil })
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
