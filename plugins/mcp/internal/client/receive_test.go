package client_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/plugins/mcp/internal/client"
)

// What an answer is worth. ID stands for the id of the call; after each answer comes a good one, which counts if the
// first was none.
func TestAnswers(t *testing.T) {
	const good = `{"jsonrpc":"2.0","id":ID,"result":{"good":true}}`
	deep := strings.Repeat("[", 1000) + strings.Repeat("]", 1000)
	for _, c := range []struct{ name, answer, result, failure string }{
		{"a result", `{"jsonrpc":"2.0","id":ID,"result":{"b" : 1,"a":[1e400]}}`, `{"b" : 1,"a":[1e400]}`, ""},
		{"a byte order mark", "\uFEFF" + `{"jsonrpc":"2.0","id":ID,"result":{"x":1}}`, `{"x":1}`, ""},
		{"an id that is a string", `{"jsonrpc":"2.0","id":"ID","result":{}}`, `{}`, ""},
		{"a name with escapes", `{"jsonrpc":"2.0","i\u0064":ID,"result":{"x":1}}`, `{"x":1}`, ""},
		{"null as the result", `{"jsonrpc":"2.0","id":ID,"result":null}`, `{}`, ""},
		{"null as the error", `{"jsonrpc":"2.0","id":ID,"result":{"x":1},"error":null}`, `{"x":1}`, ""},
		{"both", `{"jsonrpc":"2.0","id":ID,"result":{},"error":{"code":-1,"message":"no"}}`, "", "no (JSON-RPC error -1)"},
		{"neither", `{"jsonrpc":"2.0","id":ID}`, "", "tools/call: the answer has neither a result nor an error"},
		{"a list", `{"jsonrpc":"2.0","id":ID,"result":[]}`, "", "tools/call: the result is not a JSON object"},
		{"an error that is a text", `{"jsonrpc":"2.0","id":ID,"error":"oops"}`, "",
			`tools/call: the answer has an error that is not one of JSON-RPC: "oops"`},
		{"an error with a fraction", `{"jsonrpc":"2.0","id":ID,"error":{"code":1.5,"message":"m"}}`, "",
			"m (JSON-RPC error -32603)"},
		{"an error without an id", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}`, "",
			"what? (JSON-RPC error -32700)"},
		{"another id", `{"jsonrpc":"2.0","id":999,"result":{}}`, `{"good":true}`, ""},
		{"an id of another type", `{"jsonrpc":"2.0","id":{"a":ID},"result":{}}`, `{"good":true}`, ""},
		{"no id", `{"jsonrpc":"2.0","result":{}}`, `{"good":true}`, ""},
		{"another protocol", `{"jsonrpc":"1.0","id":ID,"result":{}}`, `{"good":true}`, ""},
		{"no protocol", `{"id":ID,"result":{}}`, `{"good":true}`, ""},
		{"no object", `"hello"`, `{"good":true}`, ""},
		{"a batch", `[{"jsonrpc":"2.0","method":"x"},{"jsonrpc":"2.0","id":ID,"result":{"x":1}}]`, `{"x":1}`, ""},
		{"a batch in a batch", `[[{"jsonrpc":"2.0","id":ID,"result":{}}]]`, `{"good":true}`, ""},
		{"an empty batch", ` [] `, `{"good":true}`, ""},
		{"broken, with its id", `{"jsonrpc":"2.0","id":ID,"result":{"a":tru}}`, "",
			`the server's answer is not valid JSON: it has a wrong byte ('t') at offset 38`},
		{"broken, with its id at the end", `{"jsonrpc":"2.0","result":{"a":01},"id":ID}`, "",
			`the server's answer is not valid JSON: it has a wrong byte ('1') at offset 32`},
		{"broken, without an id", `{"jsonrpc":"2.0","result":`, `{"good":true}`, ""},
		{"too deep", `{"jsonrpc":"2.0","id":ID,"result":{"a":` + deep + `}}`, "",
			"the server's answer is not valid JSON: it is nested more than 1000 deep"},
		{"bytes that are no text", "{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"a\":\"\xff\"}}", "{\"a\":\"\uFFFD\"}", ""},
		{"half a surrogate pair", `{"jsonrpc":"2.0","id":ID,"result":{"a":"\ud83d\ude00\ud83d"}}`,
			`{"a":"\ud83d\ude00\uFFFD"}`, ""},
		{"behind a log without a line end", `INFO {ready} [1] {"jsonrpc":"2.0","id":ID,"result":{"x":"{"}}`, `{"x":"{"}`, ""},
		{"behind what a terminal shows", "\x1b[2K\r" + `{"result":{"x":1},"jsonrpc":"2.0","id":"ID"}`, `{"x":1}`, ""},
		{"behind JSON", `{"level":"info"}{"jsonrpc":"2.0","id":ID,"result":{"x":1}}`, `{"x":1}`, ""},
		{"a byte order mark alone", "\uFEFF", `{"good":true}`, ""},
		{"many objects", strings.Repeat("{}", 20_000) + `{"jsonrpc":"2.0","id":ID,"result":{}}`, `{"good":true}`, ""},
		{"behind a level", `[INFO] ready {"jsonrpc":"2.0","id":ID,"result":{"x":1}}`, `{"x":1}`, ""},
		{"behind a notification", `{"jsonrpc":"2.0","method":"x"}{"jsonrpc":"2.0","id":ID,"result":{"x":1}}`, `{"x":1}`, ""},
		{"before a log", `{"jsonrpc":"2.0","id":ID,"result":{"x":1}}done {`, `{"x":1}`, ""},
		{"in a broken one", `{"jsonrpc":"2.0","id":999,"result":{"a":{"jsonrpc":"2.0","id":ID,"result":{}}`,
			`{"good":true}`, ""},
		{"in one that is broken before its version",
			`{"result":{"n":NaN,"a":{"jsonrpc":"2.0","id":ID,"result":{}}},"jsonrpc":"2.0","id":999}`, `{"good":true}`, ""},
		{"in one of a log that is broken", `INFO {"n":NaN,"a":{"jsonrpc":"2.0","id":ID,"result":{}}}`, `{"good":true}`, ""},
		{"a log that quotes the request", `<- {"jsonrpc":"2.0","id":ID,"method":"tools/call"}`, `{"good":true}`, ""},
		{"a log with too many braces", strings.Repeat("{", 40) + `{"jsonrpc":"2.0","id":ID,"result":{}}`, `{"good":true}`, ""},
		{"_meta of this hop", `{"jsonrpc":"2.0","id":ID,"result":{"x":1,"_meta":{"io.modelcontextprotocol/serverInfo":{}},` +
			`"y":2}}`,
			`{"x":1,"y":2}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, w := wired(t, client.Options{}, client.Revision20250326)
			m, done := begin(context.Background(), s, w, nil)
			w.fromServer(strings.ReplaceAll(c.answer, "ID", m.ID), "")
			w.fromServer(strings.ReplaceAll(good, "ID", m.ID), "")
			got := await(t, done)
			if c.failure == "" && (got.err != nil || got.result != c.result) {
				t.Errorf("got %s, %v; want %s", got.result, got.err, c.result)
			}
			if c.failure != "" && (got.err == nil || got.err.Error() != c.failure) {
				t.Errorf("got %s, %v; want the error %q", got.result, got.err, c.failure)
			}
			if call, ok := errors.AsType[*client.CallError](got.err); ok && !call.Delivered {
				t.Error("the call counts as not delivered")
			}
		})
	}
}

func TestAnswersOutOfOrderAndRepeated(t *testing.T) {
	s, w := wired(t, client.Options{Warn: func(text string) { t.Error(text) }}, client.Revision20251125)
	var ids []string
	var calls []<-chan outcome
	for range 3 {
		m, done := begin(context.Background(), s, w, nil)
		ids, calls = append(ids, m.ID), append(calls, done)
	}
	for _, i := range []int{2, 0, 0, 2, 1} {
		w.fromServer(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"call":%d}}`, ids[i], i), "")
	}
	for i, done := range calls {
		if got := await(t, done); got.result != fmt.Sprintf(`{"call":%d}`, i) {
			t.Errorf("call %d: %+v", i, got)
		}
	}
}

// A transport may say that one request failed, or that a message came on its stream.
func TestFailureOfOneRequest(t *testing.T) {
	s, w := wired(t, client.Options{}, client.Revision20251125)
	broken := errors.New("the stream broke")
	first, one := begin(context.Background(), s, w, nil)
	second, two := begin(context.Background(), s, w, nil)
	third, three := begin(context.Background(), s, w, nil)
	w.coming <- client.Received{For: first.ID, Err: &client.CallError{Err: broken}}
	w.coming <- client.Received{For: second.ID, Err: broken}
	w.fromServer("<html>", third.ID)
	for i, done := range []<-chan outcome{one, two, three} {
		got := await(t, done)
		call, ok := errors.AsType[*client.CallError](got.err)
		if !ok || call.Delivered != (i > 0) || (i < 2) != errors.Is(got.err, broken) {
			t.Errorf("call %d: %+v", i, got)
		}
	}
}

func TestTextThatIsNoMessageIsReportedOnce(t *testing.T) {
	var warnings []string
	s := dial(t, client.Options{Warn: func(text string) { warnings = append(warnings, text) }}, "banner")
	if got, err := callTool(context.Background(), s, "echo", `1`, nil); err != nil {
		t.Fatal(got, err)
	}
	_ = s.Close()
	if len(warnings) != 1 || !strings.Contains(warnings[0], `The first: "Welcome to the server!"`) {
		t.Errorf("%q", warnings)
	}
}

// All notifications of a call come in order, and before its result.
func TestNotificationsComeInOrderBeforeTheResult(t *testing.T) {
	const n = 200
	for _, mode := range []string{"2025-11-25", "modern"} {
		s := dial(t, client.Options{}, mode)
		var progress, logs []int
		_, err := callTool(context.Background(), s, "progress", fmt.Sprint(n), &client.CallOptions{LogLevel: "info",
			Progress: func(p client.Progress) { progress = append(progress, int(p.Progress)) },
			Log:      func(l client.LogMessage) { logs = append(logs, len(l.Data)) }})
		if err != nil || len(progress) != n || !slices.IsSorted(progress) || len(logs) != n {
			t.Errorf("%s: %v, %d, %d", mode, err, len(progress), len(logs))
		}
	}
}

// Members of a wrong type cost a notification nothing but themselves: it still says that the call goes on.
func TestNotificationsWithMembersOfWrongTypes(t *testing.T) {
	s, w := wired(t, client.Options{}, client.Revision20260728)
	var seen []client.Progress
	var logs []client.LogMessage
	m, done := begin(context.Background(), s, w, &client.CallOptions{LogLevel: "info",
		Progress: func(p client.Progress) { seen = append(seen, p) },
		Log:      func(l client.LogMessage) { logs = append(logs, l) }})
	w.fromServer(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`+m.ID+
		`,"progress":3,"total":"10","message":"on"}}`, "")
	w.fromServer(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","logger":{},"data":"x"}}`, "")
	w.fromServer(`{"jsonrpc":"2.0","id":`+m.ID+`,"result":{}}`, "")
	if got := await(t, done); got.err != nil || !slices.Equal(seen, []client.Progress{{Progress: 3, Message: "on"}}) ||
		len(logs) != 1 || string(logs[0].Data) != `"x"` {
		t.Errorf("%+v, %+v, %+v", got, seen, logs)
	}
}

// Of a thousand messages that wait for a slow caller, the newest is kept, whatever comes between.
func TestSlowCallerSeesTheNewestProgress(t *testing.T) {
	s, w := wired(t, client.Options{}, client.Revision20251125)
	var seen []float64
	first, release := make(chan bool, 1), make(chan bool)
	m, done := begin(context.Background(), s, w, &client.CallOptions{Progress: func(p client.Progress) {
		if seen = append(seen, p.Progress); len(seen) == 1 {
			first <- true
			<-release
		}
	}})
	for i := range 5000 {
		w.fromServer(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,`+
			`"progress":%d}}`,
			m.ID, i), "")
		if i == 0 {
			<-first
		}
	}
	w.fromServer(`{"jsonrpc":"2.0","id":`+m.ID+`,"result":{}}`, "")
	w.settle()
	close(release)
	if got := await(t, done); got.err != nil || len(seen) > 1001 || seen[len(seen)-1] != 4999 {
		t.Errorf("%+v, %d messages, the last %v", got, len(seen), seen[len(seen)-1])
	}
}

func TestLogsBelongToTheOnlyCall(t *testing.T) {
	var others []string
	s, w := wired(t, client.Options{Log: func(l client.LogMessage) { others = append(others, string(l.Data)) }},
		client.Revision20251125)
	var logs []string
	o := &client.CallOptions{Log: func(l client.LogMessage) { logs = append(logs, string(l.Data)) }}
	log := func(level, data, from string) {
		w.fromServer(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":%q,"data":%q}}`, level,
			data), from)
	}
	log("info", "before", "")
	w.settle()
	first, one := begin(context.Background(), s, w, o)
	log("info", "alone", "")
	w.settle()
	second, two := begin(context.Background(), s, w, nil)
	log("info", "of which?", "")
	log("debug", "on its stream", first.ID)
	w.fromServer(`{"jsonrpc":"2.0","id":`+first.ID+`,"result":{}}`, "")
	await(t, one)
	w.fromServer(`{"jsonrpc":"2.0","id":`+second.ID+`,"result":{}}`, "")
	await(t, two)
	if !slices.Equal(logs, []string{`"alone"`, `"on its stream"`}) ||
		!slices.Equal(others, []string{`"before"`, `"of which?"`}) {
		t.Errorf("of the call %q, others %q", logs, others)
	}
}

func TestLogLevelOfASessionOnlyDecreases(t *testing.T) {
	s, w := wired(t, client.Options{}, client.Revision20251125)
	var levels []string
	for _, level := range []string{"error", "info", "warning", "", "loud"} {
		done := make(chan outcome, 1)
		go func() {
			r, err := callTool(context.Background(), s, "t", "{}", &client.CallOptions{LogLevel: level})
			done <- outcome{r, err}
		}()
		m := w.next()
		if m.Method == "logging/setLevel" {
			levels = append(levels, level)
			w.fromServer(`{"jsonrpc":"2.0","id":`+m.ID+`,"result":{}}`, "")
			m = w.next()
		}
		w.fromServer(`{"jsonrpc":"2.0","id":`+m.ID+`,"result":{}}`, "")
		await(t, done)
	}
	if !slices.Equal(levels, []string{"error", "info"}) {
		t.Errorf("%q", levels)
	}
}

// Large messages that wait for a slow caller take little memory.
func TestMessagesThatWaitAreBoundedInBytes(t *testing.T) {
	s, w := wired(t, client.Options{}, client.Revision20251125)
	seen := 0
	first, release := make(chan bool, 1), make(chan bool)
	m, done := begin(context.Background(), s, w, &client.CallOptions{Log: func(l client.LogMessage) {
		if seen++; seen == 1 {
			first <- true
			<-release
		}
	}})
	for i := range 100 {
		w.fromServer(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"%d%s"}}`,
			i,
			strings.Repeat("x", 1<<20)), "")
		if i == 0 {
			<-first
		}
	}
	w.settle()
	close(release)
	w.fromServer(`{"jsonrpc":"2.0","id":`+m.ID+`,"result":{}}`, "")
	if got := await(t, done); got.err != nil || seen > 10 {
		t.Errorf("%+v, %d messages", got, seen)
	}
}
