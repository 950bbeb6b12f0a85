package main

import (
	"fmt"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// A limit is how long a call may run, and says whose word that is when it is over.
type limit struct {
	proctree.Limits
	setting string // of the tool's own limit
}

// exceeded is the error that says what happened, and what would help: to raise the setting does only if that is what was
// too short.
func (l limit) exceeded(what string) *sdk.Error {
	e := &sdk.Error{Code: sdk.CodeTimeout, Name: "Timeout", Message: what,
		Suggestion: "Ask for less at once, or have the operator raise " + l.setting + "."}
	if l.Call != 0 {
		e.Message += fmt.Sprintf("; the call had %v, which is set by the caller or the user's configuration; %s cannot raise it",
			l.Shown(l.Call), l.setting)
		e.Suggestion = "Ask for less at once."
	}
	return e
}
