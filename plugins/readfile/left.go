package main

import (
	"fmt"

	"github.com/toolhost/toolhost/plugins/readfile/internal/walk"
)

// seen are the arguments that ask for what a project does not have in plain sight.
type seen struct {
	Hidden  bool `json:"hidden,omitempty" jsonschema:"Also names that begin with a dot." default:"false"`
	Ignored bool `json:"ignored,omitempty" jsonschema:"Also what .gitignore, .ignore and .git/info/exclude leave out, such as build results." default:"false"`
}

// leftNotes say what a walk left out, and how to see it.
func leftNotes(l walk.LeftOut) (notes []string) {
	if l.Hidden > 0 {
		notes = append(notes, fmt.Sprintf("%d hidden; hidden=true shows them", l.Hidden))
	}
	if l.Ignored > 0 {
		notes = append(notes, fmt.Sprintf("%d ignored by .gitignore or .ignore; ignored=true shows them", l.Ignored))
	}
	if l.Secret > 0 {
		notes = append(notes, countOf(l.Secret, "file that by its name holds secrets is", "files that by their names hold secrets are")+" left out")
	}
	if l.Denied > 0 {
		notes = append(notes, fmt.Sprintf("%d left out, as rules deny or ask about them; name one to see why", l.Denied))
	}
	if l.Unreadable > 0 {
		notes = append(notes, fmt.Sprintf("%s or ignore files could not be read, or are too deep or too large; a shell tool may say why", countOf(l.Unreadable, "directory", "directories")))
	}
	return notes
}

// countOf is n with its unit, for units that take no s.
func countOf(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// crowdedNote is for walks; a list says it of each directory.
func crowdedNote(l walk.LeftOut) string {
	if l.Crowded == 0 {
		return ""
	}
	return countOf(l.Crowded, "directory has", "directories have") + " more entries than are looked at; those beyond are left out"
}
