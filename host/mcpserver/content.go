package mcpserver

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

// Revisions that lack kinds of content.
const (
	withoutAudio = "2024-11-05"
	withoutLinks = "2025-03-26" // and without audio before
)

// known returns the parts of a result as the client takes them: clients refuse a whole result for one part that is not
// what MCP says of its kind, or of a kind that their revision does not have. Of those, a link becomes a text, and audio
// a resource.
func (r *request) known(content []sdk.Content) []sdk.Content {
	for i, p := range content {
		content[i] = accepted(p)
	}
	if r.session == nil || r.isModern() {
		return content
	}
	init := r.session.InitializeParams()
	if init == nil || init.ProtocolVersion != withoutAudio && init.ProtocolVersion != withoutLinks {
		return content
	}
	for i, p := range content {
		switch {
		case p.Type == "resource_link":
			content[i] = sdk.TextContent(linkText(p))
		case p.Type == "audio" && init.ProtocolVersion == withoutAudio:
			content[i] = sdk.Content{Type: "resource", URI: fmt.Sprintf("toolhost://audio/%d", i), MIMEType: p.MIMEType,
				Data: p.Data}
		}
	}
	return content
}

// mostShown is how much of a part that no client takes is shown, in bytes.
const mostShown = 4 << 10

// accepted returns a part that has what MCP says of its kind. One that lacks it becomes a text with its JSON, and so
// does one of another kind: MCP's are all that clients take.
func accepted(p sdk.Content) sdk.Content {
	fits, limit, why := true, mostShown, "is not what MCP says of its kind"
	switch {
	case p.Raw != nil:
		var known bool
		if fits, known = isPart(p.Raw); !known {
			limit, why = len(p.Raw), "is of a kind that MCP does not have"
		}
	case p.Type == "image" || p.Type == "audio":
		if p.MIMEType == "" {
			p.MIMEType = http.DetectContentType(p.Data)
		}
	case p.Type == "resource_link":
		fits, p.Name = p.URI != "", cmp.Or(p.Name, p.URI)
	}
	extra := rawjson.ObjectOf(p.Extra)
	var kept rawjson.Object
	for _, m := range extra {
		if m.Name == "annotations" && !areAnnotations(m.Value) || m.Name == "_meta" && !isObject(m.Value) {
			continue
		}
		kept = append(kept, m)
	}
	if len(kept) < len(extra) {
		p.Extra, p.Source = kept.JSON(), nil
	}
	if fits {
		return p
	}
	raw, _ := p.MarshalJSON() // it was read from JSON
	shown := textutil.Cut(string(raw), limit)
	if len(shown) < len(raw) {
		shown += fmt.Sprintf("… [%d bytes]", len(raw))
	}
	return sdk.TextContent("[This part of the result " + why + ": " + shown + "]")
}

// isPart reports whether clients take a part, which is in none of the usual forms, and whether MCP has its kind.
func isPart(raw json.RawMessage) (fits, known bool) {
	var in struct {
		Type                            string
		Text, Data, MIMEType, URI, Name *string
		Resource                        struct{ URI, Text, Blob *string }
	}
	err := json.Unmarshal(raw, &in)
	switch in.Type {
	case "text":
		fits = in.Text != nil
	case "image", "audio":
		fits = isBase64(in.Data) && in.MIMEType != nil
	case "resource":
		r := in.Resource
		fits = r.URI != nil && (r.Text != nil || isBase64(r.Blob))
	case "resource_link":
		fits = in.URI != nil && in.Name != nil
	default:
		return false, in.Type == ""
	}
	return fits && err == nil, true
}

// isBase64 takes what browsers take: also with blanks, and without the padding.
func isBase64(text *string) bool {
	if text == nil {
		return false
	}
	_, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.Join(strings.Fields(*text), ""), "="))
	return err == nil
}

// areAnnotations reports whether the annotations of a part are those of MCP.
func areAnnotations(raw json.RawMessage) bool {
	var in struct {
		Audience     []string
		Priority     float64
		LastModified time.Time
	}
	return isObject(raw) && !bytes.Contains(raw, []byte("null")) && json.Unmarshal(raw, &in) == nil && in.Priority >= 0 &&
		in.Priority <= 1 && !slices.ContainsFunc(in.Audience, func(a string) bool { return a != "user" && a != "assistant" })
}

// linkText says what a link does.
func linkText(p sdk.Content) string {
	out := fmt.Sprintf("[resource %s: %s", p.Name, p.URI)
	if p.MIMEType != "" {
		out += " (" + p.MIMEType + ")"
	}
	if description := text(rawjson.ObjectOf(p.Extra).Get("description")); description != "" {
		out += ": " + description
	}
	return out + "]"
}
