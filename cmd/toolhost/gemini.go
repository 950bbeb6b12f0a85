package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

// This file has what Gemini CLI needs besides the list of tools: a discovery that never fails, since Gemini CLI would
// not start then, and settings that name the same configuration for the discovery and for each call.

// listNothing prints an empty list for a discovery that failed, and the reason on standard error.
func (g *globals) listNothing(ctx context.Context, why error) error {
	if ctx.Err() != nil {
		return errInterrupted
	}
	g.printError(why)
	fmt.Fprintln(g.err, "toolhost: the list is empty, so that Gemini CLI starts all the same; it reads the list again "+
		"when it is started again")
	_, err := fmt.Fprintln(g.out, "[]")
	return err
}

// A geminiSource has the words that both commands of Gemini CLI share.
type geminiSource struct {
	program string   // this one
	flags   []string // of both commands
	only    []string // of the discovery alone
	profile string
}

// geminiSource returns the words for the configuration that was found: Gemini CLI may run the commands in another
// folder, and in GitHub Actions without the variables that name it.
func (g *globals) geminiSource(s *bootstrap.Instance, f discoverFlags) (geminiSource, error) {
	program, err := os.Executable()
	if err != nil {
		return geminiSource{}, err
	}
	path, err := filepath.Abs(s.Config().Path)
	if err != nil {
		return geminiSource{}, err
	}
	src := geminiSource{program: program, flags: []string{"--config", path}, profile: f.profile}
	if s.Plugins().NeedsTrust() {
		// otherwise a name on a command line would trust later content of the file too
		src.flags = append(src.flags, "--check-trust")
	}
	if g.workdir != "" {
		workdir, err := filepath.Abs(g.workdir)
		if err != nil {
			return geminiSource{}, err
		}
		src.flags = append(src.flags, "--workdir", workdir)
	}
	for _, p := range f.plugins {
		src.only = append(src.only, "--plugin", p)
	}
	return src, nil
}

func (s geminiSource) discovery() []string {
	words := append(slices.Concat([]string{s.program}, s.flags, []string{"discover", "--format", "gemini"}), s.only...)
	if s.profile != "" {
		words = append(words, "--profile", s.profile)
	}
	return words
}

// script is the call command. Gemini CLI takes that setting for the path of one program, so the flags of
// toolhost-call are in a script.
func (s geminiSource) script(program string) string {
	words := append([]string{program}, s.flags...)
	if s.profile != "" {
		words = append(words, "--profile", s.profile)
	}
	words = append(words, "--approve", string(bootstrap.ApproveClient))
	return "#!/bin/sh\n# The call command of Gemini CLI, written by: toolhost discover --format gemini\n" +
		"# --approve " + string(bootstrap.ApproveClient) + ": Gemini CLI has asked its user. Without it, a call that " +
		"needs approval is refused.\n" +
		"exec " + shellWords(words) + " \"$@\"\n"
}

// save writes the script into the user's own folder and returns its path, which is the same for the same words.
func (s geminiSource) save() (path string, err error) {
	sum := sha256.Sum256([]byte(strings.Join(append(s.discovery(), "\x00"), "\x00")))
	dir, err := bootstrap.StateFolder(filepath.Join("gemini", hex.EncodeToString(sum[:6])))
	if err != nil {
		return "", err
	}
	defer func() { err = fsutil.FolderError(err, dir, "set XDG_STATE_HOME to another folder") }()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	program := filepath.Join(filepath.Dir(s.program), callProgram)
	if _, err := os.Stat(program); err != nil {
		program = filepath.Join(dir, "program", callProgram)
		if now, err := os.Readlink(program); err != nil || now != s.program {
			err = errors.Join(os.MkdirAll(filepath.Dir(program), 0o700), fsutil.Symlink(s.program, program))
			if err != nil {
				return "", err
			}
		}
	}
	path = filepath.Join(dir, callProgram)
	text := s.script(program)
	if now, err := os.ReadFile(path); err == nil && string(now) == text {
		return path, os.Chmod(path, 0o700) //nolint:gosec // it is a program of the user's own
	}
	return path, fsutil.WriteFile(path, []byte(text), 0o700)
}

// printGeminiSettings prints what to add to Gemini CLI's settings.json. It goes to standard error, which Gemini CLI
// does not read.
func (g *globals) printGeminiSettings(s *bootstrap.Instance, f discoverFlags) {
	src, err := g.geminiSource(s, f)
	var script string
	if err == nil {
		script, err = src.save()
	}
	if err != nil {
		g.printError(fmt.Errorf("there are no settings for Gemini CLI to show: the script that its call command is cannot "+
			"be written: %w", err))
		return
	}
	fmt.Fprintf(g.err, "For Gemini CLI's settings.json:\n  \"tools\": {\n    \"discoveryCommand\": %s,\n    "+
		"\"callCommand\": %s\n  }\n"+
		"With them the user's approval in Gemini CLI lets a call run that a person is to be asked about; what a rule "+
		"denies\n"+
		"or always asks about stays refused. Remove `--approve %s` from a copy of the script to "+
		"have such calls refused instead.\n",
		sdk.Encode(shellWords(src.discovery())), sdk.Encode(script), string(bootstrap.ApproveClient))
}

// shellWords quotes words so that a shell, and the parser of Gemini CLI for its discovery command, reads the same
// ones.
func shellWords(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w
		if w == "" || strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+,=-") != "" {
			out[i] = textutil.ShellQuoted(w)
		}
	}
	return strings.Join(out, " ")
}

// callProgram is the name of this program as the call command of Gemini CLI, which passes the name of a tool and the
// arguments on standard input, and takes any output on standard error for a failure.
const callProgram = "toolhost-call"

// waitForPrevious is an argument with which models tell Gemini CLI to wait, and which it passes on.
const waitForPrevious = "wait_for_previous"

// named returns what to run for the name that the process was started under.
func named(name string) func(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if strings.TrimSuffix(filepath.Base(name), ".exe") == callProgram {
		return runToolCall
	}
	return run
}

// runToolCall is run for the call command: a successful call prints nothing but its result.
func runToolCall(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := interruptible(context.Background())
	defer stop()
	held := &stderrBuffer{}
	t := newTerminal(stdin, stdout, held)
	cmd := newToolCall(t)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	lost := t.out.failed()
	code := exitCode(errors.Join(err, lost))
	if code == exitOK {
		return code
	}
	held.writeTo(stderr)
	t.err = stderr // the error is printed however long the log is
	t.printError(err)
	t.printError(lost)
	return code
}

// stderrBuffer keeps output to standard error until it is known whether the call failed.
type stderrBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// maxHeld bounds the log that is kept for a failure, in bytes; the rest is dropped.
const maxHeld = 1 << 20

func (h *stderrBuffer) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text.Write(p[:min(len(p), maxHeld-h.text.Len())])
	return len(p), nil
}

func (h *stderrBuffer) writeTo(w io.Writer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.text.Len() == maxHeld {
		h.text.WriteString("\n[... the rest of the log is left out ...]\n")
	}
	_, _ = h.text.WriteTo(w) // a broken standard error cannot be reported
}

func newToolCall(t *terminal) *cobra.Command {
	g := &globals{terminal: t}
	var profile, approve, session string
	cmd := &cobra.Command{
		Use:   callProgram + " TOOL",
		Short: "Call one tool with the arguments on standard input",
		Long: "Call one tool with the arguments on standard input, a JSON object, and print its result: Gemini\n" +
			"CLI's call command, for the tools that `toolhost discover --format gemini` prints. Nothing is\n" +
			"written to standard error when the call succeeds. It cannot ask a person: a call that needs\n" +
			"approval is refused, unless a rule or an earlier answer allows it, or --approve client says that\n" +
			"the client has asked its user. What a rule denies or always asks about stays refused then.\n" +
			"\n" +
			"Gemini CLI cannot pass flags: `toolhost discover --format gemini` writes a script with them, and\n" +
			"says where it is.\n" +
			"\n" +
			"The exit codes are those of `toolhost call`.",
		Example:       "  echo '{\"path\": \"README.md\"}' | toolhost-call readfile__read",
		SilenceErrors: true, SilenceUsage: true,
		Args: exactlyOne("name one tool: " + callProgram + " TOOL, with its arguments as JSON on standard input"),
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			g.noColor = t.noColor
			return g.check(cmd)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o := g.options()
			o.DefaultDir, o.AskTrust = "", nil
			o.Profile, o.Approve, o.SingleCall = profile, bootstrap.Approve(approve), true
			return g.toolCall(cmd.Context(), args[0], o, session)
		},
	}
	g.flags(cmd)
	cmd.SetFlagErrorFunc(flagMistake)
	g.profileFlag(cmd, &profile)
	clientApproveFlag(cmd, &approve)
	sessionFlag(cmd, &session)
	cmd.SetIn(t.in)
	cmd.SetOut(t.out)
	cmd.SetErr(cleaner{t.err})
	return cmd
}

func (g *globals) toolCall(ctx context.Context, tool string, o bootstrap.Options, session string) error {
	if isTerminal(g.in) {
		return errors.New("the arguments come on standard input, which is a terminal here; pipe them in, or use: toolhost " +
			"call " + tool + " JSON")
	}
	arguments, err := readAll(ctx, g.in, sdk.MaxArguments)
	if err != nil {
		return err
	}
	for rest := arguments; len(rest) > sdk.MaxArguments; { // otherwise the writer of the pipe would get SIGPIPE
		if rest, err = readAll(ctx, g.in, sdk.MaxArguments); err != nil {
			return err
		}
	}
	if o.Approve == "" {
		err := g.toolCallRunning(ctx, tool, arguments, o.Profile, session)
		if !errors.Is(err, errNoHost) {
			return err
		}
	}
	o.Middleware = []host.Middleware{dropWaitForPrevious}
	s, err := g.open(ctx, o)
	if err != nil {
		return err
	}
	defer g.close(s)
	if tool, err = resolved(ctx, s, tool); err != nil {
		return err
	}
	r := s.Catalog().Call(ctx, host.Call{Tool: tool, Arguments: arguments, Caller: callerName, SessionID: session})
	return g.printToolCall(r, o.Approve)
}

func (g *globals) printToolCall(r *host.Result, approve bootstrap.Approve) error {
	g.printContent(r.Readable())
	if r.Error == nil {
		return nil
	}
	return &exitError{codeFor(r.Error), describeWithAdvice(r.Error, approvedBy(approve))}
}

// approvedBy lists what allows a call without a person's approval.
func approvedBy(approve bootstrap.Approve) string {
	if approve == bootstrap.ApproveClient || approve == bootstrap.ApproveAlways {
		return callProgram + " cannot ask a person. The rule always asks: make the call at a terminal with `toolhost call`."
	}
	return callProgram + " cannot ask a person. Where the client has asked its user, start it with --approve " +
		string(bootstrap.ApproveClient) + ", as the script does that\n" +
		"  `toolhost discover --format gemini` names; or allow the call with a rule, or call it once at a terminal with\n " +
		" `toolhost call` and answer always."
}

// dropWaitForPrevious removes that argument from calls of tools that do not have it.
func dropWaitForPrevious(next host.CallFunc) host.CallFunc {
	return func(ctx context.Context, c *host.Call) (*sdk.Result, error) {
		if c.Definition != nil && !describes(c.Definition.InputSchema, waitForPrevious) {
			c.Arguments = without(c.Arguments, waitForPrevious)
		}
		return next(ctx, c)
	}
}

func describes(schema json.RawMessage, name string) bool {
	return rawjson.ObjectOf(rawjson.ObjectOf(schema).Get("properties")).Get(name) != nil
}

// without returns a JSON object without a member; an object without such a member is returned unchanged.
func without(object json.RawMessage, name string) json.RawMessage {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil || members[name] == nil {
		return object
	}
	delete(members, name)
	return sdk.Encode(members)
}
