package host

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/sdk"
)

// A Recorder keeps the record of decisions and calls. *audit.Log implements it. An error of Append means that the
// record was not written. One that has a method LeavesArguments does not change the arguments that it is given, and
// gets no copy of its own. One that has a method OnLost(func(records int, err error)) calls that function for records
// that it accepted with Later and could not write.
type Recorder interface {
	Append(r audit.Record) error
}

const lostInterval = time.Minute // how often an error of the record is logged while it stays the same

// watchRecord has records counted and logged that are lost after Append accepted them.
func (h *Host) watchRecord(r Recorder) {
	watched, is := r.(interface {
		OnLost(f func(records int, err error))
	})
	if !is {
		return
	}
	var mu sync.Mutex
	var text string // of the last error that was logged
	var logged time.Time
	unlogged := 0 // records since then
	watched.OnLost(func(records int, err error) {
		now := h.current.Load()
		if now == nil {
			return
		}
		mu.Lock()
		unlogged += records
		// a record that stays unwritable would fill the log, and the terminal of a command, with one line
		if text != err.Error() || time.Since(logged) >= lostInterval {
			now.log.Error("calls are missing from the record", "records", unlogged, "error", err)
			text, logged, unlogged = err.Error(), time.Now(), 0
		}
		mu.Unlock()
		if i := now.instruments; i != nil && i.unrecorded != nil {
			i.unrecorded.Add(context.Background(), int64(records))
		}
	})
}

// audit writes a log line and a record for each call, also for refused ones.
func (h *snapshot) audit(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		in := len(c.Arguments)
		result, err := next(ctx, c)
		took := time.Since(c.began)
		c.took = took
		e := failure(result, err)
		about := c.recorded()
		h.logEnd(ctx, about, e, in, took)
		failed := h.append(about, func() audit.Record { return about.endRecord(result, e, took) })
		// the record may be closed with the host; a call that was refused for that has changed nothing
		refused := h.base.Err() != nil && e != nil && e.Name == "HostClosed"
		if failed != nil && !refused {
			h.log.Error("the end of a call is missing from the record", "call_id", c.id, "error", failed)
		}
		return result, err
	}
}

func (h *snapshot) logEnd(ctx context.Context, c *Call, e *sdk.Error, in int, took time.Duration) {
	if !h.log.Enabled(ctx, slog.LevelInfo) {
		return
	}
	attrs := []slog.Attr{slog.String("status", StatusOK)}
	if e != nil {
		attrs = []slog.Attr{slog.String("status", StatusError), slog.String("code", string(e.Code)),
			slog.String("name", e.Name), slog.String("outcome", string(e.Outcome))}
	}
	if c.nested != nil {
		attrs = append(attrs, slog.String("via_tool", c.nested.via.Tool), slog.String("via_call_id", c.nested.via.CallID))
	}
	attempts, generation := c.attempts()
	h.log.LogAttrs(ctx, slog.LevelInfo, "call", append(attrs,
		slog.String("call_id", c.ID), slog.String("tool", cutText(c.Tool, 100)), slog.String("session_id", c.SessionID),
		slog.Int("arguments_bytes", in), slog.Duration("duration", took),
		slog.Int("attempts", attempts), slog.Int("generation", generation))...)
}

// recordDecision writes the decision down before the call runs. A call that may change something does not run without
// it.
func (h *snapshot) recordDecision(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		changes := !isTrue(c.Definition.Hints.ReadOnly)
		decision := func() audit.Record {
			r := c.decisionRecord()
			r.Kind, r.Sync, r.Later = audit.KindDecision, changes, !changes
			return r
		}
		if err := h.append(c, decision); err != nil && changes {
			h.log.Error("a call is refused because it cannot be recorded", "call_id", c.ID, "error", err)
			return nil, advise(fail(sdk.CodeDenied, "NotRecorded",
				"%s may change something, and the record of calls cannot be written; nothing was run", c.Tool),
				"Ask the user to repair the record: the log says what is wrong with it. Tools that only read can be used.")
		}
		return next(ctx, c)
	}
}

// append builds and adds a record if there is a Recorder; building it encodes the whole result as JSON. A panic of
// the recorder counts as a failed write.
func (h *snapshot) append(c *Call, r func() audit.Record) (err error) {
	if h.options.Audit == nil {
		return nil
	}
	var kind audit.Kind
	var began time.Time
	defer func() {
		if cause := recover(); cause != nil {
			logPanic(h.log, cause, "call_id", c.ID)
			err = fmt.Errorf("the recorder panicked: %v", cause)
		}
		if h.instruments != nil {
			h.instruments.countRecord(kind, time.Since(began), err)
		}
	}()
	record := r()
	record.Arguments = argumentsFor(h.options.Audit, record.Arguments)
	if kind = record.Kind; h.instruments != nil {
		began = time.Now()
	}
	return h.options.Audit.Append(record)
}

func (c *Call) decisionRecord() audit.Record {
	d := c.Decision
	r := audit.Record{
		CallID: c.ID, Tool: c.Tool, Caller: c.Caller, SessionID: c.SessionID, Workdir: c.Workdir, Arguments: c.Arguments,
		Effect: string(d.Effect), Rule: d.Rule, Layer: d.Layer, Source: d.Source, Reason: d.Reason, Approval: c.approval,
		ArgumentsSHA256: c.argumentsHash(),
	}
	if c.Definition != nil {
		r.Plugin = c.Definition.Plugin
	}
	if c.nested != nil {
		r.ViaTool, r.ViaCallID = c.nested.via.Tool, c.nested.via.CallID
	}
	return r
}

// argumentsHash returns the hash of the arguments, which both records of a call have.
func (c *Call) argumentsHash() string {
	n := len(c.Arguments)
	if n == 0 {
		return ""
	}
	if h := &c.hashed; len(h.arguments) != n || &h.arguments[0] != &c.Arguments[0] { // changed since the last hash
		h.arguments, h.hash = c.Arguments, audit.Hash(c.Arguments)
	}
	return c.hashed.hash
}

func (c *Call) endRecord(result *sdk.Result, e *sdk.Error, took time.Duration) audit.Record {
	r := c.decisionRecord()
	r.Time = c.began.Add(took)
	r.Kind, r.Status, r.DurationMS = audit.KindCall, StatusOK, float64(took.Microseconds())/1000
	r.Attempts, r.Generation = c.attempts()
	r.Later = true // its effects are in the record since its decision
	if e != nil {
		r.Status, r.Code, r.Name, r.Outcome = StatusError, string(e.Code), e.Name, string(e.Outcome)
		r.Reason = e.Message
	}
	if result != nil {
		r.Content = resultContent{result}
	}
	return r
}

// resultContent is a result in the form that is hashed and recorded.
type resultContent struct{ result *sdk.Result }

// WriteTo writes the texts, bytes and JSON of the result in order, without separators.
func (r resultContent) WriteTo(w io.Writer) (n int64, err error) {
	buffered, is := w.(*bufio.Writer)
	if !is {
		buffered = bufio.NewWriter(w) // without it, each text is copied whole
	}
	for _, c := range r.result.Content {
		_, _ = buffered.WriteString(c.Text) // Flush returns the first error
		_, _ = buffered.Write(c.Data)
		_, _ = buffered.Write(c.Raw)
		_, _ = buffered.Write(c.Extra)
		n += int64(len(c.Text) + len(c.Data) + len(c.Raw) + len(c.Extra))
	}
	_, _ = buffered.Write(r.result.Structured)
	return n + int64(len(r.result.Structured)), buffered.Flush()
}

// MarshalJSON writes the parts of the result that models and programs read.
func (r resultContent) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"content": r.result.Content, "structured": r.result.Structured})
}

func isTrue(hint *bool) bool { return hint != nil && *hint }
