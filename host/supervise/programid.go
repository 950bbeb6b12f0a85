package supervise

import "golang.org/x/sys/unix"

// absentProgram stands for a program that is not there.
var absentProgram = identity{Size: -1}

// idOf tells whether a program's file is still the one that was started.
func idOf(spec Spec) identity {
	if len(spec.Command) == 0 {
		return absentProgram
	}
	path, err := program(spec)
	var st unix.Stat_t
	if err != nil || unix.Stat(path, &st) != nil {
		return absentProgram
	}
	return identityOf(&st)
}

// program tells which the program is now, if that matters: a plugin that is down for what its program
// did is started anew when the program has changed.
func (p *Process) program() identity {
	switch p.status.Load().State {
	case Crashed, Backoff, Quarantined, Invalid:
		return idOf(*p.spec.Load())
	}
	return identity{}
}
