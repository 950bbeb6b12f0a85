package mcpserver

import (
	"fmt"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/sdk"
)

// Revisions that lack kinds of content.
const (
	withoutAudio = "2024-11-05"
	withoutLinks = "2025-03-26" // and without audio before
)

// known returns the parts of a result in kinds that the client's revision has: clients refuse a whole result for one
// part of a kind that they do not know. A link becomes a text, and audio a resource.
func (r *request) known(content []sdk.Content) []sdk.Content {
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
