package editbench

import (
	"bytes"
	"slices"
	"strings"
)

// A Verdict says what a matcher made of a case.
type Verdict int

// The verdicts. Those from WrongPlace on are wrong edits.
const (
	Correct    Verdict = iota // as a careful person would have done, refusals that were due among them
	Sloppy                    // the right change, but lines that the edit leaves alone were written again
	Refused                   // nothing done, though it was clear what to do
	WrongPlace                // something outside the place that is meant was changed
	WrongSpace                // only white space or line endings are wrong
	WrongText                 // the text is wrong
	WrongEdit                 // an edit was made that must be refused
	Harmful                   // by the letter it is what was asked for, and yet no one would have wanted it
)

var verdicts = [...]string{"correct", "sloppy", "refused", "wrong place", "wrong white space", "wrong text",
	"wrong to edit", "harmful by the letter"}

func (v Verdict) String() string { return verdicts[v] }

// Wrong reports whether it is a wrong edit, the worst that can be.
func (v Verdict) Wrong() bool { return v >= WrongPlace && v <= WrongEdit }

// Judge says what to think of the file that came out of a case; nil when the edit was refused.
func (c *Case) Judge(got []byte) Verdict {
	switch {
	case got != nil && !bytes.Equal(got, c.Want) && c.letter(got):
		return Harmful
	case c.Want == nil && got != nil:
		return WrongEdit
	case c.Want == nil, got == nil && c.Doubtful, got != nil && bytes.Equal(got, c.Want):
		return Correct
	case got == nil:
		return Refused
	case !c.around(got):
		if bare(got) == bare(c.Want) {
			return WrongSpace
		}
		return WrongPlace
	case c.sloppy(got):
		return Sloppy
	case bare(got) == bare(c.Want):
		return WrongSpace
	}
	return WrongText
}

// letter reports whether the file is what replacing old_string by new_string gives.
func (c *Case) letter(got []byte) bool {
	if c.Old == "" || bytes.Count(c.Data, []byte(c.Old)) != 1 {
		return false
	}
	return string(got) == strings.Replace(string(c.Data), c.Old, c.New, 1)
}

// around reports whether the file around the place is as it was.
func (c *Case) around(got []byte) bool {
	if c.after == nil && c.end == 0 {
		return true // it is about the whole file
	}
	before, behind := c.Data[:c.start], c.Data[c.end:]
	return len(got) >= len(before)+len(behind) && bytes.HasPrefix(got, before) && bytes.HasSuffix(got, behind)
}

// bare is a text without white space.
func bare(text []byte) string { return strings.Join(strings.Fields(string(text)), "") }

// sloppy reports whether the edit's own lines are all there, to the byte and in order, and all others are the file's
// or the model's, with the file's indentation and line endings.
func (c *Case) sloppy(got []byte) bool {
	if c.after == nil {
		return false
	}
	rest := c.after
	for _, l := range splitLines(string(got[c.start : len(got)-(len(c.Data)-c.end)])) {
		next := slices.IndexFunc(rest, func(o outcome) bool { return o.line == l || !o.touched && c.rewritten(o.line, l) })
		switch {
		case next >= 0 && !slices.ContainsFunc(rest[:next], touched):
			rest = rest[next+1:]
		case !c.quoted(l.text) || bare(got) == bare(c.Want) || !slices.ContainsFunc(c.after, l.alongside):
			return false
		}
	}
	return !slices.ContainsFunc(rest, touched)
}

func touched(o outcome) bool { return o.touched }

// alongside reports whether a line has the indentation and the ending of another.
func (l line) alongside(o outcome) bool {
	return o.line.eol == l.eol && indentOf(o.line.text) == indentOf(l.text)
}

// rewritten reports whether a line is the model's for one of the file's that had to stay.
func (c *Case) rewritten(was, is line) bool {
	return is.alongside(outcome{line: was}) && (squash(was.text) == squash(is.text) || c.quoted(is.text))
}

// quoted reports whether a line is one that the model has both before and after.
func (c *Case) quoted(text string) bool {
	is := func(l line) bool { return strings.TrimSpace(l.text) == strings.TrimSpace(text) }
	return slices.ContainsFunc(splitLines(c.Old), is) && slices.ContainsFunc(splitLines(c.New), is)
}
