package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/bootstrap"
)

const (
	exitBroken = 1 // the log has been tampered with, or lines of it were lost

	maxShown = 10000 // records that tail shows at most
)

func newAudit(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Check and show the record of what was decided and run",
		Long: "Check and show the record of what was decided and run. The record is a file of JSON lines, each with the hash of\n" +
			"the one before, and beside it FILE.head with the last hash. Without FILE it is the one of the\n" +
			"configuration's audit block, else $TOOLHOST_AUDIT, else toolhost/audit.jsonl in $XDG_STATE_HOME or ~/.local/state. To start a new one, move both files while no host runs.",
		SuggestionsMinimumDistance: 2,

		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newAuditVerify(g), newAuditTail(g), newAuditShow(g))
	return cmd
}

func newAuditVerify(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "verify [FILE]",
		Short: "Tell whether lines were changed, removed, added or moved",
		Long: "Tell whether lines were changed, removed, added or moved, or cut off the end. Each problem is printed with its\n" +
			"line, and the exit code is 1 then. Who may write both files can write another history: keep the last hash\n" +
			"somewhere else to notice that.",
		Args: atMostFile(0), DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.onLog(args, func(path string) error { return g.verifyAudit(cmd.Context(), path) })
		},
	}
}

// outcomeWords tell what a failed call may have left.
const outcomeWords = "The outcome of a call that failed is not_sent (the plugin never saw it), failed\n" +
	"(it ended with an error) or outcome_unknown (it may have done something: look before you repeat it)."

func newAuditTail(g *globals) *cobra.Command {
	var format string
	var n int
	var all bool
	cmd := &cobra.Command{
		Use:   "tail [FILE]",
		Short: "Show the last calls and decisions",
		Long: "Show the last calls and decisions, a line each; --all shows starts and ends of plugins too.\n" +
			outcomeWords,
		Args: atMostFile(0),
		RunE: func(_ *cobra.Command, args []string) error {
			return g.onLog(args, func(path string) error { return g.tailAudit(path, n, all, format) })
		},
	}
	cmd.Flags().IntVarP(&n, "lines", "n", 10, "how many records")
	cmd.Flags().BoolVarP(&all, "all", "a", false, "also starts and ends of plugins")
	chooseFormat(cmd, &format, "%s, which is the log's own", "text", "json")
	complete(cmd, "lines", cobra.NoFileCompletions)
	return cmd
}

func newAuditShow(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "show CALL [FILE]",
		Short: "Show all records of one call",
		Long:  "Show all records of one call, as indented JSON. " + outcomeWords,
		Args:  atMostFile(1), DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.onLog(args[1:], func(path string) error { return g.showAudit(cmd.Context(), path, args[0]) })
		},
	}
}

// atMostFile wants so many words, and takes one file behind them.
func atMostFile(words int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < words || len(args) > words+1 || slices.Contains(args, "") {
			return fmt.Errorf("use it as: %s", cmd.UseLine())
		}
		return nil
	}
}

// onLog runs a command on the log that was named, else on that of the configuration, else on the user's.
func (g *globals) onLog(args []string, run func(path string) error) error {
	if len(args) > 0 {
		return run(args[0])
	}
	named := ""
	if c, err := g.load(); err == nil && c.Audit != nil && c.Audit.Path != "" { // else the user's own record is meant
		if !c.Trusted() {
			return untrusted(c.Path, "name the record to look at it: toolhost audit tail FILE")
		}
		named = c.Audit.Path
	}
	path, err := bootstrap.AuditPath(named)
	if err != nil {
		return err
	}
	if err = run(path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no record yet: %w; a line `audit {}` in the configuration has calls recorded", err)
	}
	return err
}
