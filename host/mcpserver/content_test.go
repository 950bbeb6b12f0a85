package mcpserver

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/mcpcontent"
	"github.com/toolhost/toolhost/sdk"
)

// A client gets no kind of content that came after its revision.
func TestContentInKindsOfTheRevision(t *testing.T) {
	s := &setup{plugins: map[string]*fake{"p": {tools: []sdk.Tool{readOnly("t")},
		call: func(context.Context, *sdk.Request) (*sdk.Result, error) {
			link := sdk.LinkContent("test://r", "report", "text/plain")
			link.Extra = []byte(`{"description":"All of it."}`)
			return sdk.Text("short").Add(link, sdk.Content{Type: "audio", Data: []byte{0}, MIMEType: "audio/wav"}), nil
		}}}}
	const (
		link       = `{"type":"resource_link","uri":"test://r","name":"report","mimeType":"text/plain","description":"All of it."}`
		linkAsText = `{"type":"text","text":"[resource report: test://r (text/plain): All of it.]"}`
		audio      = `{"type":"audio","data":"AA==","mimeType":"audio/wav"}`
		resource   = `{"type":"resource","resource":{"uri":"toolhost://audio/2","mimeType":"audio/wav","blob":"AA=="}}`
	)
	for version, want := range map[string]string{
		"2025-11-25": link + "," + audio, "2025-06-18": link + "," + audio, "2025-03-26": linkAsText + "," + audio,
		"2024-11-05": linkAsText + "," + resource,
	} {
		w := s.stdio(t)
		w.handshake(version, "{}")
		want = fmt.Sprintf(`{"content":[{"type":"text","text":"short"},%s]}`, want)
		if got := w.request("tools/call", `{"name":"p__t"}`); strings.TrimSpace(string(got.Result)) != want {
			t.Errorf("%s: %s, want %s", version, got.Result, want)
		}
	}
}

// A part that is not what MCP says of its kind, or of a kind that MCP does not have, for which clients would refuse the
// whole result, becomes one that they take; all others stay.
func TestContentThatClientsAccept(t *testing.T) {
	shown := func(part string) string {
		why := "is not what MCP says of its kind"
		if strings.Contains(part, "hologram") {
			why = "is of a kind that MCP does not have"
		}
		list := contentJSON([]sdk.Content{sdk.TextContent("[This part of the result " + why + ": " + part + "]")})
		return strings.TrimSuffix(strings.TrimPrefix(string(list), "["), "]")
	}
	for part, want := range map[string]string{
		`{"type":"text"}`:                                                               "shown",
		`{"type":"text","text":5}`:                                                      "shown",
		`{"type":"text","text":{"a":"b"}}`:                                              "shown",
		`{"text":"of no kind"}`:                                                         "shown",
		`{"type":5,"text":"x"}`:                                                         "shown",
		`{"type":"image","mimeType":"image/png"}`:                                       "shown",
		`{"type":"image","data":"@@","mimeType":"image/png"}`:                           "shown",
		`{"type":"image","data":5,"mimeType":"image/png"}`:                              "shown",
		`{"type":"resource"}`:                                                           "shown",
		`{"type":"resource","resource":"x"}`:                                            "shown",
		`{"type":"resource","resource":{"text":"x"}}`:                                   "shown",
		`{"type":"resource","resource":{"uri":"u"}}`:                                    "shown",
		`{"type":"resource","resource":{"uri":"u","blob":"@"}}`:                         "shown",
		`{"type":"resource_link","name":"n"}`:                                           "shown",
		`{"type":"image","data":"iVBORw0KGgo="}`:                                        `{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}`,
		`{"type":"audio","data":"AAEC"}`:                                                `{"type":"audio","data":"AAEC","mimeType":"application/octet-stream"}`,
		`{"type":"resource_link","uri":"u"}`:                                            `{"type":"resource_link","uri":"u","name":"u"}`,
		`{"type":"text","text":"x","annotations":{"priority":5},"a":1}`:                 `{"type":"text","text":"x","a":1}`,
		`{"type":"text","text":"x","annotations":{"audience":["model"]}}`:               `{"type":"text","text":"x"}`,
		`{"type":"text","text":"x","annotations":{"lastModified":"today"}}`:             `{"type":"text","text":"x"}`,
		`{"type":"text","text":"x","annotations":null,"_meta":null}`:                    `{"type":"text","text":"x"}`,
		`{"type":"hologram","data":5}`:                                                  "shown",
		`{"type":"hologram","data":"` + strings.Repeat("x", 5000) + `"}`:                "shown",
		`{"type":"text","text":"one","text":"two"}`:                                     "",
		`{"type":"image","data":"AAE","mimeType":"image/png"}`:                          `{"type":"image","data":"AAE=","mimeType":"image/png"}`,
		`{"a":1,"data":" A\nQ ","mimeType":"image/png","type":"audio"}`:                 `{"a":1,"data":"AQ==","mimeType":"image/png","type":"audio"}`,
		`{"type":"image","data":"AA\nEC","mimeType":"image/png"}`:                       `{"type":"image","data":"AAEC","mimeType":"image/png"}`,
		`{"type":"image","data":"-_8","mimeType":"image/png"}`:                          `{"type":"image","data":"+/8=","mimeType":"image/png"}`,
		`{"type":"resource","resource":{"blob":"AAE","uri":"u"},"b":2}`:                 `{"type":"resource","resource":{"blob":"AAE=","uri":"u"},"b":2}`,
		`{"type":"image","data":"AAAAA","mimeType":"image/png"}`:                        "shown",
		`{"type":"image","data":"","mimeType":"image/png"}`:                             "",
		`{"type":"image","data":"AAF=","mimeType":"image/png"}`:                         "",
		`{"type":"resource","resource":{"uri":"u","text":"x","blob":"AAEC"}}`:           "",
		`{"annotations":{"priority":1E0,"audience":["user"]},"text":"x","type":"text"}`: "",
	} {
		switch want {
		case "shown":
			want = shown(part)
		case "":
			want = part
		}
		if got := string(contentJSON([]sdk.Content{accepted(sdk.Content(mcpcontent.Read([]byte(part))))})); got != "["+want+"]" {
			t.Errorf("%s becomes %s", part, got)
		}
	}
}

// A result has what clients refuse it without: a reason, if it is an error, and what the schema of its tool promises.
func TestResultThatClientsAccept(t *testing.T) {
	promises := readOnly("t")
	promises.ForeignSchema, promises.OutputSchema = true, []byte(`{"type":"object"}`)
	lists := promises
	lists.OutputSchema = []byte(`{"type":"array"}`)
	upstream := &sdk.Error{Name: upstreamError, Message: "no message"}
	const missing = `{"content":[{"type":"text","text":"x"},{"type":"text","text":"[The call has succeeded. The tool returned ` +
		`no structured result, which it promises, so that the result is marked as an error.]"}],"isError":true}`
	for name, c := range map[string]struct {
		tool   sdk.Tool
		result sdk.Result
		want   string
	}{
		"no reason": {readOnly("t"), sdk.Result{Error: upstream}, `{"content":[{"type":"text","text":"no message"}],"isError":true}`},
		"a structured reason": {promises, sdk.Result{Error: upstream, Structured: []byte(`{"a":1}`)},
			`{"content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1},"isError":true}`},
		"no structured result": {promises, *sdk.Text("x"), missing},
		"structured data alone": {promises, sdk.Result{Structured: []byte(`{"a":1}`)},
			`{"content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1}}`},
		"a list": {lists, sdk.Result{Structured: []byte(`[1]`)}, `{"content":[{"type":"text","text":"[1]"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			w := (&setup{plugins: map[string]*fake{"p": {tools: []sdk.Tool{c.tool},
				call: func(context.Context, *sdk.Request) (*sdk.Result, error) { return &c.result, nil }}}}).stdio(t)
			w.handshake("2025-11-25", "{}")
			if got := w.request("tools/call", `{"name":"p__t"}`); strings.TrimSpace(string(got.Result)) != c.want {
				t.Errorf("%s, want %s", got.Result, c.want)
			}
		})
	}
}
