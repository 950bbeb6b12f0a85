package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

// calling is a server with one tool that only reads.
func calling(t *testing.T, call func(ctx context.Context, r *sdk.Request) (*sdk.Result, error)) *wire {
	t.Helper()
	return (&setup{plugins: map[string]*fake{"p": {tools: []sdk.Tool{readOnly("t")}, call: call}}}).stdio(t)
}

// What a call reports comes before its result, in order.
func TestEventsComeInOrderBeforeTheResult(t *testing.T) {
	const events = 200
	w := calling(t, func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		for i := range events {
			r.Progress(float64(i), events, "step %d", i)
		}
		r.Output("stdout", []byte("printed\n"))
		r.Logger().Warn("careful", "n", 5)
		return sdk.Text("done"), nil
	})
	w.handshake("2025-06-18", "{}")
	w.request("logging/setLevel", `{"level":"warning"}`)
	w.other = nil
	w.request("tools/call", `{"name":"p__t","_meta":{"progressToken":9007199254740993}}`)
	if len(w.other) != events+2 {
		t.Fatalf("%d notifications: %q", len(w.other), w.other)
	}
	last := -1.0
	for i, line := range w.other[:events+1] {
		var note struct {
			Params struct {
				ProgressToken json.RawMessage
				Progress      float64
				Message       string
			}
		}
		if err := json.Unmarshal([]byte(line), &note); err != nil {
			t.Fatal(err)
		}
		p := note.Params
		if want := fmt.Sprintf("step %d", i); i < events && p.Message != want || p.Progress <= last ||
			string(p.ProgressToken) != "9007199254740993" || i == events && p.Message != "printed\n" {
			t.Errorf("notification %d: %s", i, line)
		}
		last = p.Progress
	}
	if line := w.other[events+1]; !strings.Contains(line, `"data":{"message":"careful","n":5}`) ||
		!strings.Contains(line, `"level":"warning"`) {
		t.Errorf("got %s", line)
	}
}

// Progress increases with each notification, whatever a tool and those in front of it report, and is never above its
// total. What is right stays as it is.
func TestProgressIncreases(t *testing.T) {
	reported := []struct{ done, total, want, wantTotal float64 }{
		{0, 0, 0, 0}, // of starting a server
		{0, 0, 1e-6, 0},
		{0.1, 1, 0.1, 1},
		{0.2, 1, 0.2, 1},
		{0.2, 1, 0.2 + 1e-6, 1},
		{0.15, 1, 0.2 + 2e-6, 1},
		{1, 1, 1, 1},
		{1, 1, 1 + 1e-6, 0},
		{1e12, 1e12, 1e12, 1e12},
		{3, 1e13, math.Nextafter(1e12, 2e12), 1e13},
	}
	w := calling(t, func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		for _, p := range reported {
			r.Progress(p.done, p.total, "step")
		}
		return sdk.Text("done"), nil
	})
	w.handshake("2025-06-18", "{}")
	w.other = nil
	w.request("tools/call", `{"name":"p__t","_meta":{"progressToken":1}}`)
	if len(w.other) != len(reported) {
		t.Fatalf("%d notifications: %q", len(w.other), w.other)
	}
	for i, line := range w.other {
		var note struct {
			Params struct{ Progress, Total float64 }
		}
		if err := json.Unmarshal([]byte(line), &note); err != nil {
			t.Fatal(err)
		}
		p, want := note.Params, reported[i]
		if math.Abs(p.Progress-want.want) > 1e-9 || p.Total != want.wantTotal {
			t.Errorf("%v of %v: %s", want.done, want.total, line)
		}
	}
}

// A client that wants no progress and no log gets none.
func TestNothingIsReportedUnasked(t *testing.T) {
	w := calling(t, func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		r.Progress(1, 2, "half")
		r.Output("stdout", []byte("printed\n"))
		r.Logger().Error("bad")
		return sdk.Text("done"), nil
	})
	w.handshake("2025-11-25", "{}")
	w.request("tools/call", `{"name":"p__t"}`)
	w.request("tools/call", modernParams(`{"name":"p__t"}`, "{}"))
	if len(w.other) > 0 {
		t.Errorf("got %q", w.other)
	}
}

func TestCanceledCallEnds(t *testing.T) {
	began, ended := make(chan struct{}, 1), make(chan error, 1)
	w := calling(t, func(ctx context.Context, _ *sdk.Request) (*sdk.Result, error) {
		began <- struct{}{}
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	})
	w.handshake("2025-11-25", "{}")
	for _, params := range []string{`{"name":"p__t"}`, modernParams(`{"name":"p__t"}`, "{}")} {
		id := w.begin("tools/call", params)
		<-began
		w.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
		if err := <-ended; err == nil {
			t.Error("the call was not canceled")
		}
	}
	w.request("ping", "")
	for _, line := range w.other {
		if strings.Contains(line, `"result"`) {
			t.Errorf("a canceled call is answered: %s", line)
		}
	}
}

func TestUnknownToolIsAnError(t *testing.T) {
	w := calling(t, nil)
	w.handshake("2025-11-25", "{}")
	for _, params := range []string{`{"name":"p__x"}`, `{"name":"t"}`, `{"name":""}`, `{"name":"toolhost__search"}`,
		`{}`} {
		if r := w.request("tools/call", params); r.Error == nil || r.Error.Code != -32602 {
			t.Errorf("%s: got %s, %+v", params, r.Result, r.Error)
		}
	}
}

// A call waits for the plugin of its tool as any call does, also when lists no longer do, and says what is wrong with it.
// A tool that is not listed is not there meanwhile either.
func TestCallWaitsForItsPlugin(t *testing.T) {
	rules, err := policy.New(policy.Layer{Name: "project", Rules: []policy.Rule{{Name: "no deletion",
		Tools: []string{"slow__delete"}, Effect: policy.Deny, Reason: "not here"}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]Options{"full names": {}, "plain names": {PlainNames: true}, "deferred": {Deferred: true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slow := &fake{tools: []sdk.Tool{readOnly("late"), readOnly("delete")}, hold: make(chan struct{})}
				w := (&setup{options: o, plugins: map[string]*fake{"slow": slow, "down": {err: errDown}},
					host: host.Options{Policy: rules}}).stdio(t)
				w.handshake("2025-11-25", "{}")
				names(t, w.request("tools/list", ""))
				call := func(tool string) string {
					switch {
					case o.Deferred:
						return fmt.Sprintf(`{"name":%q,"arguments":{"tool":%q}}`, callName, tool)
					case o.PlainNames:
						_, tool, _ = strings.Cut(tool, "__")
					}
					return fmt.Sprintf(`{"name":%q}`, tool)
				}
				time.AfterFunc(20*time.Second, func() { close(slow.hold) })
				denied := w.begin("tools/call", call("slow__delete"))
				if r := w.request("tools/call", call("slow__late")); !strings.Contains(string(r.Result), "late {}") {
					t.Errorf("got %s, %+v", r.Result, r.Error)
				}
				r := w.await(denied)
				if got := fmt.Sprintf("%s%+v", r.Result, r.Error); strings.Contains(got, "not here") ||
					!strings.Contains(got, "there is no tool") && !strings.Contains(got, "unknown tool") {
					t.Errorf("got %s", got)
				}
				r = w.request("tools/call", call("down__x"))
				if !o.PlainNames && !strings.Contains(string(r.Result), "the program cannot be found") {
					t.Errorf("got %s, %+v", r.Result, r.Error)
				}
				_ = w.send.Close()
				<-w.ended
			})
		})
	}
}

// A name that no plugin which starts can have is refused without waiting for it.
func TestUnknownToolDoesNotWaitForOthers(t *testing.T) {
	for _, o := range []Options{{}, {Deferred: true}} {
		synctest.Test(t, func(t *testing.T) {
			slow := &fake{hold: make(chan struct{})}
			w := (&setup{options: o, plugins: map[string]*fake{"slow": slow, "p": {tools: []sdk.Tool{readOnly("t")}}}}).stdio(t)
			w.handshake("2025-11-25", "{}")
			names(t, w.request("tools/list", ""))
			name := "p__none"
			if o.Deferred {
				name = "slow__late" // to be called with the tool for that
			}
			begin := time.Now()
			r := w.request("tools/call", fmt.Sprintf(`{"name":%q}`, name))
			if r.Error == nil || time.Since(begin) > time.Second {
				t.Errorf("%+v after %s: %s, %+v", o, time.Since(begin), r.Result, r.Error)
			}
			close(slow.hold)
			_ = w.send.Close()
			<-w.ended
		})
	}
}

// The error of a plugin, which several calls have, stays as it is.
func TestErrorOfAPluginIsNotChanged(t *testing.T) {
	down := &sdk.Error{Code: sdk.CodePluginUnavailable, Message: "it is down"}
	w := (&setup{plugins: map[string]*fake{"down": {err: down}}}).stdio(t)
	w.handshake("2025-11-25", "{}")
	r := w.request("tools/call", `{"name":"down__x"}`)
	if !strings.Contains(string(r.Result), "it is down") || down.Outcome != "" {
		t.Errorf("got %s, %+v, and the outcome %q", r.Result, r.Error, down.Outcome)
	}
}

// Names that are suggested are those that the client calls tools by, and of no tool that it does not see.
func TestUnknownToolHasNearNames(t *testing.T) {
	plugins := map[string]*fake{"p": {tools: []sdk.Tool{readOnly("first_lines"), readOnly("last_lines"), readOnly("hidden")}}}
	for name, test := range map[string]struct {
		plain bool
		want  map[string]string
	}{
		"full names": {false, map[string]string{
			"p__first_line":        `unknown tool "p__first_line"; did you mean p__first_lines, p__last_lines?`,
			"mcp__s__p__last_line": `unknown tool "mcp__s__p__last_line"; did you mean p__last_lines, p__first_lines?`,
			"p__hiden":             `unknown tool "p__hiden"`,
			"":                     `unknown tool ""`,
		}},
		"plain names": {true, map[string]string{
			"first_line": `unknown tool "first_line"; did you mean first_lines?`,
			"hiden":      `unknown tool "hiden"`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := (&setup{plugins: plugins, filter: host.Filter{Exclude: []string{"*__hidden"}},
				options: Options{PlainNames: test.plain}}).stdio(t)
			w.handshake("2025-11-25", "{}")
			for called, want := range test.want {
				r := w.request("tools/call", fmt.Sprintf(`{"name":%q}`, called))
				if r.Error == nil || r.Error.Code != -32602 || r.Error.Message != want {
					t.Errorf("got %s, %+v, want %s", r.Result, r.Error, want)
				}
			}
		})
	}
}

// A failure is a result that a model can act on, and programs find the error in _meta.
func TestFailureIsAResult(t *testing.T) {
	w := calling(t, func(context.Context, *sdk.Request) (*sdk.Result, error) {
		out := sdk.Text("part")
		out.Error = &sdk.Error{Name: "MatchNotFound", Message: "there is no such text", Suggestion: "Read the file."}
		return out, nil
	})
	w.handshake("2025-11-25", "{}")
	got := string(w.request("tools/call", `{"name":"p__t"}`).Result)
	want := `{"content":[{"type":"text","text":"part\nE_TOOL MatchNotFound: there is no such ` +
		`text\nRead the file."}],"isError":true,` +
		`"_meta":{"toolhost/error":{"code":"E_TOOL","name":"MatchNotFound","message":"there is no such text",` +
		`"suggestion":"Read the file.","retryable":false,"outcome":"failed"}}}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// What an MCP server answered is passed on byte for byte, also when it is a failure; a part of a kind that MCP does not
// have in a text.
func TestResultOfAnMCPServerStaysUnchanged(t *testing.T) {
	content := []sdk.Content{
		{Type: "text", Text: "a <b> \u2028 é",
			Extra: json.RawMessage(`{"annotations":{"priority":0.10,"audience":["user"]}}`)},
		{Raw: json.RawMessage(`{"type":"hologram","z":1,"a":9007199254740993}`)},
		{Type: "image", Data: make([]byte, 100_000), MIMEType: "image/png"},
	}
	bridged := readOnly("t")
	bridged.ForeignSchema = true
	for _, failed := range []bool{false, true} {
		call := func(context.Context, *sdk.Request) (*sdk.Result, error) {
			r := &sdk.Result{Content: content, Structured: json.RawMessage(`{"z":12345678901234567890,"a":1.50}`),
				Extra: json.RawMessage(`{"_meta":{"y":1,"b":[2.0],"io.modelcontextprotocol/serverInfo":{"name":"x"}},` +
					`"future":{"k":1}}`)}
			if failed {
				r.Error = &sdk.Error{Name: "MCPToolError", Message: "a <b>"}
			}
			return r, nil
		}
		w := (&setup{plugins: map[string]*fake{"p": {tools: []sdk.Tool{bridged}, call: call}}}).stdio(t)
		w.handshake("2025-11-25", "{}")
		got := string(w.request("tools/call", `{"name":"p__t"}`).Result)
		parts, _ := json.Marshal(content[2])
		isError := ""
		if failed {
			isError = `"isError":true,`
		}
		want := "{\"content\":[{\"type\":\"text\",\"text\":\"a <b> \u2028 é\"" + `,"annotations":{"priority":0.10,"audience":["user"]}},` +
			`{"type":"text","text":"[This part of the result is of a kind that MCP does not have: ` +
			`{\"type\":\"hologram\",\"z\":1,\"a\":9007199254740993}]"},` + string(parts) + `],"structuredContent":` +
			`{"z":12345678901234567890,"a":1.50},` + isError + `"_meta":{"y":1,"b":[2.0]},"future":{"k":1}}`
		if got != want {
			t.Errorf("got  %.600s\nwant %.600s", got, want)
		}
	}
}

// A long text is cut, and the client can read the whole under a link that no other identity can use.
func TestLongResultIsLinked(t *testing.T) {
	whole := strings.Repeat("0123456789", 1000)
	image := make([]byte, 50_000)
	s := &setup{plugins: map[string]*fake{"p": {tools: []sdk.Tool{readOnly("t")},
		call: func(context.Context, *sdk.Request) (*sdk.Result, error) {
			return sdk.Text(whole).Add(sdk.ImageContent(image, "image/png")), nil
		}}}, options: Options{StateKey: make([]byte, 32)}}
	s.host.MaxResultBytes, s.host.ResultDir = 1000, t.TempDir()
	w := s.stdio(t)
	w.handshake("2025-11-25", "{}")
	var result struct {
		Content []struct {
			Type, Text, URI, MIMEType string
			Data                      []byte
			Size                      int
		}
	}
	if err := json.Unmarshal(w.request("tools/call", `{"name":"p__t"}`).Result, &result); err != nil {
		t.Fatal(err)
	}
	if len(result.Content) != 3 || len(result.Content[0].Text) > 1500 || len(result.Content[1].Data) != len(image) ||
		result.Content[2].Type != "resource_link" || result.Content[2].Size != len(whole) {
		t.Fatalf("got %.500q", fmt.Sprint(result))
	}
	uri := result.Content[2].URI
	read := func(w *wire, uri string) reply { return w.request("resources/read", fmt.Sprintf(`{"uri":%q}`, uri)) }
	if got := read(w, uri); !strings.Contains(string(got.Result), whole) {
		t.Errorf("got %.500s, %+v", got.Result, got.Error)
	}
	other := &endpoint{seal: newSeal(make([]byte, 32), "other")}
	if _, ok := other.keptPath(uri); ok {
		t.Error("another identity can read it")
	}
	for _, wrong := range []string{uri + "x", strings.Replace(uri, "kept/", "kept/0", 1),
		"toolhost://kept/x/%2Fetc%2Fpasswd",
		"file:///etc/passwd", "toolhost://kept/"} {
		if got := read(w, wrong); got.Error == nil || got.Error.Code != -32602 {
			t.Errorf("%s: got %s", wrong, got.Result)
		}
	}
}

// Clients such as Claude Code and Codex give a model the structured part of a result, if it has one, and nothing of its
// content: it has one where no text is lost by that.
func TestStructuredResultSaysAllThatTheTextSays(t *testing.T) {
	const data = `{"total":1.0}`
	structured := func(content ...sdk.Content) *sdk.Result {
		return &sdk.Result{Structured: json.RawMessage(data), Content: content}
	}
	failed := structured(sdk.TextContent(data))
	failed.Error = &sdk.Error{Name: "Late", Message: "too late"}
	for name, c := range map[string]struct {
		result     *sdk.Result
		textIsJSON bool
		want       bool
	}{
		"its JSON":           {structured(sdk.TextContent(data)), false, true},
		"its JSON, indented": {structured(sdk.TextContent("{\n  \"total\": 1.0\n}")), false, true},
		"no text":            {structured(), false, true},
		"another text":       {structured(sdk.TextContent("One file.")), false, false},
		"other JSON":         {structured(sdk.TextContent(`{"total":1}`)), false, false},
		"an image":           {structured(sdk.ImageContent([]byte{1}, "image/png")), false, false},
		"more text":          {structured(sdk.TextContent(data), sdk.TextContent("and a note")), false, false},
		"a failure":          {failed, true, false},
		"what has a schema":  {structured(sdk.TextContent(data), sdk.TextContent("and a note")), true, true},
	} {
		t.Run(name, func(t *testing.T) {
			tool := readOnly("t")
			tool.OutputSchema, tool.TextIsJSON = []byte(`{"type":"object"}`), c.textIsJSON
			w := (&setup{plugins: map[string]*fake{"p": {tools: []sdk.Tool{tool},
				call: func(context.Context, *sdk.Request) (*sdk.Result, error) { return c.result, nil }}}}).stdio(t)
			w.handshake("2025-11-25", "{}")
			list := string(w.request("tools/list", "").Result)
			if got := strings.Contains(list, "outputSchema"); got != c.textIsJSON {
				t.Errorf("it has a schema: %v, want %v", got, c.textIsJSON)
			}
			got := string(w.request("tools/call", `{"name":"p__t"}`).Result)
			if strings.Contains(got, "structuredContent") != c.want {
				t.Errorf("got %s", got)
			}
		})
	}
}

// Texts that follow each other are one part; other parts, and texts with members of their own, stay as they are.
func TestTextsAreOnePart(t *testing.T) {
	noted := sdk.TextContent("noted")
	noted.Extra = json.RawMessage(`{"annotations":{"priority":1}}`)
	content := []sdk.Content{sdk.TextContent("a\n"), sdk.TextContent(""), sdk.TextContent("b"), sdk.TextContent("c"), noted,
		sdk.TextContent("d"), sdk.LinkContent("file:///x", "x", ""), sdk.TextContent(""), sdk.TextContent("e")}
	w := calling(t, func(context.Context, *sdk.Request) (*sdk.Result, error) { return &sdk.Result{Content: content}, nil })
	w.handshake("2025-11-25", "{}")
	const want = `{"content":[{"type":"text","text":"a\nb\nc"},{"type":"text","text":"noted","annotations":{"priority":1}},` +
		`{"type":"text","text":"d"},{"type":"resource_link","uri":"file:///x","name":"x"},{"type":"text","text":"e"}]}`
	if got := string(w.request("tools/call", `{"name":"p__t"}`).Result); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Claude Code gives a model the whole of what a tool with a limit of its own returns, up to a limit of the client's.
func TestDefinitionSaysHowLongResultsAre(t *testing.T) {
	for limit, want := range map[int64]string{0: "", 60_000: `"_meta":{"anthropic/maxResultSizeChars":60000}`,
		sdk.MaxResult: `"_meta":{"anthropic/maxResultSizeChars":500000}`} {
		tool := readOnly("t")
		tool.MaxResultBytes = limit
		w := (&setup{plugins: map[string]*fake{"p": {tools: []sdk.Tool{tool}}}}).stdio(t)
		w.handshake("2025-11-25", "{}")
		got := string(w.request("tools/list", "").Result)
		if strings.Contains(got, "_meta") != (limit > 0) || !strings.Contains(got, want) {
			t.Errorf("%d: got %s, want %s", limit, got, want)
		}
	}
}

// Before 2026-07-28 a structured result was an object.
func TestStructuredResultThatIsNoObject(t *testing.T) {
	w := calling(t, func(context.Context, *sdk.Request) (*sdk.Result, error) {
		return &sdk.Result{Structured: json.RawMessage(`[1,2.0]`)}, nil
	})
	w.handshake("2025-11-25", "{}")
	if got := string(w.request("tools/call",
		`{"name":"p__t"}`).Result); got != `{"content":[{"type":"text","text":"[1,2.0]"}]}` {
		t.Errorf("got %s", got)
	}
	got := string(w.request("tools/call", modernParams(`{"name":"p__t"}`, "{}")).Result)
	if !strings.HasPrefix(got,
		`{"content":[{"type":"text","text":"[1,2.0]"}],"structuredContent":[1,2.0],"resultType":"complete"`) {
		t.Errorf("got %s", got)
	}
}
