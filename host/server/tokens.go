package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/api/apiv1"
	consolesession "github.com/toolhost/toolhost/host/server/internal/session"
)

// A Role says what a client may do. Each role may do what those before it may.
type Role string

// The roles, from low to high.
const (
	Viewer   Role = "viewer"   // reads
	Approver Role = "approver" // also answers approvals and questions
	Operator Role = "operator" // does everything
)

var roles = []Role{"", Viewer, Approver, Operator}

// may reports whether the role is at least another.
func (r Role) may(need Role) bool { return slices.Index(roles, r) >= slices.Index(roles, need) }

// Message is the role in the API.
func (r Role) Message() apiv1.Role { return apiv1.Role(max(slices.Index(roles, r), 0)) }

// MinToken is how many characters a token has at least.
const MinToken = 16

// A Token lets a client use the server over TCP.
type Token struct {
	// Name is for the record: calls are made for "api:NAME", or "api" without one.
	Name  string
	Value string
	Role  Role
}

// A validToken is one that lets clients in.
type validToken struct {
	Token
	revoked context.Context // ends when the token is replaced, changed or removed
	revoke  context.CancelFunc
}

// tokenList has the tokens in the form in which they are compared.
type tokenList struct {
	all    []validToken
	values []string
	hashes [][sha256.Size]byte
}

// SetTokens replaces the tokens: one that is gone or changed has no access from now on, and its streams and calls end.
// The error says which tokens are not valid: those are left out, and the others apply.
func (s *Server) SetTokens(all []Token) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, list := cmp.Or(s.tokens.Load(), &tokenList{}), &tokenList{}
	var invalid []error
	for _, t := range all {
		if err := list.check(t); err != nil {
			invalid = append(invalid, err)
			continue
		}
		v := validToken{Token: t}
		if i := slices.IndexFunc(old.all, func(o validToken) bool { return o.Token == t }); i >= 0 {
			v = old.all[i]
		} else {
			v.revoked, v.revoke = context.WithCancel(context.Background())
		}
		list.all = append(list.all, v)
		list.hashes = append(list.hashes, sha256.Sum256([]byte(t.Value)))
		list.values = append(list.values, t.Value)
	}
	s.tokens.Store(list)
	for _, o := range old.all {
		if !slices.ContainsFunc(list.all, func(v validToken) bool { return v.Token == o.Token }) {
			o.revoke()
		}
	}
	return errors.Join(invalid...)
}

// check says why a token cannot join the list.
func (l *tokenList) check(t Token) error {
	switch {
	case len(t.Value) < MinToken:
		return fmt.Errorf("server: the token %q has %d characters; it needs %d at least, such as those that `openssl rand "+
			"-hex 32` prints", t.Name, len(t.Value), MinToken)
	case t.Role == "" || !slices.Contains(roles, t.Role):
		return fmt.Errorf("server: the token %q has the role %q; it must be viewer, approver or operator", t.Name, t.Role)
	case slices.ContainsFunc(l.all, func(o validToken) bool { return o.Name == t.Name }):
		return fmt.Errorf("server: there are two tokens %q", t.Name)
	case slices.Contains(l.values, t.Value):
		return fmt.Errorf("server: the token %q has the value of another one", t.Name)
	}
	return nil
}

// errRevoked is the cause by which the requests of a token end that is no longer valid.
var errRevoked = errors.New("the token is no longer valid")

// untilRevoked returns a context for a request with the token. Call end when it is served.
func (t *validToken) untilRevoked(ctx context.Context) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	unlink := context.AfterFunc(t.revoked, func() { cancel(errRevoked) })
	return ctx, func() {
		unlink()
		cancel(nil)
	}
}

// find compares in constant time.
func (l *tokenList) find(value string) *validToken {
	hash := sha256.Sum256([]byte(value))
	var found *validToken
	for i := range l.all {
		if subtle.ConstantTimeCompare(hash[:], l.hashes[i][:]) == 1 {
			found = &l.all[i]
		}
	}
	return found
}

// sessionPath exchanges a token for a session of the console: POST {"token": "…"}. DELETE ends it.
const sessionPath = "/session"

// authenticated returns the token of a request; nil for none, and for a wrong one.
func (s *Server) authenticated(r *http.Request) *validToken {
	list := s.tokens.Load()
	if given := r.Header.Get("Authorization"); given != "" {
		scheme, value, _ := strings.Cut(given, " ")
		if !strings.EqualFold(scheme, "bearer") {
			return nil
		}
		return list.find(strings.TrimSpace(value))
	}
	if i := consolesession.Find(r, list.values); i >= 0 {
		return &list.all[i]
	}
	return nil
}

func (s *Server) openSession(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	value, err := consolesession.ReadToken(w, r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if s.tokens.Load().find(value) == nil {
		http.Error(w, "the token is not valid: open the address that `toolhost serve` prints", http.StatusUnauthorized)
		return
	}
	consolesession.Start(w, r, value)
}
