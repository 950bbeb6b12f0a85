package oauth

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth/extauth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/redact"
	"github.com/toolhost/toolhost/sdk"
)

// A Source gives the Authorization header of one server, and renews the token behind it: once, however many calls wait
// for it, in this process and others. It may be used from several goroutines.
type Source struct {
	server Server
	path   string
	client *http.Client
	turn   chan struct{} // has one token: its holder renews

	// The last failure of a refresh, which calls that waited for it share. Whoever has the turn may use it.
	failed   error
	failedAt time.Time

	mu     sync.Mutex
	cached *record
	info   os.FileInfo // of the file that cached is from, nil if there was none
}

// NewSource returns the source for a server. It reads nothing yet.
func NewSource(s Server) (*Source, error) {
	path, err := s.path()
	if err != nil {
		return nil, err
	}
	out := &Source{server: s, path: path, client: newClient(&s), turn: make(chan struct{}, 1)}
	out.turn <- struct{}{}
	return out, nil
}

// renewLimit bounds one exchange with the authorization server. It runs to its end even if the call that needs it is
// canceled: a refresh token may be good for one use, and its successor must be kept.
const renewLimit = 30 * time.Second

// Authorization returns the value of the header, "" if there is no token: then the server is asked without.
func (s *Source) Authorization(ctx context.Context) (string, error) {
	r, err := s.current()
	if err != nil {
		return "", err
	}
	if value := r.header(); value != "" || r.AccessToken == "" {
		return value, nil
	}
	return s.renewed(ctx, "Bearer "+r.AccessToken, nil)
}

// Challenge renews the token after the server refused a request with this value of the header. It fails when a person
// is needed, with the command to run.
func (s *Source) Challenge(ctx context.Context, value string, answer *http.Response) error {
	_, err := s.renewed(ctx, value, answer)
	return err
}

// failureTime is how long the failure of a refresh counts for other calls.
const failureTime = 3 * time.Second

// current is the record of now; the file is read only when it has changed.
func (s *Source) current() (*record, error) {
	info, _ := os.Lstat(s.path) // nil without a file
	s.mu.Lock()
	defer s.mu.Unlock()
	same := info == nil && s.info == nil || info != nil && s.info != nil && os.SameFile(info, s.info) &&
		info.ModTime().Equal(s.info.ModTime()) && info.Size() == s.info.Size()
	if same && s.cached != nil {
		return s.cached, nil
	}
	r, err := load(s.path)
	if err == nil {
		s.cached, s.info = r, info
	}
	return r, err
}

// renewed returns a header that is not the refused one. Answer is the server's refusal, nil if the token has expired.
func (s *Source) renewed(ctx context.Context, refused string, answer *http.Response) (string, error) {
	select {
	case <-s.turn:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	var value string
	var err error
	done := make(chan struct{})
	challenge, scopes := "", false
	if answer != nil {
		challenge = strings.Join(answer.Header.Values("WWW-Authenticate"), ", ")
		scopes = answer.StatusCode == http.StatusForbidden
	}
	go func() {
		defer close(done)
		defer func() { s.turn <- struct{}{} }()
		detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewLimit)
		defer cancel()
		value, err = s.renew(detached, refused, challenge, scopes)
	}()
	select {
	case <-done:
		return value, err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// renew does it, alone among all processes.
func (s *Source) renew(ctx context.Context, refused, challenge string, moreScopes bool) (string, error) {
	unlock, err := lock(ctx, s.path)
	if err != nil {
		return "", err
	}
	defer unlock()
	r, err := load(s.path)
	if err != nil {
		return "", err
	}
	if value := r.header(); value != "" && value != refused && !sameToken(value, refused) {
		return value, nil // it was renewed in the meantime
	}
	if s.server.Config.Grant == clientCredentials {
		return s.obtain(ctx, r, challenge)
	}
	if challenge != "" || moreScopes {
		r.Challenge, r.MoreScopes = challenge, moreScopes
	}
	if !moreScopes && r.RefreshToken != "" {
		if s.failed != nil && time.Since(s.failedAt) < failureTime {
			return "", s.failed
		}
		value, err := s.refresh(ctx, r)
		s.failed, s.failedAt = err, time.Now()
		return value, err
	}
	why := "needs a login"
	switch {
	case moreScopes:
		why = "wants more scopes than the login has given"
	case r.AccessToken != "" && r.RefreshToken == "":
		why = "needs a new login: the token is no longer valid, and there is none to refresh it with"
	}
	return "", cmp.Or(r.keep(s), s.server.loginNeeded(why))
}

// sameToken compares headers without their scheme.
func sameToken(a, b string) bool {
	_, a, _ = strings.Cut(a, " ")
	_, b, _ = strings.Cut(b, " ")
	return a == b
}

func (s *Source) refresh(ctx context.Context, r *record) (string, error) {
	c := oauth2.Config{ClientID: r.ClientID, ClientSecret: r.secret(&s.server),
		Endpoint: oauth2.Endpoint{TokenURL: r.TokenURL, AuthStyle: r.AuthStyle}}
	client := *s.client
	client.Transport = &forResource{client.Transport, r.Resource}
	t, err := c.TokenSource(context.WithValue(ctx, oauth2.HTTPClient, &client),
		&oauth2.Token{RefreshToken: r.RefreshToken}).Token()
	if err != nil {
		return s.refreshFailed(r, err)
	}
	r.set(t)
	if err := r.keep(s); err != nil {
		return "", err
	}
	return r.header(), nil
}

// secret is the client's: the operator's is not written to the file.
func (r *record) secret(s *Server) string {
	if r.ClientID == s.Config.ClientID {
		return s.Config.ClientSecret
	}
	return r.ClientSecret
}

// refreshFailed distinguishes an invalid refresh token from an authorization server that does not work.
func (s *Source) refreshFailed(r *record, err error) (string, error) {
	why := s.clean(r, err)
	answer, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok || answer.Response == nil || answer.Response.StatusCode >= http.StatusInternalServerError ||
		answer.Response.StatusCode == http.StatusTooManyRequests {
		return "", &sdk.Error{Name: "TokenRefreshFailed", Retryable: true,
			Message: fmt.Sprintf("the token for the MCP server at %s cannot be refreshed now: %s", s.server.shown(), why)}
	}
	r.drop()
	if answer.ErrorCode == "invalid_client" {
		r.ClientID, r.ClientSecret, r.Registered = "", "", false
	}
	return "", cmp.Or(r.keep(s), s.server.loginNeeded(
		"needs a new login: its authorization server refused to refresh the token ("+why+")"))
}

// clean words an error of the authorization server without what is secret.
func (s *Source) clean(r *record, err error) string {
	text := err.Error()
	if answer, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		status := "an answer that cannot be read"
		if answer.Response != nil {
			status = "HTTP status " + answer.Response.Status
		}
		text = strings.TrimSpace(status + " " + answer.ErrorCode + " " + answer.ErrorDescription)
	}
	return visible(redact.New(r.AccessToken, r.RefreshToken, r.ClientSecret, s.server.Config.ClientSecret).Text(text))
}

// obtain gets a token with the client's own credentials. Where to get it, the challenge says.
func (s *Source) obtain(ctx context.Context, r *record, challenge string) (string, error) {
	c := s.server.Config
	h, err := extauth.NewClientCredentialsHandler(&extauth.ClientCredentialsHandlerConfig{HTTPClient: s.client,
		Credentials: &oauthex.ClientCredentials{ClientID: c.ClientID, Issuer: c.Issuer,
			ClientSecretAuth: &oauthex.ClientSecretAuth{ClientSecret: c.ClientSecret}}})
	if err != nil {
		return "", err
	}
	challenge = cmp.Or(challenge, r.Challenge)
	req, resp, err := challenged(ctx, s.server.URL, challenge) //nolint:bodyclose // it has none
	if err != nil {
		return "", err
	}
	if err = h.Authorize(ctx, req, resp); err != nil {
		return "", &sdk.Error{Name: "TokenRefused",
			Message:    fmt.Sprintf("there is no token for the MCP server at %s: %s", s.server.shown(), s.clean(r, err)),
			Suggestion: "The operator checks client_id, client_secret and scopes of the plugin's oauth block."}
	}
	source, err := h.TokenSource(ctx)
	if err != nil || source == nil {
		return "", errors.Join(err, errors.New("the authorization server gave no token"))
	}
	t, err := source.Token()
	if err != nil {
		return "", err
	}
	r.set(t)
	r.Challenge = challenge // it says again where the next token is
	if err := r.keep(s); err != nil {
		return "", err
	}
	return r.header(), nil
}

// challenged is a request that was refused, as the handlers of the SDK want it.
func challenged(ctx context.Context, url, challenge string) (*http.Request, *http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, http.NoBody)
	if err != nil {
		return nil, nil, err
	}
	resp := &http.Response{StatusCode: http.StatusUnauthorized, Header: http.Header{}, Body: http.NoBody, Request: req}
	if challenge != "" {
		resp.Header.Set("WWW-Authenticate", challenge)
	}
	return req, resp, nil
}

// A record is the stored state of a server: the client that was registered, and the tokens.
type record struct {
	Server   string `json:"server"`             // its URL
	Resource string `json:"resource,omitempty"` // that tokens are for, as the server names it
	AuthURL  string `json:"auth_url,omitempty"` // of the authorization server that the client is registered at

	ClientID     string           `json:"client_id,omitempty"`
	ClientSecret string           `json:"client_secret,omitempty"`
	Registered   bool             `json:"registered,omitempty"` // the client has registered itself
	RedirectURL  string           `json:"redirect_url,omitempty"`
	TokenURL     string           `json:"token_url,omitempty"`
	AuthStyle    oauth2.AuthStyle `json:"auth_style,omitempty"`

	Scopes       []string  `json:"scopes,omitempty"` // that were granted or asked for
	AccessToken  string    `json:"access_token,omitempty"`
	TokenType    string    `json:"token_type,omitempty"`
	RefreshToken string    `json:"refresh_token,omitempty"`
	Expiry       time.Time `json:"expiry,omitzero"`

	// Challenge is the WWW-Authenticate header of the last request that was refused for these tokens; Login begins with
	// it.
	Challenge string `json:"challenge,omitempty"`
	// MoreScopes says that the challenge asks for more scopes than the tokens have.
	MoreScopes bool `json:"more_scopes,omitempty"`
}

// margin is how long before its end a token is taken for expired.
const margin = 10 * time.Second

// header is the value of the Authorization header, "" when there is no valid token.
func (r *record) header() string {
	if r.AccessToken == "" || !r.Expiry.IsZero() && time.Now().Add(margin).After(r.Expiry) {
		return ""
	}
	t := oauth2.Token{TokenType: r.TokenType}
	return t.Type() + " " + r.AccessToken
}

func (r *record) set(t *oauth2.Token) {
	r.AccessToken, r.TokenType, r.Expiry = t.AccessToken, t.TokenType, t.Expiry
	if t.RefreshToken != "" {
		r.RefreshToken = t.RefreshToken
	}
	r.Challenge, r.MoreScopes = "", false
}

// drop forgets the tokens and keeps the client.
func (r *record) drop() {
	r.AccessToken, r.TokenType, r.RefreshToken, r.Expiry = "", "", "", time.Time{}
}

// maxRecord bounds a file, in bytes: tokens may be large, but not so large.
const maxRecord = 1 << 20

// load reads the file; without one it returns an empty record.
func load(path string) (*record, error) {
	f, err := fsutil.OpenPrivate(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &record{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the tokens of MCP servers are not used: %w. Fix: chmod 600 %s", err, path)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxRecord))
	if err != nil {
		return nil, err
	}
	r := &record{}
	if json.Unmarshal(text, r) != nil { // nothing that can be kept
		return &record{}, nil
	}
	return r, nil
}

func (r *record) keep(s *Source) error {
	r.Server = s.server.URL
	text, err := json.Marshal(r) //nolint:gosec // the file is where secrets are kept
	if err != nil {
		return err
	}
	if err := fsutil.WriteFile(s.path, text, 0o600); err != nil {
		return fmt.Errorf("the tokens of an MCP server cannot be written: %w", err)
	}
	return nil
}

// lock keeps all other processes from changing the file, until unlock. Readers need no lock: files are replaced whole.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("there is no place for the tokens of MCP servers: %w", err)
	}
	if err := fsutil.CheckPrivateDir(dir); err != nil {
		return nil, fmt.Errorf("tokens are not kept in a folder that other users can change: %w. Fix: chmod 700 %s", err, dir)
	}
	f, err := fsutil.Lock(ctx, path+".lock", os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, fmt.Errorf("the tokens in %s are in use by another process: %w", path, err)
	}
	return func() { _ = f.Close() }, nil
}
