package console_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/server/console"
)

// What is committed is what make console-vendor wrote.
func TestThirdPartyFilesHaveTheirChecksums(t *testing.T) {
	sums, err := os.Open("third_party/SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	defer sums.Close()
	listed := map[string]bool{"SHA256SUMS": true}
	for lines := bufio.NewScanner(sums); lines.Scan(); {
		want, name, _ := strings.Cut(lines.Text(), "  ")
		data, err := os.ReadFile(filepath.Join("third_party", name))
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(data)); got != want {
			t.Errorf("%s has the checksum %s, not %s: run make console-vendor", name, got, want)
		}
		listed[name] = true
	}
	entries, err := os.ReadDir("third_party")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !listed[e.Name()] {
			t.Errorf("third_party/%s is not in SHA256SUMS", e.Name())
		}
	}
}

func request(t *testing.T, method, url, body string, change func(*http.Request)) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(r)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(text)
}

func asJSON(r *http.Request) { r.Header.Set("Content-Type", "application/json") }

// signIn returns the key and cookie of a new session.
func signIn(t *testing.T, server *httptest.Server, token string) (string, *http.Cookie) {
	t.Helper()
	response, body := request(t, "POST", server.URL+"/console/session", `{"token":`+quote(token)+`}`, asJSON)
	var out struct{ Key string }
	if err := json.Unmarshal([]byte(body), &out); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", response.Status, body)
	}
	return out.Key, response.Cookies()[0]
}

func TestEveryResponseIsGuarded(t *testing.T) {
	server := newFake(2, 2).serve(t)
	for _, path := range []string{"/", "/console/app.js", "/console/style.css", "/console/third_party/client.js", "/console/none",
		"/console/session"} {
		response, _ := request(t, "GET", server.URL+path, "", nil)
		for _, part := range []string{"default-src 'none'", "script-src 'self';", "frame-ancestors 'none'", "base-uri 'none'",
			"form-action 'none'", "require-trusted-types-for 'script'"} {
			if !strings.Contains(response.Header.Get("Content-Security-Policy"), part) {
				t.Errorf("%s: the content security policy has no %s", path, part)
			}
		}
		if strings.Contains(response.Header.Get("Content-Security-Policy"), "unsafe") {
			t.Errorf("%s: the content security policy allows something unsafe", path)
		}
		for name, want := range map[string]string{"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff",
			"Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin"} {
			if got := response.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
	}
}

// A request needs the cookie and the key of one session, and the token must still be valid.
func TestSessionNeedsCookieAndKey(t *testing.T) {
	tokens := []string{"one", "two"}
	sessions := &console.Sessions{Tokens: func() []string { return tokens }}
	server := httptest.NewServer(console.New(sessions))
	t.Cleanup(server.Close)
	key, cookie := signIn(t, server, "two")
	otherKey, otherCookie := signIn(t, server, "two")
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.MaxAge != 0 || cookie.Path != "/" {
		t.Errorf("the cookie is %v", cookie)
	}
	if _, port, _ := strings.Cut(strings.TrimPrefix(server.URL, "http://"), ":"); cookie.Name != "toolhost-"+port {
		t.Errorf("the cookie's name is %s, which another port may have too", cookie.Name)
	}
	check := func(key string, cookie *http.Cookie) (string, bool) {
		r := httptest.NewRequest("POST", server.URL+"/x", nil)
		if key != "" {
			r.Header.Set(console.KeyHeader, key)
		}
		if cookie != nil {
			r.AddCookie(cookie)
		}
		return sessions.Token(r)
	}
	if token, ok := check(key, cookie); !ok || token != "two" {
		t.Errorf("a session has the token %q, %v", token, ok)
	}
	seconds, random, _ := strings.Cut(key, ".")
	for name, try := range map[string]struct {
		key    string
		cookie *http.Cookie
	}{
		"no key": {"", cookie}, "no cookie": {key, nil}, "the key of another session": {otherKey, cookie},
		"the cookie of another session": {key, otherCookie}, "a key with another time": {"9" + seconds + "." + random, cookie},
		"a key that is no key": {"x", cookie},
	} {
		if _, ok := check(try.key, try.cookie); ok {
			t.Errorf("%s: the request is let in", name)
		}
	}
	tokens = []string{"one"}
	if _, ok := check(key, cookie); ok {
		t.Error("the session outlives its token")
	}
}

func TestSignInRefuses(t *testing.T) {
	server := newFake(2, 2).serve(t)
	for name, try := range map[string]struct {
		body   string
		change func(*http.Request)
		status int
	}{
		"a wrong token":          {`{"token":"x"}`, asJSON, http.StatusUnauthorized},
		"no token":               {`{"token":""}`, asJSON, http.StatusBadRequest},
		"a form of another page": {`{"token":"` + token + `"}`, nil, http.StatusBadRequest},
		"a body without an end":  {`{"token":"` + strings.Repeat("x", 1<<20) + `"}`, asJSON, http.StatusBadRequest},
		"what is no JSON":        {token, asJSON, http.StatusBadRequest},
	} {
		response, _ := request(t, "POST", server.URL+"/console/session", try.body, try.change)
		if response.StatusCode != try.status || len(response.Cookies()) != 0 {
			t.Errorf("%s: %s with %d cookies", name, response.Status, len(response.Cookies()))
		}
		if response.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: the answer may be cached", name)
		}
	}
}

// A browser asks again for each file, and gets those that have not changed from its cache.
func TestFilesAreChecked(t *testing.T) {
	server := newFake(2, 2).serve(t)
	response, _ := request(t, "GET", server.URL+"/console/app.js", "", nil)
	tag := response.Header.Get("ETag")
	if tag == "" || response.Header.Get("Cache-Control") != "no-cache" || response.Header.Get("Content-Type") !=
		"text/javascript; charset=utf-8" {
		t.Errorf("the file comes with %v", response.Header)
	}
	response, body := request(t, "GET", server.URL+"/console/app.js", "", func(r *http.Request) { r.Header.Set("If-None-Match", tag) })
	if response.StatusCode != http.StatusNotModified || body != "" {
		t.Errorf("a current copy is answered with %s", response.Status)
	}
}
