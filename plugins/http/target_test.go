package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func TestURLs(t *testing.T) {
	for _, c := range []struct{ text, want, fail string }{
		{"https://example.org", "https://example.org", ""},
		{" HTTP://Example.ORG:80/A?b=C#d ", "http://example.org/A?b=C", ""},
		{"https://example.org:443/", "https://example.org/", ""},
		{"https://example.org:8443/", "https://example.org:8443/", ""},
		{"http://example.org:443/", "http://example.org:443/", ""},
		{"https://example.org./", "https://example.org/", ""},
		{"https://bücher.example/", "https://xn--bcher-kva.example/", ""},
		{"https://a_b.example/", "https://a_b.example/", ""},
		{"https://[2606:4700:0:0::1111]/", "https://[2606:4700::1111]/", ""},
		{"http://127.0.0.1:8080/", "http://127.0.0.1:8080/", ""},
		{"http://１２７.0.0.1/", "", "BadURL"}, // digits of full width are digits
		{"http://localhost./", "http://localhost/", ""},
		{"http://[::ffff:127.0.0.1]:8080/", "http://127.0.0.1:8080/", ""},

		{"", "", "BadURL"}, {"  ", "", "BadURL"}, {"/path", "", "BadURL"}, {"example.org", "", "BadURL"}, {"example.org:8080/x", "", "BadURL"}, {"localhost:80", "", "BadURL"},
		{"//example.org/x", "", "BadURL"}, {"http:", "", "BadURL"}, {"http:example.org", "", "BadURL"}, {"http:///x", "", "BadURL"}, {"http://:80/", "", "BadURL"},
		{"http://exa mple.org/", "", "BadURL"}, {"http://example.org:x/", "", "BadURL"}, {"http://example.org:0/", "", "BadURL"}, {"http://example.org:65536/", "", "BadURL"},
		{"http://example..org/", "", "BadURL"}, {"http://example.org../", "", "BadURL"}, {"http://./", "", "BadURL"}, {"http://" + strings.Repeat("a", 64) + ".org/", "", "BadURL"},
		{"http://example.org/\x00", "", "BadURL"}, {"http://example.org/\n", "http://example.org/", ""}, {"http://example.org/a\nb", "", "BadURL"}, {"http://example.org/\xff", "", "BadURL"},
		{"http://example.org/" + strings.Repeat("x", maxURL), "", "BadURL"}, {"http://[fe80::1%25eth0]/", "", "BadURL"}, {"http://[::1/", "", "BadURL"}, {"http://a%2fb/", "", "BadURL"},
		{"http://2130706433/", "", "BadURL"}, {"http://0x7f.1/", "", "BadURL"}, {"http://0x7f000001/", "", "BadURL"}, {"http://127.1/", "", "BadURL"}, {"http://127.1./", "", "BadURL"},
		{"http://0177.0.0.1/", "", "BadURL"}, {"http://127.0.0.1./", "", "BadURL"}, {"http://0/", "", "BadURL"}, {"http://1.2.3.4.5/", "", "BadURL"}, {"http://a.0x/", "", "BadURL"},
		{"ftp://example.org/", "", "UnsupportedScheme"}, {"file:///etc/passwd", "", "UnsupportedScheme"}, {"gopher://x/", "", "UnsupportedScheme"}, {"javascript:alert(1)", "", "UnsupportedScheme"},
		{"data:text/plain,x", "", "UnsupportedScheme"}, {"unix:///run/x.sock", "", "UnsupportedScheme"},
		{"http://user@example.org/", "", "CredentialsInURL"}, {"http://user:secret@example.org/", "", "CredentialsInURL"}, {"http://example.org@127.0.0.1/", "", "CredentialsInURL"}, {"http://@example.org/", "", "CredentialsInURL"},
	} {
		u, e := parseURL(c.text)
		switch {
		case e == nil && (c.fail != "" || u.String() != c.want):
			t.Errorf("%.60q gives %s, want %s%s", c.text, u, c.want, c.fail)
		case e != nil && e.Name != c.fail:
			t.Errorf("%.60q gives %s %s, want %s%s", c.text, e.Name, e.Message, c.want, c.fail)
		case e != nil && strings.Contains(e.Message, "secret"):
			t.Errorf("the password is told: %s", e.Message)
		}
	}
}

func FuzzURL(f *testing.F) {
	for _, text := range []string{"http://example.org/", "https://[::1]:80/x?y#z", "http://0x7f.1/", "http://a@b/", "http://\u2488\u3002/", "http://xn--a/", "http:/\\a"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, e := parseURL(text)
		if e != nil {
			if e.Name == "" || e.Message == "" || e.Suggestion == "" {
				t.Fatalf("%q gives %+v", text, e)
			}
			return
		}
		again, e := parseURL(u.String())
		if e != nil || again.String() != u.String() {
			t.Fatalf("%q gives %s, and that %v, %v", text, u, again, e)
		}
		host, port := hostAndPort(u)
		if u.User != nil || u.Fragment != "" || host == "" || port == 0 || u.Scheme != "http" && u.Scheme != "https" || strings.ToLower(host) != host {
			t.Fatalf("%q gives %+v", text, u)
		}
	})
}

var errNotConnected = errors.New("tests connect to nothing outside")

// Whatever the URL and whatever its name stands for, nothing is connected to but what the guard lets pass.
func TestNothingRefusedIsDialled(t *testing.T) {
	hosts := []string{"localhost", "localhost.", "a.test", "A.test.", "127.0.0.1", "127.1", "2130706433", "0x7f.1", "017700000001", "[::1]", "[::ffff:169.254.169.254]",
		"[fe80::1%25lo]", "169.254.169.254", "10.0.0.1", "[64:ff9b::7f00:1]", "１２７.0.0.1", "0", "[::]", "metadata.google.internal", "a.test%00.b", "8.8.8.8"}
	addresses := []string{"127.0.0.1", "::1", "10.1.2.3", "169.254.169.254", "::ffff:169.254.169.254", "fe80::1", "fd00:ec2::254", "0.0.0.0", "8.8.8.8", "2606:4700::1111", "64:ff9b::a00:1", "100.64.0.1"}
	rapid.Check(t, func(rt *rapid.T) {
		var mu sync.Mutex
		var dialled []string
		answers := rapid.SliceOfN(rapid.SampledFrom(addresses), 1, 3).Draw(rt, "addresses")
		c := newClient(guard{}, seam{
			resolver: newNames(t, func(string, int) []string { return answers }),
			connecting: func(_, address string) error {
				mu.Lock()
				defer mu.Unlock()
				dialled = append(dialled, address)
				return errNotConnected
			}})
		defer c.close()
		text := rapid.SampledFrom([]string{"http://", "https://", "HTTP://", "http:/", ""}).Draw(rt, "scheme") +
			rapid.OneOf(rapid.SampledFrom(hosts), rapid.StringN(1, 20, 40)).Draw(rt, "host") + rapid.SampledFrom([]string{"", ":80", ":8080", ":22"}).Draw(rt, "port") + "/"
		u, e := parseURL(text)
		if e != nil {
			return
		}
		reply, _, err := c.send(context.Background(), order{method: http.MethodGet, url: u, header: http.Header{}})
		if err == nil {
			reply.Body.Close()
			rt.Fatalf("%q was answered", text)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, address := range dialled {
			host, _, _ := net.SplitHostPort(address)
			a, err := netip.ParseAddr(host)
			if err != nil || kindOf(plain(a)) != "" || a.Zone() != "" {
				rt.Fatalf("%q was to connect to %s", text, address)
			}
		}
	})
}
