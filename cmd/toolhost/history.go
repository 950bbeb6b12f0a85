package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/api/convert"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

// historyFlags are those of a filter.
type historyFlags struct {
	record, index string
	profile       string
	filter        apiv1.CallFilter
	since, until  string
	atLeast       time.Duration
}

func newHistory(g *options) *cobra.Command {
	return newGroup("history", "Search the record of what was decided and run",
		"Search the record of what was decided and run. The running host is asked, or the record is read\n"+
			"here; an index beside it, FILE.index, makes that fast, and is made from the record at any time.\n"+
			"`toolhost audit` checks the record itself.",
		newHistorySearch(g), newHistoryShow(g), newHistoryStats(g), newHistoryExport(g), newHistoryRebuild(g))
}

// flags adds the flags of a filter.
func (f *historyFlags) flags(g *options, cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.filter.Tool, "tool", "", "calls of this `tool`, or pattern such as shell__*")
	fs.StringVar(&f.filter.Plugin, "plugin", "", "calls of this `plugin`")
	fs.StringVar(&f.filter.SessionId, "session", "", "calls of this `session`")
	fs.StringVar(&f.filter.Caller, "caller", "", "calls of this `caller`")
	fs.StringVar(&f.filter.Rule, "rule", "", "calls that this `rule` decided")
	fs.StringVar(&f.filter.ViaCallId, "via", "", "calls that a plugin made on behalf of this `call`")
	choose(cmd, &f.filter.Status, "status", "calls with this status: %s", "ok", "error", "unfinished")
	fs.StringSliceVar(&f.filter.Codes, "code", nil, "calls that failed with one of these `codes`, such as E_TOOL,E_TIMEOUT")
	fs.StringSliceVar(&f.filter.Effects, "effect", nil, "calls that the rules decided with one of these `effects`")
	fs.StringVar(&f.since, "since", "", "calls from this `time` on: 2026-11-23, 2026-11-23T10:00, or 2h ago as 2h, 3 days "+
		"ago as 3d")
	fs.StringVar(&f.until, "until", "", "calls before this `time`")
	fs.DurationVar(&f.atLeast, "at-least", 0, "calls that took at least this `duration`, such as 2s")
	complete(cmd, "plugin", g.completePlugins)
	for _, name := range []string{"tool", "session", "caller", "rule", "via", "code", "since", "until", "at-least"} {
		complete(cmd, name, cobra.NoFileCompletions)
	}
	complete(cmd, "effect", cobra.FixedCompletions([]string{"allow", "ask", "always_ask", "deny"},
		cobra.ShellCompDirectiveNoFileComp))
	f.place(cmd)
	g.profileFlag(cmd, &f.profile)
}

// place adds the flags that say which record is searched.
func (f *historyFlags) place(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.record, "record", "", "search this `file`, such as a record that was moved away")
	cmd.Flags().StringVar(&f.index, "index", "", "keep the index of --record in this `file` (default: beside the record)")
}

// read sets the filter to what the flags and words say.
func (f *historyFlags) read(words []string) error {
	f.filter.Text = strings.Join(words, " ")
	for _, text := range []*string{&f.filter.Text, &f.filter.Tool, &f.filter.Plugin, &f.filter.SessionId,
		&f.filter.Caller, &f.filter.Rule, &f.filter.ViaCallId} {
		*text = convert.Text(*text) // the record has them so, too
	}
	f.filter.Codes, f.filter.Effects = convert.Texts(f.filter.Codes), convert.Texts(f.filter.Effects)
	now := time.Now()
	for _, t := range []struct {
		flag, text string
		to         **timestamppb.Timestamp
	}{{"since", f.since, &f.filter.Since}, {"until", f.until, &f.filter.Until}} {
		if t.text == "" {
			continue
		}
		at, err := parseTime(t.text, now)
		if err != nil {
			return fmt.Errorf("--%s: %w", t.flag, err)
		}
		*t.to = timestamppb.New(at)
	}
	if f.atLeast != 0 {
		f.filter.AtLeast = durationpb.New(f.atLeast)
	}
	return nil
}

// parseTime reads a time, in the user's zone if it says none, or how long ago it was.
func parseTime(text string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateTime,
		"2006-01-02 15:04", time.DateOnly, "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04Z07:00", "2006-01-02T15:04Z07:00"} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, nil
		}
	}
	for unit, days := range map[string]int{"d": 1, "w": 7} {
		if number, is := strings.CutSuffix(text, unit); is {
			if n, err := strconv.ParseUint(number, 10, 16); err == nil {
				return now.AddDate(0, 0, -int(n)*days), nil
			}
		}
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	return time.Time{}, fmt.Errorf("%q is not a time; write, for example, 2026-11-23, 2026-11-23T10:00, 2h, 3d or 1w",
		text)
}

func newHistorySearch(g *options) *cobra.Command {
	var f historyFlags
	var format string
	var n int
	var oldest bool
	cmd := &cobra.Command{
		Use:   "search [WORD]...",
		Short: "Search calls by text and filters",
		Long: "Find calls, the newest first. All words must occur in the texts that the record has of a call:\n" +
			"names, reasons and errors, and arguments and results where it has them. Words between quotes must\n" +
			"follow each other: '\"permission denied\"'.",
		Example: `  toolhost history search --since 1d --status error
  toolhost history search main.go --tool 'edit__*'
  toolhost history search --at-least 10s --format json`,
		Args: func(_ *cobra.Command, words []string) error {
			if n < 1 || n > 1_000_000 {
				return fmt.Errorf("-n must be from 1 to 1000000, not %d", n)
			}
			return f.read(words)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.searchHistory(cmd.Context(), &f, &apiv1.SearchCallsRequest{Filter: &f.filter, OldestFirst: oldest}, n,
				format)
		},
	}
	f.flags(g, cmd)
	cmd.Flags().IntVarP(&n, "lines", "n", 20, "at most how many calls")
	cmd.Flags().BoolVar(&oldest, "oldest-first", false, "the oldest first")
	complete(cmd, "lines", cobra.NoFileCompletions)
	chooseFormat(cmd, &format, "%s, an object of the API for each call", "text", "json")
	return cmd
}

func newHistoryShow(g *options) *cobra.Command {
	var f historyFlags
	var format string
	cmd := &cobra.Command{
		Use:   "show CALL",
		Short: "Show the recorded lines of one call",
		Long: "Show the lines that the record has of one call, as indented JSON, and the calls that its plugin made\n" +
			"on its behalf. " + outcomeWords,
		Args: oneCallNamed, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.showHistory(cmd.Context(), &f, args[0], format)
		},
	}
	f.place(cmd)
	g.profileFlag(cmd, &f.profile)
	chooseFormat(cmd, &format, "%s, the answer of the API", "text", "json")
	return cmd
}

// oneCallNamed requires the id of a call.
func oneCallNamed(cmd *cobra.Command, args []string) error {
	if len(args) != 1 || args[0] == "" {
		return fmt.Errorf("name one call: %s CALL; `toolhost history search` shows their ids", cmd.CommandPath())
	}
	return nil
}

func newHistoryStats(g *options) *cobra.Command {
	var f historyFlags
	var format, by string
	var steps int32
	cmd := &cobra.Command{
		Use:   "stats [WORD]...",
		Short: "Count calls over time, with their durations",
		Long: "Count calls in steps of time: how many, how many failed, and how long half, 95 % and 99 % of them took at\n" +
			"most, within 7 %. Steps begin at whole minutes, hours or days; the first and the last are counted whole.",
		Args: func(_ *cobra.Command, words []string) error { return f.read(words) },

		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.historyStats(cmd.Context(), &f, &apiv1.StatsRequest{Filter: &f.filter, Steps: steps, GroupBy: by}, format)
		},
	}
	f.flags(g, cmd)
	cmd.Flags().Int32Var(&steps, "steps", 24, "at most how many steps")
	complete(cmd, "steps", cobra.NoFileCompletions)
	choose(cmd, &by, "by", "a row for each %s", "tool", "plugin", "session", "status", "code")
	chooseFormat(cmd, &format, "%s, the answer of the API", "text", "json")
	return cmd
}

func newHistoryExport(g *options) *cobra.Command {
	var f historyFlags
	var format string
	var limit int64
	cmd := &cobra.Command{
		Use:   "export [WORD]...",
		Short: "Print the calls as lines of the record, or as CSV",
		Long: "Print the calls, the oldest first: as jsonl the lines of the record byte for byte, as csv a row for each\n" +
			"call. A cell that a program for tables would take for a formula has a ' before it.",
		Args: func(_ *cobra.Command, words []string) error { return f.read(words) },

		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.exportHistory(cmd.Context(), &f, &apiv1.ExportRequest{Filter: &f.filter, Format: format, Limit: limit})
		},
	}
	f.flags(g, cmd)
	cmd.Flags().Int64Var(&limit, "limit", 0, "at most how many calls (default: all)")
	complete(cmd, "limit", cobra.NoFileCompletions)
	chooseFormat(cmd, &format, "%s", "jsonl", "csv")
	return cmd
}

func newHistoryRebuild(g *options) *cobra.Command {
	var f historyFlags
	cmd := &cobra.Command{
		Use:   "rebuild",
		Short: "Rebuild the index from the record",
		Long: "Rebuild the index from the record. That happens by itself when the record was moved, cut or changed, or\n" +
			"the index damaged; a running host follows.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.readHistory(cmd.Context(), &f, historyRequest{method: "Rebuild"})
		},
	}
	f.place(cmd)
	return cmd
}

// A historyRequest is a request for the service of histories.
type historyRequest struct {
	method  string
	message proto.Message
	answer  proto.Message
	// each is called with each answer in answer.
	each func() error
}

// askHistory asks the running host if it has a history, and otherwise reads the record.
func (g *options) askHistory(ctx context.Context, f *historyFlags, r historyRequest) error {
	if f.record != "" || f.index != "" {
		return g.readHistory(ctx, f, r)
	}
	g.servedBefore = true
	running := g.runningOr(ctx, f.profile)
	if running == nil {
		return g.readHistory(ctx, f, r)
	}
	defer running.close()
	if !slices.Contains(running.info.Parts, "history") {
		if c, err := g.load(); err == nil && c.Audit != nil && c.Trusted() {
			fmt.Fprintln(g.err, "toolhost: the running host has no history, and its log says why, such as a disk that was full "+
				"when it started;\n  the record is read here; `toolhost serve --upgrade` has it served again")
			return g.readHistory(ctx, f, r)
		}
		return errors.New("the running host keeps no record, so it has no history; " + recordsCalls)
	}
	if export, is := r.message.(*apiv1.ExportRequest); is {
		stream, err := apiv1.NewHistoryServiceClient(running.conn).Export(ctx, export)
		for err == nil {
			if err = stream.RecvMsg(r.answer); err == nil {
				err = r.each()
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		return remoteError(err)
	}
	if err := running.conn.Invoke(ctx, "/toolhost.api.v1.HistoryService/"+r.method, r.message, r.answer); err != nil {
		return remoteError(err)
	}
	return r.each()
}

// checkRecord says what is wrong with a path that names no record.
func checkRecord(path string, named bool) error {
	err := audit.Exists(path)
	if named && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no file %s; --record takes a record, such as one that was moved away", path)
	}
	if info, statErr := os.Stat(path); statErr == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file, so it is not a record", path)
	}
	return err
}

// maxAnswer is the longest answer of toolhost-server, in bytes.
const maxAnswer = 64 << 20

// readHistory has toolhost-server read the record, which links SQLite.
func (g *options) readHistory(ctx context.Context, f *historyFlags, r historyRequest) error {
	if f.index != "" && f.record == "" {
		return errors.New("--index is for the record that --record names; name that too")
	}
	var named []string
	if f.record != "" {
		named = []string{f.record}
	}
	return g.onLog(named, func(path string) error {
		if err := checkRecord(path, f.record != ""); err != nil {
			return err
		}
		path, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		program, err := serverPath()
		if err != nil {
			return err
		}
		args := []string{"history", "--record=" + path}
		if f.index != "" {
			args = append(args, "--index="+f.index)
		}
		// A configuration that is not trusted, or that records nothing, is not that of this record.
		if c, err := g.load(); f.record == "" && err == nil && c.Audit != nil && c.Trusted() {
			args = append(args, "--keep-for="+c.History.KeepFor.String(), fmt.Sprint("--keep-calls=", c.History.KeepCalls))
		}
		cmd := exec.CommandContext(ctx, program, append(args, r.method)...)
		var said bytes.Buffer
		cmd.Stderr = io.MultiWriter(g.programErr(), &said)
		if r.message != nil {
			var request bytes.Buffer
			if _, err := protodelim.MarshalTo(&request, r.message); err != nil {
				return err
			}
			cmd.Stdin = &request
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		reading := r.readAnswers(bufio.NewReader(out))
		if reading != nil {
			_ = cmd.Process.Kill() // it may still write
		}
		err = cmd.Wait()
		switch ended, is := errors.AsType[*exec.ExitError](err); {
		case ctx.Err() != nil:
			return errInterrupted
		case reading != nil:
			return reading
		case is:
			return explained(ended.ExitCode(), said.String())
		}
		return err
	})
}

// explained is the error of a program that has printed it, with the code that it ended with.
func explained(code int, said string) error {
	if code < 0 { // by a signal
		return &exitError{exitUnavailable, "toolhost-server was ended before it answered"}
	}
	last := strings.TrimSpace(said[max(0, strings.LastIndex("\n"+said, "\ntoolhost: ")):])
	e := &sdk.Error{Code: sdk.CodeInternal, Name: "HistoryFailed", Message: strings.TrimPrefix(last, "toolhost: "),
		Outcome: sdk.OutcomeFailed}
	switch code {
	case exitUsage:
		e.Code = codeUsage
	case exitUnavailable:
		e.Code = sdk.CodePluginUnavailable
	}
	return &refusal{exitError: &exitError{code: code}, is: e}
}

func (r historyRequest) readAnswers(in *bufio.Reader) error {
	for {
		if _, err := in.Peek(1); err != nil {
			return nil //nolint:nilerr // its exit code reports how it ended
		}
		if err := (protodelim.UnmarshalOptions{MaxSize: maxAnswer}).UnmarshalFrom(in, r.answer); err != nil {
			return fmt.Errorf("the answer of toolhost-server cannot be read: %w", err)
		}
		if err := r.each(); err != nil {
			return err
		}
	}
}

// searchHistory prints up to n calls.
func (g *options) searchHistory(ctx context.Context, f *historyFlags, r *apiv1.SearchCallsRequest, n int,
	format string) error {
	var rows [][]string
	found := 0
	for left := n; left > 0; {
		r.PageSize = int32(min(left, 1000))
		var page apiv1.SearchCallsResponse
		err := g.askHistory(ctx, f, historyRequest{"Search", r, &page, func() error { return nil }})
		if err != nil {
			return err
		}
		for _, c := range page.Calls {
			if format == "json" {
				if err := g.printMessage(c, false); err != nil {
					return err
				}
				continue
			}
			rows = append(rows, historyRow(c))
		}
		found += len(page.Calls)
		if page.UnreadBytes > 0 {
			fmt.Fprintf(g.err, "toolhost: %s of the record are not searched yet\n", bytesOf(page.UnreadBytes))
		}
		if left -= len(page.Calls); left > 0 && page.NextPageToken == "" {
			break
		}
		r.PageToken = page.NextPageToken
	}
	if found == 0 {
		fmt.Fprintln(g.err, "toolhost: no call matches")
	}
	if len(rows) > 0 {
		writeTable(g.out, append([][]string{historyHeader}, rows...), widest)
	}
	return nil
}

var historyHeader = []string{"TIME", "CALL", "TOOL", "CALLER", "EFFECT", "STATUS", "CODE", "DURATION", "REASON"}

// bytesOf is a number of bytes for people.
func bytesOf(n int64) string {
	switch {
	case n < 1000:
		return textutil.Count(int(n), "byte")
	case n < 1e6:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

func historyRow(c *apiv1.RecordedCall) []string {
	at := c.Decided
	if at == nil {
		at = c.Ended
	}
	took := ""
	if c.Duration != nil {
		took = fmt.Sprintf("%.1f ms", float64(c.Duration.AsDuration().Microseconds())/1000)
	}
	cells := []string{c.CallId, c.Tool, c.Caller, c.Effect, c.Status, c.Code, took, cmp.Or(c.ErrorReason, c.Reason)}
	for i, cell := range cells {
		cells[i] = firstLine(cell)
	}
	return recordRow(at.AsTime(), cells...)
}

// printMessage prints a message of the API as JSON.
func (g *options) printMessage(m proto.Message, indented bool) error {
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		return err
	}
	return g.printRawJSON(text, indented)
}

// printRawJSON prints JSON, whose blanks protojson varies.
func (g *options) printRawJSON(text []byte, indented bool) (err error) {
	var out bytes.Buffer
	if indented {
		err = json.Indent(&out, text, "", "  ")
	} else {
		err = json.Compact(&out, text)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(g.out, escapeJSON(out.String()))
	return nil
}

func (g *options) showHistory(ctx context.Context, f *historyFlags, call, format string) error {
	var answer apiv1.GetCallResponse
	request := &apiv1.GetCallRequest{CallId: convert.Text(call)}
	return g.askHistory(ctx, f, historyRequest{"GetCall", request, &answer, func() error {
		if format == "json" {
			return g.printMessage(&answer, true)
		}
		for _, line := range answer.Records {
			if err := g.printRawJSON([]byte(line), true); err != nil {
				return err
			}
		}
		if len(answer.Nested) == 0 {
			return nil
		}
		rows := [][]string{historyHeader}
		for _, c := range answer.Nested {
			rows = append(rows, historyRow(c))
		}
		fmt.Fprintf(g.out, "\n%s on its behalf:\n", textutil.Count(len(answer.Nested), "call"))
		writeTable(g.out, rows, widest)
		return nil
	}})
}

func (g *options) historyStats(ctx context.Context, f *historyFlags, r *apiv1.StatsRequest, format string) error {
	var answer apiv1.StatsResponse
	return g.askHistory(ctx, f, historyRequest{"Stats", r, &answer, func() error {
		if format == "json" {
			return g.printMessage(&answer, true)
		}
		rows := [][]string{{"FROM", cmp.Or(strings.ToUpper(r.GroupBy), "-"), "CALLS", "ERRORS", "P50", "P95", "P99"}}
		for step, at := range answer.Times {
			for _, s := range answer.Series {
				if s.Calls[step] > 0 {
					rows = append(rows, recordRow(at.AsTime(), s.Name, strconv.FormatInt(s.Calls[step], 10),
						strconv.FormatInt(s.Errors[step], 10), roundMS(s.P50Ms[step]), roundMS(s.P95Ms[step]),
						roundMS(s.P99Ms[step])))
				}
			}
		}
		writeTable(g.out, rows, widest)
		if answer.Unfinished > 0 { // which are in CALLS, and have no duration
			fmt.Fprintf(g.out, "%s without an end\n", textutil.Count(int(answer.Unfinished), "call"))
		}
		return nil
	}})
}

// roundMS writes milliseconds with two digits.
func roundMS(ms float64) string {
	if ms == 0 {
		return "-"
	}
	digits := max(0, 1-int(math.Floor(math.Log10(ms))))
	return strconv.FormatFloat(ms, 'f', min(digits, 3), 64) + " ms"
}

// exportHistory prints what is sent: byte for byte, but for characters that would change a terminal.
func (g *options) exportHistory(ctx context.Context, f *historyFlags, r *apiv1.ExportRequest) error {
	var answer apiv1.ExportResponse
	return g.askHistory(ctx, f, historyRequest{"Export", r, &answer, func() error {
		text := answer.Data
		if isTerminal(os.Stdout) {
			text = []byte(escapeJSON(strings.ReplaceAll(string(text), "\r\n", "\n")))
		}
		_, err := g.out.Write(text)
		return err
	}})
}
