package main

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

// codeUsage is the code of a command that cannot run as it was given: its flags and arguments, its configuration, or a
// file that it needs. Calls that a host answers never have it.
const codeUsage sdk.Code = "E_USAGE"

// printJSONError prints the failure of a command for a program that asked for JSON, also where the command line is too
// wrong to be read: as the only document on standard output, or as the last line of a command that prints lines. A
// failure that the answer itself has, such as that of a call, is an error without a text, and is not printed again.
func (t *terminal) printJSONError(cmd *cobra.Command, args []string, err error) {
	_, coded := errors.AsType[*sdk.Error](err)
	if err == nil || err.Error() == "" && !coded || !asksForJSON(cmd, args) {
		return
	}
	e := t.asData(cmd, err)
	if cmd.Flag("stream") == nil {
		_ = json.NewEncoder(t.out).Encode(map[string]*sdk.Error{"error": e}) // standard output remembers write errors
		return
	}
	r := &host.Result{CallID: rand.Text(), Status: host.StatusError, Error: e}
	if words := cmd.Flags().Args(); len(words) > 0 {
		r.Tool = words[0]
	}
	_ = json.NewEncoder(t.out).Encode(r)
}

// asksForJSON reports whether a command prints JSON for programs. It also looks at the words themselves, since flags
// after a wrong one are not read.
func asksForJSON(cmd *cobra.Command, args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	stream := cmd.Flag("stream")
	if stream != nil && (stream.Value.String() == "true" || slices.Contains(args, "--stream")) {
		return true
	}
	format := cmd.Flag("format")
	if format == nil {
		return false
	}
	if c, is := format.Value.(choice); !is || !slices.Contains(c.words, "json") {
		return false
	}
	word := format.Value.String()
	for i, arg := range args {
		if value, is := strings.CutPrefix(arg, "--format="); is {
			word = value
		} else if arg == "--format" && i+1 < len(args) {
			word = args[i+1]
		}
	}
	return strings.EqualFold(word, "json")
}

// asData is an error of a command as programs read it: its code is one that has the command's exit code.
func (t *terminal) asData(cmd *cobra.Command, err error) *sdk.Error {
	if e, is := errors.AsType[*sdk.Error](err); is {
		return e
	}
	e := &sdk.Error{Message: clean(t.hide(err.Error())), Suggestion: strings.Join(strings.Fields(adviceFor(err)), " "),
		Outcome: sdk.OutcomeNotSent}
	switch code := exitCode(err); {
	case code == exitUsage && !t.began:
		e.Code, e.Name = codeUsage, "InvalidUsage"
		e.Suggestion = cmp.Or(e.Suggestion, "`"+cmd.CommandPath()+" --help` shows how it is used.")
	case code == exitUsage:
		e.Code, e.Name = codeUsage, "InvalidConfiguration"
		e.Suggestion = cmp.Or(e.Suggestion, "`toolhost validate` checks the configuration.")
	case code == exitDenied:
		e.Code, e.Name = sdk.CodeDenied, "NotTrusted"
	case code == exitUnavailable:
		e.Code, e.Name = sdk.CodePluginUnavailable, "NoHost"
		e.Suggestion = cmp.Or(e.Suggestion, "`toolhost status` shows the state of the plugins.")
	case code == exitTimeout:
		e.Code, e.Name = sdk.CodeTimeout, "Timeout"
	case code == exitInterrupted:
		e.Code, e.Name = sdk.CodeCanceled, "Interrupted"
	default:
		e.Code, e.Name = sdk.CodeInternal, "Failed"
	}
	return e
}
