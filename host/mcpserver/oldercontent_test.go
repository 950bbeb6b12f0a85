package mcpserver

import (
	"context"
	"fmt"
	"strings"
	"testing"

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
