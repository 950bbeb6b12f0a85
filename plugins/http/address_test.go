package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func TestAddresses(t *testing.T) {
	for address, why := range map[string]string{
		"1.1.1.1": "", "8.8.8.8": "", "172.15.255.255": "", "172.32.0.0": "", "100.63.255.255": "", "100.128.0.0": "",
		"192.0.1.0": "", "223.255.255.255": "",
		"2606:4700:4700::1111": "", "2a00:1450:4001:830::200e": "", "64:ff9b::8.8.8.8": "", "2002:808:808::1": "",
		"::ffff:8.8.8.8": "", "2001:4860:4860::8888": "",

		"0.0.0.0": "an unspecified", "0.1.2.3": "an unspecified", "10.0.0.1": "a private", "10.255.255.255": "a private",
		"100.64.0.1": "a carrier-grade NAT",
		"127.0.0.1":  "a loopback", "127.255.255.254": "a loopback", "169.254.1.1": "a link-local", "172.16.0.1": "a private",
		"172.31.255.255": "a private",
		"192.0.0.8":      "a reserved", "192.0.2.1": "a documentation", "192.88.99.1": "a reserved",
		"192.168.1.1":    "a private",
		"198.18.0.1":     "a benchmark",
		"198.19.255.255": "a benchmark", "198.51.100.7": "a documentation", "203.0.113.9": "a documentation",
		"224.0.0.1": "a multicast", "239.255.255.250": "a multicast",
		"240.0.0.1": "a reserved", "255.255.255.255": "a reserved",

		"::": "an unspecified", "::1": "a loopback", "::1%eth0": "a loopback", "fe80::1": "a link-local",
		"fe80::1%eth0": "a link-local", "fec0::1": "a reserved",
		"fc00::1": "a unique-local", "fd12:3456::1": "a unique-local", "ff02::1": "a multicast",
		"2001:db8::1": "a documentation", "3fff::1": "a documentation",
		"2001::1": "a reserved", "2001:0:a9fe:a9fe::1": "a reserved", "100::1": "a reserved", "5f00::1": "a reserved",
		"4000::1": "a reserved", "::7f00:1": "a reserved",
		"::ffff:0:127.0.0.1": "a reserved", "64:ff9b:1::1": "a reserved",
		"::ffff:127.0.0.1": "a loopback", "::ffff:10.0.0.1": "a private", "64:ff9b::127.0.0.1": "a loopback",
		"64:ff9b::c0a8:101": "a private", "2002:7f00:1::1": "a loopback",
		"2002:a00:1::": "a private",

		"169.254.169.254": "credentials", "::ffff:169.254.169.254": "credentials", "64:ff9b::a9fe:a9fe": "credentials",
		"2002:a9fe:a9fe::1": "credentials",
		"169.254.170.2":     "credentials", "100.100.100.200": "credentials", "168.63.129.16": "credentials",
		"192.0.0.192": "credentials", "fd00:ec2::254": "credentials", "fd20:ce::254": "credentials",
		"169.254.42.42": "credentials", "fd00:42::42": "credentials", "fd00:c1::a9fe:a9fe": "credentials",
		"fe80::a9fe:a9fe%eth0": "credentials",
	} {
		t.Run(address, func(t *testing.T) {
			r := (&guard{}).check("a.example", netip.AddrPortFrom(netip.MustParseAddr(address), 80))
			switch {
			case why == "" && r != nil:
				t.Errorf("refused: %v", r)
			case why != "" && r == nil:
				t.Error("allowed")
			case why != "" && (!strings.Contains(r.Error(), why) ||
				!strings.Contains(r.Error(), netip.MustParseAddr(address).String())):
				t.Errorf("refused with %q, want %q", r, why)
			}
			all := guard{allow: []allowance{{prefix: netip.MustParsePrefix("0.0.0.0/0")},
				{prefix: netip.MustParsePrefix("::/0")}, {hosts: pattern{name: "*"}}}}
			if r := all.check("a.example",
				netip.AddrPortFrom(netip.MustParseAddr(address), 80)); (r != nil) != (why == "credentials") {
				t.Errorf("with everything allowed: %v", r)
			}
		})
	}
}

func TestAllowances(t *testing.T) {
	for _, c := range []struct {
		allow    string
		yes, not []string // "host address:port"
	}{
		{"127.0.0.1:8080", []string{"x 127.0.0.1:8080", "localhost 127.0.0.1:8080", "x [::ffff:127.0.0.1]:8080"},
			[]string{"x 127.0.0.1:80", "x 127.0.0.2:8080", "x [::1]:8080"}},
		{"127.0.0.1", []string{"x 127.0.0.1:80", "x 127.0.0.1:8080"}, []string{"x 10.0.0.1:80"}},
		{"10.0.0.0/8", []string{"x 10.0.0.1:80", "x 10.255.0.1:9000", "x [64:ff9b::10.0.0.1]:80"},
			[]string{"x 11.0.0.1:0", "x 127.0.0.1:80"}},
		{"10.1.2.3/8", []string{"x 10.0.0.1:80"}, nil},
		{"fd00::/8", []string{"x [fd00::1]:80"}, []string{"x [fc00::1]:80"}},
		{"[::1]:8080", []string{"x [::1]:8080"}, []string{"x [::1]:80", "x 127.0.0.1:8080"}},
		{"::1", []string{"x [::1]:8080"}, nil},
		{"::ffff:127.0.0.1", []string{"x 127.0.0.1:1"}, nil},
		{"Host.Internal.", []string{"host.internal 10.0.0.1:80", "host.internal 127.0.0.1:9"},
			[]string{"other.internal 10.0.0.1:80", "x.host.internal 10.0.0.1:80"}},
		{"host.internal:9000", []string{"host.internal 10.0.0.1:9000"}, []string{"host.internal 10.0.0.1:80"}},
		{"*.internal", []string{"a.internal 10.0.0.1:80", "b.a.internal 10.0.0.1:80"},
			[]string{"internal 10.0.0.1:80", "xinternal 10.0.0.1:80"}},
	} {
		t.Run(c.allow, func(t *testing.T) {
			a, err := parseAllowance(c.allow)
			if err != nil {
				t.Fatal(err)
			}
			g := guard{allow: []allowance{a}}
			for _, where := range slices.Concat(c.yes, c.not) {
				host, address, _ := strings.Cut(where, " ")
				to := netip.MustParseAddrPort(address)
				if kindOf(plain(to.Addr())) == "" {
					continue // public in any case
				}
				if r := g.check(host, to); (r == nil) != slices.Contains(c.yes, where) {
					t.Errorf("%s: %v", where, r)
				}
			}
		})
	}
}

func TestPorts(t *testing.T) {
	if !slices.IsSorted(badPorts) {
		t.Error("the ports are not sorted")
	}
	ssh, err := parseAllowance("git.internal:22")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		host    string
		port    uint16
		allow   []allowance
		refused bool
	}{
		{"a.example", 80, nil, false}, {"a.example", 443, nil, false}, {"a.example", 8443, nil, false},
		{"a.example", 22, nil, true}, {"a.example", 25, nil, true},
		{"a.example", 6667, nil, true}, {"8.8.8.8", 53, nil, true}, {"git.internal", 22, []allowance{ssh}, false},
		{"git.internal", 25, []allowance{ssh}, true},
		{"a.example", 22, []allowance{ssh}, true},
	} {
		if r := (&guard{allow: c.allow}).checkURL(c.host, c.port); (r != nil) != c.refused {
			t.Errorf("%s:%d: %v", c.host, c.port, r)
		}
	}
}

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

		{"", "", "BadURL"}, {"  ", "", "BadURL"}, {"/path", "", "BadURL"}, {"example.org", "", "BadURL"},
		{"example.org:8080/x", "", "BadURL"}, {"localhost:80", "", "BadURL"},
		{"//example.org/x", "", "BadURL"}, {"http:", "", "BadURL"}, {"http:example.org", "", "BadURL"},
		{"http:///x", "", "BadURL"}, {"http://:80/", "", "BadURL"},
		{"http://exa mple.org/", "", "BadURL"}, {"http://example.org:x/", "", "BadURL"},
		{"http://example.org:0/", "", "BadURL"}, {"http://example.org:65536/", "", "BadURL"},
		{"http://example..org/", "", "BadURL"}, {"http://example.org../", "", "BadURL"}, {"http://./", "", "BadURL"},
		{"http://" + strings.Repeat("a", 64) + ".org/", "", "BadURL"},
		{"http://example.org/\x00", "", "BadURL"}, {"http://example.org/\n", "http://example.org/", ""},
		{"http://example.org/a\nb", "", "BadURL"}, {"http://example.org/\xff", "", "BadURL"},
		{"http://example.org/" + strings.Repeat("x", maxURL), "", "BadURL"}, {"http://[fe80::1%25eth0]/", "", "BadURL"},
		{"http://[::1/", "", "BadURL"}, {"http://a%2fb/", "", "BadURL"},
		{"http://2130706433/", "", "BadURL"}, {"http://0x7f.1/", "", "BadURL"}, {"http://0x7f000001/", "", "BadURL"},
		{"http://127.1/", "", "BadURL"}, {"http://127.1./", "", "BadURL"},
		{"http://0177.0.0.1/", "", "BadURL"}, {"http://127.0.0.1./", "", "BadURL"}, {"http://0/", "", "BadURL"},
		{"http://1.2.3.4.5/", "", "BadURL"}, {"http://a.0x/", "", "BadURL"},
		{"ftp://example.org/", "", "UnsupportedScheme"}, {"file:///etc/passwd", "", "UnsupportedScheme"},
		{"gopher://x/", "", "UnsupportedScheme"}, {"javascript:alert(1)", "", "UnsupportedScheme"},
		{"data:text/plain,x", "", "UnsupportedScheme"}, {"unix:///run/x.sock", "", "UnsupportedScheme"},
		{"http://user@example.org/", "", "CredentialsInURL"}, {"http://user:secret@example.org/", "", "CredentialsInURL"},
		{"http://example.org@127.0.0.1/", "", "CredentialsInURL"}, {"http://@example.org/", "", "CredentialsInURL"},
	} {
		u, e := parseURL(c.text)
		switch {
		case e == nil && (c.fail != "" || u.String() != c.want):
			t.Errorf("%.60q gives %s, want %s%s", c.text, u, c.want, c.fail)
		case e != nil && e.Name != c.fail:
			t.Errorf("%.60q gives %s %s, want %s%s", c.text, e.Name, e.Message, c.want, c.fail)
		case e != nil && strings.Contains(e.Message, "secret"):
			t.Errorf("the password is shown: %s", e.Message)
		}
	}
}

// What no URL has is sent percent-encoded behind the host, as browsers send it; what is encoded stays as it is.
func TestURLsAreEncoded(t *testing.T) {
	for given, sent := range map[string]string{
		" ": "%20", "a b  c": "a%20b%20%20c", "ä": "%C3%A4", "日本": "%E6%97%A5%E6%9C%AC", "\u00a0b": "%C2%A0b",
		"\u200bb": "%E2%80%8Bb", "\U0001F600": "%F0%9F%98%80", `"a"`: "%22a%22", "'a'": "'a'", "<a>": "%3Ca%3E",
		"`a`": "%60a%60", "{a|b}": "%7Ba%7Cb%7D", "^": "%5E", `a\b`: "a%5Cb", "[a]": "[a]", "100%": "100%25",
		"%": "%25", "%z1": "%25z1", "%1": "%251", "%%20": "%25%20", "a%20b c": "a%20b%20c", "a%2Fb c": "a%2Fb%20c",
		"%c3%a4 ä": "%c3%a4%20%C3%A4", "a+b": "a+b", "a=b&c=d;e": "a=b&c=d;e", "~-._!$()*,:@": "~-._!$()*,:@",
	} {
		for _, place := range []string{"/x/VALUE/y", "/?q=VALUE&r=1", "?VALUE=q&r=1", "/VALUE/?q=VALUE&r=VALUE&s",
			"/#VALUE"} {
			text := "https://example.org" + strings.ReplaceAll(place, "VALUE", given)
			want := "https://example.org" + strings.ReplaceAll(place, "VALUE", sent)
			want, _, _ = strings.Cut(want, "#")
			u, e := parseURL(text)
			if e != nil || u.String() != want {
				t.Errorf("%q gives %v, %v; want %s", text, u, e, want)
			}
		}
	}
}

// What cannot be sent is refused with what to do instead, and never with a part of a password.
func TestUnsentURLsSayWhatToDo(t *testing.T) {
	for text, says := range map[string]string{
		"https://x.example/?q=a\tb": "%09", "https://x.example/a\nb": "%0A", "https://x.example/?q=\x00": "%00",
		"https://x.example/\u0085b": "%C2%85", "https://x.example/?q=\xe9": "%E9", "https://x.ex\x7fample/": "%7F",
		"https://x ample/?q=1": `character " "`, "https://x<y/": `"x<y" is not a host`, `https://x"y/`: `"x\"y" is not a host`,
		`https://x.example\path`:                                  `character "\\"`,
		"https://x.example/?q=" + strings.Repeat(" ", 3000) + "x": "9022 bytes",
	} {
		_, e := parseURL(text)
		if e == nil || !strings.Contains(e.Message+" "+e.Suggestion, says) || e.Name != "BadURL" {
			t.Errorf("%.60q gives %+v, want %q", text, e, says)
		}
	}
	for _, user := range []string{"user:secret", "us er:secret", "user:sec ret", "user:<secret>", `user:"secret`,
		"user:secretä", "user:secret%", "user:%secret", "user:secret@more", "user:secret|", "ü:secret", "user:secret[",
		" secret", `user:secret\more`} {
		_, e := parseURL("https://" + user + "@x.example/?q=1")
		if e == nil || e.Name != "CredentialsInURL" || strings.Contains(e.Message, "sec") {
			t.Errorf("%q gives %+v", user, e)
		}
	}
	for _, user := range []string{"user:secret/more", "user:secret?more", "user:secret#more", "user:secret\tmore",
		"user:secret\xe9"} {
		_, e := parseURL("https://" + user + "@x.example/?q=1")
		if e == nil || e.Suggestion == "" || strings.Contains(e.Message, "sec") {
			t.Errorf("%q gives %+v", user, e)
		}
	}
}

func FuzzURL(f *testing.F) {
	for _, text := range []string{"http://example.org/", "https://[::1]:80/x?y#z", "http://0x7f.1/", "http://a@b/",
		"http://\u2488\u3002/", "http://xn--a/", "http:/\\a"} {
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
		if u.User != nil || u.Fragment != "" || host == "" || port == 0 || u.Scheme != "http" && u.Scheme != "https" ||
			strings.ToLower(host) != host {
			t.Fatalf("%q gives %+v", text, u)
		}
	})
}

var errNotConnected = errors.New("tests connect to nothing outside")

// Whatever the URL and whatever its name stands for, nothing is connected to but what the guard lets pass.
func TestNothingRefusedIsDialled(t *testing.T) {
	hosts := []string{"localhost", "localhost.", "a.test", "A.test.", "127.0.0.1", "127.1", "2130706433", "0x7f.1",
		"017700000001", "[::1]", "[::ffff:169.254.169.254]",
		"[fe80::1%25lo]", "169.254.169.254", "10.0.0.1", "[64:ff9b::7f00:1]", "１２７.0.0.1", "0", "[::]",
		"metadata.google.internal", "a.test%00.b", "8.8.8.8"}
	addresses := []string{"127.0.0.1", "::1", "10.1.2.3", "169.254.169.254", "::ffff:169.254.169.254", "fe80::1",
		"fd00:ec2::254", "0.0.0.0", "8.8.8.8", "2606:4700::1111", "64:ff9b::a00:1", "100.64.0.1"}
	rapid.Check(t, func(rt *rapid.T) {
		var mu sync.Mutex
		var dialState []string
		answers := rapid.SliceOfN(rapid.SampledFrom(addresses), 1, 3).Draw(rt, "addresses")
		c := newClient(guard{}, testHooks{
			resolver: newNames(t, func(string, int) []string { return answers }),
			connecting: func(_, address string) error {
				mu.Lock()
				defer mu.Unlock()
				dialState = append(dialState, address)
				return errNotConnected
			}})
		defer c.close()
		text := rapid.SampledFrom([]string{"http://", "https://", "HTTP://", "http:/", ""}).Draw(rt, "scheme") +
			rapid.OneOf(rapid.SampledFrom(hosts), rapid.StringN(1, 20, 40)).Draw(rt,
				"host") + rapid.SampledFrom([]string{"", ":80", ":8080", ":22"}).Draw(rt, "port") + "/"
		u, e := parseURL(text)
		if e != nil {
			return
		}
		reply, _, err := c.send(context.Background(), outgoing{method: http.MethodGet, url: u, header: http.Header{}})
		if err == nil {
			reply.Body.Close()
			rt.Fatalf("%q was answered", text)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, address := range dialState {
			host, _, _ := net.SplitHostPort(address)
			a, err := netip.ParseAddr(host)
			if err != nil || kindOf(plain(a)) != "" || a.Zone() != "" {
				rt.Fatalf("%q was to connect to %s", text, address)
			}
		}
	})
}
