package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/oauth2"

	"github.com/toolhost/toolhost/internal/fsutil"
)

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

// set takes over a token.
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

// save replaces the file.
func (r *record) save(path string) error {
	text, err := json.Marshal(r) //nolint:gosec // the file is where secrets are kept
	if err != nil {
		return err
	}
	if err := fsutil.WriteFile(path, text, 0o600); err != nil {
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
