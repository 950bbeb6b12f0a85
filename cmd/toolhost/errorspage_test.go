//go:build unix

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/sdk"
)

// errorNames returns the names of errors in the Go files below a folder, except tests: values assigned to a Name, and
// words in CamelCase that are returned, are values of a map, or are the first argument of refused.
func errorNames(t *testing.T, dir string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	add := func(e ast.Expr, pattern *regexp.Regexp) {
		if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if s, err := strconv.Unquote(lit.Value); err == nil && pattern.MatchString(s) {
				names[s] = true
			}
		}
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() == "testdata" {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Name" {
					add(n.Value, errorName)
				} else if _, ok := n.Key.(*ast.SelectorExpr); ok {
					add(n.Value, camelCase)
				}
			case *ast.AssignStmt:
				for i, l := range n.Lhs {
					if s, ok := l.(*ast.SelectorExpr); ok && s.Sel.Name == "Name" && len(n.Rhs) == len(n.Lhs) {
						add(n.Rhs[i], errorName)
					}
				}
			case *ast.ReturnStmt:
				for _, r := range n.Results {
					add(r, camelCase)
				}
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "refused" {
					add(n.Args[0], errorName)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

var (
	errorName = regexp.MustCompile(`^[A-Z][A-Za-z]{5,}$`)
	camelCase = regexp.MustCompile(`^[A-Z]+[a-z]*[A-Z][A-Za-z]+$`)
)

// advice says what to do about each code.
var advice = map[sdk.Code]string{
	sdk.CodeTool:                "Read `name`, `message` and `suggestion`; the names of our plugins are listed below.",
	sdk.CodeToolNotFound:        "Use one of the suggested names, or list the tools.",
	sdk.CodeInvalidArgs:         "Correct the arguments; each problem has its path.",
	sdk.CodeNotInCatalog:        "Use a tool of this profile or catalog.",
	sdk.CodeDenied:              "Do something else; `toolhost policy explain TOOL JSON` shows the rule.",
	sdk.CodeRejected:            "Do something else, or ask the user what is wanted.",
	sdk.CodeApprovalTimeout:     "Ask again when a person is present.",
	sdk.CodeApprovalUnavailable: "Run where a person can be asked, or allow the call with a rule.",
	sdk.CodeLimit:               "Wait as long as the message says; a call budget ends with the session.",
	sdk.CodeTimeout:             "Ask for less, or raise the timeout; check what the call has done.",
	sdk.CodeCanceled:            "Nothing, or call again.",
	sdk.CodePluginCrashed:       "Check what the call has done before repeating it, if `outcome` is unknown.",
	sdk.CodePluginUnavailable:   "Call later if the message says when; else run `toolhost validate`.",
	sdk.CodeProtocol:            "A mistake in the plugin: run `toolhost plugin run BIN` and call the tool.",
	sdk.CodeResultTooLarge:      "Ask for less.",
	sdk.CodeInternal:            "A mistake in toolhost; the log has the id.",
}

// errorMeanings are the names of errors by the folder that has them.
var errorMeanings = map[string]map[string]string{
	"sdk/workspace": {
		"FileExists":           "a file is already there; nothing was written",
		"FileNotFound":         "no such file or folder",
		"IOError":              "the system reports another failure",
		"InvalidConfig":        "the plugin's configuration cannot be used",
		"InvalidPath":          "the path is empty, too long, or has a NUL character",
		"IsADirectory":         "a file is needed, and the path is a directory",
		"LinkLoop":             "too many symbolic links",
		"NotADirectory":        "a directory is needed, or a parent is a file",
		"NotARegularFile":      "a device, socket, pipe or file of the kernel",
		"PathOutsideWorkspace": "the path leads out of the work folder",
		"PermissionDenied":     "the file's mode does not allow it",
		"RootUnavailable":      "the folder of a root block cannot be opened",
		"WorkspaceUnavailable": "the work folder cannot be opened",
	},
	"plugins/discover": {
		"ArgumentsTooLong":  "the arguments do not fit on a command line",
		"CommandNotFound":   "the program of the command does not exist",
		"InvalidConfig":     "the plugin's configuration cannot be used",
		"ListInsideWord":    "a list stands in the middle of a text of the template",
		"LooksLikeAnOption": "an argument begins with a dash where the program would read an option",
		"MissingArgument":   "an argument that the command needs is missing",
		"NotExecutable":     "the program is not executable",
		"NotStarted":        "the command could not be started; nothing was run",
		"NulInArgument":     "an argument has a NUL character",
		"OutcomeUnknown":    "the command was started, and its end is not known",
		"Timeout":           "the command ran out of time and was ended",
		"ToolFailed":        "the command ended with an error; the message has the end of its output",
		"WorkdirNotFound":   "the work folder does not exist",
	},
	"plugins/edit": {
		"AlreadyApplied":  "the file has the change already",
		"AmbiguousMatch":  "`old_string` fits several places",
		"BinaryFile":      "the file or the text has NUL characters",
		"EditConflict":    "two edits of one call overlap",
		"EditRefused":     "a guard sees that text would get lost or code would break",
		"EmptyOldString":  "`old_string` is empty",
		"EncodingNotKept": "some bytes of the file would change",
		"EncodingUnknown": "the file is not UTF-8, and the old or the new text has other letters than ASCII",
		"FileChanged":     "the file has changed since it was read or edited",
		"FileExists":      "the file to create is already there",
		"FileTooLarge":    "the file is over the limit",
		"FilesTooLarge":   "the files of the call together are over the limit",
		"InvalidEtag":     "`if_match` is not an etag",
		"InvalidPath":     "an edit has no path, or that of a new file is a directory, or begins with ~, a variable or a URL",
		"MatchNotFound":   "`old_string` is not in the file; the nearest place is shown",
		"NoChange":        "`old_string` and `new_string` are the same",
		"NoEdits":         "`edits` is empty",
		"NotInEncoding":   "the file's encoding does not have the new letters",
		"NothingToUndo":   "no edits of this session are kept",
		"ParentNotFound":  "the folder of a new file does not exist",
		"PartlyWritten":   "some files of the call are changed, others are not",
		"SameFile":        "two paths of the call are one file",
		"SecretFile":      "the file holds secrets",
		"TooManyEdits":    "more edits than one call may have",
		"TooManyFiles":    "more files than one call may change",
	},
	"plugins/http": {
		"AddressRefused":     "the address is private, local or reserved",
		"BadReply":           "the server's answer is not valid HTTP",
		"BadURL":             "the URL cannot be used",
		"BinaryBody":         "the body is not text",
		"ConnectFailed":      "the host cannot be reached",
		"CredentialsInURL":   "the URL has a user name or password",
		"CredentialsRefused": "a header with credentials may not be set by a call",
		"HTTPStatus":         "the server answered with an error status",
		"HeaderRefused":      "a header may not be set by a call",
		"HostDenied":         "the operator does not allow this host",
		"HostNotFound":       "the host's name cannot be resolved",
		"IncompleteBody":     "the connection ended before the body",
		"InvalidArguments":   "the arguments do not go together",
		"InvalidConfig":      "the plugin's configuration cannot be used",
		"PageUnreadable":     "the HTML cannot be turned into text",
		"PortRefused":        "the port is not one of a web server",
		"RedirectRefused":    "a redirect leads where requests may not go",
		"StartOutOfRange":    "`start` is past the end",
		"TLSFailed":          "the certificate or the TLS handshake failed",
		"Timeout":            "the server is too slow",
		"TooManyRedirects":   "the server redirects too often",
		"UnknownEncoding":    "the body's encoding is not known",
		"UnsupportedScheme":  "only http and https are supported",
	},
	"plugins/mcp": {
		"AnswerTooLarge":     "the server's answer over HTTP is over the limit, and was cut off",
		"BadReply":           "the server does not answer as MCP over HTTP does",
		"BadResult":          "the server's answer is not what MCP says",
		"CallEnded":          "the call ended before the server answered",
		"ConnectFailed":      "the server's address cannot be reached",
		"CredentialsRefused": "the server refused the credentials, or wants some",
		"DefinitionChanged":  "the server has another definition of the tool by now; nothing was run",
		"HTTPStatus":         "the server answered with an HTTP error",
		"HostNotFound":       "the host of the server's address cannot be found",
		"InvalidConfig":      "the plugin's configuration cannot be used",
		"LoginRequired":      "a person has to log in to the server first; nothing was run",
		"MCPError":           "the server refused the request with a JSON-RPC error",
		"MCPInvalidParams":   "the server refused the arguments with a JSON-RPC error",
		"MCPToolError":       "the tool reported an error",
		"QuestionDeclined":   "the input that the tool requires was declined; nothing was run",
		"QuestionExpired":    "the call that asked no longer waits for an answer",
		"RedirectRefused":    "a redirect leads where requests may not go",
		"ResultTooLarge":     "the server's result is over the limit",
		"ServerBusy":         "the server serves as many work folders as it may",
		"ServerExited":       "the server ended during the call",
		"ServerFailed":       "the connection to the server failed during the call",
		"ServerSilent":       "the server showed no sign of the call for too long",
		"ServerUnavailable":  "the server cannot be started or reached; nothing was run",
		"SessionEnded":       "the server has ended the session of its HTTP endpoint",
		"StreamEnded":        "the server ended its answer before it was complete",
		"TLSFailed":          "the certificate or the TLS handshake failed",
		"TokenRefused":       "there is no token for the server: it was refused",
		"TooSlow":            "the server sends its answer too slowly",
		"TokenRefreshFailed": "the token for the server cannot be renewed; nothing was run",
		"ToolGone":           "the server has no such tool any more; nothing was run",
		"UnknownState":       "the state that came with answers belongs to no call, or to another one",
		"VisitNotCompleted":  "a person has to finish something in the browser first; nothing was run",
	},
	"plugins/readfile": {
		"BinaryFile":       "the file is not text",
		"InvalidArguments": "the arguments do not go together",
		"InvalidPattern":   "the pattern cannot be used",
		"LineOutOfRange":   "the line is past the end of the file",
		"LineTooLong":      "a line is too long to be searched",
		"NothingRead":      "none of several files could be read",
		"SecretFile":       "the file holds secrets",
	},
	"plugins/shell": {
		"CommandTooLong":        "the command is longer than the system allows",
		"GitSettingsUnknown":    "the settings of git cannot be read, so a reading command may run programs; nothing was run",
		"InterpreterNotAllowed": "the operator does not allow this interpreter",
		"InterpreterNotFound":   "the interpreter is not installed",
		"InvalidArguments":      "the arguments do not go together",
		"InvalidConfig":         "the plugin's configuration cannot be used",
		"JobNotFound":           "the session has no job with this id",
		"NeedsLastingHost":      "a background job needs a host that continues after the call",
		"NotStarted":            "the shell could not be started; nothing was run",
		"OutcomeUnknown":        "the command was started, and its end is not known",
		"OutputIncomplete":      "some of the output is missing",
		"PathOutsideWorkspace":  "the folder to start in is outside of the work folder",
		"PluginEnding":          "the plugin is stopping; nothing was run",
		"ProcessesLeft":         "the command ended, and processes of it still run",
		"ScriptNotWritten":      "the script could not be saved for its interpreter",
		"ShellNotFound":         "the configured shell cannot be used",
		"Timeout":               "the command ran out of time and was ended",
		"TooManyJobs":           "the session has as many jobs as it may have",
		"WorkdirNotFound":       "the folder to start in does not exist",
	},
}

// commandErrors is the rule that TestErrorsAsJSON checks.
const commandErrors = `
## Commands

With ` + "`--format json`" + ` standard output is JSON whatever happens, and standard error has the same for people. A command that fails
before it has an answer prints one object, ` + "`{\"error\": {…}}`" + `, with a code, a name, a message and a suggestion; ` + "`call`" + ` prints a
result with that ` + "`error`" + `. Commands that print a line for each thing print it as their last line. Some answers say themselves what
failed: the lists of ` + "`status` and, with `--problems`, `discover`" + `, and the reports of ` + "`validate`, `doctor` and `plugin check`" + `; the exit code tells.
The code is one of those above, or:

| code | exit | when | what to do |
|---|---|---|---|
| ` + "`E_USAGE`" + ` | 2 | the command line or the configuration is wrong, or a file is missing that the command needs; nothing was run | Correct it. The name is ` + "`InvalidUsage`, `InvalidConfiguration` or `NoRecord`" + `. |
`

// TestErrorsPage compares docs/errors.md with the codes of the sdk and the names in the plugins; -update writes it.
func TestErrorsPage(t *testing.T) {
	page := &strings.Builder{}
	page.WriteString("# Errors\n\nA call that fails has an `error` with a `code`, and for `E_TOOL` a `name`. Programs " +
		"decide by these two, which do not\n" +
		"change; `message` and `suggestion` are for the model and for people. `exit` is the exit code of `toolhost call`. " +
		"A test of\n" +
		"`cmd/toolhost` writes this page from the code; do not edit it. [troubleshooting.md](troubleshooting.md) has usual " +
		"causes\nof each code.\n\n## Codes\n\n" +
		"| code | exit | when | what to do |\n|---|---|---|---|\n")
	for _, c := range codes(t) {
		if advice[c.code] == "" {
			t.Errorf("%s has no advice", c.code)
		}
		fmt.Fprintf(page, "| `%s` | %d | %s | %s |\n", c.code, codeFor(&sdk.Error{Code: c.code}), c.meaning, advice[c.code])
	}
	page.WriteString(commandErrors)
	for _, dir := range slices.Sorted(maps.Keys(errorMeanings)) {
		fmt.Fprintf(page, "\n## Names: %s\n\n", path.Base(dir))
		if dir == "sdk/workspace" {
			page.WriteString("Of all plugins that work on files: edit, readfile, shell.\n\n")
		}
		page.WriteString("| name | when |\n|---|---|\n")
		found, meanings := errorNames(t, "../../"+dir), errorMeanings[dir]
		for _, name := range slices.Sorted(maps.Keys(meanings)) {
			if !found[name] {
				t.Errorf("%s: %s is in errorMeanings, and not in the code", dir, name)
			}
			delete(found, name)
			fmt.Fprintf(page, "| `%s` | %s |\n", name, meanings[name])
		}
		for name := range found {
			t.Errorf("%s: %s has no meaning in errorMeanings", dir, name)
		}
	}
	const file = "../../docs/errors.md"
	if *update {
		if err := os.WriteFile(file, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(page.String(), readText(t, file)); diff != "" {
		t.Errorf("run go test ./cmd/toolhost -run TestErrorsPage -update (-want +page)\n%s", diff)
	}
}

type documentedCode struct {
	code    sdk.Code
	meaning string
}

// codes returns the constants of type Code with their comments.
func codes(t *testing.T) (out []documentedCode) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../sdk/error.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 {
			if of, ok := v.Type.(*ast.Ident); ok && of.Name == "Code" {
				value, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, documentedCode{sdk.Code(value), strings.TrimSpace(v.Comment.Text())})
			}
		}
		return true
	})
	return out
}

// Each code of the host leads to a section of docs/troubleshooting.md, and no section has another code.
func TestTroubleshooting(t *testing.T) {
	sections := map[string]string{}
	for _, section := range strings.Split(readText(t, "../../docs/troubleshooting.md"), "\n## ")[1:] {
		title, text, _ := strings.Cut(section, "\n")
		sections[title] = text
	}
	for _, c := range codes(t) {
		text, there := sections[string(c.code)]
		if delete(sections, string(c.code)); !there {
			t.Errorf("%s has no section", c.code)
		}
		for _, part := range []string{"**Means:** ", "**Usual causes:** ", "**What to do:** "} {
			if there && !strings.Contains(text, part) {
				t.Errorf("the section of %s has no %s", c.code, part)
			}
		}
	}
	for title := range sections {
		t.Errorf("there is no code %q", title)
	}
}
