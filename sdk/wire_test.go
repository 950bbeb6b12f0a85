package sdk

import (
	"encoding/json"
	"log/slog"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/toolhost/toolhost/internal/wire/pluginv1"
)

// anyText is text as plugins may have it, also broken.
var anyText = rapid.OneOf(rapid.String(), rapid.Map(anyBytes, func(b []byte) string { return string(b) }))

var anyBytes = rapid.SliceOfN(rapid.Byte(), 0, 40)

// maybeJSON is JSON, or bytes that claim to be.
var maybeJSON = rapid.OneOf(
	rapid.SampledFrom([]string{`{}`, ` {"a":{"b":[1,null]}}`, `[1]`, `"text"`, `5`, `{"a":`, `{}{}`, ``}),
	rapid.Map(anyBytes, func(b []byte) string { return string(b) }),
)

func drawJSON(t *rapid.T, label string) json.RawMessage {
	return orNil([]byte(maybeJSON.Draw(t, label)))
}

// crosses sends a message over what gRPC makes of it, and gives what arrives.
func crosses[M proto.Message](t *rapid.T, sent, arrived M) M {
	wire, err := proto.Marshal(sent)
	if err != nil {
		t.Fatalf("%v cannot be sent: %v", sent, err)
	}
	if err := proto.Unmarshal(wire, arrived); err != nil {
		t.Fatal(err)
	}
	return arrived
}

// same compares; go-cmp, which looks at every byte by itself, only says what differs.
func same(t rapid.TB, want, got any) {
	t.Helper()
	if !reflect.DeepEqual(want, got) {
		t.Fatalf("%.2000s", cmp.Diff(want, got))
	}
}

// isObject is the test's own idea of a JSON object.
func isObject(raw json.RawMessage) json.RawMessage {
	var object map[string]any
	if err := json.Unmarshal(raw, &object); err != nil || object == nil {
		return nil
	}
	return raw
}

func isJSON(raw json.RawMessage) json.RawMessage {
	if !json.Valid(raw) {
		return nil
	}
	return raw
}

func TestToolCrossesTheWire(t *testing.T) {
	hint := rapid.Ptr(rapid.Bool(), true)
	rapid.Check(t, func(t *rapid.T) {
		in := Tool{
			Name: rapid.StringMatching(`[a-z0-9][a-z0-9_-]{0,20}`).Draw(t, "name"), Title: anyText.Draw(t, "title"),
			Description: anyText.Draw(t, "description"), InputSchema: drawJSON(t, "input"), OutputSchema: drawJSON(t, "output"),
			Hints: Hints{ReadOnly: hint.Draw(t, "read_only"), Destructive: hint.Draw(t, "destructive"),
				Idempotent: hint.Draw(t, "idempotent"), OpenWorld: hint.Draw(t, "open_world")},
			Category: anyText.Draw(t, "category"), CostTier: rapid.SampledFrom([]CostTier{"", Free, Cheap, Expensive}).Draw(t, "cost"),
			Timeout:        time.Duration(rapid.Int64Range(0, maxTimeout).Draw(t, "timeout")) * time.Millisecond,
			MaxResultBytes: rapid.Int64().Draw(t, "max"), OriginalName: anyText.Draw(t, "original"), Previews: rapid.Bool().Draw(t, "previews"), PathAware: rapid.Bool().Draw(t, "path aware"),
		}
		want := in
		want.Title, want.Description, want.Category, want.OriginalName =
			clean(in.Title), clean(in.Description), clean(in.Category), clean(in.OriginalName)
		same(t, want, toolFromWire(crosses(t, toolToWire(&in), &pluginv1.Tool{})))
	})
}

func TestTimeoutCrossesTheWire(t *testing.T) {
	for in, want := range map[time.Duration]time.Duration{
		0:                       0,
		1:                       time.Millisecond, // zero would stand for the host's default
		1500 * time.Microsecond: 2 * time.Millisecond,
		time.Minute:             time.Minute,
	} {
		tool := Tool{Timeout: in}
		if got := toolFromWire(toolToWire(&tool)).Timeout; got != want {
			t.Errorf("%v becomes %v, want %v", in, got, want)
		}
	}
	for ms, want := range map[int64]time.Duration{math.MaxInt64: time.Duration(maxTimeout) * time.Millisecond, math.MinInt64: -time.Millisecond} {
		if got := toolFromWire(&pluginv1.Tool{TimeoutMs: ms}).Timeout; got != want {
			t.Errorf("%d ms becomes %v, want %v", ms, got, want)
		}
	}
}

func TestRequestCrossesTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := Request{CallID: anyText.Draw(t, "id"), Tool: anyText.Draw(t, "tool"), Arguments: drawJSON(t, "arguments"),
			Workdir: anyText.Draw(t, "workdir"), SessionID: anyText.Draw(t, "session"), Attempt: int(rapid.Int32().Draw(t, "attempt")),
			RunID: anyText.Draw(t, "run")}
		if !utf8.ValidString(in.Workdir) {
			if e := in.check(); e == nil || e.Name != "BadWorkdir" {
				t.Fatalf("the work folder %q gives %v", in.Workdir, e)
			}
			in.Workdir = ""
		}
		want := in
		want.CallID, want.Tool, want.SessionID, want.RunID = clean(in.CallID), clean(in.Tool), clean(in.SessionID), clean(in.RunID)
		same(t, want, *requestFromWire(crosses(t, requestToWire(&in), &pluginv1.CallRequest{})))
		want.Attempt, want.RunID = 0, ""
		same(t, want, *previewRequestFromWire(crosses(t, previewRequestToWire(&in), &pluginv1.PreviewRequest{})))
	})
}

func drawContent(t *rapid.T) Content {
	return Content{Type: anyText.Draw(t, "type"), Text: anyText.Draw(t, "text"), Data: orNil(anyBytes.Draw(t, "data")),
		MIMEType: anyText.Draw(t, "mime"), URI: anyText.Draw(t, "uri"), Name: anyText.Draw(t, "name"), Raw: drawJSON(t, "raw")}
}

func drawError(t *rapid.T) *Error {
	if !rapid.Bool().Draw(t, "fails") {
		return nil
	}
	code := rapid.SampledFrom([]Code{"", CodeTool, CodeInvalidArgs, CodeToolNotFound, CodeResultTooLarge, CodeTimeout, CodeCanceled,
		CodePluginCrashed, CodeInternal, "E_DENIED", "\xff"})
	return &Error{Code: code.Draw(t, "code"), Name: anyText.Draw(t, "name"), Message: anyText.Draw(t, "message"),
		Suggestion: anyText.Draw(t, "suggestion"), HelpURL: anyText.Draw(t, "help"), Retryable: rapid.Bool().Draw(t, "retryable"),
		Details: drawJSON(t, "details")}
}

func drawResult(t *rapid.T) *Result {
	r := &Result{Structured: drawJSON(t, "structured"), Error: drawError(t), Truncated: rapid.Bool().Draw(t, "truncated")}
	for range rapid.IntRange(0, 3).Draw(t, "parts") {
		r.Content = append(r.Content, drawContent(t))
	}
	return r
}

// arrived is what the other end should see of a result.
func arrived(r *Result) *Result {
	out := &Result{Structured: isJSON(r.Structured), Error: arrivedError(r.Error), Truncated: r.Truncated}
	for _, c := range r.Content {
		c.Type, c.MIMEType, c.URI, c.Name, c.Raw = clean(c.Type), clean(c.MIMEType), clean(c.URI), clean(c.Name), isObject(c.Raw)
		out.Content = append(out.Content, c)
	}
	return out
}

// cleanTexts is what becomes of the texts once they are whole.
func cleanTexts(r *Result) {
	for i, c := range r.Content {
		r.Content[i].Text = strings.ToValidUTF8(c.Text, "\uFFFD")
	}
}

func arrivedError(e *Error) *Error {
	if e == nil {
		return nil
	}
	out := &Error{Code: CodeTool, Outcome: OutcomeFailed, Name: clean(e.Name), Message: clean(e.Message), Suggestion: clean(e.Suggestion),
		HelpURL: clean(e.HelpURL), Retryable: e.Retryable, Details: isObject(e.Details)}
	if e.Outcome == OutcomeUnknown {
		out.Outcome = OutcomeUnknown
	}
	if slices.Contains([]Code{CodeInvalidArgs, CodeToolNotFound, CodeTimeout, CodeCanceled, CodeResultTooLarge}, e.Code) {
		out.Code = e.Code
	}
	return out
}

func TestResultCrossesTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawResult(t)
		same(t, arrived(in), resultFromWire(crosses(t, resultToWire(in), &pluginv1.Result{})))
	})
}

func TestPreviewCrossesTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := arrived(drawResult(t))
		in := &Preview{Content: r.Content, Effect: anyText.Draw(t, "effect"), Reason: anyText.Draw(t, "reason"), Structured: rapid.SampledFrom([]json.RawMessage{nil, json.RawMessage(`{"kind":"x"}`)}).Draw(t, "structured"), UnlessAllowed: rapid.Bool().Draw(t, "unless")}
		out := crosses(t, previewToWire(in, r.Error), &pluginv1.PreviewResponse{})
		cleanTexts(r)
		same(t, &Preview{Content: r.Content, Effect: clean(in.Effect), Reason: clean(in.Reason), Structured: in.Structured, UnlessAllowed: in.UnlessAllowed}, previewFromWire(out))
		same(t, r.Error, errorFromWire(out.GetError()))
	})
}

func TestEventCrossesTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.OneOf(
			rapid.Just(Event{Type: EventStarted}),
			rapid.Custom(func(t *rapid.T) Event {
				return Event{Type: EventProgress, Done: rapid.Float64().Draw(t, "done"), Total: rapid.Float64().Draw(t, "total"), Message: anyText.Draw(t, "message")}
			}),
			rapid.Custom(func(t *rapid.T) Event {
				return Event{Type: EventLog, Level: slog.Level(rapid.Int32().Draw(t, "level")), Message: anyText.Draw(t, "message"), Attributes: drawJSON(t, "attributes")}
			}),
			rapid.Custom(func(t *rapid.T) Event {
				return Event{Type: EventOutput, Stream: rapid.SampledFrom([]string{"stdout", "stderr", "", "\xff"}).Draw(t, "stream"), Data: orNil(anyBytes.Draw(t, "data"))}
			}),
		).Draw(t, "event")
		want := in
		want.Message, want.Attributes = clean(in.Message), isObject(in.Attributes)
		if in.Type == EventOutput && in.Stream != "stderr" {
			want.Stream = "stdout"
		}
		got, ok := eventFromWire(crosses(t, eventToWire(in), &pluginv1.CallEvent{}))
		if !ok {
			t.Fatal("it is no event at the other end")
		}
		same(t, want, got)
	})
}

func TestEventsOfOtherVersions(t *testing.T) {
	if m := eventToWire(Event{Type: "sang"}); m != nil {
		t.Errorf("an unknown type is sent as %v", m)
	}
	for _, m := range []*pluginv1.CallEvent{nil, {}, {Event: &pluginv1.CallEvent_Result{}}} {
		if e, ok := eventFromWire(m); ok {
			t.Errorf("%v is read as %+v", m, e)
		}
	}
	e, _ := eventFromWire(&pluginv1.CallEvent{Event: &pluginv1.CallEvent_Log{Log: &pluginv1.Log{Level: "loud"}}})
	if e.Level != slog.LevelInfo {
		t.Errorf("an unknown level is read as %v", e.Level)
	}
}
