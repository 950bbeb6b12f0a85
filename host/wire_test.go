package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

// wired is a plugin of many tools over real gRPC, and counts the runs of one of them.
type wired struct {
	*sdktest.Plugin
	ran atomic.Int64
}

// overWire starts it for one test.
func overWire(t testing.TB) *wired {
	t.Helper()
	w := &wired{}
	p := sdk.New("wired", "1.0.0")
	for name, handle := range handlers {
		p.AddRawTool(tool(name), func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
			w.ran.Add(1)
			return handle(ctx, r)
		})
	}
	sdk.AddTool(p, sdk.Tool{Name: "strict", Description: "for tests", Hints: sdk.Hints{ReadOnly: sdk.Yes}},
		func(context.Context, *sdk.Request, strictArgs) (*sdk.Result, error) {
			w.ran.Add(1)
			return sdk.Text("fits"), nil
		})
	w.Plugin = sdktest.Start(t, p)
	return w
}

type strictArgs struct {
	Path  string   `json:"path"`
	Count int      `json:"count,omitempty" minimum:"1" maximum:"9"`
	Mode  string   `json:"mode,omitempty" enum:"fast|slow"`
	Edits []strict `json:"edits,omitempty"`
}

type strict struct {
	Old string `json:"old"`
	New string `json:"new"`
}

var handlers = map[string]sdk.Handler{
	"echo": func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		return sdk.Text(string(r.Arguments)), nil
	},
	"wait": func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
		r.Progress(0, 0, "waiting")
		<-ctx.Done()
		return nil, ctx.Err()
	},
	"panic": func(context.Context, *sdk.Request) (*sdk.Result, error) { panic("oh no") },
	"plain": func(context.Context, *sdk.Request) (*sdk.Result, error) { return nil, errors.New("a plain error") },
	"typed": func(context.Context, *sdk.Request) (*sdk.Result, error) {
		return nil, &sdk.Error{Name: "MatchNotFound", Message: "no match", Suggestion: "Read the file.",
			HelpURL:   "https://example.org/help",
			Retryable: true, Details: json.RawMessage(`{"line":3}`)}
	},
	"liar": func(context.Context, *sdk.Request) (*sdk.Result, error) {
		return nil, &sdk.Error{Code: sdk.CodeInternal, Name: "Liar", Message: "this was the host"}
	},
	"both": func(context.Context, *sdk.Request) (*sdk.Result, error) {
		return sdk.Text("half of it"), &sdk.Error{Name: "Stopped", Message: "then it stopped"}
	},
	"talk": func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		r.Progress(1, 2, "half")
		r.Logger().Error("a line", "n", 1)
		r.Logger().Debug("a quiet line")
		r.Output("stdout", []byte("printed"))
		return sdk.Text("done"), nil
	},
	"huge": func(context.Context, *sdk.Request) (*sdk.Result, error) {
		return sdk.Text(strings.Repeat("x", sdk.MaxResult+1)), nil
	},
	"request": func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		return sdk.JSON(map[string]any{"call_id": r.CallID, "tool": r.Tool, "workdir": r.Workdir, "session_id": r.SessionID,
			"attempt": r.Attempt}), nil
	},
}

func call(tool, arguments string) host.Call {
	return host.Call{Tool: tool, Arguments: json.RawMessage(arguments)}
}

func TestCallOverTheWire(t *testing.T) {
	t.Parallel()
	h := single(t, overWire(t), host.Options{Workdir: "/srv"})
	c := call("test__request", " \n")
	c.ID, c.SessionID = "c-1", "s-1"
	r := h.Call(t.Context(), c)
	succeeded(t, r)
	if want := `{"attempt":1,"call_id":"c-1","session_id":"s-1","tool":"request","workdir":"/srv"}`; r.Text() != want {
		t.Errorf("the plugin got %s, want %s", r.Text(), want)
	}
	if r.CallID != "c-1" || r.Tool != "test__request" || r.Plugin != "test" || r.Attempts != 1 || r.Duration <= 0 {
		t.Errorf("result %+v", r)
	}
}

func TestCallsGetIDsOfTheirOwn(t *testing.T) {
	t.Parallel()
	h := single(t, answering(sdk.Text(""), nil), host.Options{})
	seen := map[string]bool{}
	for range 100 {
		id := h.Call(t.Context(), call("test__run", "")).CallID
		if len(id) < 16 || seen[id] {
			t.Fatalf("id %q after %d calls", id, len(seen))
		}
		seen[id] = true
	}
}

var lineNumber = regexp.MustCompile(`\.go:[0-9]+`)

func TestFailuresOverTheWire(t *testing.T) {
	t.Parallel()
	h := single(t, overWire(t), host.Options{MaxLargeResultBytes: -1})
	cases := map[string]struct {
		want    sdk.Error
		content string
	}{
		"panic": {want: sdk.Error{Code: sdk.CodeTool, Name: "Panic", Message: "the tool panic panicked: oh no (wire_test.go)",
			Suggestion: "This is a bug in the plugin; other arguments may avoid it."}},
		"plain": {want: sdk.Error{Code: sdk.CodeTool, Name: "Error", Message: "a plain error"}},
		"typed": {want: sdk.Error{Code: sdk.CodeTool, Name: "MatchNotFound", Message: "no match",
			Suggestion: "Read the file.",
			HelpURL:    "https://example.org/help", Retryable: true, Details: json.RawMessage(`{"line":3}`)}},
		"liar": {want: sdk.Error{Code: sdk.CodeTool, Name: "Liar", Message: "this was the host"}},
		"both": {want: sdk.Error{Code: sdk.CodeTool, Name: "Stopped", Message: "then it stopped"}, content: "half of it\n"},
		"huge": {want: sdk.Error{Code: sdk.CodeResultTooLarge, Name: "ResultTooLarge",
			Details:    json.RawMessage(`{"limit":4194304}`),
			Message:    fmt.Sprintf("the result has %d bytes; the limit is %d (4 MiB)", sdk.MaxResult+1, sdk.MaxResult),
			Suggestion: "Ask for less, such as a range, a filter, or a file to write the result to."}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := h.Call(t.Context(), call("test__"+name, ""))
			c.want.Outcome = sdk.OutcomeFailed
			got := *failed(t, r, c.want.Code)
			got.Message = lineNumber.ReplaceAllString(got.Message, ".go")
			diff(t, &c.want, &got)
			want := strings.TrimSpace(c.content + c.want.Message + "\n" + c.want.Suggestion)
			if text := lineNumber.ReplaceAllString(r.Text(), ".go"); text != want {
				t.Errorf("text %q, want %q", text, want)
			}
		})
	}
}

func TestEventsOverTheWire(t *testing.T) {
	t.Parallel()
	log := &recorder{}
	h := single(t, overWire(t), host.Options{Logger: slog.New(log)})
	var got []string
	c := call("test__talk", "")
	c.ID = "c-1"
	c.Events = func(e sdk.Event) { got = append(got, fmt.Sprint(e.Type, " ", e.Message, string(e.Data))) }
	succeeded(t, h.Call(t.Context(), c))
	diff(t, []string{"status calling", "started ", "progress half", "log a line", "log a quiet line", "output printed",
		"status done"}, got)

	lines := log.named("a line", "a quiet line")
	diff(t, []line{
		{Level: slog.LevelWarn, Message: "a line",
			Attrs: map[string]string{"call_id": "c-1", "plugin": "test", "tool": "test__talk", "attributes": `{"n":1}`}},
		{Level: slog.LevelDebug, Message: "a quiet line",
			Attrs: map[string]string{"call_id": "c-1", "plugin": "test", "tool": "test__talk", "attributes": ""}},
	}, lines)
}

func TestLongLogLinesAreCut(t *testing.T) {
	t.Parallel()
	log := &recorder{}
	h := single(t, calling(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		r.Events(sdk.Event{Type: sdk.EventLog, Message: strings.Repeat("x", 1<<20),
			Attributes: json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)})
		return sdk.Text(""), nil
	}), host.Options{Logger: slog.New(log)})
	h.Call(t.Context(), call("test__run", ""))
	for _, l := range log.all() {
		if size := len(l.Message) + len(l.Attrs["attributes"]); size > 9000 {
			t.Errorf("a log line of %d bytes", size)
		}
	}
}

// A call that logs without end fills no log: each second has so many bytes, and a line that says that there was more.
// The caller gets all.
func TestFloodsOfLogLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, received := &recorder{}, 0
		h := single(t, calling(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
			for range 3 {
				for range 1000 {
					r.Events(sdk.Event{Type: sdk.EventLog, Level: slog.LevelError, Message: strings.Repeat("x", 512),
						Attributes: json.RawMessage(`{"a":"` + strings.Repeat("x", 504) + `"}`)})
				}
				time.Sleep(time.Second)
			}
			return sdk.Text(""), nil
		}), host.Options{Logger: slog.New(log)})
		c := call("test__run", "")
		c.Events = func(e sdk.Event) {
			if e.Type == sdk.EventLog {
				received++
			}
		}
		h.Call(t.Context(), c)
		lines, notes := log.named(strings.Repeat("x", 512)), log.named(
			"the call logs more than 64 KiB a second; the lines over that are left out")
		if len(lines) != 3*64 || len(notes) != 3 || received != 3000 {
			t.Errorf("%d lines and %d notes in the log, %d events", len(lines), len(notes), received)
		}
	})
}

// An author's test and a model get the same error.
func TestSdktestErrorsAreThoseOfTheHost(t *testing.T) {
	p := sdk.New("p", "1.0.0")
	sdk.AddTool(p, sdk.Tool{Name: "x", Description: "For tests.", Hints: sdk.Hints{ReadOnly: sdk.Yes}},
		func(context.Context, *sdk.Request, struct {
			Count int      `json:"count" minimum:"1" maximum:"5"`
			Mode  string   `json:"mode,omitempty" enum:"a|b"`
			Words []string `json:"words,omitempty"`
		}) (*sdk.Result, error) {
			return sdk.Textf("done"), nil
		})
	c := sdktest.Start(t, p)
	h, err := host.New(map[string]host.Plugin{"p": c}, host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for _, arguments := range []string{`{}`, `{"count":"1"}`, `{"count":6}`, `{"count":0,"mode":"c"}`,
		`{"count":1,"words":[1,null]}`, `{"count":1,"cuont":2}`, `{"count":1.5}`, `{"count":3}`, ``} {
		author := c.Run(t, "x", arguments)
		h.Call(t.Context(), host.Call{Tool: "p__x", Arguments: json.RawMessage(`{"count":1}`)}) // ends the sequence of misses
		model := h.Call(t.Context(), host.Call{Tool: "p__x", Arguments: json.RawMessage(arguments)})
		if (author.Error == nil) != (model.Error == nil) {
			t.Errorf("%s: %v for the author, %v for the model", arguments, author.Error, model.Error)
		} else if model.Error != nil &&
			(author.Error.Code != model.Error.Code ||
				author.Error.Message != strings.Replace(model.Error.Message, "p__x", "x", 1)) {
			t.Errorf("%s:\n%s\n%s", arguments, author.Error.Message, model.Error.Message)
		}
	}
}

func largeOverWire(t *testing.T, handle sdk.Handler) host.Plugin {
	p := sdk.New("wired", "1.0.0")
	p.AddRawTool(tool("large"), handle)
	return sdktest.Start(t, p)
}

// The large parts of a result over 4 MiB are in files, and the model reads their ends.
func TestLargeResults(t *testing.T) {
	t.Parallel()
	whole := "first " + strings.Repeat("é", 5<<20) + " last"
	blob := bytes.Repeat([]byte{0xff, 0}, 1<<20)
	p := largeOverWire(t, func(context.Context, *sdk.Request) (*sdk.Result, error) {
		return &sdk.Result{Content: []sdk.Content{sdk.TextContent(whole), {Type: "image", Data: blob, MIMEType: "image/png"},
			sdk.TextContent("small")}}, nil
	})
	h := single(t, p, host.Options{MaxResultBytes: 20_000, ResultDir: t.TempDir()})
	r := h.Call(t.Context(), call("test__large", ""))
	succeeded(t, r)
	text := r.Text()
	if !strings.HasPrefix(text, "first é") || !strings.Contains(text, "é last") || !utf8.ValidString(text) ||
		len(text) > 20_000 {
		t.Errorf("the model reads %d bytes: %.50q ... %q", len(text), text, text[max(0, len(text)-400):])
	}
	if !r.Truncated || len(r.KeptFiles) != 2 || !strings.Contains(text, r.KeptFiles[0]) ||
		!strings.Contains(text, r.KeptFiles[1]) {
		t.Fatalf("kept in %v; truncated: %t", r.KeptFiles, r.Truncated)
	}
	for i, want := range []string{whole, string(blob)} {
		if got, err := os.ReadFile(r.KeptFiles[i]); err != nil || string(got) != want {
			t.Errorf("file %d has %d bytes, %v; want %d", i, len(got), err, len(want))
		}
	}
}

// What cannot be written to a file is said, and the call has its result.
func TestLargeResultWithoutAFolder(t *testing.T) {
	t.Parallel()
	p := largeOverWire(t, func(context.Context, *sdk.Request) (*sdk.Result, error) {
		return sdk.Text(strings.Repeat("x", 5<<20)), nil
	})
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := single(t, p, host.Options{ResultDir: filepath.Join(file, "results")}).Call(t.Context(), call("test__large", ""))
	succeeded(t, r)
	if !strings.Contains(r.Text(), "the whole could not be kept") || len(r.KeptFiles) > 0 || !r.Truncated {
		t.Errorf("%d bytes, kept in %v", len(r.Text()), r.KeptFiles)
	}
}

// A large part whose plugin ends in the middle leaves no file.
func TestLargeResultThatBreaksOff(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := calling(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		part := r.Large.OpenLarge(sdk.Content{Type: "text"}, 5<<20)
		part.Write([]byte("the beginning"))
		if kept, _ := os.ReadDir(dir); len(kept) != 1 {
			t.Errorf("%d files while it comes", len(kept))
		}
		part.Discard()
		return nil, errors.New("died")
	})
	h := single(t, p, host.Options{ResultDir: dir})
	h.Call(t.Context(), call("test__run", ""))
	if kept, err := os.ReadDir(dir); len(kept) != 0 || err != nil {
		t.Errorf("left: %v, %v", kept, err)
	}
}
