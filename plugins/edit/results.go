package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/plugins/edit/internal/match"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/filenames"
)

// An outcome has the changes of a call and its report.
type outcome struct {
	changes []*change
	summary string          // what was done
	notes   []string        // further lines for the model
	output  any             // the structured result
	noDiff  bool            // the diff would only repeat what the model wrote
	dry     bool            // a dry run
	undoes  []*historyEntry // what the changes take back; nil for an edit
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
	text, cut := o.summary+notesText(o.notes), false
	if !o.noDiff {
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

// rest says how to see what a diff leaves out.
func (o *outcome) rest() string {
	switch {
	case o.undoes != nil:
		return "read the files to see them"
	case o.dry:
		return "make fewer edits at once to see them all"
	}
	return "the diff tool shows more"
}

// shown is the preview for approval. It asks for approval of files that other programs run or follow.
func (o *outcome) shown() *sdk.Preview {
	p := &sdk.Preview{Content: []sdk.Content{sdk.TextContent(o.preview())}}
	for _, c := range o.real() {
		switch {
		case o.dry:
		case filenames.AutoExecuted(c.place.Path) || filenames.AutoExecuted(c.place.Resolved()):
			p.Effect, p.Reason, p.UnlessAllowed = "ask", fmt.Sprintf("other programs run or follow %s without being asked",
				c.place.Path), false
			return p
		case c.entryPoint():
			p.Effect, p.Reason, p.UnlessAllowed = "ask", fmt.Sprintf("builds, tests, CI or agents run or follow %s",
				c.place.Path), true
		}
	}
	return p
}

// entryPoint reports whether the change is to a file that builds or agents start from. Of a package.json only what it
// runs counts, not its dependencies.
func (c *change) entryPoint() bool {
	if !filenames.EntryPoint(c.place.Path) && !filenames.EntryPoint(c.place.Resolved()) {
		return false
	}
	return !strings.EqualFold(path.Base(c.place.Resolved()), "package.json") || c.before == nil || c.remove ||
		!sameScripts(c.before.data, c.after)
}

// sameScripts reports whether two package.json run the same scripts.
func sameScripts(before, after []byte) bool {
	var a, b map[string]any
	if json.Unmarshal(before, &a) != nil || json.Unmarshal(after, &b) != nil {
		return false
	}
	for _, key := range []string{"scripts", "bin", "husky", "lint-staged", "simple-git-hooks", "pre-commit", "config",
		"gypfile"} {
		if !reflect.DeepEqual(a[key], b[key]) {
			return false
		}
	}
	return true
}

// preview is the diff with its notes.
func (o *outcome) preview() string {
	diff, _ := o.diff(limits{lines: 5000, bytes: 1 << 20, lineBytes: 1 << 20}, "there is no room for them")
	switch {
	case diff == "":
		return o.summary + notesText(o.notes)
	case len(o.notes) > 0:
		return notesText(o.notes)[1:] + "\n\n" + diff
	}
	return diff
}

func (o *outcome) diff(most limits, rest string) (diff string, cut bool) {
	out := diffWriter{most: most, more: rest}
	for _, c := range o.real() {
		c.difference().write(&out)
	}
	return out.String(), out.dropped > 0
}

func notesText(notes []string) (out string) {
	for _, n := range notes {
		out += "\nNote: " + n
	}
	return out
}

// maxMessage is how many characters a message has: hosts cut longer ones. What does not fit goes into the result.
const maxMessage = 900

// A refusal is an error with text that is too long for its message.
type refusal struct {
	failure *sdk.Error
	text    string
}

func (r *refusal) Error() string { return r.failure.Message }
func (r *refusal) Unwrap() error { return r.failure }

// names are the error names for the matcher's refusals.
var names = map[match.Kind]string{
	match.NotFound:       "MatchNotFound",
	match.Ambiguous:      "AmbiguousMatch",
	match.Conflict:       "EditConflict",
	match.AlreadyApplied: "AlreadyApplied",
	match.Guard:          "EditRefused",
	match.Same:           "NoChange",
}

type refusalDetails struct {
	Kind       match.Kind        `json:"kind"`
	Path       string            `json:"path"`
	Count      int               `json:"count,omitempty"`
	Candidates []match.Candidate `json:"candidates,omitempty"`
	Diff       string            `json:"diff,omitempty"`
	Exact      string            `json:"exact,omitempty"` // to be used as old_string, if that is what was meant
}

// refused turns a refusal of the matcher into an error for the file at path.
func refused(path string, err error) error {
	r, ok := errors.AsType[*match.Refusal](err)
	if !ok {
		return err
	}
	e := &sdk.Error{Name: names[r.Kind], Suggestion: r.Hint,
		Message: fmt.Sprintf("Nothing was changed in %q: %s", path, r.Message),
		Details: sdk.Details(refusalDetails{Kind: r.Kind, Path: path, Count: r.Count, Candidates: r.Candidates, Diff: r.Diff,
			Exact: r.Exact})}
	if e.Suggestion == "" {
		e.Suggestion = "Read the file and copy old_string from it, exactly."
	}
	return shorten(e, inFull(path, r))
}

// inFull is the long part of a refusal: what the file has, and how old_string differs.
func inFull(path string, r *match.Refusal) string {
	var parts []string
	if r.Excerpt != "" {
		parts = append(parts, fmt.Sprintf("%s has, with line numbers:\n%s", pathText(path), strings.TrimRight(r.Excerpt,
			"\n")))
	}
	if r.Diff != "" {
		parts = append(parts, "old_string (-) against the file (+):\n"+strings.TrimRight(r.Diff, "\n"))
	}
	return strings.Join(parts, "\n\n")
}

// shorten cuts what hosts would cut, and puts the whole of it into the text beside the error.
func shorten(e *sdk.Error, more string) error {
	out := &refusal{failure: new(*e)}
	var long []string
	out.failure.Message, long = fit(e.Message, long)
	out.failure.Suggestion, long = fit(e.Suggestion, long)
	if more != "" {
		long = append(long, more)
	}
	out.text = strings.Join(long, "\n\n")
	return out
}

// fit cuts a text at the end of a line or a word, and adds the whole of it to long when it did.
func fit(text string, long []string) (string, []string) {
	if utf8.RuneCountInString(text) <= maxMessage {
		return text, long
	}
	cut := text[:len(string([]rune(text)[:maxMessage]))]
	if i := strings.LastIndexAny(cut, "\n "); i > maxMessage/2 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, "\n ") + " ... (all of it is in the result)", append(long, text)
}
