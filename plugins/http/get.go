package main

import (
	"context"
	"net/http"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

// common are the arguments that get and post share.
type common struct {
	URL            string            `json:"url" jsonschema:"The absolute URL, http or https."`
	Headers        map[string]string `json:"headers,omitempty" jsonschema:"Headers to send, such as Accept. Those of the connection (Host and others) and credentials are refused."`
	Raw            bool              `json:"raw,omitempty" jsonschema:"Give HTML as it is instead of as Markdown."`
	MaxBytes       int               `json:"max_bytes,omitempty" minimum:"1" maximum:"5000000" default:"500000" jsonschema:"How much of the answer's body to read at most, unpacked."`
	TimeoutSeconds float64           `json:"timeout_seconds,omitempty" minimum:"0.001" maximum:"300" default:"30" jsonschema:"How long all of it may take, redirects too."`
}

type getArgs struct {
	common
	Start int `json:"start,omitempty" minimum:"0" default:"0" jsonschema:"Where in the text to begin, in bytes: the number that the note of the part before gives."`
}

// accept asks for Markdown where a site has it.
const accept = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, application/json;q=0.9, text/plain;q=0.8, */*;q=0.5"

func (w *web) get(ctx context.Context, _ *sdk.Request, in getArgs) (*sdk.Result, error) {
	s := w.settings.Load()
	o, err := in.order(s)
	if err != nil {
		return nil, err
	}
	v := in.view()
	v.start, v.window, v.paged = in.Start, pageWindow, true
	return w.exchange(ctx, s.client, o, v, in.timeout())
}

// order makes the request of the arguments. Redirects of one that nobody is asked about stay in hosts that nobody need be
// asked about.
func (in *getArgs) order(s *settings) (order, error) {
	o, err := in.common.order(http.MethodGet, s)
	if err == nil && in.Start < 0 {
		err = invalid("start is %d; it must not be negative", in.Start)
	}
	if err == nil && s.hosts.match(hostAndPort(o.url)) {
		o.within = s.hosts
	}
	return o, err
}

// order makes a request without a body, and finds what the schema does not say, or what came past it.
func (in *common) order(method string, s *settings) (order, error) {
	switch {
	case in.MaxBytes < 0 || in.MaxBytes > maxBytes:
		return order{}, invalid("max_bytes is %d; it must be from 1 to %d", in.MaxBytes, maxBytes)
	case in.TimeoutSeconds < 0 || in.TimeoutSeconds > maxSeconds:
		return order{}, invalid("timeout_seconds is %v; it must be more than 0 and at most %d", in.TimeoutSeconds, maxSeconds)
	}
	u, e := parseURL(in.URL)
	if e != nil {
		e.Message += "; nothing was sent"
		return order{}, e
	}
	header, err := headersOf(in.Headers, s.credentials.match(hostAndPort(u)))
	if err != nil {
		return order{}, err
	}
	if header["Accept"] == nil {
		header.Set("Accept", accept)
	}
	if header["User-Agent"] == nil {
		header.Set("User-Agent", "toolhost-http/"+version)
	}
	return order{method: method, url: u, header: header}, nil
}

func (in *common) view() view {
	v := view{raw: in.Raw, maxBytes: in.MaxBytes}
	if v.maxBytes == 0 {
		v.maxBytes = defaultBytes
	}
	return v
}

func (in *common) timeout() time.Duration {
	if in.TimeoutSeconds == 0 {
		return defaultSeconds * time.Second
	}
	return time.Duration(in.TimeoutSeconds * float64(time.Second))
}

// exchange sends the order and makes a result of the answer.
func (w *web) exchange(ctx context.Context, c *client, o order, v view, limit time.Duration) (*sdk.Result, error) {
	ctx, cancel := limited(ctx, limit)
	defer cancel()
	result, err := w.answered(ctx, c, o, v)
	if o.method == http.MethodPost {
		err = sent(err)
	}
	return result, err
}

func (w *web) answered(ctx context.Context, c *client, o order, v view) (*sdk.Result, error) {
	reply, hops, err := c.send(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { _ = reply.Body.Close() }()
	if reply.StatusCode >= http.StatusBadRequest {
		return w.statusError(ctx, reply, hops)
	}
	return w.show(ctx, reply, hops, v)
}
