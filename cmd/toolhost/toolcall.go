package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/api/convert"
	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/sdk"
)

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
	writeErr := t.out.failed()
	code := exitCode(errors.Join(err, writeErr))
	if code == exitOK {
		return code
	}
	held.writeTo(stderr)
	t.err = stderr // the error is printed however long the log is
	t.printError(err)
	t.printError(writeErr)
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
	g := &options{terminal: t}
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
			o := g.bootstrapOptions()
			o.DefaultDir, o.AskTrust = "", nil
			o.Profile, o.Approve, o.SingleCall, o.Tool = profile, bootstrap.Approve(approve), true, args[0]
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
	cmd.SetErr(replacingWriter{t.err})
	return cmd
}

func (g *options) toolCall(ctx context.Context, tool string, o bootstrap.Options, session string) error {
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

// toolCallRunning makes the call of toolhost-call on a running host.
func (g *options) toolCallRunning(ctx context.Context, tool string, arguments json.RawMessage, profile,
	session string) error {
	if !utf8.Valid(arguments) { // a message cannot have them, as for call
		return errNoHost
	}
	tool, session = convert.Text(tool), convert.Text(session)
	r, err := g.hostFor(ctx, profile)
	if err != nil {
		return err
	} else if r == nil {
		return errNoHost
	}
	defer r.close()
	if bytes.Contains(arguments, []byte(waitForPrevious)) {
		described, err := r.host.DescribeTool(ctx, &apiv1.DescribeToolRequest{Tool: tool})
		if err == nil && !describes(json.RawMessage(described.Tool.InputSchema), waitForPrevious) {
			arguments = without(arguments, waitForPrevious)
		}
	}
	result, err := r.call(ctx, &apiv1.CallRequest{Tool: tool, Arguments: string(arguments), CallId: rand.Text(),
		Caller: callerName, SessionId: session}, func(sdk.Event) {}, func() {})
	if err != nil {
		return remoteError(err) // errNoHost as it is
	}
	return g.printToolCall(result, "")
}

func (g *options) printToolCall(r *host.Result, approve bootstrap.Approve) error {
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
