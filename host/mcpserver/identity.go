package mcpserver

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// minToken is how many characters a token has at least.
const minToken = 16

// An Identity is someone who may use the server over HTTP.
type Identity struct {
	// Name is for rules and the record; Options.Open makes a host for it.
	Name string
	// Token is the bearer token.
	Token string
	// Rights are passed to Options.Open, such as the name of a profile. The server only compares it.
	Rights string
}

// checkIdentities refuses tokens that can be guessed, and those that several identities share.
func checkIdentities(all []Identity) error {
	names, tokens := map[string]bool{}, map[string]string{}
	for _, i := range all {
		other, same := tokens[i.Token]
		switch {
		case len(i.Token) < minToken:
			return fmt.Errorf("mcpserver: the token of identity %q has %d characters; it needs %d at least, such as those "+
				"that `openssl rand -hex 32` prints", i.Name, len(i.Token), minToken)
		case same:
			return fmt.Errorf("mcpserver: the identities %q and %q have the same token", other, i.Name)
		case names[i.Name]:
			return fmt.Errorf("mcpserver: there are two identities %q", i.Name)
		}
		names[i.Name], tokens[i.Token] = true, i.Name
	}
	return nil
}

// SetIdentities replaces those who may use the server over HTTP. One that is gone, or has another token or other
// rights, loses access at once: its sessions, its calls and its host end. Without any, no one has access; a server that
// began without identities needs none as long as it is given none. An error means that nothing has changed.
func (s *Server) SetIdentities(all []Identity) error {
	if err := checkIdentities(all); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	s.identities, s.guarded = slices.Clone(all), s.guarded || len(all) > 0
	for name, e := range s.endpoints {
		if e.who == nil || s.allows(*e.who) { // without who it serves streams, not HTTP
			continue
		}
		delete(s.endpoints, name)
		e.end()
		s.closing.Go(func() {
			if err := e.close(); err != nil {
				s.options.Logger.Error("the host of an identity that was removed did not end as it should", "identity", name,
					"error", err)
			}
		})
	}
	return nil
}

// errRemoved is the error of a request whose identity was removed while it came.
var errRemoved = errors.New("the identity was removed")

// allows reports whether someone may use the server over HTTP. The caller holds the lock.
func (s *Server) allows(who Identity) bool {
	return !s.guarded && who == Identity{} || slices.Contains(s.identities, who)
}

// authenticate takes as long for each wrong token.
func (s *Server) authenticate(r *http.Request) (who Identity, ok bool) {
	s.mu.Lock()
	all, guarded := s.identities, s.guarded
	s.mu.Unlock()
	if !guarded {
		return Identity{}, true
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	given := sha256.Sum256([]byte(strings.TrimSpace(token)))
	for _, i := range all {
		want := sha256.Sum256([]byte(i.Token))
		if subtle.ConstantTimeCompare(given[:], want[:]) == 1 {
			who, ok = i, true
		}
	}
	return who, ok && strings.EqualFold(scheme, "Bearer")
}
