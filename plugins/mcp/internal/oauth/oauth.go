// Package oauth gets, keeps and renews the OAuth tokens of MCP servers. Tokens are in a file of the user that no other
// user can read; they are in no error and no log. What needs a person is done by [Login], which a command runs; calls
// fail with its name until then.
package oauth

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/toolhost/toolhost/internal/fsutil"
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

// command is the command with which a person logs in.
func (s *Server) command() string {
	if s.Name == "" {
		return "toolhost mcp login NAME"
	}
	return "toolhost mcp login " + s.Name
}

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
