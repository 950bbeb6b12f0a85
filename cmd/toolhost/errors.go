package main

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/toolname"
	"github.com/toolhost/toolhost/sdk"
)

// adviceFor returns what a person at the command line can do about an error, as lines to print after it; "" if
// nothing.
func adviceFor(err error) string {
	if missing, ok := errors.AsType[*bootstrap.NotFoundError](err); ok {
		text := "\n  No plugin is installed either: `toolhost plugin install PROGRAM` installs one, and\n" +
			"  `toolhost plugin new NAME` writes one. A configuration of this line uses all plugins of a folder:\n    "
		if missing.Named {
			text = "\n  Write one, or name another with --config. This line is enough for one:\n    "
		}
		return text + exampleDirs()
	}
	if e, ok := errors.AsType[*bootstrap.UntrustedError](err); ok && !e.Refused && e.List == nil {
		return fmt.Sprintf("\n  Look at the file. `toolhost trust` trusts it until it changes; --config %s uses it "+
			"this once.", filepath.Base(e.Path))
	}
	if e, ok := errors.AsType[*bootstrap.UnknownPluginError](err); ok {
		return shippedAdvice(e.Name)
	}
	if _, ok := errors.AsType[*bootstrap.TrustListError](err); ok {
		return "\n  --config FILE uses a file that is not in the list."
	}
	if errors.Is(err, bootstrap.ErrNoWorkdir) {
		return "\n  Go to a folder that exists, or name one with --workdir."
	}
	return ""
}

// temporaryFolderError adds to an error of the folder for temporary files what to do.
func temporaryFolderError(err error) error {
	return fsutil.FolderError(err, os.TempDir(), "set TMPDIR to another folder")
}

// shippedAdvice says how to get a plugin that ships with toolhost and is not in use: a configuration has only the
// plugins that it names. "" for other plugins, and where the program is not beside this one.
func shippedAdvice(plugin string) string {
	dir := bootstrap.ShippedFolder()
	if dir == "" || !slices.Contains(config.ShippedPlugins, plugin) {
		return ""
	}
	if len(fsutil.Glob(dir, toolname.ProgramPrefix+plugin+"*")) == 0 {
		return ""
	}
	return "\n  " + exampleDirs() + " in the configuration adds the plugins that ship with toolhost."
}

// exampleDirs is a line of configuration to suggest: the plugins beside this program, if there are any.
func exampleDirs() string {
	return fmt.Sprintf("plugin_dirs = [%q]", cmp.Or(bootstrap.ShippedFolder(), "DIR"))
}

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
	if refused, is := errors.AsType[*refusal](err); is && refused.call != "" {
		r.CallID = refused.call
	}
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
	e := &sdk.Error{Message: replaceForTerminal(t.hide(err.Error())), Outcome: sdk.OutcomeNotSent,
		Suggestion: strings.Join(strings.Fields(adviceFor(err)), " ")}
	code := exitCode(err)
	as, known := failures[code]
	switch {
	case code == exitUsage && !t.began:
		as = failure{codeUsage, "InvalidUsage", "`" + cmd.CommandPath() + " --help` shows how it is used."}
	case !known:
		as = failure{sdk.CodeInternal, "Failed", ""}
	}
	e.Code, e.Name, e.Suggestion = as.code, as.name, cmp.Or(e.Suggestion, as.suggestion)
	return e
}

type failure struct {
	code             sdk.Code
	name, suggestion string
}

// failures are the errors of commands, by their exit codes.
var failures = map[int]failure{
	exitUsage:       {codeUsage, "InvalidConfiguration", "`toolhost validate` checks the configuration."},
	exitDenied:      {sdk.CodeDenied, "NotTrusted", ""},
	exitUnavailable: {sdk.CodePluginUnavailable, "NoHost", "`toolhost status` shows the state of the plugins."},
	exitTimeout:     {sdk.CodeTimeout, "Timeout", ""},
	exitInterrupted: {sdk.CodeCanceled, "Interrupted", ""},
}
