package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/sdk"
)

// shownBody is how much of a body a preview shows.
const shownBody = 1000

// A foretold is the structured preview.
type foretold struct {
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
func (w *web) previewGet(_ context.Context, _ *sdk.Request, in getArgs) (*sdk.Preview, error) {
	s := w.settings.Load()
	o, err := in.order(s)
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
func (w *web) previewPost(_ context.Context, _ *sdk.Request, in postArgs) (*sdk.Preview, error) {
	s := w.settings.Load()
	o, err := in.order(s)
	if err != nil {
		return nil, err
	}
	return s.preview(o)
}

func (s *settings) preview(o order) (*sdk.Preview, error) {
	f := foretell(o)
	p := &sdk.Preview{Content: sdk.Text(f.text()).Content, Structured: sdk.Encode(f)}
	if s.deny.match(hostAndPort(o.url)) {
		p.Effect, p.Reason = "deny", "deny_hosts of the plugin's config names "+o.url.Host
		return p, nil
	}
	if e := s.client.permit(o.url); e != nil {
		return nil, e
	}
	return p, nil
}

func foretell(o order) foretold {
	return foretold{Kind: "request", Method: o.method, URL: o.url.String(), Host: o.url.Host, Headers: slices.Sorted(maps.Keys(o.header)),
		BodyBytes: len(o.body), BodyStart: strings.ToValidUTF8(clip(string(o.body), shownBody), "\uFFFD")}
}

func (f foretold) text() string {
	text := fmt.Sprintf("Would send:\n  %s %s\n  headers: %s", f.Method, f.URL, strings.Join(f.Headers, ", "))
	if f.BodyBytes > 0 {
		text += fmt.Sprintf("\n  body (%d bytes): %s", f.BodyBytes, f.BodyStart)
	}
	return text
}
