package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

func newExplain(g *options) *cobra.Command {
	var format, profile string
	cmd := &cobra.Command{
		Use:   "explain TOOL [JSON | - | KEY=VALUE...]",
		Short: "Show the decision on a call, and the rules that made it",
		Long: "Show the decision on a call, and the rules that made it. Nothing is run; the tool's plugin is\n" +
			"started for the definition of the tool, unless that is known from an earlier start. For a\n" +
			"configuration that is not trusted nothing is started at all. The plugin's own preview, which may\n" +
			"make the decision stricter, is not asked: a line says so if the tool has one.",
		Example:           `  toolhost policy explain shell__exec '{"command": "git push --force"}'`,
		Args:              callArgs,
		ValidArgsFunction: g.completeTools,
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.explainCall(cmd.Context(), args, format, profile)
		},
	}
	chooseFormat(cmd, &format, "%s", "text", "json")
	g.profileFlag(cmd, &profile)
	cmd.SetFlagErrorFunc(toolFlagMistake)
	return cmd
}

func (g *options) explainCall(ctx context.Context, args []string, format, profile string) error {
	arguments, err := g.arguments(ctx, args[1:])
	if err != nil {
		return err
	}
	o := g.bootstrapOptions()
	o.Profile = profile
	c, err := bootstrap.Load(o)
	if err != nil {
		return err
	}
	g.reportNoConfiguration(c.Path, true)
	o.Offline = !c.Trusted()
	s, err := g.open(ctx, o)
	if err != nil {
		return err
	}
	defer g.close(s)
	tool, err := resolved(ctx, s, args[0])
	if err != nil {
		return err
	}
	call := host.Call{Tool: tool, Arguments: arguments, Caller: callerName}
	if given := args[1:]; len(given) > 0 && isArgWord(given[0]) {
		if call.Arguments, _, err = typedArguments(ctx, &ownCall{catalog: s.Catalog(), in: call}, given); err != nil {
			return err
		}
	}
	d, err := s.Catalog().Explain(ctx, call)
	if e, coded := errors.AsType[*sdk.Error](err); coded && e.Code == sdk.CodePluginUnavailable && !s.Trusted() {
		return c.Untrusted() // so the tool's definition is not known
	} else if coded {
		return newRefusal(e, describeWithHints(e, tool)+quotingAdvice(e, args[1:]))
	} else if err != nil {
		return err
	}
	if !s.Trusted() && slices.ContainsFunc(d.Trace, policy.Step.Silenced) {
		fmt.Fprintf(g.err, "%s may not allow calls, since it is not trusted. Fix: toolhost trust\n", s.Config().Path)
	}
	note := ""
	if t, err := s.Catalog().Tool(ctx, tool); err == nil && t.Previews {
		note = previewNote(d.Effect)
	}
	return g.printDecision(d, note, format)
}

// previewNote says what the preview of a tool, which is not asked, may change about a decision; "" if nothing.
func previewNote(e policy.Effect) string {
	may := "ask or deny"
	switch {
	case e == policy.Deny:
		return ""
	case e.Asks():
		may = "deny"
	}
	return "the plugin's preview of the arguments was not asked; it may still " + may
}

// printDecision prints the decision, and then every rule that was consulted.
func (g *options) printDecision(d policy.Decision, note, format string) error {
	if format == "json" {
		_, err := fmt.Fprintf(g.out, "%s\n", sdk.Encode(struct {
			policy.Decision
			Note string `json:"note,omitempty"`
		}{d, note}))
		return err
	}
	fmt.Fprintf(g.out, "%s, by %s\n", d.Effect, d.By())
	for _, line := range []string{d.Reason, note} {
		if line != "" {
			fmt.Fprintf(g.out, "  %s\n", line)
		}
	}
	rows := [][]string{{"LAYER", "RULE", "SAYS", "WHERE", "WHY"}}
	for _, s := range d.Trace {
		rows = append(rows, []string{s.Layer, s.Rule, cmp.Or(string(s.Effect), "-"), cmp.Or(s.Source, "-"),
			cmp.Or(s.Note, s.Reason)})
	}
	fmt.Fprintln(g.out)
	writeTable(g.out, rows, 10_000) // the whole reason is worth more than a narrow table
	return nil
}
