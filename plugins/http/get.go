package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/toolhost/toolhost/sdk"
)

// common are the arguments that get and post share.
type common struct {
	URL            string            `json:"url" jsonschema:"The absolute URL, http or https."`
	Headers        map[string]string `json:"headers,omitempty" jsonschema:"Headers to send, such as Accept. Those of the connection (Host and others) and credentials are refused."`
	Raw            bool              `json:"raw,omitempty" jsonschema:"Return raw HTML instead of Markdown."`
	MaxBytes       int               `json:"max_bytes,omitempty" minimum:"1" maximum:"5000000" default:"500000" jsonschema:"How much of the answer's body to read at most, unpacked."`
	TimeoutSeconds float64           `json:"timeout_seconds,omitempty" minimum:"0.001" maximum:"300" default:"30" jsonschema:"How long all of it may take, redirects too."`
}

type getArgs struct {
	common
	Start int `json:"start,omitempty" minimum:"0" default:"0" jsonschema:"Where in the text to begin, in bytes: the number that the note of the part before gives."`
}

// accept asks for Markdown where a site has it.
const accept = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, application/json;q=0.9, " +
	"text/plain;q=0.8, */*;q=0.5"

func (w *webPlugin) get(ctx context.Context, _ *sdk.Request, in getArgs) (*sdk.Result, error) {
	s := w.settings.Load()
	o, err := in.outgoing(s)
	if err != nil {
		return nil, err
	}
	v := in.view()
	v.start, v.window, v.paged = in.Start, pageWindow, true
	return w.exchange(ctx, s.client, o, v, in.timeout())
}

// outgoing makes the request of the arguments. Redirects of one that no one is asked about stay in hosts that no one
// need be asked about.
func (in *getArgs) outgoing(s *settings) (outgoing, error) {
	o, err := in.common.outgoing(http.MethodGet, s)
	if err == nil && in.Start < 0 {
		err = invalid("start is %d; it must not be negative", in.Start)
	}
	if err == nil && s.hosts.match(hostAndPort(o.url)) {
		o.within = s.hosts
	}
	return o, err
}

// outgoing makes a request without a body, and finds what the schema does not say, or what came past it.
func (in *common) outgoing(method string, s *settings) (outgoing, error) {
	switch {
	case in.MaxBytes < 0 || in.MaxBytes > maxBytes:
		return outgoing{}, invalid("max_bytes is %d; it must be from 1 to %d", in.MaxBytes, maxBytes)
	case in.TimeoutSeconds < 0 || in.TimeoutSeconds > maxSeconds:
		return outgoing{}, invalid("timeout_seconds is %v; it must be more than 0 and at most %d", in.TimeoutSeconds,
			maxSeconds)
	}
	u, e := parseURL(in.URL)
	if e != nil {
		e.Message += "; nothing was sent"
		return outgoing{}, e
	}
	header, err := headersOf(in.Headers, s.credentials.match(hostAndPort(u)))
	if err != nil {
		return outgoing{}, err
	}
	setDefault(header, "Accept", accept)
	setDefault(header, "User-Agent", "toolhost-http/"+version)
	return outgoing{method: method, url: u, header: header, note: fragmentNote(in.URL)}, nil
}

func (in *common) view() pageOptions {
	return pageOptions{raw: in.Raw, maxBytes: cmp.Or(in.MaxBytes, defaultBytes)}
}

func (in *common) timeout() time.Duration {
	return time.Duration(cmp.Or(in.TimeoutSeconds, defaultSeconds) * float64(time.Second))
}

// exchange sends the order and makes a result of the answer.
func (w *webPlugin) exchange(ctx context.Context, c *client, o outgoing, v pageOptions,
	limit time.Duration) (*sdk.Result, error) {
	ctx, cancel := limited(ctx, limit)
	defer cancel()
	result, err := w.answered(ctx, c, o, v)
	if o.method == http.MethodPost {
		err = sent(err)
	}
	return result, err
}

func (w *webPlugin) answered(ctx context.Context, c *client, o outgoing, v pageOptions) (*sdk.Result, error) {
	reply, hops, err := c.send(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { _ = reply.Body.Close() }()
	var result *sdk.Result
	if reply.StatusCode >= http.StatusBadRequest {
		result, err = w.statusError(ctx, reply, hops)
	} else {
		result, err = w.show(ctx, reply, hops, v)
	}
	if o.note == "" {
		return result, err
	}
	if e, ok := errors.AsType[*sdk.Error](err); ok {
		e.Suggestion = strings.TrimSpace(e.Suggestion + " Note: " + o.note + ".")
	} else if err == nil {
		result.Add(sdk.TextContent("[" + o.note + "]"))
	}
	return result, err
}

type postArgs struct {
	common
	Body        *string         `json:"body,omitempty" jsonschema:"The text to send. Give this or json, not both; without either the body is empty."`
	JSON        json.RawMessage `json:"json,omitempty" jsonschema:"The JSON value to send, of any kind."`
	ContentType string          `json:"content_type,omitempty" jsonschema:"The type of the body. Default: application/json for json, text/plain for body."`
}

func (w *webPlugin) post(ctx context.Context, _ *sdk.Request, in postArgs) (*sdk.Result, error) {
	s := w.settings.Load()
	o, err := in.outgoing(s)
	if err != nil {
		return nil, err
	}
	v := in.view()
	v.window = postWindow
	return w.exchange(ctx, s.client, o, v, in.timeout())
}

func (in *postArgs) outgoing(s *settings) (outgoing, error) {
	o, err := in.common.outgoing(http.MethodPost, s)
	if err != nil {
		return o, err
	}
	_, _, typeErr := mime.ParseMediaType(in.ContentType)
	switch {
	case o.header["Content-Type"] != nil:
		return o, invalid("the type of the body is in headers; give it as content_type")
	case in.Body != nil && in.JSON != nil:
		return o, invalid("body and json are both given; give one of them")
	case in.ContentType != "" && (typeErr != nil || !httpguts.ValidHeaderFieldValue(in.ContentType)):
		return o, invalid("content_type %.100q is not a media type, such as application/x-www-form-urlencoded",
			in.ContentType)
	}
	contentType := in.ContentType
	switch {
	case in.JSON != nil:
		o.body = in.JSON
		contentType = cmp.Or(contentType, "application/json")
	case in.Body != nil:
		o.body = []byte(*in.Body)
		contentType = cmp.Or(contentType, "text/plain; charset=utf-8")
	default:
		o.body = []byte{}
	}
	if contentType != "" {
		o.header.Set("Content-Type", contentType)
	}
	return o, nil
}

// shownBody is how much of a body a preview shows.
const shownBody = 1000

// A previewData is the structured preview.
type previewData struct {
	Kind      string   `json:"kind"`
	Method    string   `json:"method"`
	URL       string   `json:"url"`
	Host      string   `json:"host"`
	Headers   []string `json:"headers"` // their names; values may be secret
	BodyBytes int      `json:"body_bytes"`
	BodyStart string   `json:"body_start,omitempty"`
}

// previewGet asks about hosts that the operator has not named: a URL can carry out whatever the model knows. It sends
// nothing, and looks no name up, for the same reason.
func (w *webPlugin) previewGet(_ context.Context, _ *sdk.Request, in getArgs) (*sdk.Preview, error) {
	s := w.settings.Load()
	o, err := in.outgoing(s)
	if err != nil {
		return nil, err
	}
	p, err := s.preview(o)
	if err == nil && p.Effect == "" && o.within == nil {
		p.Effect, p.Reason = "ask", "it sends a request to "+o.url.Host
	}
	return p, err
}

// previewPost leaves the asking to the tool's hints.
func (w *webPlugin) previewPost(_ context.Context, _ *sdk.Request, in postArgs) (*sdk.Preview, error) {
	s := w.settings.Load()
	o, err := in.outgoing(s)
	if err != nil {
		return nil, err
	}
	return s.preview(o)
}

func (s *settings) preview(o outgoing) (*sdk.Preview, error) {
	f := previewData{Kind: "request", Method: o.method, URL: o.url.String(), Host: o.url.Host,
		Headers:   slices.Sorted(maps.Keys(o.header)),
		BodyBytes: len(o.body), BodyStart: strings.ToValidUTF8(clip(string(o.body), shownBody), "\uFFFD")}
	p := &sdk.Preview{Content: sdk.Text(f.text()).Content, Structured: sdk.Encode(f)}
	if s.deny.match(hostAndPort(o.url)) {
		p.Effect, p.Reason = "deny", "deny_hosts of the plugin's config names "+o.url.Host
		return p, nil
	}
	if e := s.client.checkAllowed(o.url); e != nil {
		return nil, e
	}
	return p, nil
}

func (f previewData) text() string {
	text := fmt.Sprintf("Would send:\n  %s %s\n  headers: %s", f.Method, f.URL, strings.Join(f.Headers, ", "))
	if f.BodyBytes > 0 {
		text += fmt.Sprintf("\n  body (%d bytes): %s", f.BodyBytes, f.BodyStart)
	}
	return text
}
