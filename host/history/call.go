package history

import (
	"bytes"
	"cmp"
	"math"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/audit"
)

// statusUnfinished is the status of a call that has a decision and no end: it runs, or its host was killed.
const statusUnfinished = "unfinished"

// A Call is what the record says of one call, without arguments and result. Its lines are joined by the call's id:
// those from a decision to the next end belong together.
type Call struct {
	// Number counts the calls of the record from 1, in the order of their first lines.
	Number int64
	// Decided and Ended are when the lines were made, zero without such a line.
	Decided, Ended time.Time

	CallID, Tool, Plugin, Caller, SessionID, Workdir, ViaTool, ViaCallID string

	// Effect, Rule, Layer, Source and Reason are of the decision.
	Effect, Rule, Layer, Source, Reason string
	// Approval is a person's answer, nil when no one was asked.
	Approval *audit.Approval

	// Status is ok, error or unfinished; Code, Name, Outcome and ErrorReason say more of an error.
	Status, Code, Name, Outcome, ErrorReason string
	Duration                                 time.Duration
	Attempts, Generation                     int

	ArgumentsBytes, ResultBytes   int64
	ArgumentsSHA256, ResultSHA256 string
}

// Time is when the call is listed: when it was decided, or when it ended if it has no decision.
func (c *Call) Time() time.Time {
	if c.Decided.IsZero() {
		return c.Ended
	}
	return c.Decided
}

// add joins a line to the call. A field that a later line leaves out stays.
func (c *Call) add(r *audit.Record) {
	for _, field := range [...]struct {
		to   *string
		from string
	}{
		{&c.CallID, r.CallID}, {&c.Tool, r.Tool}, {&c.Plugin, r.Plugin}, {&c.Caller, r.Caller}, {&c.SessionID, r.SessionID},
		{&c.Workdir, r.Workdir}, {&c.ViaTool, r.ViaTool}, {&c.ViaCallID, r.ViaCallID}, {&c.Effect, r.Effect},
		{&c.Rule, r.Rule}, {&c.Layer, r.Layer}, {&c.Source, r.Source}, {&c.Code, r.Code}, {&c.Name, r.Name},
		{&c.Outcome, r.Outcome}, {&c.ArgumentsSHA256, r.ArgumentsSHA256}, {&c.ResultSHA256, r.ResultSHA256},
	} {
		if field.from != "" {
			*field.to = field.from
		}
	}
	if r.Approval != nil {
		c.Approval = r.Approval
	}
	c.ArgumentsBytes = cmp.Or(r.ArgumentsBytes, c.ArgumentsBytes)
	c.ResultBytes = cmp.Or(r.ResultBytes, c.ResultBytes)
	c.Attempts, c.Generation = cmp.Or(r.Attempts, c.Attempts), cmp.Or(r.Generation, c.Generation)
	if r.Kind == audit.KindDecision {
		c.Decided = r.Time
		c.Reason = cmp.Or(r.Reason, c.Reason)
		c.Status = cmp.Or(c.Status, statusUnfinished)
		return
	}
	c.Ended, c.Status = r.Time, cmp.Or(r.Status, "error")
	c.Duration = milliseconds(r.DurationMS)
	if c.Status == "ok" {
		c.Reason = cmp.Or(c.Reason, r.Reason)
	} else {
		c.ErrorReason = r.Reason
	}
}

// milliseconds are a record's, which may be anything. The index counts in microseconds.
func milliseconds(ms float64) time.Duration {
	const most = 365 * 24 * time.Hour
	if !(ms > 0) {
		return 0
	}
	return time.Duration(math.Min(ms*float64(time.Millisecond), float64(most))).Truncate(time.Microsecond)
}

// A field is one of a call that is searched by its whole value. The letters of tokens in indexes depend on the order.
type field int

// The letters of fields are in the index: whoever adds one before the last raises version in store.go.
const (
	fieldCallID field = iota
	fieldTool
	fieldPlugin
	fieldCaller
	fieldSession
	fieldWorkdir
	fieldVia
	fieldStatus
	fieldCode
	fieldName
	fieldOutcome
	fieldEffect
	fieldRule
	fieldAnswer
	fieldPrefix   // of the tool's name, for patterns such as shell__*
	fieldDuration // by classes; see durationTokens
)

// values ranges over the fields and their values.
func (c *Call) values(yield func(field, string) bool) {
	answer := ""
	if c.Approval != nil {
		answer = c.Approval.Answer
	}
	for f, v := range [...]string{fieldCallID: c.CallID, fieldTool: c.Tool, fieldPlugin: c.Plugin, fieldCaller: c.Caller,
		fieldSession: c.SessionID, fieldWorkdir: c.Workdir, fieldVia: c.ViaCallID, fieldStatus: c.Status,
		fieldCode: c.Code, fieldName: c.Name, fieldOutcome: c.Outcome, fieldEffect: c.Effect, fieldRule: c.Rule,
		fieldAnswer: answer, fieldPrefix: prefixOf(c.Tool)} {
		if v != "" && !yield(field(f), v) {
			return
		}
	}
}

// prefixOf is what a tool's name has before the first "__", if the pattern PREFIX__* matches the name.
func prefixOf(tool string) string {
	prefix, _, ok := strings.Cut(tool, "__")
	if !ok || strings.Contains(tool, "/") {
		return ""
	}
	return prefix
}

// writeTexts appends the words of all texts of a line, which are those that a search finds, without those that the
// call's line before it has in the same place. Hashes are left out: a million of them would be half of the index.
func writeTexts(w *wordWriter, r, before *audit.Record) {
	last := texts(before)
	for i, text := range texts(r) {
		if text != "" && text != last[i] {
			w.write(text)
			w.breakText()
		}
	}
	for _, raw := range [...][2][]byte{{r.Arguments, before.Arguments}, {r.Result, before.Result}} {
		if len(raw[0]) > 0 && !bytes.Equal(raw[0], raw[1]) {
			w.writeJSON(raw[0])
			w.breakText()
		}
	}
}

func texts(r *audit.Record) [19]string {
	out := [19]string{r.Tool, r.Plugin, r.Caller, r.SessionID, r.Workdir, r.ViaTool, r.Effect, r.Rule, r.Layer, r.Source,
		r.Reason, r.Status, r.Code, r.Name, r.Outcome, r.Note}
	if a := r.Approval; a != nil {
		out[16], out[17], out[18] = a.By, a.Answer, a.Scope
	}
	return out
}
