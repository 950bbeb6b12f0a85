package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

type callFlags struct {
	format  string
	stream  bool
	timeout time.Duration
}

func newCall(g *globals) *cobra.Command {
	var f callFlags
	cmd := &cobra.Command{
		Use:   "call TOOL [JSON | -]",
		Short: "Call one tool and print its result",
		Long: "Call one tool and print its result. The arguments are a JSON object, given as an argument or, with -, on\n" +
			"standard input; without any they are {}. Only the tool's own plugin is started.",
		Example: `  toolhost call readfile__read '{"path": "README.md", "end_line": 5}'
  echo '{"command": "ls"}' | toolhost call shell__exec - --format json`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: g.completeTools,
		RunE:              func(cmd *cobra.Command, args []string) error { return g.call(cmd.Context(), args, f) },
	}
	cmd.Flags().StringVar(&f.format, "format", "text", "text or json")
	cmd.Flags().BoolVar(&f.stream, "stream", false, "print each event as a line of JSON, and the result last")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, "how long the call may take, such as 30s (default: the tool's own)")
	return cmd
}

func (g *globals) call(ctx context.Context, args []string, f callFlags) error {
	if f.format != "text" && f.format != "json" {
		return fmt.Errorf("--format must be text or json, not %q", f.format)
	}
	if f.timeout < 0 {
		return fmt.Errorf("--timeout must not be negative")
	}
	arguments, err := g.arguments(args[1:])
	if err != nil {
		return err
	}
	s, err := g.open(ctx)
	if err != nil {
		return err
	}
	defer s.close(g)
	watch := g.watcher(f)
	result := s.host.Call(ctx, host.Call{Tool: args[0], Arguments: arguments, Timeout: f.timeout, Events: watch.event})
	watch.end()
	if result.Error != nil && result.Error.Code == sdk.CodeToolNotFound {
		s.complain(g)
	}
	return g.print(result, f)
}

// arguments are on the command line, on standard input, or not given.
func (g *globals) arguments(args []string) (json.RawMessage, error) {
	switch {
	case len(args) == 0:
		return nil, nil
	case args[0] != "-":
		return json.RawMessage(args[0]), nil
	}
	in, err := io.ReadAll(io.LimitReader(g.in, sdk.MaxArguments+1))
	if err != nil {
		return nil, fmt.Errorf("reading the arguments from standard input: %w", err)
	}
	return in, nil
}

func (g *globals) print(r *host.Result, f callFlags) error {
	if f.stream || f.format == "json" {
		if err := json.NewEncoder(g.out).Encode(r); err != nil {
			return err
		}
		return quietly(r.Error)
	}
	g.printContent(r.Content)
	if r.Error == nil {
		return nil
	}
	return &exitError{codeFor(r.Error), describe(r.Error)}
}

// quietly gives the exit code of a failure that the printed result has told already.
func quietly(e *sdk.Error) error {
	if e == nil {
		return nil
	}
	return &exitError{code: codeFor(e)}
}

func (g *globals) printContent(parts []sdk.Content) {
	for _, c := range parts {
		text := c.Text
		if c.Type != "text" {
			text = fmt.Sprintf("[%s]", firstOf(join(c.Type, c.MIMEType, c.URI, size(c.Data)), "content"))
		}
		fmt.Fprint(g.out, text)
		if len(text) > 0 && text[len(text)-1] != '\n' {
			fmt.Fprintln(g.out)
		}
	}
}

func size(data []byte) string {
	if len(data) == 0 {
		return ""
	}
	return fmt.Sprintf("%d bytes, shown by --format json", len(data))
}

// join puts the words that are not empty side by side.
func join(words ...string) (out string) {
	for _, w := range words {
		if out != "" && w != "" {
			out += " "
		}
		out += w
	}
	return out
}

// describe words an error for people.
func describe(e *sdk.Error) string {
	text := fmt.Sprintf("%s: %s", join(string(e.Code), e.Name), e.Message)
	if e.Suggestion != "" {
		text += "\n  " + e.Suggestion
	}
	if e.HelpURL != "" {
		text += "\n  See " + e.HelpURL
	}
	return text
}

// completeTools offers the names of the tools to the shell.
func (g *globals) completeTools(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	g.terminal = terminal{out: io.Discard, err: io.Discard}
	s, err := g.open(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	defer s.close(g)
	var out []string
	tools, _ := s.host.Tools(cmd.Context())
	for _, t := range tools {
		out = append(out, t.Name+"\t"+firstLine(t.Description))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
