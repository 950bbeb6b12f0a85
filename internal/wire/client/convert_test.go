package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/test/bufconn"
	"pgregory.net/rapid"

	"github.com/toolhost/toolhost/internal/mcpcontent"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/internal/wire/pluginv1"
	"github.com/toolhost/toolhost/sdk"
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
	return wire.OrNil([]byte(maybeJSON.Draw(t, label)))
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

// A plugin is one of the sdk, whose tool x and its preview are what a test sets them to.
type plugin struct {
	*Client
	*sdk.Plugin
	handle  sdk.Handler
	preview sdk.PreviewHandler
}

// overTheWire serves a plugin of the sdk in memory, over real gRPC.
func overTheWire(t *testing.T, prepare ...func(*sdk.Plugin)) *plugin {
	t.Helper()
	p := &plugin{Plugin: sdk.New("p", "1.0.0")}
	p.AddRawTool(sdk.Tool{Name: "x", Description: "For tests.", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) { return p.handle(ctx, r) })
	for _, f := range prepare {
		f(p.Plugin)
	}
	sdk.AddPreview(p.Plugin, "x",
		func(ctx context.Context, r *sdk.Request, _ struct{}) (*sdk.Preview, error) {
			return p.preview(ctx, r)
		})
	ctx, stop := context.WithCancel(t.Context())
	lis, served := bufconn.Listen(1<<20), make(chan error, 1)
	go func() { served <- wire.ServeListener(ctx, p.Plugin, lis) }()
	conn := dialMemory(t, lis)
	t.Cleanup(func() {
		stop()
		_ = conn.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	p.Client = New(conn)
	return p
}

func noResult(context.Context, *sdk.Request) (*sdk.Result, error) { return nil, nil }

func TestToolCrossesTheWire(t *testing.T) {
	p := overTheWire(t)
	hint := rapid.Ptr(rapid.Bool(), true)
	object := rapid.SampledFrom([]string{`{}`, `{"type":"object"}`, ` {"properties":{"a":{}}}`})
	words := func(most int) *rapid.Generator[string] {
		return anyText.Filter(func(s string) bool { return len(s) <= most })
	}
	rapid.Check(t, func(t *rapid.T) {
		in := sdk.Tool{
			Name: rapid.StringMatching(`[a-z0-9][a-z0-9-]{0,20}`).Draw(t, "name"), Title: words(256).Draw(t, "title"),
			Description: "d" + words(8191).Draw(t, "description"),
			InputSchema: json.RawMessage(object.Draw(t, "input")), OutputSchema: json.RawMessage(object.Draw(t, "output")),
			Hints: sdk.Hints{ReadOnly: hint.Draw(t, "read_only"), Destructive: hint.Draw(t, "destructive"),
				Idempotent: hint.Draw(t, "idempotent"), OpenWorld: hint.Draw(t, "open_world")},
			Category: words(64).Draw(t, "category"), CostTier: rapid.SampledFrom([]sdk.CostTier{"", sdk.Free, sdk.Cheap,
				sdk.Expensive}).Draw(t, "cost"),
			Timeout: time.Duration(rapid.Int64Range(0, math.MaxInt64/int64(time.Millisecond)).Draw(t,
				"timeout")) * time.Millisecond,
			MaxResultBytes: rapid.Int64Min(0).Draw(t, "max"), OriginalName: words(1024).Draw(t, "original"),
			Previews: rapid.Bool().Draw(t, "previews"), Stateful: rapid.Bool().Draw(t, "stateful"),
			ForeignSchema: rapid.Bool().Draw(t, "foreign"), PathAware: rapid.Bool().Draw(t, "path aware"),
		}
		notice := anyText.Draw(t, "notice")
		if err := p.SetTools([]sdk.BoundTool{{Tool: in, Handler: noResult}}, sdk.Notice{Kind: sdk.Problem, Text: notice},
			sdk.Notice{Kind: "new", Text: notice}, sdk.Notice{Text: notice}); err != nil {
			t.Fatal(err)
		}
		want := in
		want.Title, want.Description, want.Category, want.OriginalName = textutil.Clean(in.Title),
			textutil.Clean(in.Description), textutil.Clean(in.Category), textutil.Clean(in.OriginalName)
		p.MissingTools(notice, true)
		p.Remember(notice)
		got, err := p.Describe(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		same(t, &sdk.Description{Name: "p", Version: "1.0.0", SDK: got.SDK, Tools: []sdk.Tool{want}, Dynamic: true,
			Notices: []sdk.Notice{{Kind: sdk.Problem, Text: oneLine(notice, maxNotice)},
				{Kind: sdk.Remark, Text: oneLine(notice, maxNotice)}, {Kind: sdk.Remark, Text: oneLine(notice, maxNotice)}},
			Missing: oneLine(notice, maxNotice), Pending: oneLine(notice, maxNotice) != "", Memory: got.Memory}, got)
		if len(notice) <= maxMemory && got.Memory != textutil.Clean(notice) {
			t.Errorf("%q is remembered as %q", notice, got.Memory)
		}
	})
}

// A plugin gets its tools back with its configuration as it reported them.
func TestKnownToolsCrossTheWire(t *testing.T) {
	yes := true
	want := []sdk.Tool{{Name: "a", Title: "A", Description: "d", InputSchema: json.RawMessage(`{ "type":"object"}`),
		OutputSchema: json.RawMessage(`{"type": "array"}`), Hints: sdk.Hints{ReadOnly: &yes}, Category: "c",
		CostTier: sdk.Cheap, Timeout: time.Minute, MaxResultBytes: 5, OriginalName: "A!", Previews: true, Stateful: true,
		ForeignSchema: true, PathAware: true, Extra: json.RawMessage(`{"icons": []}`), ForeignHints: true}}
	if back := toolFromWire(toolToWire(&want[0])); !cmp.Equal(want[0], back) {
		t.Errorf("at the host's end: %+v", back)
	}
	var got sdk.Description
	p := overTheWire(t, func(p *sdk.Plugin) {
		sdk.Configure(p, func(_ context.Context, r *sdk.Request, _ struct{}) error {
			got = sdk.Description{Tools: r.KnownTools, Memory: r.Remembered}
			return nil
		})
	})
	known := sdk.Description{Tools: want, Memory: "a note"}
	if err := p.Configure(t.Context(), nil, "", &known); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(known, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTimeoutCrossesTheWire(t *testing.T) {
	p := overTheWire(t)
	for in, want := range map[time.Duration]time.Duration{
		0:                       0,
		1:                       time.Millisecond, // zero would stand for the host's default
		1500 * time.Microsecond: 2 * time.Millisecond,
		time.Minute:             time.Minute,
	} {
		tool := sdk.Tool{Name: "x", Description: "d", InputSchema: json.RawMessage(`{}`), Timeout: in}
		if err := p.SetTools([]sdk.BoundTool{{Tool: tool, Handler: noResult}}); err != nil {
			t.Fatal(err)
		}
		if d, err := p.Describe(t.Context()); err != nil || d.Tools[0].Timeout != want {
			t.Errorf("%v becomes %v, want %v; %v", in, d.Tools[0].Timeout, want, err)
		}
	}
	longest := time.Duration(math.MaxInt64/int64(time.Millisecond)) * time.Millisecond
	for ms, want := range map[int64]time.Duration{math.MaxInt64: longest, math.MinInt64: -time.Millisecond} {
		if got := toolFromWire(&pluginv1.Tool{TimeoutMs: ms}).Timeout; got != want {
			t.Errorf("%d ms becomes %v, want %v", ms, got, want)
		}
	}
}

// What a plugin sends as a schema is not looked at here.
func TestAnySchemaCrossesTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, out := drawJSON(t, "input"), drawJSON(t, "output")
		got := toolFromWire(&pluginv1.Tool{InputSchema: in, OutputSchema: out})
		same(t, sdk.Tool{InputSchema: in, OutputSchema: out}, got)
	})
}

func TestRequestCrossesTheWire(t *testing.T) {
	p := overTheWire(t)
	var got *sdk.Request
	p.handle = func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		got = r
		return sdk.Text("done"), nil
	}
	p.preview = func(_ context.Context, r *sdk.Request) (*sdk.Preview, error) {
		got = r
		return &sdk.Preview{}, nil
	}
	paths := rapid.SliceOfN(anyText, 0, 3)
	rapid.Check(t, func(t *rapid.T) {
		in := sdk.Request{CallID: anyText.Draw(t, "id"), Tool: "x", Arguments: drawJSON(t, "arguments"),
			Workdir: anyText.Draw(t, "workdir"), SessionID: anyText.Draw(t, "session"),
			Attempt:    int(rapid.Int32().Draw(t, "attempt")),
			SingleCall: rapid.Bool().Draw(t, "single"), DuringQuestions: rapid.Bool().Draw(t, "during"),
			LeaveOut: orNone(paths.Draw(t, "leave out")), Roots: orNone(paths.Draw(t, "roots"))}
		in.RunID = anyText.Draw(t, "run") + rapid.StringMatching(`[a-z]{20}`).Draw(t,
			"new") // a run that comes twice is refused
		want := in
		want.CallID, want.SessionID, want.RunID = textutil.Clean(in.CallID),
			textutil.Clean(in.SessionID), textutil.Clean(in.RunID)
		long := len(want.CallID) > 256 || len(want.SessionID) > 256 || len(in.Workdir) > 4096
		r, err := p.Call(context.Background(), &in)
		switch {
		case err != nil:
			t.Fatal(err)
		case !utf8.ValidString(in.Workdir):
			if r.Error == nil || r.Error.Name != "BadWorkdir" {
				t.Fatalf("the work folder %q gives %v", in.Workdir, r.Error)
			}
			return
		case long:
			if r.Error == nil || r.Error.Name != "NameTooLong" {
				t.Fatalf("it gives %v", r.Error)
			}
			return
		}
		got.Events, got.Services = nil, nil
		same(t, want, *got)
		in.Arguments = json.RawMessage(`{}`)
		if _, err := p.Preview(context.Background(), &in); err != nil {
			t.Fatal(err)
		}
		got.Events, got.Services = nil, nil
		want.Arguments, want.Attempt, want.RunID, want.LeaveOut, want.Roots = in.Arguments, 0, "", nil, nil
		want.DuringQuestions = false
		same(t, want, *got)
	})
}

func orNone(paths []string) []string {
	if len(paths) == 0 {
		return nil
	}
	return paths
}

func drawContent(t *rapid.T) sdk.Content {
	return sdk.Content{Type: anyText.Draw(t, "type"), Text: anyText.Draw(t, "text"), Data: wire.OrNil(anyBytes.Draw(t, "data")),
		MIMEType: anyText.Draw(t, "mime"), URI: anyText.Draw(t, "uri"), Name: anyText.Draw(t, "name"),
		Raw: drawJSON(t, "raw")}
}

// drawError has a message: the sdk writes one for an error without.
func drawError(t *rapid.T) *sdk.Error {
	if !rapid.Bool().Draw(t, "fails") {
		return nil
	}
	code := rapid.SampledFrom([]sdk.Code{"", sdk.CodeTool, sdk.CodeInvalidArgs, sdk.CodeToolNotFound,
		sdk.CodeResultTooLarge, sdk.CodeTimeout,
		sdk.CodeCanceled, sdk.CodePluginCrashed, sdk.CodeInternal, "E_DENIED", "\xff"})
	return &sdk.Error{Code: code.Draw(t, "code"), Name: anyText.Draw(t, "name"), Message: "m" + anyText.Draw(t, "message"),
		Suggestion: anyText.Draw(t, "suggestion"), HelpURL: anyText.Draw(t, "help"),
		Retryable: rapid.Bool().Draw(t, "retryable"),
		Outcome:   rapid.SampledFrom([]sdk.Outcome{"", sdk.OutcomeUnknown, sdk.OutcomeNotSent}).Draw(t, "outcome"),
		Details:   drawJSON(t, "details")}
}

func drawResult(t *rapid.T) *sdk.Result {
	r := &sdk.Result{Structured: drawJSON(t, "structured"), Error: drawError(t),
		Truncated: rapid.Bool().Draw(t, "truncated")}
	for range rapid.IntRange(0, 3).Draw(t, "parts") {
		r.Content = append(r.Content, drawContent(t))
	}
	return r
}

// received is what the host should see of a result.
func received(r *sdk.Result) *sdk.Result {
	out := &sdk.Result{Error: receivedError(r.Error), Truncated: r.Truncated}
	var faults []string
	for i, c := range r.Content {
		sent := c.Raw
		c.Type, c.MIMEType, c.URI, c.Name, c.Raw = textutil.Clean(c.Type), textutil.Clean(c.MIMEType),
			textutil.Clean(c.URI), textutil.Clean(c.Name), isObject(c.Raw)
		c.Text = textutil.Clean(c.Text)
		if fault := partFault(c, sent); fault != "" {
			faults = append(faults, fmt.Sprintf("part %d (%s) %s", i+1, oneLine(c.Type, 64), fault))
			continue
		}
		out.Content = append(out.Content, c)
	}
	if json.Valid(r.Structured) {
		out.Structured = r.Structured
	} else if len(r.Structured) > 0 {
		faults = append(faults, "the structured JSON is not valid")
	}
	out.Error = WithFaults(out.Error, faults)
	return out
}

func receivedError(e *sdk.Error) *sdk.Error {
	if e == nil {
		return nil
	}
	out := &sdk.Error{Code: sdk.CodeTool, Outcome: sdk.OutcomeFailed, Name: textutil.Clean(e.Name),
		Message: textutil.Clean(e.Message), Suggestion: textutil.Clean(e.Suggestion),
		HelpURL: textutil.Clean(e.HelpURL), Retryable: e.Retryable, Details: isObject(e.Details)}
	if e.Outcome == sdk.OutcomeUnknown {
		out.Outcome = sdk.OutcomeUnknown
	}
	own := []sdk.Code{sdk.CodeInvalidArgs, sdk.CodeToolNotFound, sdk.CodeTimeout, sdk.CodeCanceled, sdk.CodeResultTooLarge,
		sdk.CodePluginUnavailable}
	if slices.Contains(own, e.Code) && e.Outcome != sdk.OutcomeNotSent { // which only errors of other calls have
		out.Code = e.Code
	}
	return out
}

func TestResultCrossesTheWire(t *testing.T) {
	p := overTheWire(t)
	rapid.Check(t, func(t *rapid.T) {
		in := drawResult(t)
		for _, c := range in.Content {
			if len(c.Type) > 64 || len(c.MIMEType) > 255 || len(c.Name) > 1024 {
				t.Skip("over the limit of a part")
			}
		}
		p.handle = func(context.Context, *sdk.Request) (*sdk.Result, error) { return in, nil }
		got, err := p.Call(context.Background(), &sdk.Request{Tool: "x"})
		if err != nil {
			t.Fatal(err)
		}
		same(t, received(in), got)
	})
}

func TestPreviewCrossesTheWire(t *testing.T) {
	p := overTheWire(t)
	rapid.Check(t, func(t *rapid.T) {
		in := &sdk.Preview{Content: []sdk.Content{{Type: "text", Text: anyText.Draw(t, "text"),
			Name: anyText.Draw(t, "name")}},
			Effect: anyText.Draw(t, "effect"), Reason: anyText.Draw(t, "reason"), UnlessAllowed: rapid.Bool().Draw(t, "unless"),
			Structured: rapid.SampledFrom([]json.RawMessage{nil, json.RawMessage(`{"kind":"x"}`)}).Draw(t, "structured")}
		failure := drawError(t)
		p.preview = func(context.Context, *sdk.Request) (*sdk.Preview, error) {
			if failure == nil {
				return in, nil
			}
			return in, failure
		}
		got, err := p.Preview(context.Background(), &sdk.Request{Tool: "x", Arguments: json.RawMessage(`{}`)})
		want := *in
		want.Content = []sdk.Content{{Type: "text", Text: textutil.Clean(in.Content[0].Text),
			Name: textutil.Clean(in.Content[0].Name)}}
		want.Effect, want.Reason = textutil.Clean(in.Effect), textutil.Clean(in.Reason)
		same(t, &want, got)
		if failure == nil && err != nil {
			t.Fatal(err)
		} else if failure != nil {
			same(t, error(receivedError(failure)), err)
		}
	})
}

func TestEventCrossesTheWire(t *testing.T) {
	p := overTheWire(t)
	finite := rapid.Float64()
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.OneOf(
			rapid.Custom(func(t *rapid.T) sdk.Event {
				return sdk.Event{Type: sdk.EventProgress, Done: finite.Draw(t, "done"), Total: finite.Draw(t, "total"),
					Message: anyText.Draw(t, "message")}
			}),
			rapid.Custom(func(t *rapid.T) sdk.Event {
				return sdk.Event{Type: sdk.EventLog, Level: slog.Level(rapid.Int32().Draw(t, "level")),
					Message:    anyText.Draw(t, "message"),
					Attributes: drawJSON(t, "attributes")}
			}),
			rapid.Custom(func(t *rapid.T) sdk.Event {
				return sdk.Event{Type: sdk.EventOutput, Stream: rapid.SampledFrom([]string{"stdout", "stderr", "", "\xff"}).Draw(t,
					"stream"),
					Data: wire.OrNil(anyBytes.Draw(t, "data"))}
			}),
		).Draw(t, "event")
		want := in
		want.Message, want.Attributes = textutil.Clean(in.Message), isObject(in.Attributes)
		if in.Type == sdk.EventOutput && in.Stream != "stderr" {
			want.Stream = "stdout"
		}
		p.handle = func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
			r.Events(in)
			r.Events(sdk.Event{Type: "sang"}) // an unknown type is not sent
			return sdk.Text("done"), nil
		}
		var got []sdk.Event
		if _, err := p.Call(context.Background(), &sdk.Request{Tool: "x",
			Events: func(e sdk.Event) { got = append(got, e) }}); err != nil {
			t.Fatal(err)
		}
		same(t, []sdk.Event{{Type: sdk.EventStarted}, want}, got)
	})
}

func TestEventsOfOtherVersions(t *testing.T) {
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

// JSON of a plugin that cut a text in a character, such as one in JavaScript, can be read by everyone.
func TestJSONIsWellFormed(t *testing.T) {
	const want = `{"a":"\uFFFD \ud83d\ude00` + "\uFFFD" + `"}`
	if got := string(validJSON([]byte(`{"a":"\ud83d \ud83d\ude00` + "\xff" + `"}`))); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"plain": "plain", "a\nb\tc": "a b c", "a\x1b[2Jb\x00": "a[2Jb", "a\u202eb\u200bc\U000E0041": "abc",
		"a\xffb": "a\uFFFDb",
		xs(10):   xs(10), xs(11): xs(10) + "... (cut)", strings.Repeat("é", 11): strings.Repeat("é", 10) + "... (cut)",
	} {
		if got := oneLine(text, 10); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

// What a plugin calls itself is cut where it is too long to be shown.
func TestLimitsOfWords(t *testing.T) {
	for n, want := range map[int]string{100: xs(100), 101: xs(100) + "... (cut)"} {
		d, err := clientOf(t, longNamesPlugin{&foreignPlugin{}, xs(n)}).Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&sdk.Description{Name: want, Version: want, SDK: want}, d); diff != "" {
			t.Errorf("of %d characters: %s", n, diff)
		}
	}
}

func TestNotices(t *testing.T) {
	remark := func(text string) sdk.Notice { return sdk.Notice{Kind: sdk.Remark, Text: text} }
	long := make([]string, 65)
	for i := range long {
		long[i] = fmt.Sprint(i)
	}
	long[0], long[1], long[2] = xs(2001), xs(2000), "two\nlines\x1b"
	// A plugin of before kinds sends none.
	if got := notices(long[:64], nil); len(got) != 64 || got[0] != remark(xs(2000)+"... (cut)") || got[1] != remark(xs(2000)) ||
		got[2] != remark("two lines") || got[63] != remark("63") {
		t.Errorf("notices are %q", got)
	}
	const more = "... and 1 more notices; at most 64 are shown"
	if got := notices(long, nil); len(got) != 65 || got[64] != remark(more) {
		t.Errorf("notices are %q", got)
	}
	kinds := make([]string, 65)
	kinds[1], kinds[64] = "problem", "problem"
	if got := notices(long, kinds); got[0] != remark(xs(2000)+"... (cut)") || got[1].Kind != sdk.Problem ||
		got[64] != (sdk.Notice{Kind: sdk.Problem, Text: more}) {
		t.Errorf("notices are %q", got)
	}
}

func TestNumbersThatJSONLacks(t *testing.T) {
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		e, _ := eventFromWire(&pluginv1.CallEvent{Event: &pluginv1.CallEvent_Progress{Progress: &pluginv1.Progress{Done: f,
			Total: f}}})
		if diff := cmp.Diff(sdk.Event{Type: sdk.EventProgress}, e); diff != "" {
			t.Errorf("%v: %s", f, diff)
		}
	}
	huge, _ := eventFromWire(&pluginv1.CallEvent{Event: &pluginv1.CallEvent_Progress{Progress: &pluginv1.Progress{Done: math.MaxFloat64}}})
	if _, err := json.Marshal(huge); err != nil || huge.Done != math.MaxFloat64 {
		t.Errorf("%+v: %v", huge, err)
	}
}

// A message with too many elements costs its call; a description of that kind is a broken wire.
func TestCrowdedMessages(t *testing.T) {
	c := clientOf(t, &oversizedPlugin{foreignPlugin: script(nil, last(&pluginv1.Result{Content: emptyContents(1 << 17)}))})
	_, err := c.Call(t.Context(), &sdk.Request{Tool: "x"})
	if sdk.CodeOf(err) != sdk.CodeResultTooLarge || !strings.Contains(err.Error(),
		"131072 elements in one message; the limit is 4000") {
		t.Errorf("Call gives %v", err)
	}
	_, err = c.Preview(t.Context(), &sdk.Request{Tool: "x"})
	if sdk.CodeOf(err) != sdk.CodeResultTooLarge {
		t.Errorf("Preview gives %v", err)
	}
	_, err = c.Describe(t.Context())
	if _, ok := errors.AsType[*BrokenError](err); !ok || !strings.Contains(err.Error(),
		"131072 elements in one message; the limit is 16384") {
		t.Errorf("Describe gives %v", err)
	}
}

// A part of an MCP server keeps the form in which that wrote it, and has its large body once.
func TestSourceOfAPartCrossesTheWire(t *testing.T) {
	p := overTheWire(t)
	long := strings.Repeat("x", 1<<20)
	for _, raw := range []string{`{"text":"short","type":"text"}`, `{"text":"` + long + `","_meta":{"a":1},"type":"text"}`,
		`{"type":"text","text":"` + strings.Repeat(`\u0041`, 1<<18) + `"}`, `{"mimeType":"m","data":"AAEC","type":"image"}`,
		`{"type":"resource","resource":{"blob":"AAEC","x":1,"uri":"u"}}`, `{"type":"text","text":"a","text":"b"}`} {
		in := sdk.Content(mcpcontent.Read([]byte(raw)))
		p.handle = func(context.Context, *sdk.Request) (*sdk.Result, error) { return (&sdk.Result{}).Add(in), nil }
		got, err := p.Call(context.Background(), &sdk.Request{Tool: "x"})
		if err != nil || got.Error != nil {
			t.Fatal(err, got.Error)
		}
		same(t, []sdk.Content{in}, got.Content)
		if out, _ := got.Content[0].MarshalJSON(); string(out) != raw {
			t.Errorf("%.100s becomes %.100s", raw, out)
		}
	}
}

// A plugin of another kit cannot have one text checked and another one passed on.
func TestPartWhoseSourceSaysSomethingElseIsBroken(t *testing.T) {
	for _, part := range []*pluginv1.Content{
		{Type: "text", Text: []byte("good"), Source: []byte(`{"text":"evil","type":"text"}`)},
		{Type: "text", Text: []byte("good"), Source: []byte(`{"text":"","text":"evil","type":"text"}`)},
		{Type: "text", Text: []byte("good"), Source: []byte(`{"text":"","type":"text"`)},
		{Type: "text", Text: []byte("good"), Source: []byte(`5`)},
		{Type: "resource_link", Source: []byte(`{"uri":"` + strings.Repeat("x", 9<<10) + `","type":"resource_link"}`)},
	} {
		r := resultFromWire(&pluginv1.Result{Content: []*pluginv1.Content{part}})
		if len(r.Content) != 0 || r.Error == nil || r.Error.Name != "BrokenResult" {
			t.Errorf("%s: %+v", part.GetSource(), r)
		}
	}
}
