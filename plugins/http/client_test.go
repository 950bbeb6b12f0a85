package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRedirectsThatAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ location, fail, says string }{
		"metadata":             {"http://169.254.169.254/latest/meta-data/", "AddressRefused", "clouds hand out credentials"},
		"metadata, mapped":     {"http://[::ffff:169.254.169.254]/", "AddressRefused", "clouds hand out credentials"},
		"a file":               {"file:///etc/passwd", "RedirectRefused", "only http and https"},
		"another loopback":     {"http://127.0.0.2/", "AddressRefused", "loopback"},
		"loopback as a number": {"http://2130706433/", "RedirectRefused", "is a number"},
		"credentials":          {"http://u:secret@127.0.0.1/", "RedirectRefused", "user name"},
		"a bad port":           {"http://example.org:25/", "PortRefused", "port 25"},
		"denied":               {"https://www.denied.example/x", "HostDenied", "denied"},
		"no characters":        {"ftp://x/\u202ea\xff", "RedirectRefused", "redirects to ftp://x/\ufffda\ufffd, which"},
		"nonsense":             {"http://[", "RedirectRefused", "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, testHooks{}, `{"allow_private":["127.0.0.1"],"deny_hosts":["*.denied.example"]}`)
			url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", c.location)
				w.WriteHeader(http.StatusFound)
			})
			wantError(t, fetch(t, p, url), c.fail, c.says)
		})
	}
}

func TestRedirectLoop(t *testing.T) {
	var hits int
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		hits++
		http.Redirect(w, r, "/", http.StatusMovedPermanently)
	})
	wantError(t, fetch(t, start(t, testHooks{}, open), url), "TooManyRedirects", "more than 5 times")
	if hits != maxRedirects+1 {
		t.Errorf("%d requests", hits)
	}
}

func TestRedirectWithoutLocation(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusFound) })
	if out := reportOf(t, fetch(t, start(t, testHooks{}, open), url)); out.Status != http.StatusFound {
		t.Errorf("%+v", out)
	}
}

// A seen is what a server was sent.
type seen struct {
	Method, Path, Body, Type, Language, Custom string
}

func TestHeadersAfterRedirects(t *testing.T) {
	for _, c := range []struct {
		tool        string
		status      int
		crossOrigin bool // to another server, on the same host
		want        seen
	}{
		{"get", 301, false, seen{"GET", "/new", "", "", "de", "x"}},
		{"get", 302, true, seen{"GET", "/new", "", "", "de", ""}},
		{"get", 308, false, seen{"GET", "/new", "", "", "de", "x"}},
		{"post", 301, false, seen{"GET", "/new", "", "", "de", "x"}},
		{"post", 302, false, seen{"GET", "/new", "", "", "de", "x"}},
		{"post", 303, true, seen{"GET", "/new", "", "", "de", ""}},
		{"post", 307, false, seen{"POST", "/new", `{"a":1}`, "application/json", "de", "x"}},
		{"post", 308, true, seen{"POST", "/new", `{"a":1}`, "application/json", "de", ""}},
	} {
		t.Run(fmt.Sprintf("%s %d abroad %v", c.tool, c.status, c.crossOrigin), func(t *testing.T) {
			var mu sync.Mutex
			var got seen
			last := func(_ http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				mu.Lock()
				defer mu.Unlock()
				got = seen{r.Method, r.URL.Path, string(b), r.Header.Get("Content-Type"), r.Header.Get("Accept-Language"),
					r.Header.Get("X-Custom")}
			}
			other := serve(t, last)
			first := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/new" {
					last(w, r)
					return
				}
				to := "/new"
				if c.crossOrigin {
					to = other + to
				}
				http.Redirect(w, r, to, c.status)
			})
			in := map[string]any{"url": first, "headers": map[string]string{"Accept-Language": "de", "X-Custom": "x"}}
			if c.tool == "post" {
				in["json"] = map[string]int{"a": 1}
			}
			if r := start(t, testHooks{}, open).Run(t, c.tool, args(t, in)); r.Error != nil {
				t.Fatal(r.Error)
			}
			mu.Lock()
			defer mu.Unlock()
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestBodyDoesNotGoToAnotherHost(t *testing.T) {
	names := func(name string, _ int) []string {
		if strings.HasSuffix(name, ".test") {
			return []string{"127.0.0.1"}
		}
		return nil
	}
	var port string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Host, "b.test") {
			t.Errorf("b.test got a %s", r.Method)
		}
		http.Redirect(w, r, "http://b.test:"+port+"/", http.StatusTemporaryRedirect)
	})
	port = url[strings.LastIndex(url, ":")+1:]
	p := start(t, testHooks{resolver: newNames(t, names)}, open)
	wantError(t, p.Run(t, "post", args(t, map[string]any{"url": "http://a.test:" + port, "body": "secret"})),
		"RedirectRefused", "another host")
}

// No one is asked about the hosts that the operator names, so a redirect may not lead out of them.
func TestRedirectOutOfTheNamedHosts(t *testing.T) {
	names := func(string, int) []string { return []string{"127.0.0.1"} }
	var port string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.Host, "b.other."):
			t.Error("the other host was reached")
		case r.URL.Path == "/in":
			http.Redirect(w, r, "http://y.named.test:"+port+"/end", http.StatusFound)
		case r.URL.Path == "/out":
			http.Redirect(w, r, "http://b.other.test:"+port+"/?q=secret", http.StatusFound)
		}
	})
	port = url[strings.LastIndex(url, ":")+1:]
	p := start(t, testHooks{resolver: newNames(t, names)}, `{"allow_private":["127.0.0.1"],"hosts":["*.named.test"]}`)
	if out := reportOf(t, fetch(t, p, "http://x.named.test:"+port+"/in")); !strings.HasSuffix(out.URL, "/end") {
		t.Errorf("%+v", out)
	}
	wantError(t, fetch(t, p, "http://x.named.test:"+port+"/out"), "RedirectRefused", "covers the first host")
}

// An address that the operator allows is still refused for redirects of third parties: the person who approved the
// call saw another host.
func TestRedirectOfAnotherHostToAPrivateAddress(t *testing.T) {
	names := newNames(t, func(string, int) []string { return []string{"127.0.0.1"} })
	var port string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if to, ok := strings.CutPrefix(r.URL.Path, "/to/"); ok {
			http.Redirect(w, r, "http://"+to+":"+port+"/end", http.StatusFound)
			return
		}
		if r.URL.Path == "/end" && !strings.HasPrefix(r.Host, "a.test") {
			t.Errorf("%s was reached", r.Host)
		}
	})
	port = url[strings.LastIndex(url, ":")+1:]
	p := start(t, testHooks{resolver: names}, `{"allow_private":["127.0.0.1","*.test"]}`)
	for _, to := range []string{"127.0.0.1", "b.test", "[::ffff:127.0.0.1]", "b.example"} {
		if r := fetch(t, p, "http://"+to+":"+port+"/"); r.Error != nil {
			t.Errorf("%s asked for by itself: %+v", to, r.Error) // and its connection is kept
		}
		wantError(t, fetch(t, p, "http://a.test:"+port+"/to/"+to), "AddressRefused", "loopback", "Redirects of other hosts",
			"Call again with that URL")
	}
	if r := fetch(t, p, "http://a.test:"+port+"/to/a.test"); r.Error != nil {
		t.Errorf("the same host: %+v", r.Error)
	}
}

func TestRedirectFromHTTPS(t *testing.T) {
	plain := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the request went on in the open") })
	s := httptest.NewTLSServer(http.RedirectHandler(plain, http.StatusFound))
	t.Cleanup(s.Close)
	p := start(t, testHooks{tls: trusting(s)}, open)
	wantError(t, fetch(t, p, s.URL), "RedirectRefused", "from https to http")
}

// A name that is public when someone looks and private when it is dialled does not help: what is dialled is checked.
func TestRebinding(t *testing.T) {
	for name, response := range map[string]func(string, int) []string{
		"private at once": func(string, int) []string { return []string{"127.0.0.1"} },
		"public first": func(_ string, n int) []string {
			if n == 0 {
				return []string{"8.8.8.8"}
			}
			return []string{"127.0.0.1"}
		},
		"both at once":   func(string, int) []string { return []string{"127.0.0.1", "8.8.8.8", "::1", "::ffff:127.0.0.1"} },
		"metadata":       func(string, int) []string { return []string{"169.254.169.254"} },
		"inside of IPv6": func(string, int) []string { return []string{"64:ff9b::7f00:1"} },
	} {
		t.Run(name, func(t *testing.T) {
			url := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the server of this machine was reached") })
			port := url[strings.LastIndex(url, ":"):]
			p := start(t, testHooks{resolver: newNames(t, response), connecting: func(_, address string) error {
				if !strings.HasPrefix(address, "8.8.8.8:") {
					t.Errorf("%s was to be connected to", address)
				}
				return errNotConnected
			}}, `{}`)
			for i := range 3 {
				r := fetch(t, p, "http://rebind.test"+port+"/")
				if r.Error == nil || r.Error.Name != "AddressRefused" && r.Error.Name != "ConnectFailed" {
					t.Errorf("call %d: %+v", i, r.Error)
				}
				if i == 2 && name != "both at once" {
					wantError(t, r, "AddressRefused", "rebind.test has the address", "nothing was sent there")
				}
			}
		})
	}
}

// Written out, they need no look at the network.
func TestLiteralAddressesAreRefusedAtOnce(t *testing.T) {
	p := start(t, testHooks{}, `{}`)
	for _, url := range []string{"http://127.0.0.1/", "http://[::1]/", "http://10.0.0.1:8080/",
		"http://[::ffff:169.254.169.254]/", "http://169.254.169.254/", "http://[fd00::1]/", "http://0.0.0.0/"} {
		wantError(t, fetch(t, p, url), "AddressRefused", "nothing was sent there")
	}
	for _, url := range []string{"http://localhost:8081/", "http://localhost/", "http://LOCALHOST./"} {
		wantError(t, fetch(t, p, url), "AddressRefused")
	}
}

func TestMetadataNever(t *testing.T) {
	p := start(t, testHooks{}, `{"allow_private":["169.254.0.0/16","169.254.169.254","metadata.test","*"]}`)
	wantError(t, fetch(t, p, "http://169.254.169.254/"), "AddressRefused", "never used")
}

// An address that is denied is denied in every spelling, and by every name that stands for it.
func TestDeniedHosts(t *testing.T) {
	url := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	names := newNames(t, func(string, int) []string { return []string{"127.0.0.1"} })
	p := start(t, testHooks{resolver: names}, `{"allow_private":["127.0.0.1"],"deny_hosts":["127.0.0.1"]}`)
	wantError(t, fetch(t, p, url), "HostDenied", "operator")
	for _, host := range []string{"[::ffff:127.0.0.1]", "[64:ff9b::127.0.0.1]", "a.test"} {
		wantError(t, fetch(t, p, strings.Replace(url, "127.0.0.1", host, 1)), "HostDenied", "operator has denied")
	}
}

func TestNoProxyOfTheEnvironment(t *testing.T) {
	proxy := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the proxy was asked") })
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "ALL_PROXY"} {
		t.Setenv(name, proxy)
	}
	names := newNames(t, func(string, int) []string { return []string{"8.8.8.8"} })
	p := start(t, testHooks{resolver: names, connecting: func(string, string) error { return errNotConnected }}, open)
	wantError(t, fetch(t, p, "http://a.test/"), "ConnectFailed")
}

func TestMissingNames(t *testing.T) {
	p := start(t, testHooks{resolver: newNames(t, func(string, int) []string { return nil })}, `{}`)
	wantError(t, fetch(t, p, "https://nowhere.test/"), "HostNotFound", "there is no host nowhere.test")
}
