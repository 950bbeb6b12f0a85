package sdk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/wire/pluginv1"
)

// This file turns the vocabulary into wire messages and back. Each pair stands side by side; a new field is one visit.
// Text in proto strings is made valid UTF-8, since gRPC fails the whole call otherwise; JSON and content travel as bytes.
// Only a work folder stays as it is: another name would be another folder, so Request.check refuses it.

func clean(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func toolToWire(t *Tool) *pluginv1.Tool {
	return &pluginv1.Tool{
		Name: t.Name, Title: clean(t.Title), Description: clean(t.Description),
		InputSchema: t.InputSchema, OutputSchema: t.OutputSchema,
		Hints:    hintsToWire(t.Hints),
		Category: clean(t.Category), CostTier: string(t.CostTier),
		TimeoutMs: milliseconds(t.Timeout), MaxResultBytes: t.MaxResultBytes,
		OriginalName: clean(t.OriginalName), Previews: t.Previews, Stateful: t.Stateful, ForeignSchema: t.ForeignSchema, PathAware: t.PathAware,
	}
}

func toolFromWire(t *pluginv1.Tool) Tool {
	return Tool{
		Name: t.GetName(), Title: t.GetTitle(), Description: t.GetDescription(),
		InputSchema: orNil(t.GetInputSchema()), OutputSchema: orNil(t.GetOutputSchema()),
		Hints:    hintsFromWire(t.GetHints()),
		Category: t.GetCategory(), CostTier: CostTier(t.GetCostTier()),
		Timeout: time.Duration(max(-1, min(t.GetTimeoutMs(), maxTimeout))) * time.Millisecond, MaxResultBytes: t.GetMaxResultBytes(),
		OriginalName: t.GetOriginalName(), Previews: t.GetPreviews(), Stateful: t.GetStateful(), ForeignSchema: t.GetForeignSchema(), PathAware: t.GetPathAware(),
	}
}

// milliseconds rounds up: zero stands for the host's default.
func milliseconds(d time.Duration) int64 {
	ms := d.Milliseconds()
	if d%time.Millisecond > 0 {
		ms++
	}
	return ms
}

// maxTimeout is the longest that a time.Duration holds, in milliseconds.
const maxTimeout = math.MaxInt64 / int64(time.Millisecond)

func hintsToWire(h Hints) *pluginv1.Hints {
	return &pluginv1.Hints{ReadOnly: h.ReadOnly, Destructive: h.Destructive, Idempotent: h.Idempotent, OpenWorld: h.OpenWorld}
}

func hintsFromWire(h *pluginv1.Hints) Hints {
	if h == nil {
		return Hints{}
	}
	return Hints{ReadOnly: h.ReadOnly, Destructive: h.Destructive, Idempotent: h.Idempotent, OpenWorld: h.OpenWorld}
}

func requestToWire(r *Request) *pluginv1.CallRequest {
	return &pluginv1.CallRequest{CallId: clean(r.CallID), Tool: clean(r.Tool), Arguments: r.Arguments, Workdir: r.Workdir,
		SessionId: clean(r.SessionID), Attempt: int32(r.Attempt), RunId: clean(r.RunID), SingleCall: r.SingleCall,
		LeaveOut: pathsToWire(r.LeaveOut), Roots: pathsToWire(r.Roots)}
}

func requestFromWire(r *pluginv1.CallRequest) *Request {
	return &Request{CallID: r.GetCallId(), Tool: r.GetTool(), Arguments: orNil(r.GetArguments()), Workdir: r.GetWorkdir(),
		SessionID: r.GetSessionId(), Attempt: int(r.GetAttempt()), RunID: r.GetRunId(), SingleCall: r.GetSingleCall(),
		LeaveOut: pathsFromWire(r.GetLeaveOut()), Roots: pathsFromWire(r.GetRoots())}
}

// pathsToWire keeps the bytes of names that are no UTF-8.
func pathsToWire(paths []string) (out [][]byte) {
	for _, p := range paths {
		out = append(out, []byte(p))
	}
	return out
}

func pathsFromWire(paths [][]byte) (out []string) {
	for _, p := range paths {
		out = append(out, string(p))
	}
	return out
}

func previewRequestToWire(r *Request) *pluginv1.PreviewRequest {
	return &pluginv1.PreviewRequest{CallId: clean(r.CallID), Tool: clean(r.Tool), Arguments: r.Arguments, Workdir: r.Workdir,
		SessionId: clean(r.SessionID), SingleCall: r.SingleCall}
}

func previewRequestFromWire(r *pluginv1.PreviewRequest) *Request {
	return &Request{CallID: r.GetCallId(), Tool: r.GetTool(), Arguments: orNil(r.GetArguments()), Workdir: r.GetWorkdir(),
		SessionID: r.GetSessionId(), SingleCall: r.GetSingleCall()}
}

func previewToWire(p *Preview, e *Error) *pluginv1.PreviewResponse {
	if p == nil {
		p = &Preview{}
	}
	return &pluginv1.PreviewResponse{Content: contentsToWire(p.Content), Effect: clean(p.Effect), Reason: clean(p.Reason),
		Error: errorToWire(e), Structured: p.Structured, UnlessAllowed: p.UnlessAllowed}
}

func previewFromWire(p *pluginv1.PreviewResponse) *Preview {
	return &Preview{Content: legible(contentsFromWire(p.GetContent())), Effect: p.GetEffect(), Reason: p.GetReason(),
		Structured: validObject(p.GetStructured()), UnlessAllowed: p.GetUnlessAllowed()}
}

func contentToWire(c Content) *pluginv1.Content {
	return &pluginv1.Content{Type: clean(c.Type), Text: []byte(c.Text), Data: c.Data, MimeType: clean(c.MIMEType),
		Uri: clean(c.URI), Name: clean(c.Name), Raw: c.Raw}
}

func contentFromWire(c *pluginv1.Content) Content {
	return Content{Type: c.GetType(), Text: string(c.GetText()), Data: c.GetData(), MIMEType: c.GetMimeType(),
		URI: c.GetUri(), Name: c.GetName(), Raw: validObject(c.GetRaw())}
}

func contentsToWire(parts []Content) []*pluginv1.Content {
	out := make([]*pluginv1.Content, len(parts))
	for i, c := range parts {
		out[i] = contentToWire(c)
	}
	return out
}

func contentsFromWire(parts []*pluginv1.Content) []Content {
	var out []Content
	for _, c := range parts {
		out = append(out, contentFromWire(c))
	}
	return out
}

// legible makes the texts valid UTF-8, which a plugin of another kit may have sent otherwise.
func legible(parts []Content) []Content {
	for i := range parts {
		parts[i].Text = clean(parts[i].Text)
	}
	return parts
}

func resultToWire(r *Result) *pluginv1.Result {
	return &pluginv1.Result{Content: contentsToWire(r.Content), Structured: r.Structured, Error: errorToWire(r.Error), Truncated: r.Truncated}
}

func resultFromWire(r *pluginv1.Result) *Result {
	return &Result{Content: contentsFromWire(r.GetContent()), Structured: validJSON(r.GetStructured()),
		Error: errorFromWire(r.GetError()), Truncated: r.GetTruncated()}
}

func errorToWire(e *Error) *pluginv1.Error {
	if e == nil {
		return nil
	}
	return &pluginv1.Error{Code: clean(string(e.Code)), Name: clean(e.Name), Message: clean(e.Message), Suggestion: clean(e.Suggestion),
		HelpUrl: clean(e.HelpURL), Retryable: e.Retryable, Details: e.Details,
		OutcomeUnknown: e.Outcome == OutcomeUnknown}
}

// errorFromWire believes a plugin only the codes that are a plugin's to give; everything else is the tool's own failure. Its
// outcome is that there is an answer, unless that says that nobody knows.
func errorFromWire(e *pluginv1.Error) *Error {
	if e == nil {
		return nil
	}
	out := &Error{Code: CodeTool, Name: e.GetName(), Message: e.GetMessage(), Suggestion: e.GetSuggestion(),
		HelpURL: e.GetHelpUrl(), Retryable: e.GetRetryable(), Outcome: OutcomeFailed, Details: detailsFromWire(e.GetDetails())}
	if e.GetOutcomeUnknown() {
		out.Outcome = OutcomeUnknown
	}
	switch c := Code(e.GetCode()); c {
	case CodeInvalidArgs, CodeToolNotFound, CodeTimeout, CodeCanceled, CodeResultTooLarge:
		out.Code = c
	}
	return out
}

func detailsFromWire(raw []byte) json.RawMessage {
	if len(raw) > maxDetails {
		return Details(map[string]string{"left_out": fmt.Sprintf("details of %d bytes, at most %d are allowed", len(raw), maxDetails)})
	}
	return validObject(raw)
}

// validJSON drops what is not JSON, so that nobody further on has to fear it.
func validJSON(raw []byte) json.RawMessage {
	if len(raw) == 0 || !json.Valid(raw) {
		return nil
	}
	return cleanBytes(raw)
}

func validObject(raw []byte) json.RawMessage {
	if !bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("{")) {
		return nil
	}
	return validJSON(raw)
}

// orNil gives absent bytes one form: the wire does not tell nil from empty.
func orNil(raw []byte) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	return raw
}

func eventToWire(e Event) *pluginv1.CallEvent {
	switch e.Type {
	case EventStarted:
		return &pluginv1.CallEvent{Event: &pluginv1.CallEvent_Started{Started: &pluginv1.Started{}}}
	case EventProgress:
		return &pluginv1.CallEvent{Event: &pluginv1.CallEvent_Progress{Progress: &pluginv1.Progress{
			Done: e.Done, Total: e.Total, Message: clean(e.Message)}}}
	case EventLog:
		return &pluginv1.CallEvent{Event: &pluginv1.CallEvent_Log{Log: &pluginv1.Log{
			Level: strings.ToLower(e.Level.String()), Message: clean(e.Message), Attributes: e.Attributes}}}
	case EventOutput:
		return &pluginv1.CallEvent{Event: &pluginv1.CallEvent_Output{Output: &pluginv1.Output{
			Stream: clean(e.Stream), Data: e.Data}}}
	}
	return nil
}

// eventFromWire gives false for what is no event for watchers, or not known to this version.
func eventFromWire(e *pluginv1.CallEvent) (Event, bool) {
	switch v := e.GetEvent().(type) {
	case *pluginv1.CallEvent_Started:
		return Event{Type: EventStarted}, true
	case *pluginv1.CallEvent_Progress:
		return Event{Type: EventProgress, Done: finite(v.Progress.GetDone()), Total: finite(v.Progress.GetTotal()), Message: v.Progress.GetMessage()}, true
	case *pluginv1.CallEvent_Log:
		return Event{Type: EventLog, Level: levelFromWire(v.Log.GetLevel()), Message: v.Log.GetMessage(),
			Attributes: validObject(v.Log.GetAttributes())}, true
	case *pluginv1.CallEvent_Output:
		return Event{Type: EventOutput, Stream: streamFromWire(v.Output.GetStream()), Data: v.Output.GetData()}, true
	}
	return Event{}, false
}

// streamFromWire takes any stream but one for standard output.
func streamFromWire(name string) string {
	if name == "stderr" {
		return name
	}
	return "stdout"
}

func levelFromWire(text string) slog.Level {
	var level slog.Level
	if err := level.UnmarshalText([]byte(text)); err != nil {
		return slog.LevelInfo
	}
	return level
}
