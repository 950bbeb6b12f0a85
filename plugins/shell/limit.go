package main

import (
	"fmt"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// A limit is how long a call may run, and says whose word that is when it is over.
type limit struct {
	proctree.Limits
	single bool // nothing can run on after the call
}

// exceeded tells of a command that was stopped, and of what went wrong with stopping it, if anything.
func (l limit) exceeded(trouble error) error {
	text := fmt.Sprintf("the command was not done after %v and was stopped", l.Shown(l.Run))
	if trouble == nil {
		text += ", with everything it had started"
	} else {
		text += "; " + trouble.Error()
	}
	return l.error(text)
}

// tooShort tells of a limit that was over before the command could be started.
func (l limit) tooShort() error {
	return l.error("there was no time to start the command; nothing was run")
}

// error says what would help: a longer timeout_seconds does only if that is what was too short.
func (l limit) error(text string) error {
	e := &sdk.Error{Code: sdk.CodeTimeout, Name: "Timeout", Message: text,
		Suggestion: "Give it more time with timeout_seconds (at most 3600), do the work in smaller steps, or have exec run it in the background."}
	if l.single {
		e.Suggestion = "Give it more time with timeout_seconds (at most 3600), or do the work in smaller steps."
	}
	if l.Call != 0 {
		e.Message += fmt.Sprintf("; the call had %v, which is set by the caller or the user's configuration; timeout_seconds cannot raise it",
			l.Shown(l.Call))
		e.Suggestion = "Do the work in smaller steps, or have exec run it in the background."
		if l.single {
			e.Suggestion = "Do the work in smaller steps."
		}
	}
	return e
}
