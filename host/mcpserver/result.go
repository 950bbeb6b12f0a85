package mcpserver

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

// errorKey is the member of _meta with the error of a call that failed.
const errorKey = "toolhost/error"

// upstreamError is the name of the error of a result that an MCP server marks as one: its content, if it has any, says
// all that there is to say.
const upstreamError = "MCPToolError"

func (e *endpoint) callResult(r *request, t *host.Tool, out *host.Result) *result {
	extra := rawjson.ObjectOf(out.Extra)
	to := &result{}
	addMeta(to, extra)
	content, structured, failed := append([]sdk.Content{}, out.Content...), out.Structured, out.Error != nil
	switch {
	case failed && out.Error.Code == sdk.CodeTool && out.Error.Name == upstreamError: // what it has stays unchanged
		if len(content) == 0 {
			content = append(content, sdk.TextContent(cmp.Or(string(structured), out.Error.Message)))
		}
	case failed:
		content = append(content, sdk.TextContent(errorText(out.Error)))
		to.meta.Add(errorKey, sdk.Encode(out.Error))
	case len(content) == 0 && (!t.ForeignSchema || structured != nil): // many clients give a model the content alone
		content = out.Readable()
	}
	if !r.isModern() && rawjson.First(structured) != '{' { // before there were objects alone
		structured = nil
	}
	if !t.ForeignSchema {
		content = joined(content)
	}
	for _, path := range out.KeptFiles {
		content = append(content, e.keptLink(path))
	}
	if !t.ForeignSchema && (failed || !t.TextIsJSON) && !isJSONOf(structured, content) {
		structured = nil // Claude Code, Codex and others would give a model this, and nothing of the content
	}
	if !failed && structured == nil && promises(r, t) { // clients refuse a result without what its schema promises
		why := "The tool returned no structured result, which it promises"
		if out.Truncated {
			why = "Its structured result is over the limit and left out"
		}
		content = append(content, sdk.TextContent("[The call has succeeded. "+why+", so that the result is marked as an "+
			"error.]"))
		failed = true
	}
	to.arrange(extra, rawjson.Object{{Name: "content", Value: contentJSON(r.known(content))},
		{Name: "structuredContent", Value: structured}, {Name: "isError", Value: sdk.Encode(failed)}})
	return to.complete(r)
}

// promises reports whether the client has been told that results of the tool are structured.
func promises(r *request, t *host.Tool) bool {
	output := outputSchema(t)
	return output != nil && (r.isModern() || isOfObjects(output))
}

// joined has texts that follow each other in one part: Codex cuts a long text in the middle, and then leaves out all
// parts after it, such as what a tool says about the text, or why a call failed after it.
func joined(content []sdk.Content) (out []sdk.Content) {
	isPlain := func(c sdk.Content) bool {
		return c.Type == "text" && c.Extra == nil && c.Raw == nil && c.Source == nil
	}
	for len(content) > 0 {
		n := slices.IndexFunc(content, func(c sdk.Content) bool { return !isPlain(c) })
		if n < 0 {
			n = len(content)
		}
		if n > 1 {
			var text strings.Builder
			for _, c := range content[:n] {
				if text.Len() > 0 && !strings.HasSuffix(text.String(), "\n") {
					text.WriteByte('\n')
				}
				text.WriteString(c.Text)
			}
			out = append(out, sdk.TextContent(text.String()))
		} else {
			n = 1
			out = append(out, content[0])
		}
		content = content[n:]
	}
	return out
}

// isJSONOf reports that content is the JSON of a structured result, and says no more.
func isJSONOf(structured json.RawMessage, content []sdk.Content) bool {
	if len(content) != 1 || content[0].Type != "text" {
		return false
	}
	text := content[0].Text
	if text == string(structured) {
		return true
	}
	var a, b bytes.Buffer
	return json.Compact(&a, structured) == nil && json.Compact(&b, []byte(text)) == nil &&
		bytes.Equal(a.Bytes(), b.Bytes())
}

// arrange adds the members of a result, own and those of its source, to which own belong in the places that it marks.
// Own members without a place come first; isError without one is left out where it is false.
func (r *result) arrange(source, own rawjson.Object) {
	for _, m := range own {
		if source.Get(m.Name) == nil && (m.Name != "isError" || string(m.Value) == "true") {
			r.body.Add(m.Name, m.Value)
		}
	}
	to := &r.body
	for i, m := range source {
		switch m.Name {
		case "_meta":
			to = &r.behind
		case "resultType", "inputRequests", "requestState": // of one connection
		case "content", "structuredContent", "isError":
			if source[:i].Get(m.Name) == nil {
				to.Add(m.Name, own.Get(m.Name))
			}
		default:
			to.Add(m.Name, m.Value)
		}
	}
}

func contentJSON(parts []sdk.Content) json.RawMessage {
	out := make([]json.RawMessage, len(parts))
	for i, p := range parts {
		raw, err := p.MarshalJSON()
		if err != nil || !json.Valid(raw) {
			raw, _ = sdk.TextContent("[a part of the result is not valid JSON, and is left out]").MarshalJSON()
		}
		out[i] = raw
	}
	return rawjson.Array(out)
}

func errorText(e *sdk.Error) string {
	text := strings.TrimRight(string(e.Code)+" "+e.Name, " ") + ": " + e.Message
	if e.Suggestion != "" {
		text += "\n" + e.Suggestion
	}
	return text
}

// keptLink is a link to a file with what was cut from a result, which resources/read serves to the same identity.
func (e *endpoint) keptLink(path string) sdk.Content {
	link := sdk.LinkContent(e.keptURI(path), filepath.Base(path), keptType(path))
	extra := rawjson.ObjectWith("description", "The whole of what was cut from this result.")
	if info, err := os.Stat(path); err == nil {
		extra.Add("size", sdk.Encode(info.Size()))
	}
	link.Extra = extra.JSON()
	return link
}

func keptType(path string) string {
	switch filepath.Ext(path) {
	case ".json":
		return "application/json"
	case ".bin":
		return "application/octet-stream"
	}
	return "text/plain"
}

// keptPrefix begins the URIs of files with what was cut from results: the checksum of path and identity follows, and
// then the path.
const keptPrefix = "toolhost://kept/"

// maxKept is how much of such a file is read.
const maxKept = 2 * sdk.MaxResult

func (e *endpoint) keptURI(path string) string {
	return keptPrefix + hex.EncodeToString(e.seal.mac("file", path)[:16]) + "/" + url.PathEscape(path)
}

// keptPath returns the path in a URI, if this server gave it to this identity.
func (e *endpoint) keptPath(uri string) (path string, ok bool) {
	rest, ok := strings.CutPrefix(uri, keptPrefix)
	_, escaped, _ := strings.Cut(rest, "/")
	path, err := url.PathUnescape(escaped)
	return path, ok && err == nil && e.keptURI(path) == uri
}

// missing says what of a file was not read.
func missing(f *os.File, read int) string {
	if info, err := f.Stat(); err == nil && info.Size() > int64(read) {
		return fmt.Sprintf("\n[... the other %d of %d bytes are left out here ...]", info.Size()-int64(read), info.Size())
	}
	return ""
}

// readResource serves such a file; others do not exist, whatever is wrong with them.
func (e *endpoint) readResource(r *request) (mcp.Result, error) {
	uri := text(r.params.Get("uri"))
	path, ok := e.keptPath(uri)
	if !ok {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	f, err := fsutil.OpenPrivate(path)
	if err != nil { // it was removed after some days
		return nil, mcp.ResourceNotFoundError(uri)
	}
	defer f.Close()
	whole, err := io.ReadAll(io.LimitReader(f, maxKept))
	if err != nil {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	content := rawjson.ObjectWith("uri", uri, "mimeType", keptType(path))
	if binary := strings.HasSuffix(path, ".bin"); binary && missing(f, len(whole)) != "" {
		return nil, fmt.Errorf("%s is larger than %d MiB; tell the user where it is", path, maxKept>>20)
	} else if binary {
		content.AddText("blob", base64.StdEncoding.EncodeToString(whole))
	} else {
		content.AddText("text", string(whole)+missing(f, len(whole)))
	}
	out := &result{}
	out.body.Add("contents", append(append(json.RawMessage("["), content.JSON()...), ']'))
	if r.isModern() {
		out.body.Add("ttlMs", json.RawMessage("0"))
		out.body.AddText("cacheScope", "private")
	}
	return out.complete(r), nil
}

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
		part, known := asPart(p.Raw)
		if fits = part != nil; fits {
			p.Raw = part
		} else if !known {
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
		if m.Name == "annotations" && !areAnnotations(m.Value) || m.Name == "_meta" && rawjson.First(m.Value) != '{' {
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

// asPart returns a part, which is in none of the usual forms, as clients take it; nil if they do not. Known is whether
// MCP has its kind.
func asPart(raw json.RawMessage) (out json.RawMessage, known bool) {
	var in struct {
		Type                            string
		Text, Data, MIMEType, URI, Name *string
		Resource                        struct{ URI, Text, Blob *string }
	}
	err := json.Unmarshal(raw, &in)
	var fits bool
	switch out = raw; in.Type {
	case "text":
		fits = in.Text != nil
	case "image", "audio":
		out, fits = withBase64(raw, "data", in.Data)
		fits = fits && in.MIMEType != nil
	case "resource":
		r := in.Resource
		if fits = r.Text != nil; !fits {
			var resource json.RawMessage
			resource, fits = withBase64(rawjson.ObjectOf(raw).Get("resource"), "blob", r.Blob)
			out = withValue(raw, "resource", resource)
		}
		fits = fits && r.URI != nil
	case "resource_link":
		fits = in.URI != nil && in.Name != nil
	default:
		return nil, in.Type == ""
	}
	if !fits || err != nil {
		return nil, true
	}
	return out, true
}

// withBase64 returns an object whose member is base64 as all clients read it: of what browsers take, also with blanks
// and without the padding, and of the alphabet for addresses.
func withBase64(object json.RawMessage, member string, text *string) (out json.RawMessage, ok bool) {
	if text == nil {
		return nil, false
	}
	bare := strings.TrimRight(strings.Join(strings.Fields(*text), ""), "=")
	bare = strings.NewReplacer("-", "+", "_", "/").Replace(bare)
	if _, err := base64.RawStdEncoding.DecodeString(bare); err != nil {
		return nil, false
	}
	bare += "=="[:(4-len(bare)%4)%4]
	if bare == *text {
		return object, true
	}
	return withValue(object, member, sdk.Encode(bare)), true
}

// areAnnotations reports whether the annotations of a part are those of MCP.
func areAnnotations(raw json.RawMessage) bool {
	var in struct {
		Audience     []string
		Priority     float64
		LastModified time.Time
	}
	return rawjson.First(raw) == '{' && !bytes.Contains(raw, []byte("null")) && json.Unmarshal(raw, &in) == nil &&
		in.Priority >= 0 && in.Priority <= 1 &&
		!slices.ContainsFunc(in.Audience, func(a string) bool { return a != "user" && a != "assistant" })
}

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
