// Package session exchanges a token for a session of the console, and recognizes its requests.
//
// A session is a key, which the page keeps in the storage of its origin and sends as a header, and a cookie that
// scripts cannot read: the HMAC of the key by the token. A request needs both. A browser sends its cookies to every
// port of a host, so that a program that serves another port, such as one that an agent is developing, sees the cookie,
// but not the key; and a page of another origin cannot set the header. The token itself is in neither. The server keeps
// nothing: a session lives through a restart, and ends when its token is no longer valid, when the browser is closed,
// or after 30 days.
package session

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
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

// keyHeader is the header in which the page sends the key of its session beside the cookie.
const keyHeader = "Toolhost-Console-Key"

const (
	maxBody  = 4 << 10 // bytes
	maxAge   = 30 * 24 * time.Hour
	keyBytes = 32
)

// Find returns the index of the token that a request's session stands for; -1 when it has none, or none that is valid.
func Find(r *http.Request, tokens []string) int {
	key := r.Header.Get(keyHeader)
	cookie, err := r.Cookie(cookieName(r))
	if err != nil || !fresh(key, time.Now()) {
		return -1
	}
	found := -1
	for i, token := range tokens { // all of them, so that the time says nothing
		if hmac.Equal([]byte(cookie.Value), []byte(proof(token, key))) {
			found = i
		}
	}
	return found
}

// ReadToken returns the token of a sign-in, {"token": "…"}. It accepts JSON only, which a page of another origin cannot
// send without a CORS preflight.
func ReadToken(w http.ResponseWriter, r *http.Request) (string, error) {
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		return "", errors.New("the content type must be application/json")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
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

// Start answers with the cookie of a new session for a valid token, and with its key, {"key": "…"}.
func Start(w http.ResponseWriter, r *http.Request, token string) {
	key := newKey(time.Now())
	http.SetCookie(w, cookie(r, proof(token, key), 0))
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"key": key}) // the client may be gone
}

// End removes the cookie; the page forgets the key.
func End(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, cookie(r, "", -1))
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
}

func cookie(r *http.Request, value string, age int) *http.Cookie {
	//nolint:gosec // G124: it is secure where there is TLS; without, the server listens on loopback addresses only
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
	return "toolhost_" + port
}

// newKey returns "SECONDS.RANDOM": when the session began, and what no one can guess.
func newKey(now time.Time) string {
	random := make([]byte, keyBytes)
	_, _ = rand.Read(random) // it never fails
	return strconv.FormatInt(now.Unix(), 10) + "." + base64.RawURLEncoding.EncodeToString(random)
}

// fresh reports whether a key has the form of newKey and is not too old. The cookie proves that it is one of ours.
func fresh(key string, now time.Time) bool {
	seconds, random, _ := strings.Cut(key, ".")
	at, err := strconv.ParseInt(seconds, 10, 64)
	age := now.Sub(time.Unix(at, 0))
	return err == nil && len(random) == base64.RawURLEncoding.EncodedLen(keyBytes) && age >= 0 && age < maxAge
}

func proof(token, key string) string {
	mac := hmac.New(sha256.New, []byte(token))
	_, _ = io.WriteString(mac, "toolhost console session\n"+key) // it never fails
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
