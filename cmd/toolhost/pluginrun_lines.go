package main

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

const runHelp = "Lines:\n" +
	"  TOOL {json}    call a tool, by its own name or PLUGIN__TOOL; without arguments they are {}\n" +
	"  TOOL KEY=VALUE the same, the arguments as words like those of toolhost call; with blanks: KEY=\"A B\"\n" +
	"  TOOL {json} &  the same, without waiting for the answer before the next line is read\n" +
	"  tools          list the tools\n" +
	"  status         show the plugin: its state and why, restarts, sandbox, what it printed last, the next try\n" +
	"  reload         use the present program and configuration; calls that run end on the old process\n" +
	"  reset          forget the plugin's crashes: the next call starts it\n" +
	"  help           list these lines\n" +
	"  quit           end, as the end of the input does\n" +
	"A tool that has one of these names is called with arguments: status {}"

// maxLine is the longest line: a call with the largest arguments.
const maxLine = sdk.MaxArguments + 1<<10

// read executes the lines until they end or ctx does. A line is read only when the one before is done: at a terminal
// the lines between are answers.
func (r *pluginRun) read(ctx context.Context) error {
	wanted, lines := make(chan struct{}), make(chan typedLine)
	defer close(wanted)
	go readLines(r.g.in, wanted, lines)
	for {
		select {
		case wanted <- struct{}{}:
		case <-ctx.Done():
			return errInterrupted
		}
		select {
		case <-ctx.Done():
			return errInterrupted
		case l := <-lines:
			if l.err != nil {
				return endOfInput(l.err)
			}
			more := r.do(ctx, strings.TrimSpace(l.text))
			if ctx.Err() != nil {
				return errInterrupted
			} else if !more {
				return nil
			}
		}
	}
}

// readLines reads a line each time one is requested. An abandoned read ends with the process.
func readLines(in io.Reader, wanted <-chan struct{}, lines chan<- typedLine) {
	scan := bufio.NewScanner(in)
	scan.Buffer(nil, maxLine)
	for range wanted {
		l := typedLine{err: io.EOF}
		if scan.Scan() {
			l = typedLine{text: scan.Text()}
		} else if err := scan.Err(); err != nil {
			l.err = err
		}
		select {
		case lines <- l:
		case <-wanted: // closed: the reader has ended
			return
		}
	}
}

func endOfInput(err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("a line on standard input has more than %d bytes; nothing of it was run", maxLine)
	}
	return fmt.Errorf("reading standard input: %w", err)
}

// do executes a line; false ends the command.
func (r *pluginRun) do(ctx context.Context, line string) bool {
	switch line {
	case "":
	case "quit":
		return false
	case "help":
		fmt.Fprintln(r.g.err, runHelp)
	case "tools":
		r.listTools(ctx)
	case "status":
		r.printStatus(ctx)
	case "reload":
		r.reloadAndReport(ctx, true)
	case "reset":
		r.reset()
	default:
		r.call(ctx, line)
	}
	return true
}

// listTools prints a line for each tool: its name and what it is for, or its definition.
func (r *pluginRun) listTools(ctx context.Context) {
	tools, problems := r.instance.Catalog().Tools(ctx)
	for _, p := range problems {
		r.say("%v", p)
	}
	r.lines.Lock()
	defer r.lines.Unlock()
	rows := [][]string{}
	for _, t := range tools {
		if r.f.format == "json" {
			_ = json.NewEncoder(r.g.out).Encode(t) // an answer remembers write errors
		}
		rows = append(rows, []string{t.Name, firstLine(t.Description)})
	}
	if r.f.format == "text" {
		writeTable(r.g.out, rows, width(r.g.out.w))
	}
}

// call makes the call on a line.
func (r *pluginRun) call(ctx context.Context, line string) {
	line, background := strings.CutSuffix(line, " &")
	tool, arguments := line, ""
	if i := strings.IndexAny(line, " \t{"); i >= 0 {
		tool, arguments = line[:i], strings.TrimSpace(line[i:])
	}
	if !strings.Contains(tool, "__") && !r.isAlias(tool) {
		tool = r.name + "__" + tool
	}
	c := host.Call{ID: rand.Text(), Tool: tool, Arguments: json.RawMessage(arguments), Caller: callerName}
	if isArgWord(arguments) {
		own := &ownCall{catalog: r.instance.Catalog(), in: c}
		var err error
		if c.Arguments, _, err = typedArguments(ctx, own, lineWords(arguments)); err != nil {
			r.say("%v", err)
			return
		}
	}
	if !background {
		result := r.instance.Catalog().Call(ctx, c)
		r.answer(result)
		if e := result.Error; e != nil && e.Code == sdk.CodeToolNotFound && !strings.ContainsAny(line, " \t{") {
			r.say("%q is not a tool%s", line, cmp.Or(textutil.DidYouMean(line, runCommands), "; `help` lists the commands"))
		}
		return
	}
	r.background.Store(c.ID, true)
	r.calls.Go(func() {
		defer r.background.Delete(c.ID)
		r.answer(r.instance.Catalog().Call(ctx, c))
	})
}

// isAlias reports whether the configuration has the word as another name of a tool. A tool's own name comes first.
func (r *pluginRun) isAlias(word string) bool {
	r.reloading.Lock()
	own := slices.ContainsFunc(r.known, func(t sdk.Tool) bool { return t.Name == word })
	r.reloading.Unlock()
	if own {
		return false
	}
	return slices.ContainsFunc(slices.Collect(maps.Values(r.instance.Config().Host.Tools)),
		func(o host.ToolOptions) bool { return slices.Contains(o.Aliases, word) })
}

// lineWord is a word without blanks, or KEY="a value with blanks".
var lineWord = lazy.Regexp(`([^=:\s{}"'\[\]]+:?=)("[^"]*"|'[^']*')(\s|$)|\S+`)

// lineWords splits a line at its blanks. Quotes around a whole value are removed.
func lineWords(line string) (out []string) {
	for _, m := range lineWord().FindAllStringSubmatch(line, -1) {
		if m[1] != "" {
			out = append(out, m[1]+m[2][1:len(m[2])-1])
		} else {
			out = append(out, m[0])
		}
	}
	return out
}

// answer prints a result, whole.
func (r *pluginRun) answer(result *host.Result) {
	r.lines.Lock()
	defer r.lines.Unlock()
	if r.f.format == "json" {
		_ = json.NewEncoder(r.g.out).Encode(result) // an answer remembers write errors
		return
	}
	r.g.printContent(result.Content)
	if result.Error != nil {
		fmt.Fprintln(r.g.out, indentRest(describe(result.Error)))
	}
}

// runCommands are the lines that are not calls.
var runCommands = []string{"help", "quit", "reload", "reset", "status", "tools"}

// printStatus prints the plugin's state, as `toolhost status` has it, and the details that explain it.
func (r *pluginRun) printStatus(ctx context.Context) {
	status := statuses(ctx, r.instance)[0]
	r.lines.Lock()
	defer r.lines.Unlock()
	if r.f.format == "json" {
		_ = json.NewEncoder(r.g.out).Encode(status) // an answer remembers write errors
		return
	}
	writeTable(r.g.out, statusRows(status, time.Now()), widest)
	for _, line := range status.Stderr {
		fmt.Fprintln(r.g.out, "  | "+fitLine(line, widest))
	}
}

// statusRows are the facts of a status, each with its name, without the plugin's last output.
func statusRows(s pluginStatus, now time.Time) (rows [][]string) {
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, []string{name, fitLine(value, widest)})
		}
	}
	add("state", string(s.State)+ago(s.Since, now))
	add("reason", s.Reason)
	add("next try", nextTry(s.Status, now))
	add("pid", positive(s.PID))
	add("standby", positive(s.Standby))
	add("generation", fmt.Sprint(s.Generation))
	add("restarts", fmt.Sprint(s.Restarts))
	add("crashes", positive(s.Crashes))
	add("calls", positive(s.Calls))
	add("draining", positive(s.Draining))
	add("overdue", overdueWords(s.Overdue))
	add("version", s.Version)
	add("tools", fmt.Sprint(s.Tools))
	if s.Sandbox != nil {
		add("sandbox", strings.Join(append([]string{sandboxWords(s.Sandbox)}, s.Sandbox.Missing...), "; "))
	}
	add("containment", s.Containment)
	add("lock", string(s.Lock))
	for _, n := range s.Notices {
		add(string(n.Kind), n.Text)
	}
	add("last error", s.LastError)
	if len(s.Stderr) > 0 {
		rows = append(rows, []string{"stderr", "its last lines:"})
	}
	return rows
}

// overdueWords describes handlers that ignore cancellation.
func overdueWords(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "1 call that was canceled or timed out still runs"
	}
	return fmt.Sprintf("%d calls that were canceled or timed out still run", n)
}

func ago(since, now time.Time) string {
	if since.IsZero() {
		return ""
	}
	return fmt.Sprintf(" since %s, for %s", since.Local().Format(time.TimeOnly), max(0, now.Sub(since)).Round(time.Second))
}

// nextTry says when the plugin may be started next without intervention, and how to start it earlier.
func nextTry(s supervise.Status, now time.Time) string {
	switch {
	case s.State == supervise.Invalid:
		return "none. Fix it, then `reload`, or `reset` to try it unchanged"
	case s.RetryAt.IsZero():
		return ""
	case s.RetryAt.After(now):
		return fmt.Sprintf("from %s on, in %s; `reset` does not wait", s.RetryAt.Local().Format(time.TimeOnly),
			(s.RetryAt.Sub(now) + time.Second - 1).Truncate(time.Second)) // it never ends before that time
	}
	return "with the next call"
}

func positive(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// reset resets the plugin's crashes.
func (r *pluginRun) reset() {
	p := r.process()
	p.Reset()
	if state := p.Status().State; state != supervise.Known {
		r.say("its crashes are forgotten; it is %s", state)
		return
	}
	r.say("its crashes are forgotten; the next call starts it")
}
