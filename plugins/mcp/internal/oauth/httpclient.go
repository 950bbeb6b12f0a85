package oauth

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/internal/loopback"
)

// newClient returns the client for authorization servers. Servers name those, so it connects to addresses that are not
// public only if the server itself is at one.
func newClient(s *Server) *http.Client {
	g := &guard{}
	if u, err := url.Parse(s.URL); err == nil {
		g.host = u.Hostname()
	}
	plain := net.Dialer{Timeout: 10 * time.Second}
	tr := &http.Transport{TLSHandshakeTimeout: 10 * time.Second, MaxResponseHeaderBytes: 64 << 10, DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			d := plain
			if host, _, err := net.SplitHostPort(address); s.ProxyFromEnvironment || err == nil && host == g.host {
				return d.DialContext(ctx, network, address)
			}
			d.ControlContext = g.control
			return d.DialContext(ctx, network, address)
		}}
	if s.ProxyFromEnvironment {
		tr.Proxy = http.ProxyFromEnvironment
	}
	return &http.Client{Transport: tr, Timeout: renewLimit, CheckRedirect: checkRedirect}
}

// checkRedirect follows what discovery needs, and sends no form, which may have secrets, to another place.
func checkRedirect(r *http.Request, via []*http.Request) error {
	switch {
	case len(via) > 5:
		return fmt.Errorf("%s redirects more than 5 times", via[0].URL.Host)
	case via[0].Method != http.MethodGet:
		return fmt.Errorf("%s redirects, which is not followed with credentials", via[0].URL.Host)
	case via[len(via)-1].URL.Scheme == "https" && r.URL.Scheme != "https":
		return fmt.Errorf("%s redirects from https to %s", via[0].URL.Host, r.URL.Scheme)
	}
	return nil
}

// A guard decides which addresses may be connected to.
type guard struct{ host string }

func (g *guard) control(ctx context.Context, _, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if loopback.IsPublic(to.Addr()) {
		return nil
	}
	own, _ := net.DefaultResolver.LookupNetIP(ctx, "ip", g.host)
	for _, a := range own {
		if !loopback.IsPublic(a) {
			return nil
		}
	}
	return fmt.Errorf("%s is no public address, and the MCP server is at one; a login there is refused", to.Addr())
}

// forResource adds the resource that a token is for to its refresh, as RFC 8707 asks.
type forResource struct {
	http.RoundTripper
	resource string
}

// RoundTrip sends the request with the resource.
func (f *forResource) RoundTrip(r *http.Request) (*http.Response, error) {
	if f.resource == "" || r.Body == nil {
		return f.RoundTripper.RoundTrip(r)
	}
	form, err := io.ReadAll(r.Body)
	_ = r.Body.Close()
	if err != nil {
		return nil, err
	}
	form = append(form, "&resource="+url.QueryEscape(f.resource)...)
	r = r.Clone(r.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(form)), int64(len(form))
	r.GetBody = nil
	return f.RoundTripper.RoundTrip(r)
}
