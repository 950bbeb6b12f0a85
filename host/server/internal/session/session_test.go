package session_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/server/internal/session"
)

const host = "127.0.0.1:7777"

// signIn returns the key and cookie of a new session.
func signIn(t *testing.T, token string) (string, *http.Cookie) {
	t.Helper()
	w := httptest.NewRecorder()
	session.Start(w, httptest.NewRequest(http.MethodPost, "http://"+host+"/session", nil), token)
	var out struct{ Key string }
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	if w.Header().Get("Cache-Control") != "no-store" {
		t.Error("the key may be cached")
	}
	return out.Key, w.Result().Cookies()[0]
}

func find(key string, cookie *http.Cookie, tokens ...string) int {
	r := httptest.NewRequest(http.MethodPost, "http://"+host+"/x", nil)
	r.Header.Set("Toolhost-Console-Key", key)
	if cookie != nil {
		r.AddCookie(cookie)
	}
	return session.Find(r, tokens)
}

// A request needs the cookie and the key of one session, and the token must still be valid.
func TestSessionNeedsCookieAndKey(t *testing.T) {
	key, cookie := signIn(t, "two")
	otherKey, otherCookie := signIn(t, "two")
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.MaxAge != 0 || cookie.Path != "/" {
		t.Errorf("the cookie is %v", cookie)
	}
	if cookie.Name != "toolhost_7777" {
		t.Errorf("the cookie's name is %s, which another port may have too", cookie.Name)
	}
	if i := find(key, cookie, "one", "two"); i != 1 {
		t.Errorf("the session's token is number %d", i)
	}
	seconds, random, _ := strings.Cut(key, ".")
	for name, try := range map[string]struct {
		key    string
		cookie *http.Cookie
	}{
		"no key": {"", cookie}, "no cookie": {key, nil}, "the key of another session": {otherKey, cookie},
		"the cookie of another session": {key, otherCookie}, "a key with another time": {"1" + seconds[1:] + "0." + random, cookie},
		"a key that is no key": {"x", cookie},
	} {
		if i := find(try.key, try.cookie, "one", "two"); i >= 0 {
			t.Errorf("%s: the request is let in", name)
		}
	}
	if i := find(key, cookie, "one"); i >= 0 {
		t.Error("the session outlives its token")
	}
}

func TestReadTokenRefuses(t *testing.T) {
	for name, try := range map[string]struct{ body, contentType string }{
		"no token":               {`{"token":""}`, "application/json"},
		"a form of another page": {`{"token":"x"}`, "text/plain"},
		"a long body":            {`{"token":"` + strings.Repeat("x", 1<<20) + `"}`, "application/json"},
		"what is no JSON":        {"x", "application/json"},
	} {
		r := httptest.NewRequest(http.MethodPost, "http://"+host+"/session", strings.NewReader(try.body))
		r.Header.Set("Content-Type", try.contentType)
		if token, err := session.ReadToken(httptest.NewRecorder(), r); err == nil {
			t.Errorf("%s: the token is %.20q", name, token)
		}
	}
}
