package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

type callFlags struct {
	format  string
	stream  bool
	timeout time.Duration // zero leaves it to the tool
	profile string
	approve string
	session string

	words []string // the arguments as they were given
}

func newCall(g *options) *cobra.Command {
	var f callFlags
	cmd := &cobra.Command{
		Use:   "call TOOL [JSON | - | KEY=VALUE...]",
		Short: "Call one tool and print its result",
		Long: "Call one tool and print its result. The arguments are a JSON object, given as an argument or, with\n" +
			"-, on standard input; without any they are {}. Only the tool's own plugin is started. TOOL is its\n" +
			"full name, PLUGIN__TOOL, or mcp://PLUGIN/NAME with the name that an MCP server has for it.\n" +
			"\n" +
			"The arguments can also be words, converted according to the tool's schema: KEY=VALUE, where a\n" +
			"number, true or false is one if the tool asks for it; KEY=@FILE for the content of a file;\n" +
			"KEY:=JSON for anything; A.B=VALUE for a member of an object, and A.0.B=VALUE of a list's item. A\n" +
			"repeated key adds the next item of a list.\n" +
			"\n" +
			"toolhost call TOOL --help describes the tool and its arguments.\n" +
			"\n" +
			"A call that needs approval is shown on the terminal first. Without a terminal it is refused,\n" +
			"unless --approve or a rule says otherwise; at a running host (toolhost serve) it waits for whoever\n" +
			"answers first.\n" +
			"\n" +
			"Exit codes: 0 the tool answered; 1 the tool answered with an error, or the answer could not be\n" +
			"written; 2 usage, configuration, unknown tool, or arguments that do not fit; 3 denied by a rule or\n" +
			"a person; 4 the plugin crashed or cannot be used; 5 timeout; 130 interrupted or terminated. A\n" +
			"command that fails inside shell__exec is an answer, not a failure: its own exit code is part of\n" +
			"the result.",
		Example: `  toolhost call readfile__read '{"path": "README.md", "end_line": 5}'
  toolhost call readfile__read path=README.md end_line=5
  echo '{"command": "ls"}' | toolhost call shell__exec - --format json`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.timeout < 0:
				return errors.New("--timeout must not be negative")
			case f.timeout > host.MaxTimeout:
				return fmt.Errorf("--timeout must be %s at most, not %s", host.MaxTimeout, f.timeout)
			}
			return callArgs(cmd, args)
		},
		ValidArgsFunction: g.completeTools,
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.call(cmd.Context(), args, f)
		},
	}
	chooseFormat(cmd, &f.format, "%s", "text", "json")
	cmd.Flags().BoolVar(&f.stream, "stream", false, "print each event as a line of JSON, and the result last")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, "how long the call may take, a `duration` such as 30s (default: "+
		"the tool's own)")
	g.profileFlag(cmd, &f.profile)
	approveFlag(cmd, &f.approve)
	sessionFlag(cmd, &f.session)
	complete(cmd, "timeout", cobra.NoFileCompletions)
	g.helpWithTools(cmd, &f.profile)
	cmd.SetFlagErrorFunc(toolFlagMistake)
	return cmd
}

// isBareWord reports whether an argument is what a person types who forgets KEY=: a word, or a line such as a command.
// What else is no JSON object, such as a broken one of a model, is answered and recorded by the host.
func isBareWord(text string) bool {
	if text == "" || text == "-" || isArgWord(text) || json.Valid([]byte(text)) {
		return false
	}
	if strings.Contains(strings.TrimSpace(text), " ") {
		return !strings.ContainsAny(text, "{}[]\n") && !strings.ContainsAny(text[:1], "\"'` \t")
	}
	return !strings.ContainsAny(text, "{}[]\"'`=: \t\r\n")
}

// bareWord says how to write an argument that is given without its key.
func bareWord(tool, word string) error {
	key := "KEY"
	if tool == "shell__exec" || tool == "shell__script" {
		key = "command"
	}
	value := shellWords([]string{word})
	if strings.HasPrefix(word, "@") { // as curl names a file
		value += ", or - <" + shellWords([]string{word[1:]}) + " if all arguments are in the file"
	}
	return fmt.Errorf("%q is neither KEY=VALUE nor a JSON object; write %s=%s; `toolhost call %s --help` shows the "+
		"arguments", word, key, value, tool)
}

// unquotedKeys is a JSON object without the quotes of its keys, with its key and value if it has one of each.
var unquotedKeys = lazy.Regexp(`^\s*\{\s*([A-Za-z_][\w-]*)\s*:(?:\s*([^,:{}\[\]"]*)\}\s*$)?`)

// quotingAdvice says what a shell may have done to the arguments of a call that were no JSON; "" if nothing.
func quotingAdvice(e *sdk.Error, words []string) string {
	if e == nil || e.Code != sdk.CodeInvalidArgs || len(words) != 1 {
		return ""
	}
	m := unquotedKeys().FindStringSubmatch(words[0])
	if m == nil {
		return ""
	}
	word := m[1] + "=VALUE"
	if value := strings.TrimSpace(m[2]); value != "" {
		word = shellWords([]string{m[1] + "=" + value})
	}
	return "\n  Keys need double quotes, which your shell may have removed: put the object into single quotes, or write " +
		word
}

// toolFlagMistake is flagMistake for a command whose tool has arguments, which may be given like flags.
func toolFlagMistake(cmd *cobra.Command, err error) error {
	m := unknownFlag().FindStringSubmatch(err.Error())
	if m == nil || textutil.DidYouMean(m[1], flagsOf(cmd)) != "" {
		return flagMistake(cmd, err)
	}
	return fmt.Errorf("%w; an argument of the tool has no dashes: write %s=VALUE", flagMistake(cmd, err), m[1])
}

func callArgs(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return fmt.Errorf("name a tool: %s TOOL [JSON | - | KEY=VALUE...]", cmd.CommandPath())
	case len(args) == 2 && isBareWord(args[1]):
		return bareWord(args[0], args[1])
	case len(args) == 2 || len(args) == 1:
		return nil
	}
	for _, word := range args[1:] {
		if !isArgWord(word) {
			return fmt.Errorf("after TOOL comes one JSON object, not %d words; put it into single quotes, or write "+
				"KEY=VALUE: %q is neither", len(args)-1, word)
		}
	}
	return nil
}

func (g *options) call(ctx context.Context, args []string, f callFlags) error {
	f.words = args[1:]
	arguments, err := g.arguments(ctx, args[1:])
	if err != nil {
		return err
	}
	if len(args) == 1 {
		arguments = json.RawMessage("{}") // also in what a running host gets
	}
	piped := len(args) > 1 && args[1] == "-"
	if err := g.callRunning(ctx, args[0], arguments, g.prompterAt(piped), f); !errors.Is(err, errNoHost) {
		return err
	}
	o := g.asking(g.bootstrapOptions(), g.prompterAt(piped))
	o.Profile, o.Approve, o.SingleCall, o.Tool = f.profile, bootstrap.Approve(f.approve), true, args[0]
	s, err := g.open(ctx, o)
	if err != nil {
		return err
	}
	defer g.close(s)
	g.reportNoConfiguration(s.Config().Path, true)
	finding, stop, began := ctx, func() {}, time.Now()
	if f.timeout > 0 {
		finding, stop = context.WithTimeout(ctx, f.timeout)
	}
	defer stop()
	tool, err := resolved(finding, s, args[0])
	if err != nil {
		return err
	}
	in, watch := host.Call{Tool: tool, Caller: callerName, SessionID: f.session, Timeout: f.timeout}, g.eventPrinter(f)
	result, err := makeCall(ctx, &ownCall{s.Catalog(), in, began}, arguments, f, watch)
	if err != nil {
		return err
	}
	plugin, _, _ := strings.Cut(tool, "__")
	if result.Error != nil && result.Error.Code == sdk.CodeToolNotFound {
		messages, _ := notices(s, plugin)
		g.printErrors(append(s.Plugins().Problems, messages...)...)
	} else {
		g.printErrors(s.Plugins().Unlocked(plugin)...)
		g.printErrors(slices.DeleteFunc(slices.Clone(s.Plugins().Problems), func(err error) bool {
			return !errors.Is(err, supervise.ErrNotAwaited) // which says why the call took so long
		})...)
	}
	return g.print(result, watch, f)
}

// A callTarget is the host that a call is made on, with all of the call but its arguments.
type callTarget interface {
	// describe returns the tool's name and schema. After errUndescribed the call itself says why there is none.
	describe(ctx context.Context) (tool string, schema json.RawMessage, err error)
	call(ctx context.Context, arguments json.RawMessage, watch *eventPrinter) (*host.Result, error)
}

// makeCall makes a call. One that was refused for its unread words alone is made once more: it is no mistake of who
// wrote them, and the tool can be described by then.
func makeCall(ctx context.Context, at callTarget, arguments json.RawMessage, f callFlags, watch *eventPrinter) (
	*host.Result, error) {
	defer watch.end()
	for again := false; ; again = true {
		unread := false
		if len(f.words) > 0 && isArgWord(f.words[0]) {
			var err error
			if arguments, unread, err = typedArguments(ctx, at, f.words); err != nil {
				return nil, err
			}
		}
		result, err := at.call(ctx, arguments, watch)
		if again || !unread || err != nil || result.Error == nil || result.Error.Code != sdk.CodeInvalidArgs {
			return result, err
		}
	}
}

// An ownCall is a call on the host of this command.
type ownCall struct {
	catalog *host.Catalog
	in      host.Call
	began   time.Time // from here on its timeout counts
}

func (c *ownCall) describe(ctx context.Context) (string, json.RawMessage, error) {
	if c.in.Timeout > 0 {
		limited, stop := context.WithDeadline(ctx, c.began.Add(c.in.Timeout))
		defer stop()
		ctx = limited
	}
	t, err := c.catalog.Tool(ctx, c.in.Tool)
	if err != nil {
		return "", nil, errUndescribed
	}
	return c.in.Tool, t.InputSchema, nil
}

func (c *ownCall) call(ctx context.Context, arguments json.RawMessage, watch *eventPrinter) (*host.Result, error) {
	in := c.in
	in.Arguments, in.Events = arguments, watch.event
	if in.Timeout > 0 { // the wait for a plugin that starts is part of the call
		in.Waited = time.Since(c.began)
	}
	return c.catalog.Call(ctx, in), nil
}

func (g *options) print(r *host.Result, watch *eventPrinter, f callFlags) error {
	if f.stream || f.format == "json" {
		if err := json.NewEncoder(g.out).Encode(r); err != nil || r.Error == nil {
			return err
		}
		return &exitError{code: codeFor(r.Error)} // the printed result shows the failure
	}
	content := r.Readable()
	if r.Error != nil && len(content) == 0 { // such as after Ctrl-C
		content = []sdk.Content{sdk.TextContent(watch.printed())}
	}
	g.printContent(content)
	if slices.ContainsFunc(r.Content, func(c sdk.Content) bool { return len(c.Data) > 0 }) {
		fmt.Fprintln(g.err, "toolhost: --format json shows the data of the result")
	}
	if r.Error == nil {
		return nil
	}
	return &exitError{codeFor(r.Error), describeWithHints(r.Error, r.Tool) + quotingAdvice(r.Error, f.words)}
}

// resolved is the full name of a tool that may be given by its address, mcp://SERVER/TOOL.
func resolved(ctx context.Context, s *bootstrap.Instance, name string) (string, error) {
	tool, err := s.Catalog().Resolve(ctx, name)
	if e, coded := errors.AsType[*sdk.Error](err); coded {
		return "", newRefusal(e, describeWithHints(e, name))
	}
	return tool, err
}

// describeWithHints is describe with a hint at the names of tools. The tool is the called one.
func describeWithHints(e *sdk.Error, tool string) string {
	text := describe(e)
	switch {
	case e.Code == sdk.CodeToolNotFound:
		if plugin, _, _ := strings.Cut(tool, "__"); !strings.Contains(e.Suggestion, plugin+"__") { // no tool of it is there
			text += shippedAdvice(plugin)
		}
		text += "\n  `toolhost discover` lists the tools."
	case e.Name == "NeedsLastingHost":
		text += "\n  `toolhost serve` is such a host: run it, then call again."
	case e.Name == "BudgetSpent":
		text += "\n" +
			"  The session is that of the work folder, and ends after an hour without calls; --session NAME begins another."
	}
	return text
}

// contentText is a part as a model reads it.
func contentText(c sdk.Content) string { return (&host.Result{Content: []sdk.Content{c}}).Text() }

// printContent prints each part from the beginning of a line.
func (g *options) printContent(parts []sdk.Content) {
	for _, c := range parts {
		text := contentText(c)
		fmt.Fprint(g.out, text)
		if len(text) > 0 && text[len(text)-1] != '\n' {
			fmt.Fprintln(g.out)
		}
	}
}

// describe formats an error for people.
func describe(e *sdk.Error) string {
	return describeWithAdvice(e, "At a terminal you would be asked; --approve always approves what no rule denies or "+
		"always asks about.")
}

// describeWithAdvice is describe with advice for a call that could not be approved.
func describeWithAdvice(e *sdk.Error, unasked string) string {
	text := fmt.Sprintf("%s: %s", strings.TrimSpace(string(e.Code)+" "+e.Name), e.Message)
	if e.Suggestion != "" {
		text += "\n  " + e.Suggestion
	}
	if e.Name == "ApprovalUnavailable" {
		text += "\n  " + unasked
	}
	if e.HelpURL != "" && (e.Code == sdk.CodeTool || e.Code == sdk.CodeInternal || codeFor(e) == exitUnavailable) {
		text += "\n  See " + e.HelpURL
	}
	return text
}
