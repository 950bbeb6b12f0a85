package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/toolhost/toolhost/internal/wire/pluginv1"
	"github.com/toolhost/toolhost/sdk"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
)

func TestBrokenErrorSaysWhat(t *testing.T) {
	for want, err := range map[string]error{
		"the plugin ended the call without a result":                 io.EOF,
		"the plugin ended or its connection broke: connection reset": status.Error(codes.Unavailable, "connection reset"),
		"the plugin ended or its connection broke: EOF":              status.Error(codes.Unavailable, "error reading from server: EOF"),
		"the plugin ended or its connection broke: dial unix /s: connect: connection refused": status.Error(codes.Unavailable,
			`connection error: desc = "transport: Error while dialing: dial unix /s: connect: connection refused"`),
		`the plugin ended or its connection broke: no file "x"`:                status.Error(codes.Unavailable, `no file "x"`),
		"the plugin ended or its connection broke: a status without a message": status.Error(codes.Unavailable, ""),
		"the plugin or its connection broke: odd (Internal)":                   status.Error(codes.Internal, "odd"),
		"the plugin or its connection broke: odd":                              errors.New("odd"),
		"why": status.Error(codes.Unavailable, `connection error: desc = "transport: authentication handshake failed: why"`),
	} {
		e := &BrokenError{Err: err}
		if e.Error() != want || !errors.Is(e, err) {
			t.Errorf("it says %q, want %q", e, want)
		}
	}
}

func TestBroken(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	limited, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	ending, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	for name, c := range map[string]struct {
		ctx       context.Context
		err       error
		delivered bool
		want      sdk.Code
	}{
		"the caller gave up":                {ended, io.EOF, true, sdk.CodeCanceled},
		"the deadline passed":               {late, io.EOF, true, sdk.CodeTimeout},
		"the plugin saw the deadline first": {ending, status.Error(codes.DeadlineExceeded, ""), true, sdk.CodeTimeout},
		"the deadline is far":               {limited, status.Error(codes.DeadlineExceeded, ""), true, sdk.CodeInternal},
		"there is no deadline":              {t.Context(), status.Error(codes.DeadlineExceeded, ""), true, sdk.CodeInternal},
		"one message is too large": {t.Context(), status.Error(codes.ResourceExhausted, "Sent message larger than max"), true,
			sdk.CodeResultTooLarge},
		"ours is too large": {t.Context(), status.Error(codes.ResourceExhausted, "message larger than max"), false,
			sdk.CodeInternal},
		"it has too much to do": {t.Context(), status.Error(codes.ResourceExhausted, ""), true, sdk.CodeProtocol},
		"it broke":              {limited, status.Error(codes.Unavailable, ""), true, sdk.CodeInternal},
	} {
		t.Run(name, func(t *testing.T) {
			err := broken(c.ctx, c.err, c.delivered)
			e, isBroken := errors.AsType[*BrokenError](err)
			if sdk.CodeOf(err) != c.want || isBroken != (c.want == sdk.CodeInternal) || isBroken && e.Delivered != c.delivered {
				t.Errorf("error is %#v", err)
			}
		})
	}
}

func TestForeignPluginsBreakRules(t *testing.T) {
	for name, c := range map[string]struct {
		foreignPlugin *foreignPlugin
		want          string   // the error's text, in part
		code          sdk.Code // "" for a BrokenError
	}{
		"no result":               {script(nil), "ended the call without a result", ""},
		"parts but no result":     {script(nil, textPart("a", 1)), "ended the call without a result", ""},
		"a piece before any part": {script(nil, piece("x")), "a piece of 1 bytes came where 0 were to come", ""},
		"a piece too many": {script(nil, textPart("a", 2), piece("b"), piece("c")),
			"a piece of 1 bytes came where 0", ""},
		"a piece that is too long": {script(nil, textPart("a", 2), piece("bc")), "a piece of 2 bytes came where 1",
			""},
		"a part in a part": {script(nil, textPart("a", 2), textPart("b", 1)),
			"while the one before it lacked 1 bytes", ""},
		"a result in a part":         {script(nil, textPart("a", 2), last(nil)), "while a part lacked 1 bytes", ""},
		"a size below what is there": {script(nil, textPart("abc", 2)), "a part announces 2 bytes, but has 3 already", ""},
		"a negative size":            {script(nil, textPart("", -1)), "announces -1 bytes", ""},
		"a size over the limit": {script(nil, textPart("a", sdk.MaxResult+1)), "the limit is 4194304",
			sdk.CodeResultTooLarge},
		"the largest size": {script(nil, textPart("a", math.MaxInt64)), "has a part of 9223372036854775807",
			sdk.CodeResultTooLarge},
		"sizes over the limit together": {script(nil, textPart("abcd", 4), textPart("a", sdk.MaxResult-3)),
			"the limit is 4194304", sdk.CodeResultTooLarge},
		"a last message over the limit": {script(nil, textPart("ab", 2),
			last(&pluginv1.Result{Structured: []byte(`"` + strings.Repeat("x", sdk.MaxResult) + `"`)})), "the limit is 4194304",
			sdk.CodeResultTooLarge},
		"parts without end": {endless(textPart(strings.Repeat("x", 256<<10), 256<<10)),
			"the limit is 4194304", sdk.CodeResultTooLarge},
		"empty parts without end": {endless(part(nil, 0)), "has 4001 parts; the limit is 4000",
			sdk.CodeResultTooLarge},
		"long names without end": {endless(part(&pluginv1.Content{Uri: strings.Repeat("x", 1<<10)}, 0)),
			"the limit is 262144", sdk.CodeResultTooLarge},
		"pieces without end": {endless(piece(strings.Repeat("x", 256<<10))), "where 0 were to come", ""},
		"a status":           {script(status.Error(codes.Internal, "it broke")), "it broke (Internal)", ""},
		"a status that means a deadline": {script(status.Error(codes.DeadlineExceeded, "too late")),
			"too late (DeadlineExceeded)", ""},
		"a status that means it gave up": {script(status.Error(codes.Canceled, "no more")), "no more (Canceled)", ""},
		"a status without a message":     {script(status.Error(codes.Aborted, "")), "a status without a message (Aborted)", ""},
		"a status that means a large message": {script(status.Error(codes.ResourceExhausted,
			"SERVER: Sent message larger than max (5000000 vs. 4194304)")), "too large: SERVER: Sent", sdk.CodeResultTooLarge},
		"a status that means too many calls": {script(status.Error(codes.ResourceExhausted, "Concurrent RPC limit exceeded!")),
			"too much to do or lacks a resource: Concurrent RPC limit exceeded!", sdk.CodeProtocol},
	} {
		overBoth(t, name, c.foreignPlugin, func(t *testing.T, client *Client) {
			result, err := client.Call(t.Context(), &sdk.Request{Tool: "x"})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("result %.200v and error %.300v, want one with %q", result, err, c.want)
			}
			broken, ok := errors.AsType[*BrokenError](err)
			if ok != (c.code == "") || ok && !broken.Delivered || !ok && sdk.CodeOf(err) != c.code {
				t.Errorf("error %#v, want the code %q", err, c.code)
			}
		})
	}
	t.Run("no such service", func(t *testing.T) {
		_, err := clientOf(t, pluginv1.UnimplementedPluginServiceServer{}).Call(t.Context(), &sdk.Request{Tool: "x"})
		if _, ok := errors.AsType[*BrokenError](err); !ok || status.Code(errors.Unwrap(err)) != codes.Unimplemented {
			t.Errorf("error is %v", err)
		}
	})
}

func TestForeignPlugins(t *testing.T) {
	text := func(s string) *pluginv1.Result {
		return &pluginv1.Result{Content: []*pluginv1.Content{{Type: "text", Text: []byte(s)}}}
	}
	denied := &pluginv1.Error{Code: "E_DENIED", Message: "I decide", Details: []byte("[1]")}
	progress := &pluginv1.CallEvent{Event: &pluginv1.CallEvent_Progress{Progress: &pluginv1.Progress{Message: "late"}}}
	for name, c := range map[string]struct {
		foreignPlugin *foreignPlugin
		want          *sdk.Result
	}{
		"two results":               {script(nil, last(text("first")), last(text("second"))), sdk.Text("first")},
		"events after the result":   {script(nil, last(text("done")), progress, piece("x")), sdk.Text("done")},
		"a status after the result": {script(status.Error(codes.Internal, "late"), last(text("done"))), sdk.Text("done")},
		"events of a later version": {script(nil, &pluginv1.CallEvent{}, last(text("done"))), sdk.Text("done")},
		"an empty result":           {script(nil, last(nil)), &sdk.Result{}},
		"a code that is not its own": {script(nil, last(&pluginv1.Result{Error: denied})),
			&sdk.Result{Error: &sdk.Error{Code: sdk.CodeTool, Message: "I decide", Outcome: sdk.OutcomeFailed}}},
		"JSON that is none": {script(nil, last(&pluginv1.Result{Structured: []byte("{"),
			Content: []*pluginv1.Content{{Type: "odd", Raw: []byte("{")}}})),
			&sdk.Result{Error: &sdk.Error{Code: sdk.CodeProtocol, Name: "BrokenResult", Outcome: sdk.OutcomeFailed,
				Suggestion: "Check what the call has done before you repeat it.",
				Message: "the result is broken: part 1 (odd) has JSON that is not valid; the structured JSON is not valid; " +
					"the tool has run, and what can be read of its result is kept"}}},
		"text that begins empty": {script(nil, textPart("", 3), piece("ab"), piece(""), piece("c"), last(nil)),
			sdk.Text("abc")},
		"data that begins empty": {script(nil, part(&pluginv1.Content{Type: "image"}, 2), piece("ab"), last(nil)),
			&sdk.Result{Content: []sdk.Content{{Type: "image", Data: []byte("ab")}}}},
		"parts ahead and in the result": {script(nil, textPart("a", 1), last(text("b"))),
			sdk.Text("a").Add(sdk.TextContent("b"))},
	} {
		overBoth(t, name, c.foreignPlugin, func(t *testing.T, client *Client) {
			result, err := client.Call(t.Context(), &sdk.Request{Tool: "x",
				Events: func(e sdk.Event) { t.Errorf("event %+v", e) }})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, result); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestForeignPluginThatNeverEnds(t *testing.T) {
	started := &pluginv1.CallEvent{Event: &pluginv1.CallEvent_Started{Started: &pluginv1.Started{}}}
	overBoth(t, "endless", endless(started), func(t *testing.T, c *Client) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := c.Call(ctx, &sdk.Request{Tool: "x"}); sdk.CodeOf(err) != sdk.CodeTimeout {
			t.Errorf("error is %v", err)
		}
		ctx, cancel = context.WithCancel(t.Context())
		defer cancel()
		if _, err := c.Call(ctx, &sdk.Request{Tool: "x",
			Events: func(sdk.Event) { cancel() }}); sdk.CodeOf(err) != sdk.CodeCanceled {
			t.Errorf("error is %v", err)
		}
	})
}

// All calls of a client end with the context that it was given for that, also those that begin later.
func TestCallsEndTogether(t *testing.T) {
	for _, over := range []string{"call", "session"} {
		t.Run(over, func(t *testing.T) {
			release, began := make(chan struct{}), make(chan struct{}, 2)
			s := &foreignPlugin{call: func(func(*pluginv1.CallEvent) error) error {
				began <- struct{}{}
				<-release
				return nil
			}}
			var c *Client
			if over == "call" {
				c = clientOf(t, s)
			} else {
				c = sessionClientOf(t, sessioned{s})
			}
			defer close(release) // before the server waits for its handlers
			life, end := context.WithCancel(t.Context())
			c.EndCallsWith(life)
			for _, when := range []string{"during the call", "before the call"} {
				ended := make(chan error, 1)
				go func() {
					_, err := c.Call(t.Context(), &sdk.Request{Tool: "x"})
					ended <- err
				}()
				if when == "during the call" {
					<-began
					end()
				}
				err := <-ended
				if _, broken := errors.AsType[*BrokenError](err); !broken && sdk.CodeOf(err) != sdk.CodeCanceled {
					t.Errorf("%s: error %v", when, err)
				}
			}
			end()
		})
	}
}

// What a client will not send does not reach the plugin, and a server holds to the same.
func TestRequestsOverTheLimit(t *testing.T) {
	large := &sdk.Request{Tool: "x", Arguments: json.RawMessage(`"` + strings.Repeat("x", sdk.MaxArguments) + `"`)}
	elsewhere := &sdk.Request{Tool: "x", Workdir: "/\xff"}
	for name, r := range map[string]*sdk.Request{"ArgumentsTooLarge": large, "BadWorkdir": elsewhere} {
		t.Run(name, func(t *testing.T) {
			c := clientOf(t, script(errors.New("it was sent")))
			result, err := c.Call(t.Context(), r)
			if err != nil || result.Error == nil || result.Error.Name != name || result.Error.Code != sdk.CodeInvalidArgs {
				t.Errorf("Call gives %+v, %v", result, err)
			}
			_, err = c.Preview(t.Context(), r)
			if e, ok := errors.AsType[*sdk.Error](err); !ok || e.Name != name {
				t.Errorf("Preview gives %v", err)
			}
			err = c.Configure(t.Context(), r.Arguments, r.Workdir, nil)
			if e, ok := errors.AsType[*sdk.Error](err); !ok || e.Name != name {
				t.Errorf("Configure gives %v", err)
			}
		})
	}
}

// Odd events are corrected, dropped and reported, or end their call; the table says which.
func TestOddEvents(t *testing.T) {
	many := func(n int, e *pluginv1.CallEvent) *foreignPlugin {
		return &foreignPlugin{call: func(send func(*pluginv1.CallEvent) error) error {
			for range n {
				if err := send(e); err != nil {
					return err
				}
			}
			return send(last(nil))
		}}
	}
	const eventBurst = 8000 // that come through at once
	for name, c := range map[string]struct {
		foreignPlugin *foreignPlugin
		most          int      // events that come through, besides the last word on those that do not
		reported      bool     // that last word is there
		code          sdk.Code // of the call
		words         string   // of the call's error
	}{
		"no started":  {script(nil, last(nil)), 0, false, "", ""},
		"two started": {script(nil, startedEvent, startedEvent, last(nil)), 1, true, "", ""},
		"not a number": {script(nil, progressEvent(math.NaN()), progressEvent(math.Inf(1)), last(nil)), 2, false,
			"", ""},
		"a stream of its own":   {script(nil, outputEvent("\u202e", []byte("\xff")), last(nil)), 1, false, "", ""},
		"attributes of no kind": {script(nil, logEvent("m", []byte("[1]")), last(nil)), 1, false, "", ""},
		"a long log line":       {script(nil, logEvent(xs(8193), nil), last(nil)), 1, true, "", ""},
		"an output of 1 MiB":    {script(nil, outputEvent("stdout", make([]byte, 1<<20)), last(nil)), 1, true, "", ""},
		"100 000 events":        {many(100_000, progressEvent(1)), 100_000, true, "", ""},
		"events without end": {endless(progressEvent(1)), math.MaxInt, false, sdk.CodeResultTooLarge,
			"200000 of its events"},
		"unknown ones": {endless(&pluginv1.CallEvent{}), 0, false, sdk.CodeResultTooLarge, "200000 of its events"},
		"log lines without end": {endless(logEvent(xs(10_000), nil)), math.MaxInt, false, sdk.CodeResultTooLarge,
			"16777216 bytes"},
		"output without end": {endless(outputEvent("stderr", make([]byte, 1<<20))), math.MaxInt, false,
			sdk.CodeResultTooLarge, "16777216 bytes"},
		"empty parts' ends": {endless(piece("")), 0, false, sdk.CodeResultTooLarge, "more than 65536 pieces"},
		"a message of attributes": {script(nil, logEvent("m", make([]byte, largestMessage)), last(nil)), 0, false,
			sdk.CodeResultTooLarge, "one message that is too large"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []sdk.Event
			_, err := clientOf(t, c.foreignPlugin).Call(t.Context(), &sdk.Request{Tool: "x", Events: func(e sdk.Event) {
				if _, err := json.Marshal(e); err != nil {
					t.Errorf("%+v: %v", e, err)
				}
				got = append(got, e)
			}})
			if sdk.CodeOf(err) != c.code || err != nil && !strings.Contains(err.Error(), c.words) {
				t.Errorf("the call gives %v, want %q with %q", err, c.code, c.words)
			}
			reported := len(got) > 0 && strings.Contains(got[len(got)-1].Message, "has too many events")
			within := len(got) == c.most && c.most > eventBurst // a machine that is slow enough keeps to the rate
			if reported != c.reported && !within || len(got) > c.most && !reported {
				t.Errorf("%d events came, with a last word: %v", len(got), reported)
			}
		})
	}
}

// A status is shown to people and models, so it is cut, and nothing in it is a line or a colour.
func TestTextOfAStatus(t *testing.T) {
	for name, c := range map[string]struct{ sent, want string }{
		"at the limit": {xs(4096), "broke: " + xs(4096) + " (Unknown)"},
		"one above":    {xs(4097), "broke: " + xs(4096) + "... (cut) (Unknown)"},
		"lines":        {"a\n\x1b[2Jb", "broke: a [2Jb (Unknown)"},
	} {
		_, err := clientOf(t, script(status.Error(codes.Unknown, c.sent))).Call(t.Context(), &sdk.Request{Tool: "x"})
		if err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%s: %.5000v", name, err)
		}
	}
}

// Strange questions and answers are numbers that make sense, and a plugin without an answer is recognized.
func TestOverdueOfForeignPlugins(t *testing.T) {
	if _, _, err := clientOf(t, pluginv1.UnimplementedPluginServiceServer{}).Overdue(t.Context(), 0); !errors.Is(err,
		errors.ErrUnsupported) {
		t.Errorf("a plugin that cannot tell gives %v", err)
	}
	h, l, err := clientOf(t, miscountingPlugin{&foreignPlugin{}}).Overdue(t.Context(), 0)
	if h != 0 || l != math.MaxInt32 || err != nil {
		t.Errorf("it tells of %d and %d, %v", h, l, err)
	}
}

// largestMessage is the limit of one message.
const largestMessage = sdk.MaxResult + 256<<10

// A miscountingPlugin counts impossible numbers.
type miscountingPlugin struct{ *foreignPlugin }

func (miscountingPlugin) Overdue(context.Context, *pluginv1.OverdueRequest) (*pluginv1.OverdueResponse, error) {
	return &pluginv1.OverdueResponse{Handlers: -1, Late: math.MaxInt64}, nil
}

// clientOfHTTP connects to a server that is no gRPC library, and so holds to none of its rules.
func clientOfHTTP(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	lis := bufconn.Listen(1 << 20)
	s := &http.Server{Handler: h, Protocols: new(http.Protocols)}
	s.Protocols.SetUnencryptedHTTP2(true)
	served := make(chan error, 1)
	go func() { served <- s.Serve(lis) }()
	conn := dialMemory(t, lis)
	t.Cleanup(func() {
		_ = conn.Close()
		_ = s.Close()
		<-served
	})
	return New(conn)
}

// Headers are read up to 64 KiB: a call that has more of them is broken, and takes no more memory.
func TestLimitOfHeaders(t *testing.T) {
	const others = len("grpc-status") + len("13") + 32 + len("grpc-message") + 32 // as HTTP/2 counts
	for name, c := range map[string]struct {
		message int
		words   string
	}{
		"at the limit":  {64<<10 - others, "broke: " + xs(4096) + "... (cut) (Internal)"},
		"one byte over": {64<<10 - others + 1, "header list size"},
		"far over":      {8 << 20, "broke: "},
	} {
		t.Run(name, func(t *testing.T) {
			client := clientOfHTTP(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/grpc")
				w.WriteHeader(http.StatusOK)
				w.(http.Flusher).Flush()
				w.Header().Set(http.TrailerPrefix+"Grpc-Status", "13")
				w.Header().Set(http.TrailerPrefix+"Grpc-Message", xs(c.message))
			})
			_, err := client.Call(t.Context(), &sdk.Request{Tool: "x"})
			if _, ok := errors.AsType[*BrokenError](err); !ok || !strings.Contains(err.Error(), c.words) ||
				len(err.Error()) > 5000 {
				t.Errorf("the call gives %.5000v, want %.200q", err, c.words)
			}
		})
	}
}

// A message over the limit ends the call that it is of. In a session, where it cannot be said which that is, it breaks
// the protocol: no other call is blamed for its result.
func TestMessageOverTheLimit(t *testing.T) {
	plugin := script(nil, last(&pluginv1.Result{Structured: make([]byte, largestMessage)}))
	for name, c := range map[string]struct {
		client *Client
		words  string
		code   sdk.Code
	}{
		"call":    {clientOf(t, plugin), "one message that is too large", sdk.CodeResultTooLarge},
		"session": {sessionClientOf(t, sessioned{plugin}), "the limit is 4456448 (Internal)", sdk.CodeInternal},
	} {
		_, err := c.client.Call(t.Context(), &sdk.Request{Tool: "x"})
		if sdk.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v", name, err)
		}
		if b, broken := errors.AsType[*BrokenError](err); broken != (name == "session") || broken && !b.Delivered {
			t.Errorf("%s: %#v", name, err)
		}
	}
}

// A message begins with its size, and one over the limit is not read.
func TestAnnouncedSizeOfAMessage(t *testing.T) {
	for name, c := range map[string]struct {
		size  int
		words string
	}{
		"at the limit": {largestMessage, "unexpected EOF"},
		"one above":    {largestMessage + 1, "one message that is too large"},
		"1 GiB":        {1 << 30, "one message that is too large"},
	} {
		t.Run(name, func(t *testing.T) {
			client := clientOfHTTP(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/grpc")
				_, _ = w.Write([]byte{0, byte(c.size >> 24), byte(c.size >> 16), byte(c.size >> 8), byte(c.size)})
			})
			_, err := client.Call(t.Context(), &sdk.Request{Tool: "x"})
			if err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("the call gives %v, want %q", err, c.words)
			}
		})
	}
}

// Whatever a plugin of another kind sends that cannot be read is an error that says so. What can be read is kept.
func TestBrokenResults(t *testing.T) {
	t.Parallel()
	good := &pluginv1.Content{Type: "text", Text: []byte("good")}
	with := func(c *pluginv1.Content) *pluginv1.Result {
		return &pluginv1.Result{Content: []*pluginv1.Content{good, c}}
	}
	deep := []byte(strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000))
	cases := map[string]struct {
		sent *pluginv1.Result
		says string // "" is no error
		code sdk.Code
	}{
		"structured that is cut off": {&pluginv1.Result{Structured: []byte(`{"a":`)},
			"the structured JSON is not valid", sdk.CodeProtocol},
		"structured with more behind": {&pluginv1.Result{Structured: []byte(`{} {}`)},
			"the structured JSON is not valid", sdk.CodeProtocol},
		"structured of blanks": {&pluginv1.Result{Structured: []byte(` `)}, "the structured JSON is not valid",
			sdk.CodeProtocol},
		"structured as JavaScript has it": {&pluginv1.Result{Structured: []byte(`{"a":NaN}`)},
			"the structured JSON is not valid", sdk.CodeProtocol},
		"structured nested too deep": {&pluginv1.Result{Structured: deep[19_900:20_100]}, "nested 100 deep",
			sdk.CodeResultTooLarge},
		"structured nested beyond reading": {&pluginv1.Result{Structured: deep}, "nested 20000 deep", sdk.CodeProtocol},
		"structured beside content": {&pluginv1.Result{Structured: []byte(`{`), Content: []*pluginv1.Content{good}},
			"the structured JSON is not valid", sdk.CodeProtocol},
		"extra members that are cut off": {&pluginv1.Result{Extra: []byte(`{"a":`)},
			"the JSON of its extra members is not valid", sdk.CodeProtocol},
		"a part without a type": {with(&pluginv1.Content{Text: []byte("x")}), "part 2 () has no type",
			sdk.CodeProtocol},
		"a part of nothing": {with(&pluginv1.Content{}), "part 2 () has no type", sdk.CodeProtocol},
		"a part that is not known": {with(&pluginv1.Content{Type: "chart", Text: []byte("x")}),
			"part 2 (chart) is of a kind that is not known", sdk.CodeProtocol},
		"a part of broken JSON": {with(&pluginv1.Content{Type: "chart", Raw: []byte(`{"type":`)}),
			"part 2 (chart) has JSON that is not valid", sdk.CodeProtocol},
		"a part of JSON that is not an object": {with(&pluginv1.Content{Type: "chart", Raw: []byte(`["chart"]`)}),
			"part 2 (chart) has JSON that is not an object", sdk.CodeProtocol},
		"a text of bytes": {with(&pluginv1.Content{Type: "text", Data: []byte("x")}),
			"part 2 (text) has bytes beside its text", sdk.CodeProtocol},
		"an image of nothing": {with(&pluginv1.Content{Type: "image", MimeType: "image/png"}),
			"part 2 (image) has no data", sdk.CodeProtocol},
		"an image of text": {with(&pluginv1.Content{Type: "image", Text: []byte("aGk="),
			MimeType: "image/png"}), "part 2 (image) has no data", sdk.CodeProtocol},
		"an image of both": {with(&pluginv1.Content{Type: "image", Text: []byte("x"), Data: []byte("x")}),
			"part 2 (image) has a text beside its data", sdk.CodeProtocol},
		"an audio of nothing": {with(&pluginv1.Content{Type: "audio"}), "part 2 (audio) has no data",
			sdk.CodeProtocol},
		"a resource of no place": {with(&pluginv1.Content{Type: "resource", Text: []byte("x")}),
			"part 2 (resource) has no URI", sdk.CodeProtocol},
		"a link to nothing": {with(&pluginv1.Content{Type: "resource_link", Name: "x"}),
			"part 2 (resource_link) has no URI", sdk.CodeProtocol},
		"a failure with a broken part": {&pluginv1.Result{Error: &pluginv1.Error{Message: "no"},
			Content: []*pluginv1.Content{good, {Type: "image"}}},
			"no; in addition, the result is broken: part 2 (image) has no data", sdk.CodeTool},

		"a text that is empty":        {with(&pluginv1.Content{Type: "text"}), "", ""},
		"a text that is not UTF-8":    {with(&pluginv1.Content{Type: "text", Text: []byte("a\xff")}), "", ""},
		"a resource that is empty":    {with(&pluginv1.Content{Type: "resource", Uri: "file:///a"}), "", ""},
		"a kind with JSON of its own": {with(&pluginv1.Content{Type: "chart", Raw: []byte(`{"type":"chart"}`)}), "", ""},
		"null":                        {&pluginv1.Result{Structured: []byte(`null`)}, "", ""},
		"nothing at all":              {&pluginv1.Result{}, "", ""},
	}
	for name, c := range cases {
		for _, inPieces := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := script(nil, last(c.sent))
				if inPieces && len(c.sent.GetContent()) == 2 && len(c.sent.GetContent()[1].GetRaw()) == 0 {
					second := c.sent.GetContent()[1]
					s = script(nil, textPart("good", 4), part(second, int64(len(second.GetText())+len(second.GetData()))),
						last(&pluginv1.Result{Error: c.sent.GetError()}))
				}
				r, err := clientOf(t, s).Call(t.Context(), &sdk.Request{Tool: "x"})
				if err != nil {
					if e := err.(*sdk.Error); e.Code != c.code || !strings.Contains(e.Message, c.says) {
						t.Errorf("error %v, want %s with %q", err, c.code, c.says)
					}
					return
				}
				switch e := r.Error; {
				case (e == nil) != (c.says == ""):
					t.Errorf("error %v, want %q", e, c.says)
				case e != nil && (e.Code != c.code || e.Outcome != sdk.OutcomeFailed || !strings.Contains(e.Message, c.says)):
					t.Errorf("error %+v, want %s with %q", e, c.code, c.says)
				case e != nil && len(c.sent.GetContent()) == 2 && (len(r.Content) != 1 || r.Content[0].Text != "good"):
					t.Errorf("content %+v", r.Content)
				}
				if err := CheckResult(r); err != nil {
					t.Errorf("what is left of it is broken: %v", err)
				}
			})
		}
	}
}

// Nobody decides on a preview of which something cannot be read.
func TestBrokenPreviews(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sent *pluginv1.PreviewResponse
		says string
	}{
		"structured": {&pluginv1.PreviewResponse{Structured: []byte(`{`)}, "is not valid"},
		"a list":     {&pluginv1.PreviewResponse{Structured: []byte(`[]`)}, "is not an object"},
		"a part": {&pluginv1.PreviewResponse{Content: []*pluginv1.Content{{Type: "image"}}},
			"part 1 (image) has no data"},
		"a good one": {&pluginv1.PreviewResponse{Structured: []byte(`{}`), Content: []*pluginv1.Content{{Type: "text"}}},
			""},
		"an empty one": {&pluginv1.PreviewResponse{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := unreadablePreview(c.sent)
			if (e == nil) != (c.says == "") || e != nil && (e.Code != sdk.CodeProtocol || !strings.Contains(e.Message, c.says)) {
				t.Errorf("error %v, want %q", e, c.says)
			}
		})
	}
}

// A refusingPlugin is a foreignPlugin that refuses its configuration.
type refusingPlugin struct {
	*foreignPlugin
	refusal *pluginv1.Error
}

func (r refusingPlugin) Configure(context.Context, *pluginv1.ConfigureRequest) (*pluginv1.ConfigureResponse, error) {
	return &pluginv1.ConfigureResponse{Error: r.refusal}, nil
}

// A refusal stays in the status of a plugin, beside the host's own lines.
func TestRefusalsAreLines(t *testing.T) {
	const text = "no \x1b[2J\u202e\nFix: do it "
	c := clientOf(t, refusingPlugin{&foreignPlugin{}, &pluginv1.Error{Message: text + xs(1<<20), Suggestion: text + xs(1<<20)}})
	e, ok := errors.AsType[*sdk.Error](c.Configure(t.Context(), []byte("{}"), "/", nil))
	if !ok {
		t.Fatal("it is not refused")
	}
	for _, got := range []string{e.Message, e.Suggestion} {
		if !strings.HasPrefix(got, "no [2J Fix: do it x") || len(got) > maxNotice+100 {
			t.Errorf("%d bytes: %.100q", len(got), got)
		}
	}
	c = clientOf(t, refusingPlugin{&foreignPlugin{}, &pluginv1.Error{}})
	if err := c.Configure(t.Context(), []byte("{}"), "/", nil); err == nil || err.Error() != "it gave no reason" {
		t.Errorf("a refusal without a text says %v", err)
	}
}
