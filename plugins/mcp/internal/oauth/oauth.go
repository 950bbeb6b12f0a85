// Package oauth gets, keeps and renews the OAuth tokens of MCP servers. Tokens are in a file of the user that no other
// user can read; they are in no error and no log. What needs a person is done by [Login], which a command runs; calls
// fail with its name until then.
package oauth

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/loopback"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

// A Config is the operator's OAuth configuration of a server. The zero value is right for most: the server says
// where to log in, and the client registers itself there.
type Config struct {
	Grant        string   `json:"grant,omitempty" enum:"authorization_code|client_credentials" default:"authorization_code" jsonschema:"authorization_code: a person logs in once with toolhost mcp login. client_credentials: client_id and client_secret are enough."`
	ClientID     string   `json:"client_id,omitempty" jsonschema:"The client that is registered at the authorization server; without it the client registers itself."`
	ClientSecret string   `json:"client_secret,omitempty" jsonschema:"The secret of client_id, by reference."`
	ClientURL    string   `json:"client_metadata_url,omitempty" jsonschema:"The https URL of a client ID metadata document, for servers that take such a URL as client."`
	Issuer       string   `json:"issuer,omitempty" jsonschema:"The only authorization server that client_id is for."`
	Scopes       []string `json:"scopes,omitempty" jsonschema:"The scopes to ask for, in place of those that the server names."`
	RedirectURL  string   `json:"redirect_url,omitempty" jsonschema:"Where the browser comes back to after the login, such as http://127.0.0.1:33418/callback: a port of this machine. Only for clients that are registered with one."`
}

// Grants.
const (
	authorizationCode = "authorization_code"
	clientCredentials = "client_credentials"
)

// Check says what is wrong with a configuration; key is the setting.
func (c *Config) Check() (key string, err error) {
	switch {
	case c.Grant == clientCredentials && (c.ClientID == "" || c.ClientSecret == ""):
		return "client_id", errors.New("the grant client_credentials needs client_id and client_secret")
	case c.ClientSecret != "" && c.ClientID == "":
		return "client_id", errors.New("there is a client_secret without client_id")
	case c.Grant != "" && c.Grant != authorizationCode && c.Grant != clientCredentials:
		return "grant", fmt.Errorf("grant is %q; it is %s or %s", textutil.Cut(c.Grant, 40), authorizationCode,
			clientCredentials)
	}
	if u, err := url.Parse(c.ClientURL); c.ClientURL != "" && (err != nil || u.Scheme != "https" || len(u.Path) < 2) {
		return "client_metadata_url", errors.New("client_metadata_url must be an https URL with a path")
	}
	if c.RedirectURL != "" {
		if _, err := loopbackURL(c.RedirectURL); err != nil {
			return "redirect_url", err
		}
	}
	return "", nil
}

// A Server is one that tokens are for.
type Server struct {
	// Name is the plugin's, as toolhost mcp login has it.
	Name string
	// URL is the endpoint.
	URL string
	// Config is the operator's.
	Config Config
	// Dir is the folder of the files; "" is toolhost/mcp in the user's state.
	Dir string
	// ProxyFromEnvironment uses the proxies of the environment.
	ProxyFromEnvironment bool
}

func (s *Server) command() string { return "toolhost mcp login " + cmp.Or(s.Name, "NAME") }

// shown is the server in texts: its origin, since paths and queries may hold keys.
func (s *Server) shown() string {
	u, err := url.Parse(s.URL)
	if err != nil {
		return "its url"
	}
	return u.Scheme + "://" + u.Host
}

var notInNames = regexp.MustCompile(`[^a-z0-9-]+`)

// path is the file of the credentials: of this name, server and client.
func (s *Server) path() (string, error) {
	dir := s.Dir
	if dir == "" {
		state, err := fsutil.UserFolder("XDG_STATE_HOME", ".local", "state")
		if err != nil {
			return "", fmt.Errorf("there is no place for the tokens of the MCP server at %s: %w; set HOME", s.shown(), err)
		}
		dir = filepath.Join(state, "mcp")
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{s.URL, s.Config.Grant, s.Config.ClientID, s.Config.Issuer}, "\x00")))
	name := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(s.Name), "-"), "-")
	return filepath.Join(dir, textutil.Cut(name, 40)+"-"+hex.EncodeToString(sum[:8])+".json"), nil
}

// LoginRequired is the name of the error of calls that wait for a person.
const LoginRequired = "LoginRequired"

// loginNeeded is the error of a call that waits for a person.
func (s *Server) loginNeeded(why string) error {
	return &sdk.Error{Name: "LoginRequired", // a literal, which docs/errors.md is checked with
		Message:    fmt.Sprintf("the MCP server at %s %s", s.shown(), why),
		Suggestion: "A person runs this in a terminal, then the call works: " + s.command(),
		Details:    sdk.Details(map[string]string{"command": s.command()})}
}

// visible makes the text of a server fit for an error.
func visible(text string) string {
	text, _ = textutil.Visible(strings.Join(strings.Fields(text), " "), '\ufffd')
	return textutil.CutRunes(text, 300, "...")
}

// newClient returns the client for authorization servers. Servers name those, so it connects to addresses that are not
// public only if the server itself is at one.
func newClient(s *Server) *http.Client {
	g := &guard{}
	if u, err := url.Parse(s.URL); err == nil {
		g.host = u.Hostname()
	}
	tr := &http.Transport{TLSHandshakeTimeout: 10 * time.Second, MaxResponseHeaderBytes: 64 << 10, DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			d := net.Dialer{Timeout: 10 * time.Second}
			if host, _, err := net.SplitHostPort(address); !s.ProxyFromEnvironment && (err != nil || host != g.host) {
				d.ControlContext = g.control
			}
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
	return fmt.Errorf("%s is not a public address, and the MCP server is at one; a login there is refused", to.Addr())
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
	r.Body, r.ContentLength, r.GetBody = io.NopCloser(bytes.NewReader(form)), int64(len(form)), nil
	return f.RoundTripper.RoundTrip(r)
}
