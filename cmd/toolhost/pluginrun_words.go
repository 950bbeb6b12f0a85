package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

// runWords are the lines that are no calls.
var runWords = []string{"help", "quit", "reload", "reset", "status", "tools"}

// tellStatus prints how the plugin is, as `toolhost status` has it, and what helps to see why.
func (r *pluginRun) tellStatus(ctx context.Context) {
	status := statuses(ctx, r.instance)[0]
	r.lines.Lock()
	defer r.lines.Unlock()
	if r.f.format == "json" {
		_ = json.NewEncoder(r.g.out).Encode(status) // an answer remembers what went wrong
		return
	}
	writeTable(r.g.out, statusRows(status, time.Now()), widest)
	for _, line := range status.Stderr {
		fmt.Fprintln(r.g.out, "  | "+fit(line, widest))
	}
}

// statusRows are what there is to tell, each with its name. What the plugin printed last is left to its end.
func statusRows(s pluginStatus, now time.Time) (rows [][]string) {
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, []string{name, fit(value, widest)})
		}
	}
	add("state", string(s.State)+ago(s.Since, now))
	add("reason", s.Reason)
	add("next try", nextTry(s.Status, now))
	add("pid", positive(s.PID))
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
		add("notice", n)
	}
	add("last error", s.LastError)
	if len(s.Stderr) > 0 {
		rows = append(rows, []string{"stderr", "its last lines:"})
	}
	return rows
}

// overdueWords tells of handlers that ignore cancellation.
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

// nextTry says when a plugin that is left alone may be started, and what does not wait for that.
func nextTry(s supervise.Status, now time.Time) string {
	switch {
	case s.State == supervise.Invalid:
		return "none; mend it, then `reload`, or `reset` to try it as it is"
	case s.RetryAt.IsZero():
		return ""
	case s.RetryAt.After(now):
		return fmt.Sprintf("from %s on, in %s; `reset` does not wait", s.RetryAt.Local().Format(time.TimeOnly), upwards(s.RetryAt.Sub(now)))
	}
	return "with the next call"
}

// upwards rounds a wait to seconds, so that it is never told as over before it is.
func upwards(d time.Duration) time.Duration { return (d + time.Second - 1).Truncate(time.Second) }

func positive(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// reset has the plugin's crashes forgotten.
func (r *pluginRun) reset() {
	p := r.process()
	p.Reset()
	if state := p.Status().State; state != supervise.Known {
		r.say("its crashes are forgotten; it is %s", state)
		return
	}
	r.say("its crashes are forgotten; the next call starts it")
}

// tellWords says to who typed a single word that is no tool what else can be typed.
func (r *pluginRun) tellWords(line string, e *sdk.Error) {
	if e != nil && e.Code == sdk.CodeToolNotFound && !strings.ContainsAny(line, " \t{") {
		r.say("%q is no tool%s", line, cmp.Or(textutil.DidYouMean(line, runWords), "; `help` tells what can be typed"))
	}
}
