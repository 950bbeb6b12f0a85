package sandbox

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/supervise/internal/placeholder"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// A Plan is what a plugin is to be kept in, and where.
type Plan struct {
	Box     Spec
	Means   Means
	Folders Folders
	// Own gives what is toolhost's own. It is asked from Confined on.
	Own func() []Sighted
	// Notes is a folder of this host's; see placeholder.Hold.
	Notes string
}

// A Program is what is to be run.
type Program struct {
	Named func() (string, error) // finds the file that the user names
	Path  string                 // the file to run, which may be a copy
	Argv  []string
	Env   []string
}

// A Stage is how a plugin's program is really run.
type Stage struct {
	Confinement Confinement
	Hint        string // what to tell of a plugin that was not allowed something, "" at levels that allow all
	Temp        string // the folder for its temporary files, its own

	cmd  proctree.Cmd
	held []*placeholder.Placeholder
}

// Confine says what keeps the plugin in, without a start. It fails when a start would be refused for it.
func (s Plan) Confine() (Confinement, error) {
	got, _, err := s.confine()
	return got, err
}

// confine says also what is kept from the plugin in its folders.
func (s Plan) confine() (got Confinement, h shield, err error) {
	if got, err = s.Box.On(s.Means); err != nil {
		return got, h, err
	}
	if err := s.Check(); err != nil || !s.confined() {
		return got, h, err
	}
	h = s.shield()
	return got, h, s.protect(&got, h)
}

// confined says whether what was asked for is Confined at least.
func (s Plan) confined() bool { return s.Box.Asked().AtLeast(Confined) }

// Build makes what has to be there, and says how the program is run. Release it when the program has ended, with all that it
// started.
func (s Plan) Build(p Program) (Stage, error) {
	got, h, err := s.confine()
	if err != nil {
		return Stage{}, err
	}
	path, argv, err := s.wrap(p)
	if err != nil {
		return Stage{}, err
	}
	how := Stage{Confinement: got, Temp: s.Folders.Temp, cmd: proctree.Cmd{Path: path, Name: argv[0], Args: argv[1:], Env: p.Env, Grace: -1}}
	if s.Means.Stage {
		s.restrict(&how, p, h)
	}
	return how, nil
}

// restrict orders what this system can do.
func (s Plan) restrict(how *Stage, p Program, h shield) {
	o := s.orders()
	if o.Reads {
		o.Read = append(o.Read, withoutNested(programFolders(p, how.cmd.Path), s.writable())...)
	}
	if o.Writes {
		how.Hint = s.hint(h.readOnly)
	}
	how.cmd.Restrict = o
	if s.confined() && s.Means.Namespaces {
		how.held = h.raise(s.Notes, &how.Confinement.Missing)
		how.cmd.Links = h.links
		how.cmd.Sealed, how.cmd.Writable = s.seal()
		how.cmd.Namespace, how.cmd.Fixed, how.cmd.ReadOnly, how.cmd.Hidden = true, h.fixed, h.readOnly, h.hidden
	}
}

// Command is what runs the program, in a folder. A gentle end is for the caller to give.
func (s Stage) Command(dir string) *proctree.Cmd {
	cmd := s.cmd
	cmd.Dir = dir
	return &cmd
}

// Release lets go of what stands in its folders for the process.
func (s Stage) Release() {
	for _, p := range s.held {
		p.Release()
	}
}

// wrap gives the program and the arguments with the wrapper before them.
func (s Plan) wrap(p Program) (path string, argv []string, err error) {
	if s.Box.Asked() == Isolated { // which could not read it
		err = nested("it is run as", p.Path, s.writable())
	}
	if err != nil || len(s.Box.Wrapper) == 0 {
		return p.Path, p.Argv, err
	}
	if path, err = exec.LookPath(s.Box.Wrapper[0]); err != nil {
		return "", nil, fmt.Errorf("its wrapper %s cannot be run: %w", s.Box.Wrapper[0], reason(err))
	}
	fill := strings.NewReplacer("{socket_dir}", s.Folders.Socket, "{tmp_dir}", s.Folders.Temp, "{workdir}", s.Folders.Work)
	for _, word := range s.Box.Wrapper {
		argv = append(argv, fill.Replace(word))
	}
	return path, slices.Concat(argv, []string{p.Path}, p.Argv[1:]), nil
}
