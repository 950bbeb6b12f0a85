package main

import (
	"context"
	"fmt"
	"net/http"

	"github.com/toolhost/toolhost/sdk"
)

// A view is how much of an answer is wanted, and how.
type view struct {
	raw      bool
	maxBytes int // of the body
	start    int // where in the text to begin
	window   int // how much of the text to give
	paged    bool
}

// A report is the structured result.
type report struct {
	URL         string `json:"url"` // after redirects
	Status      int    `json:"status"`
	ContentType string `json:"content_type"`
	Charset     string `json:"charset,omitempty"`
	Title       string `json:"title,omitempty"`
	Redirects   []hop  `json:"redirects"`
	BodyBytes   int    `json:"body_bytes"`
	Start       int    `json:"start"`
	End         int    `json:"end"`
	TextBytes   int    `json:"text_bytes"`
	Truncated   bool   `json:"truncated"`
}

const outputSchema = `{"type":"object","properties":{` +
	`"url":{"type":"string","description":"where the answer came from, after redirects"},"status":{"type":"integer"},` +
	`"content_type":{"type":"string"},"charset":{"type":"string"},"title":{"type":"string","description":"of a page"},` +
	`"redirects":{"type":"array","items":{"type":"object","properties":{"url":{"type":"string"},"status":{"type":"integer"}}}},` +
	`"body_bytes":{"type":"integer","description":"how much of the body was read"},` +
	`"start":{"type":"integer","description":"where in the text the content begins, in bytes"},"end":{"type":"integer"},` +
	`"text_bytes":{"type":"integer","description":"of the whole text that was read"},"truncated":{"type":"boolean"}},` +
	`"required":["url","status","content_type","redirects","body_bytes","start","end","text_bytes","truncated"]}`

// show reads the body as far as the view wants and makes a result of it. The body is closed by the caller.
func (w *web) show(ctx context.Context, r *http.Response, hops []hop, v view) (*sdk.Result, error) {
	a := newAnswer(r, hops)
	said := told(a.mediaType)
	limit := v.maxBytes
	switch {
	case said == binaryKind, said == imageKind && a.size > maxImage:
		return nil, a.binary()
	case said == imageKind:
		limit = maxImage
	}
	if err := a.read(ctx, r.Body, limit); err != nil {
		return nil, err
	}
	switch a.settle(said) {
	case binaryKind:
		return nil, a.binary()
	case imageKind:
		return a.image()
	}
	return w.text(ctx, a, v)
}

func (a *answer) image() (*sdk.Result, error) {
	if a.cut {
		return nil, a.binary()
	}
	out := a.report()
	note := fmt.Sprintf("[%s: %s, %d bytes%s]", shownURL(a.url), a.mediaType, len(a.body), a.journey())
	r := &sdk.Result{Structured: sdk.Encode(out)}
	return r.Add(sdk.TextContent(note), sdk.ImageContent(a.body, a.mediaType)), nil
}

func (a *answer) report() report {
	return report{URL: a.url.String(), Status: a.status, ContentType: a.mediaType, Redirects: append([]hop{}, a.hops...), BodyBytes: len(a.body)}
}

// readable is an answer's text as it is to be shown, with its title.
func (w *web) readable(ctx context.Context, a *answer, raw bool) (text, charset, title string, err error) {
	text, charset = a.decode()
	if raw || !a.html() {
		return text, charset, "", nil
	}
	select {
	case w.converting <- struct{}{}:
		defer func() { <-w.converting }()
	case <-ctx.Done():
		return "", "", "", ended(ctx, "waiting to make Markdown of "+shownURL(a.url))
	}
	p, err := readPage(ctx, text, a.url)
	return p.markdown, charset, p.title, err
}

func (w *web) text(ctx context.Context, a *answer, v view) (*sdk.Result, error) {
	text, charset, title, err := w.readable(ctx, a, v.raw)
	if err != nil {
		return nil, err
	}
	if v.start > len(text) {
		return nil, pastEnd(a, v.start, len(text))
	}
	start, end := window(text, v.start, v.window)
	out := a.report()
	out.Charset, out.Title, out.Start, out.End, out.TextBytes = charset, title, start, end, len(text)
	out.Truncated = a.cut || start > 0 || end < len(text)
	r := &sdk.Result{Structured: sdk.Encode(out), Truncated: out.Truncated}
	r.Add(sdk.TextContent(a.heading(out, a.html() && !v.raw)))
	if end > start {
		r.Add(sdk.TextContent(text[start:end]))
	}
	if notes := a.notes(out, v); notes != "" {
		r.Add(sdk.TextContent(notes))
	}
	return r, nil
}
