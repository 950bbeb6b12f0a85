package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/sdk"
)

func mustReply(t *testing.T, raw string) reply {
	t.Helper()
	r, err := readReply(json.RawMessage(raw))
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return r
}

// compact removes the blanks of JSON.
func compact(t *testing.T, raw []byte) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, raw); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return out.String()
}

// Data in a URL is the data: no client takes the URL.
func TestDataURLOfAnImage(t *testing.T) {
	for part, want := range map[string]string{
		`{"type":"image","data":"data:image/png;base64,AAEC","mimeType":"image/png"}`: `{"type":"image","mimeType":"image/png","data":"AAEC"}`,
		`{"type":"image","data":"data:image/png;base64,AAEC"}`:                        `{"type":"image","data":"AAEC","mimeType":"image/png"}`,
		`{"title":"t","type":"audio","data":"data:;base64,AAEC"}`:                     `{"title":"t","type":"audio","data":"AAEC"}`,
		`{"type":"image","data":"data:image/png;base64,not base64!"}`:                 `{"type":"image","data":"data:image/png;base64,not base64!"}`,
		`{"type":"image","data":"data:image/svg+xml,svg"}`:                            `{"type":"image","data":"data:image/svg+xml,svg"}`,
		`{"type":"hologram","data":"data:;base64,AAEC"}`:                              `{"type":"hologram","data":"data:;base64,AAEC"}`,
	} {
		got, err := json.Marshal(mustReply(t, `{"content":[`+part+`]}`).result.Content)
		if err != nil || string(got) != "["+want+"]" {
			t.Errorf("%s becomes %s, %v", part, got, err)
		}
	}
}

// Every part of a result comes out of the plugin as it came from the server.
func TestContentIsPassedOn(t *testing.T) {
	for _, part := range []string{
		`{"type":"text","text":"hello"}`,
		`{"type":"text","text":""}`,
		`{"type":"text","text":"x","annotations":{"audience":["user"],"priority":0.50},"_meta":{"n":9007199254740993}}`,
		`{"type":"image","data":"AAEC","mimeType":"image/png"}`,
		`{"type":"image","data":"AAEC"}`,
		`{"type":"image","data":"","mimeType":"image/png"}`,
		`{"type":"image","data":"AAEC","mimeType":""}`,
		`{"type":"image","data":"not base64!","mimeType":"image/png"}`,
		`{"type":"image","data":"AAE","mimeType":"image/png"}`,  // not padded
		`{"type":"image","data":"AAF=","mimeType":"image/png"}`, // bits that bytes do not keep
		`{"type":"image","data":5}`,
		`{"type":"image"}`,
		`{"type":"image","data":"AAEC","mimeType":"image/png","name":"a member of other kinds"}`,
		`{"type":"audio","data":"AAEC","mimeType":"audio/wav","title":"t"}`,
		`{"type":"resource","resource":{"uri":"file:///a","mimeType":"text/plain","text":"x"}}`,
		`{"type":"resource","resource":{"uri":"file:///a","text":"x","_meta":{"a":1},"size":5},"annotations":{"priority":1}}`,
		`{"type":"resource","resource":{"uri":"file:///a","blob":"AAEC"}}`,
		`{"type":"resource","resource":{"uri":"file:///a","blob":""}}`,
		`{"type":"resource","resource":{"uri":"file:///a"}}`,
		`{"type":"resource","resource":{"uri":"file:///a","text":"x","blob":"AAEC"}}`,
		`{"type":"resource","resource":"no object"}`,
		`{"type":"resource"}`,
		`{"type":"resource_link","uri":"file:///a","name":"a","mimeType":"text/plain","title":"A","size":9007199254740993}`,
		`{"type":"resource_link","name":"a link to nothing"}`,
		`{"type":"hologram","data":"x","depth":[1,2]}`,
		`{"text":"of no kind"}`,
		`{"type":5}`,
	} {
		r := mustReply(t, `{"content":[`+part+`]}`).result
		got, err := json.Marshal(r.Content)
		if err != nil {
			t.Errorf("%s: %v", part, err)
			continue
		}
		if compact(t, got) != "["+part+"]" {
			t.Errorf("%s becomes %s", part, got)
		}
	}
}

// What hosts would not take for a part, and the results of servers from before the first revision, become texts.
func TestContentThatIsNoneIsText(t *testing.T) {
	for raw, want := range map[string]string{
		`{"content":["no object",null,[1]]}`:             `[{"type":"text","text":"no object"},{"type":"text","text":"null"},{"type":"text","text":"[1]"}]`,
		`{"toolResult":"done"}`:                          `[{"type":"text","text":"done"}]`,
		`{"toolResult":{"a":1.0}}`:                       `[{"type":"text","text":"{\"a\":1.0}"}]`,
		`{"toolResult":1,"content":[]}`:                  `[]`,
		`{"toolResult":1,"structuredContent":{"a":1.0}}`: `null`,
	} {
		got, err := json.Marshal(mustReply(t, raw).result.Content)
		if err != nil || string(got) != want {
			t.Errorf("%s becomes %s, %v", raw, got, err)
		}
	}
}

func TestUsualContentHasFields(t *testing.T) {
	r := mustReply(t, `{"content":[{"type":"text","text":"a\"é"},{"type":"image","data":"AAE/","mimeType":"image/png"},
		{"type":"resource","resource":{"uri":"u","mimeType":"m","text":"t"}}]}`).result
	want := []sdk.Content{sdk.TextContent("a\"é"), sdk.ImageContent([]byte{0, 1, 63}, "image/png"),
		{Type: "resource", URI: "u", Text: "t", MIMEType: "m"}}
	if diff := cmp.Diff(want, r.Content); diff != "" {
		t.Error(diff)
	}
}

func TestStructuredContentKeepsItsBytes(t *testing.T) {
	for _, value := range []string{`{ "z":1, "a":9007199254740993, "f":1.50 }`, `[1, 2]`, `"text"`, `5`, `null`, `false`} {
		r := mustReply(t, `{"structuredContent":`+value+`}`).result
		if string(r.Structured) != value {
			t.Errorf("%s becomes %s", value, r.Structured)
		}
	}
	if r := mustReply(t, `{}`).result; r.Structured != nil || r.Content != nil || r.Error != nil || r.Extra != nil {
		t.Errorf("%+v", r)
	}
}

func TestMembersOfTheResult(t *testing.T) {
	r := mustReply(t, `{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"x"},"a": 1,"progressToken":2},
		"content":[],"resultType":"complete","future":{"b" : 2}}`).result
	if want := `{"_meta":{"a":1},"content":null,"future":{"b" : 2}}`; string(r.Extra) != want {
		t.Errorf("extra is %s, want %s", r.Extra, want)
	}
	if r := mustReply(t, `{"_meta":{"io.modelcontextprotocol/serverInfo":{}}}`).result; r.Extra != nil {
		t.Errorf("the server's own _meta is passed on: %s", r.Extra)
	}
}

// A result whose members are in the usual order needs no places.
func TestPlacesOfMembers(t *testing.T) {
	for reply, want := range map[string]string{
		`{"content":[],"structuredContent":{},"isError":true,"x":1,"_meta":{"a":1}}`: `{"x":1,"_meta":{"a":1}}`,
		`{"_meta":{"io.modelcontextprotocol/serverInfo":{}},"content":[]}`:           ``,
		`{"resultType":"complete","content":[]}`:                                     ``,
		`{"content":[],"isError":false}`:                                             `{"isError":false}`,
		`{"isError":true,"content":[]}`:                                              `{"isError":true,"content":null}`,
		`{"structuredContent":{},"x":1,"content":[]}`:                                `{"structuredContent":null,"x":1,"content":null}`,
		`{"_meta":{"a":1},"isError":false}`:                                          `{"_meta":{"a":1},"isError":false}`,
	} {
		if r := mustReply(t, reply).result; string(r.Extra) != want {
			t.Errorf("%s: extra is %s, want %s", reply, r.Extra, want)
		}
	}
}

func TestErrorOfATool(t *testing.T) {
	r := mustReply(t, `{"isError":true,"content":[{"type":"image","data":"AAEC"},{"type":"text","text":"no such file"},
		{"type":"text","text":"more"}],"structuredContent":{"code":5}}`).result
	want := &sdk.Error{Name: "MCPToolError", Message: "no such file"}
	if diff := cmp.Diff(want, r.Error); diff != "" || len(r.Content) != 3 || string(r.Structured) != `{"code":5}` {
		t.Errorf("%+v %s", r, diff)
	}
	if r := mustReply(t, `{"isError":true}`).result; r.Error == nil || r.Error.Message == "" {
		t.Errorf("%+v", r)
	}
	for _, yes := range []string{`"true"`, `1`, `{}`} { // strict clients refuse it, lenient ones take it for an error
		if r := mustReply(t, `{"content":[],"isError":`+yes+`}`).result; r.Error == nil || r.Extra != nil {
			t.Errorf("%s: %+v", yes, r)
		}
	}
	if r := mustReply(t, `{"isError":null}`).result; r.Error != nil {
		t.Errorf("null: %+v", r.Error)
	}
	if r := mustReply(t, `{"isError":false}`).result; r.Error != nil {
		t.Errorf("%+v", r)
	}
}

func TestQuestionsOfATool(t *testing.T) {
	r := mustReply(t, `{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{ }}},
		"requestState":"opaque"}`)
	if r.state != "opaque" || string(r.asks["q"]) != `{"method":"elicitation/create","params":{ }}` {
		t.Errorf("%+v", r)
	}
}

func TestInvalidResults(t *testing.T) {
	for raw, want := range map[string]string{`[]`: "an array", `null`: "null", `{"content":"x"}`: "a string",
		`{"resultType":"task"}`: `resultType "task"`} {
		if _, err := readReply(json.RawMessage(raw)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", raw, err)
		}
	}
}
