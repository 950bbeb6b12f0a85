package console

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// KeyHeader is the header in which the page sends the key of its session beside the cookie.
const KeyHeader = "Toolhost-Console-Key"

const (
	maxToken    = 4 << 10 // bytes of a sign-in
	maxAge      = 30 * 24 * time.Hour
	keyBytes    = 32
	cookieStart = "toolhost-"
)

// Sessions exchanges a token for a session of the console, and recognizes its requests.
//
// A session is a key, which the page keeps in the storage of its origin and sends as a header, and a cookie that scripts
// cannot read: the HMAC of the key by the token. A request needs both. A browser sends its cookies to every port of a
// host, so that a program that serves another port sees the cookie, but not the key; and a page of another origin cannot
// set the header. The token itself is in neither. The server keeps nothing: a session lives through a restart, and ends
// when its token is no longer valid, or after 30 days.
type Sessions struct {
	// Tokens returns the tokens that are valid now.
	Tokens func() []string
}

// Token returns the token that a request's session stands for; false when it has none that is valid.
func (s *Sessions) Token(r *http.Request) (string, bool) {
	key := r.Header.Get(KeyHeader)
	cookie, err := r.Cookie(cookieName(r))
	if err != nil || !fresh(key, time.Now()) {
		return "", false
	}
	found, ok := "", false
	for _, token := range s.Tokens() { // all of them, so that the time says nothing
		if hmac.Equal([]byte(cookie.Value), []byte(proof(token, key))) {
			found, ok = token, true
		}
	}
	return found, ok
}

// signIn reads a token and answers with the key of a new session, and its cookie.
func (s *Sessions) signIn(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	token, err := readToken(w, r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	valid := 0
	for _, t := range s.Tokens() {
		valid |= subtle.ConstantTimeCompare([]byte(t), []byte(token))
	}
	if valid == 0 {
		http.Error(w, "the token is not valid: open the address that `toolhost serve` prints", http.StatusUnauthorized)
		return
	}
	key := newKey(time.Now())
	http.SetCookie(w, s.cookie(r, proof(token, key), 0))
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"key": key})
}

// signOut removes the cookie; the page forgets the key.
func (s *Sessions) signOut(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	http.SetCookie(w, s.cookie(r, "", -1))
	w.WriteHeader(http.StatusNoContent)
}

// readToken accepts JSON only, which a page of another origin cannot send without being asked for leave first.
func readToken(w http.ResponseWriter, r *http.Request) (string, error) {
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		return "", errors.New("the content type must be application/json")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxToken))
	if err != nil {
		return "", fmt.Errorf("reading the token: %w", err)
	}
	var in struct {
		Token string `json:"token"`
	}
	if err := json.Unmarshal(body, &in); err != nil || in.Token == "" {
		return "", errors.New(`the body must be {"token": "..."}`)
	}
	return in.Token, nil
}

func (s *Sessions) cookie(r *http.Request, value string, age int) *http.Cookie {
	return &http.Cookie{Name: cookieName(r), Value: value, Path: "/", MaxAge: age, HttpOnly: true, Secure: r.TLS != nil,
		SameSite: http.SameSiteStrictMode}
}

// cookieName has the port in it: the cookies of all ports of a host are one set, in which two hosts would sign each
// other out.
func cookieName(r *http.Request) string {
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil || port == "" || strings.Trim(port, "0123456789") != "" {
		port = "default"
	}
	return cookieStart + port
}

// newKey returns "SECONDS.RANDOM": when the session began, and what no one can guess.
func newKey(now time.Time) string {
	random := make([]byte, keyBytes)
	_, _ = rand.Read(random) // never fails
	return strconv.FormatInt(now.Unix(), 10) + "." + base64.RawURLEncoding.EncodeToString(random)
}

// fresh reports whether a key has the form of newKey and is not too old. The cookie proves that it is ours.
func fresh(key string, now time.Time) bool {
	seconds, random, _ := strings.Cut(key, ".")
	at, err := strconv.ParseInt(seconds, 10, 64)
	age := now.Sub(time.Unix(at, 0))
	return err == nil && len(random) == base64.RawURLEncoding.EncodedLen(keyBytes) && age >= 0 && age < maxAge
}

func proof(token, key string) string {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte("toolhost console session\n" + key))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
