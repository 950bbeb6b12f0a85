package client

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/toolhost/toolhost/internal/mcpcontent"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/internal/wire/pluginv1"
	"github.com/toolhost/toolhost/sdk"
)

// This file converts sdk's types to messages and back at the host's end, in the order of sdk/convert.go, which does it
// at the plugin's. Text in proto strings is made valid UTF-8, since gRPC fails the whole call otherwise. A plugin may
// have sent anything: what cannot be read is dropped or cut.

// Limits of texts of a plugin for people, in characters. The rest is cut.
const (
	maxWord    = 100 // of its name, its version, its kit
	maxNotice  = 2000
	maxNotices = 64 // how many
	maxKind    = 64
	maxMemory  = 4 << 10 // of its note to itself, in bytes; a longer one is dropped
	maxStatus  = 4 << 10 // of a gRPC status
)

func descriptionFromWire(r *pluginv1.DescribeResponse) *sdk.Description {
	out := &sdk.Description{Name: oneLine(r.GetName(), maxWord), Version: oneLine(r.GetVersion(), maxWord),
		SDK:          oneLine(r.GetSdk(), maxWord),
		ConfigSchema: wire.OrNil(r.GetConfigSchema()), Dynamic: r.GetDynamic(), Cacheable: r.GetCacheable(),
		Notices: notices(r.GetNotices(), r.GetNoticeKinds()), Missing: oneLine(r.GetMissing(), maxNotice)}
	if len(r.GetMemory()) <= maxMemory {
		out.Memory = r.GetMemory()
	}
	out.Pending = r.GetPending() && out.Missing != ""
	for _, t := range r.GetTools() {
		out.Tools = append(out.Tools, toolFromWire(t))
	}
	return out
}

// notices returns those that are shown, each cut to a line, and says how many more there are: a problem if one of them
// is. Older plugins send no kinds.
func notices(all, kinds []string) (out []sdk.Notice) {
	more := sdk.Remark // what the notices that are not shown are
	for i, text := range all {
		kind := sdk.Remark
		if i < len(kinds) && kinds[i] == string(sdk.Problem) {
			kind = sdk.Problem
		}
		if i < maxNotices {
			out = append(out, sdk.Notice{Kind: kind, Text: oneLine(text, maxNotice)})
		} else if kind == sdk.Problem {
			more = kind
		}
	}
	if n := len(all) - maxNotices; n > 0 {
		text := fmt.Sprintf("... and %d more notices; at most %d are shown", n, maxNotices)
		out = append(out, sdk.Notice{Kind: more, Text: text})
	}
	return out
}

// oneLine is text of at most so many characters, on one line, which could otherwise read as one of the host's own, and
// without any that cannot be seen.
func oneLine(text string, most int) string {
	text, _ = textutil.Visible(text, -1)
	return textutil.CutRunes(strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, text), most, "... (cut)")
}

func toolFromWire(t *pluginv1.Tool) sdk.Tool {
	const maxTimeout = math.MaxInt64 / int64(time.Millisecond) // the longest that a time.Duration holds
	return sdk.Tool{
		Name: t.GetName(), Title: t.GetTitle(), Description: t.GetDescription(),
		InputSchema: wire.OrNil(t.GetInputSchema()), OutputSchema: wire.OrNil(t.GetOutputSchema()),
		Hints: hintsFromWire(t.GetHints()), Category: t.GetCategory(), CostTier: sdk.CostTier(t.GetCostTier()),
		Timeout:        time.Duration(max(-1, min(t.GetTimeoutMs(), maxTimeout))) * time.Millisecond,
		MaxResultBytes: t.GetMaxResultBytes(),
		OriginalName:   t.GetOriginalName(), Previews: t.GetPreviews(), Stateful: t.GetStateful(),
		ForeignSchema: t.GetForeignSchema(), PathAware: t.GetPathAware(),
		Extra: wire.OrNil(t.GetExtra()), ForeignHints: t.GetForeignHints(), TextIsJSON: t.GetTextIsJson(),
	}
}

// toolToWire writes a tool that the plugin reported earlier.
func toolToWire(t *sdk.Tool) *pluginv1.Tool {
	return &pluginv1.Tool{
		Name: textutil.Clean(t.Name), Title: textutil.Clean(t.Title), Description: textutil.Clean(t.Description),
		InputSchema: t.InputSchema, OutputSchema: t.OutputSchema,
		Hints: &pluginv1.Hints{ReadOnly: t.Hints.ReadOnly, Destructive: t.Hints.Destructive,
			Idempotent: t.Hints.Idempotent, OpenWorld: t.Hints.OpenWorld},
		Category: textutil.Clean(t.Category), CostTier: textutil.Clean(string(t.CostTier)),
		TimeoutMs: t.Timeout.Milliseconds(), MaxResultBytes: t.MaxResultBytes,
		OriginalName: textutil.Clean(t.OriginalName), Previews: t.Previews, Stateful: t.Stateful,
		ForeignSchema: t.ForeignSchema, PathAware: t.PathAware,
		Extra: t.Extra, ForeignHints: t.ForeignHints, TextIsJson: t.TextIsJSON,
	}
}

func hintsFromWire(h *pluginv1.Hints) sdk.Hints {
	if h == nil {
		return sdk.Hints{}
	}
	return sdk.Hints{ReadOnly: h.ReadOnly, Destructive: h.Destructive, Idempotent: h.Idempotent, OpenWorld: h.OpenWorld}
}

// requestToWire does not change a work folder that is not UTF-8, since another name would be another folder: the
// request is refused.
func requestToWire(r *sdk.Request) *pluginv1.CallRequest {
	out := requests.Get().(*pluginv1.CallRequest)
	out.CallId, out.RunId, out.SessionId = textutil.Clean(r.CallID), textutil.Clean(r.RunID), textutil.Clean(r.SessionID)
	out.Tool, out.Arguments, out.Workdir = textutil.Clean(r.Tool), r.Arguments, r.Workdir
	out.Attempt, out.SingleCall, out.MaxLargeBytes = int32(r.Attempt), r.SingleCall, r.MaxLarge
	out.LeaveOut, out.Roots = wire.List[[]byte](r.LeaveOut), wire.List[[]byte](r.Roots)
	out.InputResponses, out.RequestState = wire.Objects[[]byte](r.InputResponses), []byte(r.RequestState)
	out.DuringQuestions, out.Capabilities, out.Meta = r.DuringQuestions, r.Capabilities, r.Meta
	out.TraceParent, out.TraceState = textutil.Clean(r.TraceParent), textutil.Clean(r.TraceState)
	return out
}

// requests are those of calls that were sent over a session: a request is large beside a small call's arguments.
var requests = sync.Pool{New: func() any { return &pluginv1.CallRequest{} }}

func newReceiver(r *sdk.Request) wire.Receiver {
	in := wire.NewReceiver()
	if r.MaxLarge > 0 && r.Large != nil {
		in.TakeLarge(r.MaxLarge, func(c *pluginv1.Content, size int64) wire.LargePart {
			return largePart{r.Large.OpenLarge(contentFromWire(c), size)}
		})
	}
	return in
}

type largePart struct{ sdk.LargePart }

func (p largePart) Done() *pluginv1.Content {
	c := p.LargePart.Done()
	return &pluginv1.Content{Type: textutil.Clean(c.Type), Text: []byte(c.Text)}
}

func previewFromWire(p *pluginv1.PreviewResponse) *sdk.Preview {
	out := &sdk.Preview{Effect: p.GetEffect(), Reason: p.GetReason(), Structured: validObject(p.GetStructured()),
		UnlessAllowed: p.GetUnlessAllowed()}
	out.Content, _ = readable(p.GetContent())
	return out
}

// contentFromWire reads a part. One whose source says something else than its other fields has no type then, so that it
// is taken for broken.
func contentFromWire(c *pluginv1.Content) sdk.Content {
	out := sdk.Content{Type: c.GetType(), Text: textutil.OwnedString(c.GetText()), Data: c.GetData(),
		MIMEType: c.GetMimeType(),
		URI:      c.GetUri(), Name: c.GetName(), Raw: validObject(c.GetRaw()), Extra: validObject(c.GetExtra()),
		Source: validObject(c.GetSource())}
	if len(c.GetSource()) == 0 {
		return out
	}
	read, _ := mcpcontent.Resolve(mcpcontent.Part(out))
	return sdk.Content(read)
}

// resultFromWire leaves out what of a result cannot be read, and says so in its error: the call has run.
func resultFromWire(r *pluginv1.Result) *sdk.Result {
	content, faults := readable(r.GetContent())
	out := &sdk.Result{Content: content, Structured: validJSON(r.GetStructured()), Truncated: r.GetTruncated(),
		Extra: validObject(r.GetExtra())}
	if len(r.GetExtra()) > 0 && out.Extra == nil {
		faults = append(faults, "the JSON of its extra members "+cmp.Or(jsonFault(r.GetExtra()), "is not an object"))
	}
	if len(r.GetStructured()) > 0 && out.Structured == nil {
		faults = append(faults, "the structured JSON "+jsonFault(r.GetStructured()))
	}
	if in := r.GetInputRequired(); in != nil {
		out.InputRequired = &sdk.InputRequired{Requests: map[string]json.RawMessage{}, State: string(in.GetState()),
			Suspended: in.GetSuspended()}
		for key, request := range in.GetRequests() {
			out.InputRequired.Requests[key] = request
		}
		faults = addInputFaults(faults, out)
	}
	if out.Error = WithFaults(errorFromWire(r.GetError()), faults); out.Error != nil {
		out.InputRequired = nil // what failed asks nothing
	}
	return out
}

// errorFromWire accepts from a plugin only the codes that plugins may set; everything else is the tool's own
// failure. Its outcome is that the plugin answered, unless the answer is that it does not know.
func errorFromWire(e *pluginv1.Error) *sdk.Error {
	if e == nil {
		return nil
	}
	wire.LimitDetails(e)
	out := &sdk.Error{Code: sdk.CodeTool, Name: e.GetName(), Message: e.GetMessage(), Suggestion: e.GetSuggestion(),
		HelpURL: e.GetHelpUrl(), Retryable: e.GetRetryable(), Outcome: sdk.OutcomeFailed,
		Details: validObject(e.GetDetails())}
	if e.GetOutcomeUnknown() {
		out.Outcome = sdk.OutcomeUnknown
	}
	switch c := sdk.Code(e.GetCode()); c {
	case sdk.CodeInvalidArgs, sdk.CodeToolNotFound, sdk.CodeTimeout, sdk.CodeCanceled, sdk.CodeResultTooLarge,
		sdk.CodePluginUnavailable: // of what the plugin needs
		out.Code = c
	}
	return out
}

// eventFromWire returns false for an event that is not known to this version.
func eventFromWire(e *pluginv1.CallEvent) (sdk.Event, bool) {
	switch v := e.GetEvent().(type) {
	case *pluginv1.CallEvent_Started:
		return sdk.Event{Type: sdk.EventStarted}, true
	case *pluginv1.CallEvent_Progress:
		return sdk.Event{Type: sdk.EventProgress, Done: finite(v.Progress.GetDone()), Total: finite(v.Progress.GetTotal()),
			Message: v.Progress.GetMessage()}, true
	case *pluginv1.CallEvent_Log:
		var level slog.Level
		if err := level.UnmarshalText([]byte(v.Log.GetLevel())); err != nil {
			level = slog.LevelInfo
		}
		return sdk.Event{Type: sdk.EventLog, Level: level, Message: v.Log.GetMessage(),
			Attributes: validObject(v.Log.GetAttributes())}, true
	case *pluginv1.CallEvent_Output:
		stream := "stdout" // any but standard error
		if v.Output.GetStream() == "stderr" {
			stream = "stderr"
		}
		return sdk.Event{Type: sdk.EventOutput, Stream: stream, Data: v.Output.GetData()}, true
	}
	return sdk.Event{}, false
}

// finite is 0 for numbers that JSON does not have.
func finite(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}

// validObject returns nil for bytes that are not a JSON object.
func validObject(raw []byte) json.RawMessage {
	if rawjson.First(raw) != '{' {
		return nil
	}
	return validJSON(raw)
}

// validJSON returns nil for bytes that are not JSON, and makes the strings in it well-formed.
func validJSON(raw []byte) json.RawMessage {
	if len(raw) == 0 || !json.Valid(raw) {
		return nil
	}
	return rawjson.WellFormed(raw)
}
