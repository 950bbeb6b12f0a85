package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolhost/toolhost/sdk"
)

const maxRedirects = 5

// An order is a request to send. Its URL is one that parseURL gave.
type order struct {
	method string
	url    *url.URL
	header http.Header
	body   []byte
	// within are the hosts that redirects must stay in; nil for any.
	within patterns
}

// A hop is one redirect on the way to an answer.
type hop struct {
	URL    string `json:"url"`
	Status int    `json:"status"`
}

// send sends the order and follows redirects. The answer's body is the caller's to close.
func (c *client) send(ctx context.Context, o order) (*http.Response, []hop, error) {
	var hops []hop
	first := o.url.Hostname()
	for {
		via := c
		if o.within == nil && o.url.Hostname() != first {
			via = c.strict
		}
		reply, err := via.ask(ctx, o)
		if err != nil {
			return nil, hops, err
		}
		location := reply.Header.Get("Location")
		if !redirects(reply.StatusCode) || location == "" {
			return reply, hops, nil
		}
		_ = reply.Body.Close()
		hops = append(hops, hop{shownURL(o.url), reply.StatusCode})
		if len(hops) > maxRedirects {
			return nil, hops, tooManyRedirects(hops)
		}
		if o, err = o.follow(reply.StatusCode, location); err != nil {
			return nil, hops, err
		}
	}
}

// ask gives the answer to one request, if it may be sent.
func (c *client) ask(ctx context.Context, o order) (*http.Response, error) {
	if e := c.permit(o.url); e != nil {
		return nil, e
	}
	reply, err := c.once(ctx, o)
	if err == nil && reply.StatusCode == http.StatusSwitchingProtocols { // its body would outlive every deadline
		_ = reply.Body.Close()
		err = errors.New("it wants to speak another protocol, which it was not asked for")
	}
	if err != nil {
		return nil, failure(ctx, o.url, err)
	}
	return reply, nil
}

func (c *client) once(ctx context.Context, o order) (*http.Response, error) {
	var body io.Reader
	if o.body != nil {
		body = bytes.NewReader(o.body)
	}
	r, err := http.NewRequestWithContext(ctx, o.method, o.url.String(), body)
	if err != nil {
		return nil, err
	}
	r.Header = o.header
	return c.transport.RoundTrip(r) // not a Client: it has redirects, cookies and credentials of its own
}

// permit refuses what needs no look at the network.
func (c *client) permit(u *url.URL) *sdk.Error {
	host, port := hostAndPort(u)
	if c.guard.deny.match(host, port) {
		return &sdk.Error{Name: "HostDenied", Message: fmt.Sprintf("the operator has denied requests to %s; nothing was sent there", u.Host),
			Suggestion: "Use another source."}
	}
	if r := c.guard.checkURL(host, port); r != nil {
		return refused(r)
	}
	return nil
}

func redirects(status int) bool {
	return slices.Contains([]int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect}, status)
}

// follow makes the order for a redirect. What the caller gave for one server is not sent to another.
func (o order) follow(status int, location string) (order, error) {
	next, e := resolve(o.url, location)
	if e != nil {
		return o, astray(o.url, location, e.Message)
	}
	host, port := hostAndPort(next)
	keeps := status == http.StatusTemporaryRedirect || status == http.StatusPermanentRedirect || o.method == http.MethodGet
	switch {
	case o.url.Scheme == "https" && next.Scheme == "http":
		return o, astray(o.url, next.String(), "it leads from https to http")
	case o.within != nil && !o.within.match(host, port):
		return o, astray(o.url, next.String(), "the operator's configuration covers the first host and not this one")
	case keeps && o.body != nil && o.url.Hostname() != next.Hostname():
		return o, astray(o.url, next.String(), "the body would go to another host than the one that was named")
	}
	if !keeps {
		o.method, o.body = http.MethodGet, nil
		o.header = o.header.Clone()
		o.header.Del("Content-Type")
	}
	if !sameOrigin(o.url, next) {
		o.header = abroad(o.header)
	}
	o.url = next
	return o, nil
}

// resolve reads a Location, which may be relative.
func resolve(from *url.URL, location string) (*url.URL, *sdk.Error) {
	ref, err := url.Parse(location)
	if err != nil {
		return nil, badURL("it cannot be read as a URL")
	}
	return parseURL(from.ResolveReference(ref).String())
}

func astray(from *url.URL, to, why string) error {
	to = strings.Map(printable, to) // it is what a stranger wrote
	return &sdk.Error{Name: "RedirectRefused", Message: fmt.Sprintf("%s redirects to %s, which is not followed: %s", shownURL(from), clip(to, 300), why),
		Suggestion: "Call again with that URL if it is the right one, so that it can be decided about.",
		Details:    sdk.Details(map[string]string{"url": shownURL(from), "location": clip(to, maxURL)})}
}

func printable(r rune) rune {
	if !unicode.IsPrint(r) {
		return utf8.RuneError
	}
	return r
}

func tooManyRedirects(hops []hop) error {
	return &sdk.Error{Name: "TooManyRedirects", Message: fmt.Sprintf("%s redirects more than %d times; the last was from %s", hops[0].URL, maxRedirects, hops[len(hops)-1].URL),
		Suggestion: "The site may want cookies, or turn in a circle. Use another URL.", Details: sdk.Details(map[string]any{"redirects": hops})}
}
