package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolhost/toolhost/sdk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// servers are an MCP server with its authorization server.
type servers struct {
	*httptest.Server
	registered, refreshes, logins atomic.Int32

	mu       sync.Mutex
	valid    string // the access token
	refresh  string // the refresh token that is good now
	n        int
	scope    string // that a call needs
	granted  string
	resource string        // of the last token request
	hold     chan struct{} // a refresh waits for it
	iss      string        // in place of the right one
	forms    []url.Values
}

func newServers(t *testing.T) *servers {
	w := &servers{}
	mux := http.NewServeMux()
	w.Server = httptest.NewServer(mux)
	t.Cleanup(w.Close)
	show := func(rw http.ResponseWriter, v any) {
		rw.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(rw).Encode(v)
	}
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(rw http.ResponseWriter, _ *http.Request) {
		show(rw, map[string]any{"resource": w.URL + "/mcp", "authorization_servers": []string{w.URL}})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(rw http.ResponseWriter, _ *http.Request) {
		show(rw, map[string]any{"issuer": w.URL, "authorization_endpoint": w.URL + "/authorize",
			"token_endpoint": w.URL + "/token", "registration_endpoint": w.URL + "/register",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
			"authorization_response_iss_parameter_supported": true})
	})
	mux.HandleFunc("/register", func(rw http.ResponseWriter, r *http.Request) {
		var in map[string]any
		_ = json.NewDecoder(r.Body).Decode(&in)
		in["client_id"] = fmt.Sprintf("client-%d", w.registered.Add(1))
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(rw).Encode(in)
	})
	mux.HandleFunc("/authorize", func(rw http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		w.mu.Lock()
		w.granted = q.Get("scope")
		iss := w.iss
		w.mu.Unlock()
		if iss == "" {
			iss = w.URL
		}
		http.Redirect(rw, r, q.Get("redirect_uri")+"?"+url.Values{"code": {"the-code"}, "state": {q.Get("state")},
			"iss": {iss}}.Encode(), http.StatusFound)
	})
	mux.HandleFunc("/token", func(rw http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.forms = append(w.forms, r.PostForm)
		w.resource = r.PostForm.Get("resource")
		switch r.PostForm.Get("grant_type") {
		case "refresh_token":
			if w.hold != nil {
				w.mu.Unlock()
				<-w.hold
				w.mu.Lock()
			}
			w.refreshes.Add(1)
			if r.PostForm.Get("refresh_token") != w.refresh {
				rw.Header().Set("Content-Type", "application/json")
				rw.WriteHeader(http.StatusBadRequest)
				fmt.Fprintf(rw, `{"error":"invalid_grant","error_description":"%s is old"}`, r.PostForm.Get("refresh_token"))
				return
			}
		case "authorization_code":
			if r.PostForm.Get("code_verifier") == "" {
				rw.WriteHeader(http.StatusBadRequest)
				return
			}
			w.logins.Add(1)
		}
		show(rw, w.issue())
	})
	mux.HandleFunc("/mcp", func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		switch {
		case w.valid == "" || r.Header.Get("Authorization") != "Bearer "+w.valid:
			rw.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+w.URL+`/.well-known/oauth-protected-resource/mcp"`)
			rw.WriteHeader(http.StatusUnauthorized)
		case w.scope != "" && !strings.Contains(w.granted, w.scope):
			rw.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+w.scope+`"`)
			rw.WriteHeader(http.StatusForbidden)
		}
	})
	return w
}

// issue makes the next tokens; those of before are no longer good.
func (w *servers) issue() map[string]any {
	w.n++
	w.valid, w.refresh = fmt.Sprintf("secret-access-%d", w.n), fmt.Sprintf("secret-refresh-%d", w.n)
	return map[string]any{"access_token": w.valid, "token_type": "bearer", "expires_in": 3600, "refresh_token": w.refresh,
		"scope": w.granted}
}

func (w *servers) server(dir string) Server {
	return Server{Name: "tickets", URL: w.URL + "/mcp", Dir: dir}
}

// A browser opens the address that Login prints.
type browser struct {
	t    *testing.T
	text strings.Builder
}

func (b *browser) Write(p []byte) (int, error) {
	b.text.Write(p)
	for line := range strings.Lines(string(p)) {
		if strings.HasPrefix(line, "http") {
			go func() {
				resp, err := http.Get(strings.TrimSpace(line))
				if err == nil {
					_ = resp.Body.Close()
				}
				http.DefaultClient.CloseIdleConnections()
			}()
		}
	}
	return len(p), nil
}

func limited(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func logIn(t *testing.T, s Server) string {
	t.Helper()
	b := &browser{t: t}
	if err := Login(limited(t), s, b); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.text.String(), "secret-") {
		t.Errorf("a token is in the output %s", b.text.String())
	}
	return b.text.String()
}

func source(t *testing.T, s Server) *Source {
	t.Helper()
	out, err := NewSource(s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// use sends a request as a transport does, with one more try after a challenge.
func use(ctx context.Context, s *Source, to string) error {
	for range 3 {
		value, err := s.Authorization(ctx)
		if err != nil {
			return err
		}
		r, _ := http.NewRequestWithContext(ctx, http.MethodPost, to, nil)
		if value != "" {
			r.Header.Set("Authorization", value)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return nil
		}
		if err := s.Challenge(ctx, value, resp); err != nil {
			return err
		}
	}
	return errors.New("refused again and again")
}

func wantLogin(t *testing.T, err error) {
	t.Helper()
	e, ok := errors.AsType[*sdk.Error](err)
	if !ok || e.Name != "LoginRequired" || !strings.Contains(e.Suggestion, "toolhost mcp login tickets") {
		t.Fatalf("%#v (%v)", e, err)
	}
	if text := fmt.Sprintf("%+v", e); strings.Contains(text, "secret-") {
		t.Errorf("a token is in %s", text)
	}
}

func TestCallNeedsALoginAndWorksAfterIt(t *testing.T) {
	w, dir := newServers(t), t.TempDir()+"/mcp"
	s := source(t, w.server(dir))
	wantLogin(t, use(limited(t), s, w.URL+"/mcp"))
	logIn(t, w.server(dir))
	if err := use(limited(t), s, w.URL+"/mcp"); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(dir + "/tickets-*.json")
	if len(files) != 1 {
		t.Fatalf("files %v", files)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := Logout(limited(t), w.server(dir), io.Discard); err != nil {
		t.Fatal(err)
	}
	wantLogin(t, use(limited(t), s, w.URL+"/mcp"))
}

func TestFiftyCallsOnAnExpiredTokenMakeOneRefresh(t *testing.T) {
	w, dir := newServers(t), t.TempDir()+"/mcp"
	logIn(t, w.server(dir))
	hosts := []*Source{source(t, w.server(dir)), source(t, w.server(dir))}
	for _, expiry := range []string{"refused by the server", "past by the clock"} {
		t.Run(expiry, func(t *testing.T) {
			w.mu.Lock()
			w.valid = "another"
			w.mu.Unlock()
			if expiry == "past by the clock" {
				r, err := load(hosts[0].path)
				if err != nil {
					t.Fatal(err)
				}
				r.Expiry = time.Now()
				if err := r.keep(hosts[0]); err != nil {
					t.Fatal(err)
				}
			}
			before := w.refreshes.Load()
			var calls sync.WaitGroup
			for i := range 50 {
				calls.Go(func() {
					if err := use(limited(t), hosts[i%2], w.URL+"/mcp"); err != nil {
						t.Error(err)
					}
				})
			}
			if calls.Wait(); w.refreshes.Load() != before+1 {
				t.Errorf("%d refreshes", w.refreshes.Load()-before)
			}
			if w.resource != w.URL+"/mcp" {
				t.Errorf("the refresh is for the resource %q", w.resource)
			}
		})
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestRefreshOutlivesTheCallThatBeganIt(t *testing.T) {
	w, dir := newServers(t), t.TempDir()+"/mcp"
	logIn(t, w.server(dir))
	s := source(t, w.server(dir))
	w.mu.Lock()
	w.valid, w.hold = "another", make(chan struct{})
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(limited(t), 100*time.Millisecond)
	defer cancel()
	if err := use(ctx, s, w.URL+"/mcp"); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	close(w.hold)
	if err := use(limited(t), s, w.URL+"/mcp"); err != nil || w.refreshes.Load() != 1 {
		t.Errorf("%d refreshes, %v", w.refreshes.Load(), err)
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestRefreshTokenThatIsRefusedNeedsALoginThatKeepsTheClient(t *testing.T) {
	w, dir := newServers(t), t.TempDir()+"/mcp"
	logIn(t, w.server(dir))
	s := source(t, w.server(dir))
	w.mu.Lock()
	w.valid, w.refresh = "another", "another"
	w.mu.Unlock()
	for range 3 {
		wantLogin(t, use(limited(t), s, w.URL+"/mcp"))
	}
	if w.refreshes.Load() != 1 {
		t.Errorf("%d refreshes with a token that was refused", w.refreshes.Load())
	}
	logIn(t, w.server(dir))
	if err := use(limited(t), s, w.URL+"/mcp"); err != nil {
		t.Fatal(err)
	}
	if w.registered.Load() != 1 {
		t.Errorf("the client has registered %d times", w.registered.Load())
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestMoreScopesNeedALoginForAll(t *testing.T) {
	w, dir := newServers(t), t.TempDir()+"/mcp"
	s := w.server(dir)
	s.Config.Scopes = []string{"read"}
	logIn(t, s)
	w.mu.Lock()
	w.scope = "write"
	w.mu.Unlock()
	from := source(t, s)
	wantLogin(t, use(limited(t), from, w.URL+"/mcp"))
	logIn(t, s)
	if err := use(limited(t), from, w.URL+"/mcp"); err != nil {
		t.Fatal(err)
	}
	if granted := strings.Fields(w.granted); len(granted) != 2 || !slices.Contains(granted, "read") ||
		!slices.Contains(granted, "write") {
		t.Errorf("scopes %q", w.granted)
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestLoginAtTheWrongIssuerFails(t *testing.T) {
	w, dir := newServers(t), t.TempDir()+"/mcp"
	w.iss = "https://evil.example"
	err := Login(limited(t), w.server(dir), &browser{t: t})
	if err == nil || !strings.Contains(err.Error(), "issuer") || w.logins.Load() != 0 {
		t.Errorf("%v after %d logins", err, w.logins.Load())
	}
}

func TestClientCredentialsNeedNoPerson(t *testing.T) {
	w, dir := newServers(t), t.TempDir()+"/mcp"
	s := w.server(dir)
	s.Config = Config{Grant: clientCredentials, ClientID: "robot", ClientSecret: "secret-of-the-robot"}
	from := source(t, s)
	var calls sync.WaitGroup
	for range 20 {
		calls.Go(func() {
			if err := use(limited(t), from, w.URL+"/mcp"); err != nil {
				t.Error(err)
			}
		})
	}
	if calls.Wait(); w.n != 1 {
		t.Errorf("%d tokens", w.n)
	}
	if text, err := os.ReadFile(from.path); err != nil || strings.Contains(string(text), "secret-of-the-robot") {
		t.Errorf("the operator's secret is in the file, %v", err)
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestFileThatOthersCanReadIsNotUsed(t *testing.T) {
	w, dir := newServers(t), t.TempDir()+"/mcp"
	logIn(t, w.server(dir))
	s := source(t, w.server(dir))
	if err := os.Chmod(s.path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Authorization(limited(t)); err == nil || !strings.Contains(err.Error(), "Fix: chmod 600") {
		t.Error(err)
	}
}

func TestLoginsAtPrivateAddressesNeedAPrivateServer(t *testing.T) {
	g := &guard{host: "192.0.2.7.invalid"}
	for _, address := range []string{"127.0.0.1:80", "10.0.0.1:443", "169.254.169.254:80", "[::1]:80", "[fd00::1]:80"} {
		if err := g.control(limited(t), "tcp", address, nil); err == nil {
			t.Errorf("%s is connected to", address)
		}
		if err := (&guard{host: "127.0.0.1"}).control(limited(t), "tcp", address, nil); err != nil {
			t.Error(err)
		}
	}
	if err := g.control(limited(t), "tcp", "8.8.8.8:443", nil); err != nil {
		t.Error(err)
	}
}

func TestConfigurationsThatAreRefused(t *testing.T) {
	for key, c := range map[string]Config{
		"client_id":           {ClientSecret: "x"},
		"grant":               {Grant: "password"},
		"client_metadata_url": {ClientURL: "http://example.org/client.json"},
		"redirect_url":        {RedirectURL: "https://example.org/callback"},
	} {
		if got, err := c.Check(); err == nil || got != key {
			t.Errorf("%s: %q, %v", key, got, err)
		}
	}
	if key, err := (&Config{RedirectURL: "http://localhost:1/callback", ClientID: "x"}).Check(); err != nil {
		t.Error(key, err)
	}
}
