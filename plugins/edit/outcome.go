package main

import (
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"strings"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/filenames"
)

// An outcome is what a call does, for the model and for the disk.
type outcome struct {
	changes []*change
	summary string   // what was done
	notes   []string // what the model should know about it
	output  any      // the structured result
	quiet   bool     // the diff would only repeat what the model wrote
	dry     bool     // nothing is to be done
	undoes  []*entry // what the changes take back; nil for an edit
}

// real are the changes that change something.
func (o *outcome) real() (out []*change) {
	for _, c := range o.changes {
		if c.changes() {
			out = append(out, c)
		}
	}
	return out
}

func (o *outcome) result() *sdk.Result {
	text, cut := o.summary+listed(o.notes), false
	if !o.quiet {
		var diff string
		if diff, cut = o.diff(limits{lines: 200, bytes: 20 << 10, lineBytes: 500}, o.rest()); diff != "" {
			text += "\n\n" + diff
		}
	}
	result := sdk.Text(text)
	result.Truncated = cut
	result.Structured, _ = json.Marshal(o.output) // our own structs always have a JSON form
	return result
}

// rest tells how to see what a diff leaves out.
func (o *outcome) rest() string {
	switch {
	case o.undoes != nil:
		return "read the files to see them"
	case o.dry:
		return "make fewer edits at once to see them all"
	}
	return "the diff tool shows more"
}

// shown is what a person sees who is asked, and that one must be asked where others run or follow what is changed.
func (o *outcome) shown() *sdk.Preview {
	p := &sdk.Preview{Content: []sdk.Content{sdk.TextContent(o.preview())}}
	for _, c := range o.real() {
		switch {
		case o.dry:
		case filenames.AutoExecuted(c.place.Path) || filenames.AutoExecuted(c.place.Resolved()):
			p.Effect, p.Reason, p.UnlessAllowed = "ask", fmt.Sprintf("other programs run or follow %s without being asked", c.place.Path), false
			return p
		case c.entryPoint():
			p.Effect, p.Reason, p.UnlessAllowed = "ask", fmt.Sprintf("builds, tests, CI or agents run or follow %s", c.place.Path), true
		}
	}
	return p
}

// entryPoint tells whether the change is to what a build or an agent begins with. Of a package.json that is what it runs, and
// not what the project needs.
func (c *change) entryPoint() bool {
	if !filenames.EntryPoint(c.place.Path) && !filenames.EntryPoint(c.place.Resolved()) {
		return false
	}
	return !strings.EqualFold(path.Base(c.place.Resolved()), "package.json") || c.before == nil || c.remove || !sameScripts(c.before.data, c.after)
}

// sameScripts tells whether two package.json run the same.
func sameScripts(before, after []byte) bool {
	var a, b map[string]any
	if json.Unmarshal(before, &a) != nil || json.Unmarshal(after, &b) != nil {
		return false
	}
	for _, key := range []string{"scripts", "bin", "husky", "lint-staged", "simple-git-hooks", "pre-commit", "config", "gypfile"} {
		if !reflect.DeepEqual(a[key], b[key]) {
			return false
		}
	}
	return true
}

// preview is the diff, and what there is to say about it.
func (o *outcome) preview() string {
	diff, _ := o.diff(limits{lines: 5000, bytes: 1 << 20, lineBytes: 1 << 20}, "there is no room for them")
	switch {
	case diff == "":
		return o.summary + listed(o.notes)
	case len(o.notes) > 0:
		return listed(o.notes)[1:] + "\n\n" + diff
	}
	return diff
}

func (o *outcome) diff(most limits, rest string) (diff string, cut bool) {
	out := page{most: most, more: rest}
	for _, c := range o.real() {
		c.difference().write(&out)
	}
	return out.String(), out.dropped > 0
}

func listed(notes []string) (out string) {
	for _, n := range notes {
		out += "\nNote: " + n
	}
	return out
}
