package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/toolhost/toolhost/sdk"
)

const (
	maxIdle        = 16 // connections kept open, of all hosts
	maxIdlePerHost = 2
	idleTime       = 30 * time.Second
	maxReplyHeader = 128 << 10
	dialTime       = 15 * time.Second
)

// A client sends requests to where its guard lets it. Clients do not share connections, since their guards differ.
type client struct {
	guard     guard
	transport *http.Transport
	strict    *client // for redirects to other hosts
}

// testHooks replace the network in tests; the zero value is the network.
type testHooks struct {
	resolver *net.Resolver
	tls      *tls.Config
	// connecting sees every address that a guard has let pass, before it is connected to; its error keeps that from
	// happening.
	connecting func(network, address string) error
}

func newClient(g guard, s testHooks) *client {
	c := &client{guard: g}
	if !g.strict {
		c.strict = newClient(guard{allow: g.allow, deny: g.deny, strict: true}, s)
	}
	dialer := &net.Dialer{Timeout: dialTime, Resolver: s.resolver,
		ControlContext: func(ctx context.Context, network, address string, raw syscall.RawConn) error {
			if err := c.guard.control(ctx, network, address, raw); err != nil || s.connecting == nil {
				return err
			}
			return s.connecting(network, address)
		}}
	c.transport = &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return dialer.DialContext(dialing(ctx, address), network, address)
		},
		TLSClientConfig: s.tls, ForceAttemptHTTP2: true, TLSHandshakeTimeout: dialTime,
		MaxIdleConns: maxIdle, MaxIdleConnsPerHost: maxIdlePerHost, IdleConnTimeout: idleTime,
		MaxResponseHeaderBytes: maxReplyHeader,
	} // and no Proxy: one from the environment would be asked in place of every guarded address
	return c
}

func (c *client) close() {
	c.transport.CloseIdleConnections()
	c.strict.transport.CloseIdleConnections()
}

const maxRedirects = 5

// An outgoing is a request to send. Its URL is one that parseURL gave.
type outgoing struct {
	method string
	url    *url.URL
	header http.Header
	body   []byte
	note   string // on the URL as it was given, for the result
	// within are the hosts that redirects must stay in; nil for any.
	within patterns
}

// A redirect is one that was followed on the way to the answer.
type redirect struct {
	URL    string `json:"url"`
	Status int    `json:"status"`
}

// send sends the order and follows redirects. The answer's body is the caller's to close.
func (c *client) send(ctx context.Context, o outgoing) (*http.Response, []redirect, error) {
	var hops []redirect
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
		hops = append(hops, redirect{shownURL(o.url), reply.StatusCode})
		if len(hops) > maxRedirects {
			return nil, hops, tooManyRedirects(hops)
		}
		if o, err = o.follow(reply.StatusCode, location); err != nil {
			return nil, hops, err
		}
	}
}

// ask returns the answer to one request, if it may be sent.
func (c *client) ask(ctx context.Context, o outgoing) (*http.Response, error) {
	if e := c.checkAllowed(o.url); e != nil {
		return nil, e
	}
	reply, err := c.sendOnce(ctx, o)
	if err == nil && reply.StatusCode == http.StatusSwitchingProtocols { // its body would outlive every deadline
		_ = reply.Body.Close()
		err = errors.New("it wants to speak another protocol, which it was not asked for")
	}
	if err != nil {
		return nil, failure(ctx, o.url, err)
	}
	return reply, nil
}

func (c *client) sendOnce(ctx context.Context, o outgoing) (*http.Response, error) {
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

// checkAllowed refuses what needs no look at the network.
func (c *client) checkAllowed(u *url.URL) *sdk.Error {
	host, port := hostAndPort(u)
	if c.guard.deny.match(host, port) {
		return &sdk.Error{Name: "HostDenied",
			Message:    fmt.Sprintf("the operator has denied requests to %s; nothing was sent there", u.Host),
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
func (o outgoing) follow(status int, location string) (outgoing, error) {
	next, e := resolve(o.url, location)
	if e != nil {
		return o, redirectError(o.url, location, e.Message)
	}
	host, port := hostAndPort(next)
	keeps := status == http.StatusTemporaryRedirect || status == http.StatusPermanentRedirect || o.method == http.MethodGet
	switch {
	case o.url.Scheme == "https" && next.Scheme == "http":
		return o, redirectError(o.url, next.String(), "it leads from https to http")
	case o.within != nil && !o.within.match(host, port):
		return o, redirectError(o.url, next.String(), "the operator's configuration covers the first host and not this one")
	case keeps && o.body != nil && o.url.Hostname() != next.Hostname():
		return o, redirectError(o.url, next.String(), "the body would go to another host than the one that was named")
	}
	if !keeps {
		o.method, o.body = http.MethodGet, nil
		o.header = o.header.Clone()
		o.header.Del("Content-Type")
	}
	if o.url.Scheme != next.Scheme || o.url.Host != next.Host {
		o.header = crossOrigin(o.header)
	}
	o.url = next
	return o, nil
}

// resolve reads a Location, which may be relative.
func resolve(from *url.URL, location string) (*url.URL, *sdk.Error) {
	if strings.ContainsFunc(location, unicode.IsControl) {
		return nil, badURL("it has control characters")
	}
	ref, err := url.Parse(encodeURL(location))
	if err != nil {
		return nil, badURL("it cannot be read as a URL")
	}
	return parseURL(from.ResolveReference(ref).String())
}

func redirectError(from *url.URL, to, why string) error {
	to = strings.Map(func(r rune) rune { // it is what a third party wrote
		if !unicode.IsPrint(r) {
			return utf8.RuneError
		}
		return r
	}, to)
	return &sdk.Error{Name: "RedirectRefused",
		Message:    fmt.Sprintf("%s redirects to %s, which is not followed: %s", shownURL(from), clip(to, 300), why),
		Suggestion: "Call again with that URL if it is the right one, so that it can be decided about.",
		Details:    sdk.Details(map[string]string{"url": shownURL(from), "location": clip(to, maxURL)})}
}

func tooManyRedirects(hops []redirect) error {
	return &sdk.Error{Name: "TooManyRedirects",
		Message: fmt.Sprintf("%s redirects more than %d times; the last was from %s", hops[0].URL, maxRedirects,
			hops[len(hops)-1].URL),
		Suggestion: "The site may require cookies, or its redirects form a loop. Use another URL.",
		Details:    sdk.Details(map[string]any{"redirects": hops})}
}

// A guard decides which addresses may be connected to. It is asked about the very address of every connection, so it
// does not matter what a name meant a moment before.
type guard struct {
	allow []allowance
	deny  patterns
	// strict is that of a redirect to another host than the one that was asked for: what the operator has allowed besides
	// public addresses is for calls that name it.
	strict bool
}

// An allowance is one word of the operator for addresses that are not public: a block of them, or hosts by name.
type allowance struct {
	prefix netip.Prefix // not valid when it is about hosts
	hosts  pattern
	port   uint16 // 0 for any
}

func parseAllowance(text string) (allowance, error) {
	if p, err := netip.ParsePrefix(text); err == nil {
		if p.Addr().Is4In6() {
			return allowance{}, errors.New("write the IPv4 block itself, not one of IPv6")
		}
		return allowance{prefix: p.Masked()}, nil
	}
	if address, _, ok := strings.Cut(text, "/"); ok {
		if _, err := netip.ParseAddr(address); err == nil {
			return allowance{}, errors.New("it is not a block of addresses, such as 10.0.0.0/8")
		}
	}
	hosts, err := parsePattern(text)
	if err != nil {
		return allowance{}, err
	}
	if a, err := netip.ParseAddr(hosts.name); err == nil {
		a = plain(a)
		return allowance{prefix: netip.PrefixFrom(a, a.BitLen()), port: hosts.port}, nil
	}
	return allowance{hosts: hosts, port: hosts.port}, nil
}

func (a allowance) match(host string, address netip.Addr, port uint16) bool {
	switch {
	case a.port != 0 && a.port != port:
		return false
	case a.prefix.IsValid():
		return a.prefix.Contains(address)
	}
	return a.hosts.match(host, port)
}

// A refusal is an address, or a port, that may not be connected to.
type refusal struct {
	host, address string
	why           string
	always        bool // no configuration can allow it
	port          bool // it is the port that is wrong
	denied        bool // by deny_hosts
	strict        bool // a call that names it could go there, a redirect cannot
}

func (r *refusal) Error() string {
	if r.port {
		return fmt.Sprintf("port %s of %s is %s", r.address, r.host, r.why)
	}
	if r.host == r.address || r.host == "" {
		return fmt.Sprintf("%s is %s", r.address, r.why)
	}
	return fmt.Sprintf("%s has the address %s, which is %s", r.host, r.address, r.why)
}

// check returns nil for an address that may be connected to for host.
func (g *guard) check(host string, to netip.AddrPort) *refusal {
	a := plain(to.Addr())
	r := &refusal{host: host, address: to.Addr().String()}
	if slices.Contains(metadata, a) {
		r.why, r.always = "where clouds hand out credentials", true
		return r
	}
	if g.deny.match(a.String(), to.Port()) { // whatever the name that leads there
		r.why, r.denied = "an address that the operator has denied", true
		return r
	}
	kind, allowed := kindOf(a), g.allows(host, a, to.Port())
	if kind == "" || allowed && !g.strict {
		return nil
	}
	r.why, r.strict = kind+" address, not a public one", allowed
	return r
}

func (g *guard) allows(host string, a netip.Addr, port uint16) bool {
	return slices.ContainsFunc(g.allow, func(one allowance) bool { return one.match(host, a, port) })
}

// checkURL finds errors that need no network access: bad ports, and addresses written out.
func (g *guard) checkURL(host string, port uint16) *refusal {
	a, err := netip.ParseAddr(host)
	if err == nil {
		if r := g.check(host, netip.AddrPortFrom(a, port)); r != nil {
			return r
		}
	}
	named := slices.ContainsFunc(g.allow,
		func(one allowance) bool { return one.port == port && one.match(host, plain(a), port) })
	if _, bad := slices.BinarySearch(badPorts, port); bad && (g.strict || !named) {
		return &refusal{host: host, address: strconv.Itoa(int(port)), why: "that of a service that does not speak HTTP",
			port: true, strict: named}
	}
	return nil
}

// dialState is the key under which the context of a dial holds the host that is dialled.
type dialState struct{}

// control runs for each address, when the socket is there and before it connects.
func (g *guard) control(ctx context.Context, _, address string, _ syscall.RawConn) error {
	host, _ := ctx.Value(dialState{}).(string)
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return &refusal{host: host, address: address, why: "no address that can be judged", always: true}
	}
	if r := g.check(host, to); r != nil {
		return r
	}
	return nil
}

// dialing returns a context with the host that is dialled, for control.
func dialing(ctx context.Context, address string) context.Context {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return ctx
	}
	if name, err := canonicalHost(host); err == nil {
		host = name
	}
	return context.WithValue(ctx, dialState{}, host)
}
