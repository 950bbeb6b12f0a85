package main

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/plugins/edit/internal/match"
	"github.com/toolhost/toolhost/sdk"
)

// maxMessage is how many characters a message has: hosts cut longer ones. What does not fit goes into the result.
const maxMessage = 900

// A refusal is an error with more to read than a message holds.
type refusal struct {
	failure *sdk.Error
	text    string
}

func (r *refusal) Error() string { return r.failure.Message }
func (r *refusal) Unwrap() error { return r.failure }

func (r *refusal) result() *sdk.Result {
	if r.text == "" {
		return nil
	}
	return sdk.Text(r.text)
}

func (r *refusal) preview() *sdk.Preview {
	if r.text == "" {
		return nil
	}
	return &sdk.Preview{Content: r.result().Content}
}

// names are the errors for what the matcher refuses.
var names = map[match.Kind]string{
	match.NotFound:       "MatchNotFound",
	match.Ambiguous:      "AmbiguousMatch",
	match.Conflict:       "EditConflict",
	match.AlreadyApplied: "AlreadyApplied",
	match.Guard:          "EditRefused",
}

type refusalDetails struct {
	Kind       match.Kind        `json:"kind"`
	Path       string            `json:"path"`
	Count      int               `json:"count,omitempty"`
	Candidates []match.Candidate `json:"candidates,omitempty"`
	Diff       string            `json:"diff,omitempty"`
	Exact      string            `json:"exact,omitempty"` // to be used as old_string, if that is what was meant
}

// refused words what the matcher says, for the file at path.
func refused(path string, err error) error {
	r, ok := errors.AsType[*match.Refusal](err)
	if !ok {
		return err
	}
	e := &sdk.Error{Name: names[r.Kind], Suggestion: r.Hint,
		Message: fmt.Sprintf("Nothing was changed in %q: %s", path, r.Message),
		Details: sdk.Details(refusalDetails{Kind: r.Kind, Path: path, Count: r.Count, Candidates: r.Candidates, Diff: r.Diff, Exact: r.Exact})}
	if e.Suggestion == "" {
		e.Suggestion = "Read the file and copy old_string from it, exactly."
	}
	return fitted(e, inFull(path, r))
}

// inFull is the long part of a refusal: what the file has, and how old_string differs.
func inFull(path string, r *match.Refusal) string {
	var parts []string
	if r.Excerpt != "" {
		parts = append(parts, fmt.Sprintf("%s has, with line numbers:\n%s", inText(path), strings.TrimRight(r.Excerpt, "\n")))
	}
	if r.Diff != "" {
		parts = append(parts, "old_string (-) against the file (+):\n"+strings.TrimRight(r.Diff, "\n"))
	}
	return strings.Join(parts, "\n\n")
}

// fitted cuts what hosts would cut, and puts the whole of it into the text that goes with the error.
func fitted(e *sdk.Error, more string) error {
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
