package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

const (
	exitBroken = 1 // the log has been tampered with, or lines of it were lost

	maxShown = 10000 // most records that tail shows
)

func newAudit(g *options) *cobra.Command {
	return newGroup("audit", "Check and show the record of decisions and calls",
		"Check and show the record of decisions and calls. The record is a file of JSON lines, each\n"+
			"with the hash of the one before, and beside it FILE.head with the last hash. Without FILE it is\n"+
			"the one of the configuration's audit block, else $TOOLHOST_AUDIT, else toolhost/audit.jsonl in\n"+
			"$XDG_STATE_HOME or ~/.local/state. To start a new one, move both files while no host runs.",
		newAuditVerify(g), newAuditTail(g), newAuditShow(g))
}

func newAuditVerify(g *options) *cobra.Command {
	return &cobra.Command{
		Use:   "verify [FILE]",
		Short: "Verify the record: detect changed, removed, added or moved lines",
		Long: "Verify the record: detect lines that were changed, removed, added, moved, or cut off the end. Each\n" +
			"problem is printed with its line, and the exit code is then 1. Anyone who can write both files can\n" +
			"forge another history: keep the last hash somewhere else to notice that.",
		Args: atMostFile(0), DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.onLog(args, func(path string) error { return g.verifyAudit(cmd.Context(), path) })
		},
	}
}

// outcomeWords explain the outcome of a failed call.
const outcomeWords = "The outcome of a call that failed is not_sent (the plugin never saw it), failed (it ended with " +
	"an\n" +
	"error) or outcome_unknown (it may have done something: look before you repeat it)."

func newAuditTail(g *options) *cobra.Command {
	var format string
	var n int
	var all bool
	cmd := &cobra.Command{
		Use:   "tail [FILE]",
		Short: "Show the last calls and decisions",
		Long: "Show the last calls and decisions, a line each; --all shows starts and ends of plugins too.\n" +
			outcomeWords,
		Args: func(cmd *cobra.Command, args []string) error {
			if n < 1 || n > maxShown {
				return fmt.Errorf("-n must be from 1 to %d, not %d", maxShown, n)
			}
			return atMostFile(0)(cmd, args)
		},
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

func newAuditShow(g *options) *cobra.Command {
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

// atMostFile requires that many words, and accepts one file after them.
func atMostFile(words int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < words || len(args) > words+1 || slices.Contains(args, "") {
			return fmt.Errorf("use it as: %s", cmd.UseLine())
		}
		return nil
	}
}

// recordsCalls says how calls get into a record.
const recordsCalls = "a line `audit {}` in the configuration has calls recorded"

// onLog runs a command on the named log, otherwise on that of the configuration, otherwise on the user's.
func (g *options) onLog(args []string, run func(path string) error) error {
	if len(args) > 0 {
		return run(args[0])
	}
	named, where, dir, recorded := "", "", "", false
	const advice = "name the record to look at it: toolhost audit tail FILE"
	c, err := g.load()
	none, missing := errors.AsType[*bootstrap.NotFoundError](err)
	switch {
	case err != nil && (!missing || none.Named): // it may name another record than the user's own
		return errors.Join(err, errors.New(advice))
	case err == nil && c.Audit != nil && c.Audit.Path != "" && !c.Trusted():
		return errors.Join(c.Untrusted(), errors.New(advice))
	case err == nil && c.Audit != nil:
		named, where, dir, recorded = c.Audit.Path, c.Audit.Where, c.Dir, true
	}
	path, err := bootstrap.AuditPath(named, dir)
	if err != nil {
		return err
	}
	if err = run(path); !errors.Is(err, fs.ErrNotExist) {
		if c != nil && c.Path != "" && !recorded && !g.saidNoRecord {
			g.saidNoRecord = true
			fmt.Fprintf(g.err, "toolhost: %s records no calls, so this record is of others; %s\n",
				replaceForTerminal(c.Path), recordsCalls)
		}
		return bootstrap.AuditError(err, path, where)
	}
	e := &sdk.Error{Code: codeUsage, Name: "NoRecord", Outcome: sdk.OutcomeNotSent,
		Message:    fmt.Sprintf("there is no record yet: %s does not exist", path),
		Suggestion: recordsCalls}
	if recorded {
		if err := probeRecord(path); err != nil {
			return fmt.Errorf("there is no record, since it cannot be written: %w", bootstrap.AuditError(err, path, where))
		}
		e.Suggestion = "the next call makes it"
		if place, err := g.place(""); err == nil && place.Holder() != nil {
			e.Suggestion += "; if the running host had one, it was removed, and `toolhost serve --upgrade` begins another"
		}
	}
	return newRefusal(e, e.Message+"; "+e.Suggestion)
}

func (g *options) verifyAudit(ctx context.Context, path string) error {
	r, err := untilInterrupted(ctx, func() (audit.Report, error) { return audit.Verify(path) })
	if err != nil {
		return err
	}
	if r.OK() {
		fmt.Fprintf(g.out, "%s, chain ok\n", textutil.Count(r.Records, "record"))
	}
	for _, p := range r.Problems {
		place := path
		if p.Line > 0 {
			place = fmt.Sprintf("%s:%d", path, p.Line)
		}
		fmt.Fprintln(g.out, replaceForTerminal(place+": "+p.Text))
	}
	for _, note := range auditNotes(r) {
		fmt.Fprintln(g.out, note)
	}
	if !r.OK() {
		return &exitError{exitBroken, fmt.Sprintf("%s: %s", path, textutil.Count(len(r.Problems)+r.More, "problem"))}
	}
	return nil
}

// auditNotes are findings that are not problems.
func auditNotes(r audit.Report) (out []string) {
	if r.More > 0 {
		out = append(out, fmt.Sprintf("and %s more", textutil.Count(r.More, "problem")))
	}
	if r.Torn > 0 {
		out = append(out, fmt.Sprintf("%s left incomplete by a crash, and kept separately", textutil.Count(r.Torn, "line")))
	}
	if r.Newer > 0 {
		out = append(out, fmt.Sprintf("%s newer than the head, as a crash leaves them",
			textutil.Count(int(r.Newer), "record")))
	}
	return out
}

func (g *options) tailAudit(path string, n int, all bool, format string) error {
	records, err := lastRecords(path, n, all)
	if err != nil {
		return err
	}
	if format == "json" {
		for _, r := range records {
			if err := g.printRecord(r, ""); err != nil {
				return err
			}
		}
		return nil
	}
	writeTable(g.out, auditRows(records), widest) // the whole code is worth more than a narrow table
	return nil
}

// lastRecords returns the last records, without those of starts and ends unless all are requested. It reads back as
// far as necessary.
func lastRecords(path string, n int, all bool) ([]audit.Record, error) {
	for read := n; ; read *= 4 {
		records, err := audit.Tail(path, read)
		if err != nil || all {
			return records, err
		}
		complete := len(records) < read
		records = slices.DeleteFunc(records, func(r audit.Record) bool {
			return r.Kind == audit.KindStart ||
				r.Kind == audit.KindExit
		})
		if complete || len(records) >= n {
			return records[max(0, len(records)-n):], nil
		}
	}
}

func (g *options) showAudit(ctx context.Context, path, call string) error {
	found := false
	for r, err := range audit.Read(path) {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return errInterrupted
		}
		if r.CallID != call {
			continue
		}
		found = true
		if err := g.printRecord(r, "  "); err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("%s has no record of the call %q; `toolhost audit tail` shows the last ones", path, call)
	}
	return nil
}

// auditRows are the records as a table.
func auditRows(records []audit.Record) [][]string {
	rows := [][]string{{"TIME", "KIND", "CALL", "TOOL", "EFFECT", "STATUS", "CODE", "OUTCOME", "DURATION"}}
	for _, r := range records {
		took := ""
		if r.DurationMS > 0 {
			took = fmt.Sprintf("%.1f ms", r.DurationMS)
		}
		rows = append(rows, recordRow(r.Time, string(r.Kind), r.CallID, cmp.Or(r.Tool, r.Plugin), r.Effect, r.Status,
			r.Code, r.Outcome, took))
	}
	return rows
}

// recordRow is a row of a table about what was recorded at a time.
func recordRow(at time.Time, cells ...string) []string {
	row := []string{at.UTC().Format(time.DateTime) + "Z"}
	for _, cell := range cells {
		row = append(row, cmp.Or(fitLine(cell, 64), "-"))
	}
	return row
}

// printRecord prints a record as JSON, on one line unless it is indented.
func (g *options) printRecord(r audit.Record, indent string) error {
	text, err := rawjson.Encode(r, indent)
	if err != nil {
		return err
	}
	fmt.Fprintln(g.out, escapeJSON(string(text)))
	return nil
}
