// Package corpus makes edits as models ask for them: a true change to a real file, and then the noise that models put
// into what they quote. It knows what a careful person would make of each, and judges what a matcher makes of it.
//
// It looks at no matcher: it is for all of them. The same seed gives the same cases on the same files.
package corpus

// A Case is one edit that a model asks for, and what is to become of it.
type Case struct {
	Category string
	Name     string // of the file; its extension tells the language
	Noise    string // what was done to Old, in a few words for people
	Data     []byte // the file
	Old, New string // old_string and new_string
	All      bool   // replace_all
	Want     []byte // the file after the edit; nil when the edit must be refused

	start, end int       // the part of Data that the edit is about
	after      []outcome // the lines of that part after the edit; nil when there is no telling
}

// An outcome is a line of Want in the part that an edit is about.
type outcome struct {
	line    line
	touched bool // by the edit; other lines must keep their bytes
}

// Refuse says whether the edit must be refused.
func (c *Case) Refuse() bool { return c.Want == nil }
