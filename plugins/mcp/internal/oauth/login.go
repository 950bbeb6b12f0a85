package oauth

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/toolhost/toolhost/internal/loopback"
)

// loginTime is how long a person may take in the browser.
const loginTime = 10 * time.Minute

// Login has a person log in at the server's authorization server, and keeps the tokens. It writes to out what to do:
// the address to open in a browser. Earlier tokens stay until the new ones are there, and so does the client that was
// registered. It takes 10 minutes at most.
func Login(ctx context.Context, s Server, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, loginTime)
	defer cancel()
	source, err := NewSource(s)
	if err != nil {
		return err
	}
	r, err := load(source.path)
	if err != nil {
		return err
	}
	challenge, err := source.challenge(ctx, r)
	if err != nil {
		return err
	}
	if s.Config.Grant == clientCredentials {
		return source.loginWithoutPerson(ctx, challenge)
	}
	l := &login{source: source, out: out, before: r, challenge: challenge}
	if err := l.listen(ctx); err != nil {
		return err
	}
	defer l.close()
	again, err := l.run(ctx, r.Registered)
	if again { // the client of before is not for the server of now
		_, err = l.run(ctx, false)
	}
	if err != nil {
		return fmt.Errorf("the login at the MCP server at %s failed: %s", s.shown(), source.clean(r, err))
	}
	fmt.Fprintf(out, "Logged in at %s. The tokens are in %s.\n", s.shown(), source.path)
	return nil
}

// Logout forgets the tokens of a server, and the client that was registered.
func Logout(ctx context.Context, s Server, out io.Writer) error {
	path, err := s.path()
	if err != nil {
		return err
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(out, "There are no tokens for %s.\n", s.shown())
		return nil
	}
	unlock, err := lock(ctx, path)
	if err != nil {
		return err
	}
	defer unlock()
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	fmt.Fprintf(out, "The tokens for %s are removed from this machine. The server's own page of your account can revoke "+
		"them.\n", s.shown())
	return nil
}

func (s *Source) loginWithoutPerson(ctx context.Context, challenge string) error {
	unlock, err := lock(ctx, s.path)
	if err != nil {
		return err
	}
	defer unlock()
	r, err := load(s.path)
	if err != nil {
		return err
	}
	_, err = s.obtain(ctx, r, challenge)
	return err
}

// challenge is the WWW-Authenticate header with which the server asks for a token: the one that a call met, or the
// answer to a request without a token.
func (s *Source) challenge(ctx context.Context, r *record) (string, error) {
	if r.Challenge != "" {
		return r.Challenge, nil
	}
	for _, method := range []string{http.MethodPost, http.MethodGet} {
		var body io.Reader
		if method == http.MethodPost {
			body = bytes.NewReader([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		}
		req, err := http.NewRequestWithContext(ctx, method, s.server.URL, body)
		if err != nil {
			return "", errors.New("the url of the MCP server cannot be read as a URL")
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		answer, err := s.client.Do(req)
		if err != nil {
			if e, ok := errors.AsType[*url.Error](err); ok {
				err = e.Err
			}
			return "", fmt.Errorf("the MCP server at %s cannot be reached: %s", s.server.shown(), visible(err.Error()))
		}
		_ = answer.Body.Close()
		if answer.StatusCode == http.StatusUnauthorized {
			return strings.Join(answer.Header.Values("WWW-Authenticate"), ", "), nil
		}
	}
	return "", fmt.Errorf("the MCP server at %s does not ask for a login", s.server.shown())
}

// A login is one attempt of a person.
type login struct {
	source    *Source
	out       io.Writer
	before    *record
	challenge string

	redirect string // where the browser comes back to
	server   *http.Server
	served   chan struct{}
	came     chan url.Values

	asked    bool // the address was shown
	resource string
}

// run goes through the flow. Again says that it has not come to the person because the registered client does not fit.
func (l *login) run(ctx context.Context, registered bool) (again bool, err error) {
	h, err := auth.NewAuthorizationCodeHandler(l.config(registered))
	if err != nil {
		return false, err
	}
	req, resp, err := challenged(ctx, l.source.server.URL, l.challenge) //nolint:bodyclose // it has none
	if err != nil {
		return false, err
	}
	if l.before.MoreScopes {
		resp.StatusCode = http.StatusForbidden
	}
	if err := h.Authorize(ctx, req, resp); err != nil {
		return registered && !l.asked, err
	}
	if l.resource == "" {
		return false, errors.New("the server asks for no login")
	}
	return false, nil
}

func (l *login) config(registered bool) *auth.AuthorizationCodeHandlerConfig {
	c := l.source.server.Config
	out := &auth.AuthorizationCodeHandlerConfig{RedirectURL: l.redirect, Client: l.source.client,
		RequestRefreshToken: true, ScopeFilter: l.scopes,
		AuthorizationCodeFetcher: func(ctx context.Context, a *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			return l.fetch(ctx, registered, a)
		},
		NewTokenSource: func(ctx context.Context, c *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
			return oauth2.StaticTokenSource(t), l.save(ctx, c, t)
		}}
	if c.ClientURL != "" {
		out.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: c.ClientURL}
	}
	switch {
	case c.ClientID != "":
		out.PreregisteredClient = credentials(c.ClientID, c.ClientSecret, c.Issuer)
	case registered:
		out.PreregisteredClient = credentials(l.before.ClientID, l.before.ClientSecret, "")
	default:
		out.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{
			Metadata: &oauthex.ClientRegistrationMetadata{ClientName: "toolhost", RedirectURIs: []string{l.redirect},
				GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
				TokenEndpointAuthMethod: "none"}}
	}
	return out
}

func credentials(id, secret, issuer string) *oauthex.ClientCredentials {
	out := &oauthex.ClientCredentials{ClientID: id, Issuer: issuer}
	if secret != "" {
		out.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: secret}
	}
	return out
}

// scopes are those to ask for: the operator's, else the server's, with those of before if it wants more.
func (l *login) scopes(discovered []string) []string {
	wanted := l.source.server.Config.Scopes
	if !l.before.MoreScopes {
		if len(wanted) > 0 {
			return slices.Clone(wanted)
		}
		return discovered
	}
	discovered = slices.Clone(discovered)
	for _, s := range slices.Concat(wanted, l.before.Scopes) {
		if !slices.Contains(discovered, s) {
			discovered = append(discovered, s)
		}
	}
	return discovered
}

// save stores the tokens of the login. Callers with another token for the server use this one from then on.
func (l *login) save(ctx context.Context, c *oauth2.Config, t *oauth2.Token) error {
	unlock, err := lock(ctx, l.source.path)
	if err != nil {
		return err
	}
	defer unlock()
	at, err := url.Parse(c.Endpoint.AuthURL)
	if err != nil {
		return err
	}
	r := &record{Resource: l.resource, AuthURL: place(at), ClientID: c.ClientID, RedirectURL: l.redirect,
		TokenURL: c.Endpoint.TokenURL, AuthStyle: c.Endpoint.AuthStyle, Scopes: c.Scopes,
		Registered: c.ClientID != l.source.server.Config.ClientID && c.ClientID != l.source.server.Config.ClientURL}
	if r.Registered {
		r.ClientSecret = c.ClientSecret
	}
	if granted, ok := t.Extra("scope").(string); ok && granted != "" {
		r.Scopes = strings.Fields(granted)
	}
	r.set(t)
	return r.keep(l.source)
}

// listen waits for the browser at the loopback address of the machine: at the port that the client was registered with
// if it is free.
func (l *login) listen(ctx context.Context) error {
	path, fixed := "/callback", l.source.server.Config.RedirectURL
	address := "127.0.0.1:0"
	for _, known := range []string{fixed, l.before.RedirectURL} {
		if u, err := loopbackURL(known); known != "" && err == nil {
			path, address = u.Path, u.Host
			break
		}
	}
	var c net.ListenConfig
	in, err := c.Listen(ctx, "tcp", address)
	if err != nil && fixed != "" {
		return fmt.Errorf("the address of redirect_url cannot be listened at: %w", err)
	}
	if err != nil {
		path = "/callback"
		if in, err = c.Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
			return fmt.Errorf("no port of this machine can be listened at for the browser: %w", err)
		}
	}
	if l.redirect = fixed; fixed == "" {
		l.redirect = "http://" + in.Addr().String() + path
	}
	if l.redirect != l.before.RedirectURL {
		l.before.Registered = false // the client is registered with another address
	}
	l.came, l.served = make(chan url.Values, 1), make(chan struct{})
	l.server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { l.callback(w, r, path) }),
		ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	go func() {
		defer close(l.served)
		_ = l.server.Serve(in)
	}()
	return nil
}

func (l *login) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if l.server.Shutdown(ctx) != nil { // the page may still be on its way
		_ = l.server.Close()
	}
	<-l.served
}

func (l *login) callback(w http.ResponseWriter, r *http.Request, path string) {
	q := r.URL.Query()
	if r.Method != http.MethodGet || r.URL.Path != path || q.Get("state") == "" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Connection", "close")
	select {
	case l.came <- q:
		fmt.Fprintln(w, "The login is on its way to toolhost. Look into the terminal; this page can be closed.")
	default:
		fmt.Fprintln(w, "This login has ended. This page can be closed.")
	}
}

func (l *login) fetch(ctx context.Context, registered bool, a *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
	u, err := url.Parse(a.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return nil, errors.New("the authorization server's address cannot be opened in a browser")
	}
	if registered && l.before.AuthURL != place(u) {
		return nil, errors.New("the registered client belongs to another authorization server")
	}
	l.asked, l.resource = true, u.Query().Get("resource")
	fmt.Fprintf(l.out, "Open this address in a browser of this machine and log in at %s:\n\n%s\n\n", visible(u.Host), a.URL)
	for {
		select {
		case q := <-l.came:
			if q.Get("state") != u.Query().Get("state") {
				continue // it belongs to no login of now
			}
			if fault := q.Get("error"); fault != "" {
				return nil, fmt.Errorf("the authorization server says %s", visible(fault+" "+q.Get("error_description")))
			}
			return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
		case <-ctx.Done():
			return nil, errors.New("no one logged in in time")
		}
	}
}

// place is an address without its query.
func place(u *url.URL) string {
	bare := *u
	bare.RawQuery, bare.ForceQuery = "", false
	return bare.String()
}

// loopbackURL reads an address of this machine that a browser can come back to.
func loopbackURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" || u.Port() == "" || u.User != nil || !loopback.Is(u.Hostname()) {
		return nil, errors.New("redirect_url must be of this machine, such as http://127.0.0.1:33418/callback")
	}
	u.Path = cmp.Or(u.Path, "/")
	return u, nil
}
