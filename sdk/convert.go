package sdk

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/mcpcontent"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/internal/wire/pluginv1"
)

// This file converts the types of this package to messages and back at the plugin's end;
// internal/wire/client/convert.go does so at the host's, in the same order, and internal/wire/convert.go for both.
// Text in proto strings is made valid UTF-8, since gRPC fails the whole call otherwise; JSON and content travel as
// bytes.

func toolToWire(t *Tool) *pluginv1.Tool {
	ms := t.Timeout.Milliseconds()
	if t.Timeout%time.Millisecond > 0 { // rounded up: zero stands for the host's default
		ms++
	}
	return &pluginv1.Tool{
		Name: t.Name, Title: textutil.Clean(t.Title), Description: textutil.Clean(t.Description),
		InputSchema: t.InputSchema, OutputSchema: t.OutputSchema,
		Hints: &pluginv1.Hints{ReadOnly: t.Hints.ReadOnly, Destructive: t.Hints.Destructive,
			Idempotent: t.Hints.Idempotent, OpenWorld: t.Hints.OpenWorld},
		Category: textutil.Clean(t.Category), CostTier: string(t.CostTier),
		TimeoutMs: ms, MaxResultBytes: t.MaxResultBytes,
		OriginalName: textutil.Clean(t.OriginalName), Previews: t.Previews, Stateful: t.Stateful,
		ForeignSchema: t.ForeignSchema, PathAware: t.PathAware,
		Extra: t.Extra, ForeignHints: t.ForeignHints, TextIsJson: t.TextIsJSON,
	}
}

func toolFromWire(t *pluginv1.Tool) Tool {
	h := cmp.Or(t.GetHints(), &pluginv1.Hints{})
	return Tool{
		Name: t.GetName(), Title: t.GetTitle(), Description: t.GetDescription(),
		InputSchema: wire.OrNil(t.GetInputSchema()), OutputSchema: wire.OrNil(t.GetOutputSchema()),
		Hints:    Hints{ReadOnly: h.ReadOnly, Destructive: h.Destructive, Idempotent: h.Idempotent, OpenWorld: h.OpenWorld},
		Category: t.GetCategory(), CostTier: CostTier(t.GetCostTier()),
		Timeout: time.Duration(t.GetTimeoutMs()) * time.Millisecond, MaxResultBytes: t.GetMaxResultBytes(),
		OriginalName: t.GetOriginalName(), Previews: t.GetPreviews(), Stateful: t.GetStateful(),
		ForeignSchema: t.GetForeignSchema(), PathAware: t.GetPathAware(),
		Extra: wire.OrNil(t.GetExtra()), ForeignHints: t.GetForeignHints(), TextIsJSON: t.GetTextIsJson(),
	}
}

func requestFromWire(r *pluginv1.CallRequest) Request {
	return Request{CallID: r.GetCallId(), Tool: r.GetTool(), Arguments: wire.OrNil(r.GetArguments()),
		Workdir:   r.GetWorkdir(),
		SessionID: r.GetSessionId(), Attempt: int(r.GetAttempt()), RunID: r.GetRunId(), SingleCall: r.GetSingleCall(),
		LeaveOut: wire.List[string](r.GetLeaveOut()), Roots: wire.List[string](r.GetRoots()),
		InputResponses: wire.Objects[json.RawMessage](r.GetInputResponses()), RequestState: string(r.GetRequestState()),
		DuringQuestions: r.GetDuringQuestions(),
		Capabilities:    wire.OrNil(r.GetCapabilities()), Meta: wire.OrNil(r.GetMeta()),
		TraceParent: r.GetTraceParent(), TraceState: r.GetTraceState()}
}

func previewToWire(p *Preview, e *Error) *pluginv1.PreviewResponse {
	p = cmp.Or(p, &Preview{})
	return &pluginv1.PreviewResponse{Content: contentsToWire(p.Content), Effect: textutil.Clean(p.Effect),
		Reason: textutil.Clean(p.Reason), Error: errorToWire(e), Structured: p.Structured, UnlessAllowed: p.UnlessAllowed}
}

func contentsToWire(parts []Content) []*pluginv1.Content {
	out := make([]*pluginv1.Content, len(parts))
	for i, c := range parts {
		out[i] = wire.FromContent(mcpcontent.Sent(mcpcontent.Part(c)))
	}
	return out
}

// resultFromWire reads a result that the host sent, which has checked it.
func resultFromWire(r *pluginv1.Result) *Result {
	out := &Result{Structured: wire.OrNil(r.GetStructured()), Error: errorFromWire(r.GetError()),
		Truncated: r.GetTruncated(),
		Extra:     wire.OrNil(r.GetExtra())}
	for _, c := range r.GetContent() {
		out.Content = append(out.Content, Content{Type: c.GetType(), Text: string(c.GetText()), Data: c.GetData(),
			MIMEType: c.GetMimeType(), URI: c.GetUri(), Name: c.GetName(), Raw: wire.OrNil(c.GetRaw()),
			Extra: wire.OrNil(c.GetExtra()), Source: wire.OrNil(c.GetSource())})
	}
	return out
}

func errorFromWire(e *pluginv1.Error) *Error {
	if e == nil {
		return nil
	}
	return &Error{Code: Code(e.GetCode()), Name: e.GetName(), Message: e.GetMessage(), Suggestion: e.GetSuggestion(),
		HelpURL: e.GetHelpUrl(), Retryable: e.GetRetryable(), Outcome: Outcome(e.GetOutcome()),
		Details: wire.OrNil(e.GetDetails())}
}

// resultToWire does not copy the texts of a result that is too large to send, also with so many bytes of large parts.
func resultToWire(r *Result, large int64) *pluginv1.Result {
	size := len(r.Structured) + len(r.Extra)
	for _, c := range r.Content {
		size += len(c.Text) + len(c.Data) + len(c.Raw) + len(c.Extra)
	}
	if int64(size) > MaxResult+large {
		return &pluginv1.Result{Error: wire.ResultTooLarge(size, large)}
	}
	return &pluginv1.Result{Content: contentsToWire(r.Content), Structured: r.Structured, Error: errorToWire(r.Error),
		Truncated: r.Truncated, Extra: r.Extra, InputRequired: inputRequiredToWire(r.InputRequired)}
}

func inputRequiredToWire(in *InputRequired) *pluginv1.InputRequired {
	if in == nil {
		return nil
	}
	return &pluginv1.InputRequired{Requests: wire.Objects[[]byte](in.Requests), State: []byte(in.State),
		Suspended: in.Suspended}
}

func errorToWire(e *Error) *pluginv1.Error {
	if e == nil {
		return nil
	}
	code := e.Code
	if e.Outcome == OutcomeNotSent || e.Outcome == OutcomeFailed { // of another call, which a handler passes on
		code = ""
	}
	return &pluginv1.Error{Code: textutil.Clean(string(code)), Name: textutil.Clean(e.Name),
		Message: textutil.Clean(e.Message), Suggestion: textutil.Clean(e.Suggestion), HelpUrl: textutil.Clean(e.HelpURL),
		Retryable: e.Retryable, Details: e.Details, OutcomeUnknown: e.Outcome == OutcomeUnknown}
}

// startedEvent is the same for all calls.
var startedEvent = &pluginv1.CallEvent{Event: &pluginv1.CallEvent_Started{Started: &pluginv1.Started{}}}

func eventToWire(e Event) *pluginv1.CallEvent {
	switch e.Type {
	case EventStarted:
		return startedEvent
	case EventProgress:
		return &pluginv1.CallEvent{Event: &pluginv1.CallEvent_Progress{Progress: &pluginv1.Progress{
			Done: e.Done, Total: e.Total, Message: textutil.Clean(e.Message)}}}
	case EventLog:
		return &pluginv1.CallEvent{Event: &pluginv1.CallEvent_Log{Log: &pluginv1.Log{
			Level: strings.ToLower(e.Level.String()), Message: textutil.Clean(e.Message), Attributes: e.Attributes}}}
	case EventOutput:
		return &pluginv1.CallEvent{Event: &pluginv1.CallEvent_Output{Output: &pluginv1.Output{
			Stream: textutil.Clean(e.Stream), Data: e.Data}}}
	}
	return nil
}
