package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/plugins/mcp/internal/client"
)

func TestCallReturnsTheBytesOfTheResult(t *testing.T) {
	for _, mode := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "modern"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := dial(t, client.Options{Name: "test", Version: "1"}, mode)
			got, err := callTool(context.Background(), s, "echo", `{"b":1, "a":9007199254740993}`, nil)
			if want := `{"content":[],"structuredContent":{"b":1, "a":9007199254740993}}`; err != nil || got != want {
				t.Errorf("got %s, %v; want %s", got, err, want)
			}
			list, err := s.List(context.Background(), client.Tools)
			if err != nil || len(list.Items) != 3 || string(list.Items[1]) != "5" ||
				string(list.Items[0]) != `{"name":"one","b":1,"a":9007199254740993}` ||
				list.TTL.Milliseconds() != 3000 || list.Scope != "public" {
				t.Errorf("tools: %+v, %v", list, err)
			}
		})
	}
}

// What a request says beside its parameters, at both kinds of revisions.
func TestRequestBytes(t *testing.T) {
	const modern = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":` +
		`{"name":"n","version":"v"},"io.modelcontextprotocol/clientCapabilities":`
	progress := func(client.Progress) {}
	for _, c := range []struct {
		name, revision, method, params string
		options                        client.CallOptions
		want, wantName                 string
	}{
		{"nothing", "2025-11-25", "x", "", client.CallOptions{}, `{}`, ""},
		{"exact bytes", "2025-11-25", "tools/call", " {\"name\":\"t\\n\", \"arguments\" : {\"b\":1,\n\"a\":1E+40} } ", client.CallOptions{},
			"{\"name\":\"t\\n\", \"arguments\" : {\"b\":1,\n\"a\":1E+40}}", "t\n"},
		{"the caller's _meta", "2025-11-25", "resources/read", `{"uri":"x:y"}`, client.CallOptions{Progress: progress,
			Meta: json.RawMessage(`{"traceparent": "00-1", "progressToken":"theirs","io.modelcontextprotocol/logLevel":"debug","k":[1]}`)},
			`{"uri":"x:y","_meta":{"traceparent": "00-1","k":[1],"progressToken":ID}}`, "x:y"},
		{"the trace of the call", "2025-11-25", "x", "", client.CallOptions{TraceParent: "00-2", TraceState: "a=1",
			Meta: json.RawMessage(`{"traceparent":"00-1","k":1,"tracestate":"b=2"}`)},
			`{"_meta":{"k":1,"traceparent":"00-2","tracestate":"a=1"}}`, ""},
		{"only members of the other hop", "2025-11-25", "x", `{ }`, client.CallOptions{Meta: json.RawMessage(`{"progressToken":1}`)}, `{}`, ""},
		{"without handshake", "2026-07-28", "prompts/get", `{"name":"p"}`, client.CallOptions{},
			`{"name":"p","_meta":{` + modern + `{"roots":{}}}}`, "p"},
		{"capabilities of the caller", "2026-07-28", "tools/call", `{"name":"t"}`, client.CallOptions{Progress: progress, LogLevel: "info",
			Capabilities: json.RawMessage(`{"elicitation":{}}`), Meta: json.RawMessage(`{"k":1}`)},
			`{"name":"t","_meta":{"k":1,"progressToken":ID,` + modern + `{"elicitation":{}},"io.modelcontextprotocol/logLevel":"info"}}`, "t"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, w := wired(t, client.Options{Name: "n", Version: "v", Capabilities: json.RawMessage(`{"roots":{}}`)}, c.revision)
			c.options.Headers = map[string]string{"Mcp-Param-A": "b"}
			go func() { _, _ = s.Call(context.Background(), c.method, json.RawMessage(c.params), &c.options) }()
			m := w.nextOf(c.method)
			want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, m.ID, c.method,
				strings.ReplaceAll(c.want, "ID", m.ID))
			if string(m.JSON) != want || m.Name != c.wantName || m.Version != c.revision || m.Headers["Mcp-Param-A"] != "b" {
				t.Errorf("%+v\n%s\nwant %s", m, m.JSON, want)
			}
		})
	}
}

func TestParametersThatCannotBeSent(t *testing.T) {
	s, _ := wired(t, client.Options{}, client.Revision20251125)
	for params, want := range map[string]string{
		`[]`:            "the parameters are not a JSON object",
		`{"a":}`:        "the parameters are not JSON: it has a wrong byte ('}') at offset 5",
		`{"_meta":{}}`:  "the parameters have a _meta; it belongs into CallOptions.Meta",
		"{\"a\":\"\n\"": "the parameters are not JSON: it has a wrong byte ('\\n') at offset 6",
	} {
		if _, err := s.Call(context.Background(), "x", json.RawMessage(params), nil); err == nil || err.Error() != want {
			t.Errorf("%s: %v; want %s", params, err, want)
		}
	}
}

func TestMembersOfTheOtherHopAreCutOut(t *testing.T) {
	const mine, other = `"io.modelcontextprotocol/serverInfo":{"name":"s"}`, `"k" : {"a":1, "b":2}`
	for given, want := range map[string]string{
		`{"_meta":{` + mine + `}}`:                                     `{}`,
		`{ "_meta" : {` + mine + `} , "a" : 1 }`:                       `{ "a" : 1 }`,
		`{"a":1 , "_meta":{` + mine + `} }`:                            `{"a":1 }`,
		`{"a":1,"_meta":{` + mine + `,` + other + `},"b":2}`:           `{"a":1,"_meta":{` + other + `},"b":2}`,
		`{"a":1,"_meta":{"progressToken":1, ` + other + `}}`:           `{"a":1,"_meta":{` + other + `}}`,
		`{"_meta":{"io.modelcontextprotocol\/x":1},"b":2}`:             `{"b":2}`,
		`{"_meta":{` + other + `},"t":"io.modelcontextprotocol/"}`:     `{"_meta":{` + other + `},"t":"io.modelcontextprotocol/"}`,
		`{"content":[{"_meta":{` + mine + `}}]}`:                       `{"content":[{"_meta":{` + mine + `}}]}`,
		`{"_meta":{"io.modelcontextprotocol/x":1,"k":1,"k2":2},"b":2}`: `{"_meta":{"k":1,"k2":2},"b":2}`,
	} {
		s, w := wired(t, client.Options{}, client.Revision20260728)
		m, done := begin(context.Background(), s, w, nil)
		w.fromServer(`{"jsonrpc":"2.0","id":`+m.ID+`,"result":`+given+`}`, "")
		if got := await(t, done); got.result != want {
			t.Errorf("%s\nbecomes %s, %v\nwant    %s", given, got.result, got.err, want)
		}
	}
}
