package supervise

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/toolhost/toolhost/host/supervise/internal/programs"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// On says what keeps the command in on a machine. It fails when the command would be refused for it.
func (d Discovery) On(m Means) (Confinement, error) {
	return Options{Workdir: d.Dir, Protect: d.Protect}.Confine(Spec{Sandbox: d.box()}, m)
}

// box is the sandbox with its defaults. The folder of a configuration is not a command's to change, unless it is named.
func (d Discovery) box() Sandbox {
	if d.Sandbox == nil {
		return Sandbox{Level: Supervised}
	}
	box := *d.Sandbox
	if box.Write == nil {
		box.Write = []string{}
	}
	return box
}

// A room is what a command that is no plugin needs to be staged like one: as much of a supervisor as that takes, and a
// folder for temporary files, which the next host removes if this one is killed.
type room struct{ s *Supervisor }

func (d Discovery) room() (room, error) {
	dir, err := makeRunDir(os.TempDir())
	if err != nil {
		return room{}, fmt.Errorf("making a folder for its temporary files: %w", err)
	}
	return room{&Supervisor{log: slog.New(slog.DiscardHandler), workdir: d.Dir, protect: d.Protect, dir: dir, temps: dir, vault: programs.NewVault("", "", nil), machine: Machine}}, nil
}

func (r room) close() { _ = r.s.dir.remove() }

// staged gives the command as it is really run.
func (d Discovery) staged(r room) (how stage, err error) {
	box := d.box()
	if err := box.Check(); err != nil {
		return how, err
	}
	spec := Spec{Name: d.Name, Command: d.Command, Dir: d.Dir, Sandbox: box}
	path, err := spec.locate()
	if err != nil {
		return how, err
	}
	temp, err := r.s.temps.temp()
	if err != nil {
		return how, fmt.Errorf("making a folder for its temporary files: %w", err)
	}
	return r.s.stage(spec, path, temp, append(inheritedEnvironment(), "TMPDIR="+temp))
}

// output is what a command printed, and how it ended.
type output struct {
	stdout, stderr bounded
	exit           proctree.Exit
	err            error
}

// runStaged runs the command to its end, or to that of ctx.
func (d Discovery) runStaged(ctx context.Context) (o output, hint string, err error) {
	r, err := d.room()
	if err != nil {
		return output{}, "", err
	}
	defer r.close()
	how, err := d.staged(r)
	if err != nil {
		return output{}, "", err
	}
	defer how.release()
	cmd := how.command(d.Dir)
	cmd.Stdout, cmd.Stderr = &o.stdout, &o.stderr
	o.exit, o.err = cmd.Run(ctx)
	return o, how.hint, d.notStarted(o)
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
