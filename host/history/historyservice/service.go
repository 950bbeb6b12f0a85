// Package historyservice serves a history over the API of a long-lived host.
package historyservice

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/api/apiv1/apiv1connect"
	"github.com/toolhost/toolhost/host/api/convert"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/history"
	"github.com/toolhost/toolhost/internal/textutil"
)

// Options configure the service.
type Options struct {
	// Recent adds to a call what the host still knows of it, besides the record, and reports whether it knows anything. It
	// may be nil.
	Recent func(callID string, out *apiv1.GetCallResponse) bool
	// Fail makes the error of an RPC with its details; nil makes one without.
	Fail func(code connect.Code, message, hint string) *connect.Error
}

// A Service serves an index.
type Service struct {
	index   *history.Index
	options Options
}

var _ apiv1connect.HistoryServiceHandler = (*Service)(nil)

// New returns the service of an index.
func New(index *history.Index, o Options) *Service { return &Service{index: index, options: o} }

// Search returns a page of calls.
func (s *Service) Search(ctx context.Context, r *connect.Request[apiv1.SearchCallsRequest]) (
	*connect.Response[apiv1.SearchCallsResponse], error) {
	m := r.Msg
	f, err := s.filter(m.GetFilter())
	if err != nil {
		return nil, err
	}
	found, err := s.index.Search(ctx, f, history.Page{Size: int(m.GetPageSize()), Cursor: m.GetPageToken(),
		Count: m.GetCount(), OldestFirst: m.GetOldestFirst()})
	if err != nil {
		return nil, s.failed(err)
	}
	out := &apiv1.SearchCallsResponse{Calls: convert.Each(found.Calls, recordedCall), NextPageToken: found.Cursor,
		Total: found.Count, TotalIsLeast: found.AtLeast}
	if state, err := s.index.State(ctx); err == nil {
		out.UnreadBytes = state.Unread
		if len(found.Calls) == 0 {
			if gone := audit.Exists(state.Record); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
				return nil, s.fail(connect.CodeFailedPrecondition, convert.Text(gone.Error()), "")
			}
		}
	}
	return connect.NewResponse(out), nil
}

const maxNested = 100 // how many calls of a call's plugin GetCall returns

// GetCall returns the newest call of an id with its arguments and result, and the lines of all calls of the id.
func (s *Service) GetCall(ctx context.Context, r *connect.Request[apiv1.GetCallRequest]) (
	*connect.Response[apiv1.GetCallResponse], error) {
	id := r.Msg.GetCallId()
	if id == "" {
		return nil, s.fail(connect.CodeInvalidArgument, "no call is named", "Set call_id.")
	}
	calls, err := s.index.Lines(ctx, id)
	if err != nil {
		return nil, s.failed(err)
	}
	out := &apiv1.GetCallResponse{}
	known := s.options.Recent != nil && s.options.Recent(id, out)
	if len(calls) == 0 && !known {
		return nil, s.fail(connect.CodeNotFound, "the record has no call "+convert.Text(textutil.Cut(id, 300)),
			"Search for it: the id may be another one, or its host keeps no record.")
	}
	of := history.Filter{ViaCallID: id}
	if n := len(calls); n > 0 { // an id may be used again: the answer is about its newest call
		last := &calls[n-1]
		if ended := out.GetSummary().GetEnded(); ended != nil && last.Decided.After(ended.AsTime()) {
			out = &apiv1.GetCallResponse{} // the host knows a call before, and another host has recorded this one
		}
		began := out.GetSummary().GetBegan()
		newest := began == nil || !last.Time().Before(began.AsTime())
		if newest {
			out.Call = recordedCall(last.Call)
		}
		for i := range calls {
			for _, line := range calls[i].Lines {
				out.Records = append(out.Records, convert.Text(line))
				if r, ok := audit.Parse(line); ok && newest && i == n-1 {
					out.Call.Arguments = cmp.Or(compact(r.Arguments), out.Call.Arguments)
					out.Call.Result = cmp.Or(compact(r.Result), out.Call.Result)
				}
			}
		}
		switch {
		case !newest:
			of.Since = began.AsTime()
		case n > 1:
			of.Since = last.Decided
		}
	}
	nested, err := s.index.Search(ctx, of, history.Page{Size: maxNested, OldestFirst: true})
	if err != nil {
		return nil, s.failed(err)
	}
	out.Nested = convert.Each(nested.Calls, recordedCall)
	return connect.NewResponse(out), nil
}

func compact(raw json.RawMessage) string {
	var out bytes.Buffer
	if json.Compact(&out, raw) != nil {
		return convert.Text(raw)
	}
	return convert.Text(out.Bytes())
}

// Stats counts calls over time.
func (s *Service) Stats(ctx context.Context, r *connect.Request[apiv1.StatsRequest]) (
	*connect.Response[apiv1.StatsResponse], error) {
	f, err := s.filter(r.Msg.GetFilter())
	if err != nil {
		return nil, err
	}
	stats, err := s.index.Stats(ctx, f, history.StatsOptions{Steps: int(r.Msg.GetSteps()), GroupBy: r.Msg.GetGroupBy()})
	if err != nil {
		return nil, s.failed(err)
	}
	out := &apiv1.StatsResponse{Calls: stats.Calls, Errors: stats.Errors, Unfinished: stats.Unfinished,
		Step: durationpb.New(stats.Step), Times: convert.Each(stats.Times, timestamppb.New)}
	for _, series := range stats.Series {
		out.Series = append(out.Series, &apiv1.Series{Name: convert.Text(series.Name), Calls: series.Calls,
			Errors: series.Errors, P50Ms: milliseconds(series.P50), P95Ms: milliseconds(series.P95),
			P99Ms: milliseconds(series.P99)})
	}
	return connect.NewResponse(out), nil
}

func milliseconds(all []time.Duration) []float64 {
	return convert.Each(all, func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 })
}

// Export sends the calls in pieces.
func (s *Service) Export(ctx context.Context, r *connect.Request[apiv1.ExportRequest],
	stream *connect.ServerStream[apiv1.ExportResponse]) error {
	return s.ExportTo(ctx, r.Msg, stream.Send)
}

// ExportTo is Export with another way to send.
func (s *Service) ExportTo(ctx context.Context, r *apiv1.ExportRequest, send func(*apiv1.ExportResponse) error) error {
	f, err := s.filter(r.GetFilter())
	if err != nil {
		return err
	}
	return s.failed(s.index.Export(ctx, f, cmp.Or(r.GetFormat(), history.FormatJSONL), r.GetLimit(),
		sender(func(lines []byte) error { return send(&apiv1.ExportResponse{Data: lines}) })))
}

type sender func(lines []byte) error

// maxMessage is most of what one message has: clients of gRPC take 4 MiB if nothing else is said.
const maxMessage = 2 << 20

// Write cuts between lines, and a line of over 1 MiB nowhere: there is none.
func (s sender) Write(lines []byte) (int, error) {
	for rest := lines; len(rest) > 0; {
		n := len(rest)
		if n > maxMessage {
			n = bytes.LastIndexByte(rest[:maxMessage], '\n') + 1
		}
		if n == 0 {
			n = len(rest)
		}
		if err := s(rest[:n]); err != nil {
			return len(lines) - len(rest), err
		}
		rest = rest[n:]
	}
	return len(lines), nil
}

func (s *Service) filter(m *apiv1.CallFilter) (history.Filter, error) {
	f := history.Filter{Tool: m.GetTool(), Plugin: m.GetPlugin(), SessionID: m.GetSessionId(), Caller: m.GetCaller(),
		Workdir: m.GetWorkdir(), CallID: m.GetCallId(), ViaCallID: m.GetViaCallId(), Status: m.GetStatus(),
		Name: m.GetName(), Outcome: m.GetOutcome(), Rule: m.GetRule(), ApprovalAnswer: m.GetApprovalAnswer(),
		Codes: m.GetCodes(), Effects: m.GetEffects(), Text: m.GetText()}
	for _, t := range []struct {
		name string
		from *timestamppb.Timestamp
		to   *time.Time
	}{{"since", m.GetSince(), &f.Since}, {"until", m.GetUntil(), &f.Until}} {
		if t.from == nil {
			continue
		}
		if err := t.from.CheckValid(); err != nil {
			return f, s.fail(connect.CodeInvalidArgument, t.name+" is not a time: "+err.Error(), "")
		}
		*t.to = t.from.AsTime()
	}
	if d := m.GetAtLeast(); d != nil {
		if err := d.CheckValid(); err != nil {
			return f, s.fail(connect.CodeInvalidArgument, "at_least is not a length of time: "+err.Error(), "")
		}
		f.AtLeast = d.AsDuration()
	}
	return f, nil
}

// recordedCall converts a call. Its texts are valid UTF-8, as they were read from JSON.
func recordedCall(c history.Call) *apiv1.RecordedCall {
	out := &apiv1.RecordedCall{CallId: c.CallID, Decided: convert.Time(c.Decided), Ended: convert.Time(c.Ended),
		Tool: c.Tool, Plugin: c.Plugin, Caller: c.Caller, SessionId: c.SessionID, Workdir: c.Workdir, ViaTool: c.ViaTool,
		ViaCallId: c.ViaCallID, Effect: c.Effect, Rule: c.Rule, Layer: c.Layer, Source: c.Source, Reason: c.Reason,
		Status: c.Status, Code: c.Code, Name: c.Name, Outcome: c.Outcome, ErrorReason: c.ErrorReason,
		Attempts: int32(c.Attempts), Generation: int32(c.Generation), ArgumentsBytes: c.ArgumentsBytes,
		ResultBytes: c.ResultBytes, ArgumentsSha256: c.ArgumentsSHA256, ResultSha256: c.ResultSHA256}
	if !c.Ended.IsZero() {
		out.Duration = durationpb.New(c.Duration)
	}
	if a := c.Approval; a != nil {
		out.ApprovalAnswer, out.ApprovalBy, out.ApprovalScope = a.Answer, a.By, a.Scope
	}
	return out
}

func (s *Service) fail(code connect.Code, message, hint string) *connect.Error {
	if s.options.Fail != nil {
		return s.options.Fail(code, message, hint)
	}
	return connect.NewError(code, errors.New(message))
}

// failed returns the RPC error for an error of the index, nil for nil.
func (s *Service) failed(err error) error {
	if err == nil {
		return nil
	}
	if e, is := errors.AsType[*connect.Error](err); is { // of a stream
		return e
	}
	_, wrong := errors.AsType[*history.FilterError](err)
	_, again := errors.AsType[*history.RebuildError](err)
	_, changed := errors.AsType[*history.ChangedError](err)
	code, hint := connect.CodeInternal, ""
	switch {
	case errors.Is(err, context.Canceled):
		code = connect.CodeCanceled
	case errors.Is(err, context.DeadlineExceeded):
		code = connect.CodeDeadlineExceeded
	case wrong:
		code = connect.CodeInvalidArgument
	case again, changed, errors.Is(err, history.ErrLocked):
		code, hint = connect.CodeUnavailable, "Ask again in a moment."
	}
	return s.fail(code, convert.Text(err.Error()), hint)
}
