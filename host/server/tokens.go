package server

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/api/apiv1"
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

// minToken is how many characters a token has at least.
const minToken = 16

// A Token lets a client use the server over TCP.
type Token struct {
	// Name is for the record: calls are made for "api:NAME", or "api" without one.
	Name  string
	Value string
	Role  Role
}

// tokenList has the tokens in the form in which they are compared.
type tokenList struct {
	all     []Token
	hashes  [][sha256.Size]byte
	cookies []string
}

// SetTokens replaces the tokens: one that is gone has no access from now on, and its streams end with their next
// message.
func (s *Server) SetTokens(all []Token) error {
	list := &tokenList{all: slices.Clone(all)}
	names := map[string]bool{}
	for i, t := range all {
		switch {
		case len(t.Value) < minToken:
			return fmt.Errorf("server: the token %q has %d characters; it needs %d at least, such as those that `openssl rand "+
				"-hex 32` prints", t.Name, len(t.Value), minToken)
		case t.Role == "" || !slices.Contains(roles, t.Role):
			return fmt.Errorf("server: the token %q has the role %q; it must be viewer, approver or operator", t.Name, t.Role)
		case names[t.Name]:
			return fmt.Errorf("server: there are two tokens %q", t.Name)
		case slices.ContainsFunc(all[:i], func(o Token) bool { return o.Value == t.Value }):
			return fmt.Errorf("server: the token %q has the value of another one", t.Name)
		}
		names[t.Name] = true
		list.hashes = append(list.hashes, sha256.Sum256([]byte(t.Value)))
		list.cookies = append(list.cookies, cookieValue(t.Value))
	}
	s.tokens.Store(list)
	return nil
}

// find compares in constant time.
func (l *tokenList) find(value string) *Token {
	hash := sha256.Sum256([]byte(value))
	var found *Token
	for i := range l.all {
		if subtle.ConstantTimeCompare(hash[:], l.hashes[i][:]) == 1 {
			found = &l.all[i]
		}
	}
	return found
}

// findCookie is find for the value of a cookie.
func (l *tokenList) findCookie(value string) *Token {
	var found *Token
	for i, c := range l.cookies {
		if subtle.ConstantTimeCompare([]byte(value), []byte(c)) == 1 {
			found = &l.all[i]
		}
	}
	return found
}

// cookieValue is made of the token and does not reveal it, so that sessions outlive the process.
func cookieValue(token string) string {
	mac := hmac.New(sha256.New, []byte(token))
	_, _ = io.WriteString(mac, "toolhost console") // it never fails
	return hex.EncodeToString(mac.Sum(nil))
}

const (
	// sessionPath exchanges a token for the cookie of the console: POST {"token": "…"}. DELETE removes the cookie.
	sessionPath = "/session"
	sessionTime = 7 * 24 * time.Hour
)

// cookieName is another one for each port: browsers share cookies between the ports of a host.
func cookieName(r *http.Request) string {
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		port = "default"
	}
	return "toolhost_" + port
}

// authenticated returns the token of a request; nil for none, and for a wrong one.
func (s *Server) authenticated(r *http.Request) *Token {
	list := s.tokens.Load()
	if given := r.Header.Get("Authorization"); given != "" {
		scheme, value, _ := strings.Cut(given, " ")
		if !strings.EqualFold(scheme, "bearer") {
			return nil
		}
		return list.find(strings.TrimSpace(value))
	}
	if c, err := r.Cookie(cookieName(r)); err == nil {
		return list.findCookie(c.Value)
	}
	return nil
}

func (s *Server) openSession(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Token string `json:"token"`
	}
	err := json.NewDecoder(io.LimitReader(r.Body, 4<<10)).Decode(&in)
	token := s.tokens.Load().find(in.Token)
	if err != nil || token == nil {
		http.Error(w, "a valid token is needed", http.StatusUnauthorized)
		return
	}
	s.setCookie(w, r, cookieValue(token.Value), int(sessionTime/time.Second))
}

func (s *Server) closeSession(w http.ResponseWriter, r *http.Request) { s.setCookie(w, r, "", -1) }

func (s *Server) setCookie(w http.ResponseWriter, r *http.Request, value string, age int) {
	http.SetCookie(w, &http.Cookie{Name: cookieName(r), Value: value, Path: "/", MaxAge: age, HttpOnly: true,
		Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode})
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
}
