package main

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/nesting"
	"github.com/toolhost/toolhost/plugins/mcp/internal/client"
	"github.com/toolhost/toolhost/sdk"
)

// Only servers of this machine learn of the hosts above, by whatever address it is named.
func TestHostsAboveAreNamedToThisMachine(t *testing.T) {
	t.Setenv(nesting.Var, "01 ?02")
	before := net.DefaultResolver
	defer func() { net.DefaultResolver = before }()
	silent := make(chan struct{})
	close(silent)
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		<-silent
		return nil, errors.New("there is no network")
	}}
	addresses := map[string]string{"http://127.0.0.1:1/mcp": "01 02", "https://localhost/mcp": "01 02",
		"http://[::1]:1/mcp": "01 02", "http://0.0.0.0:1/mcp": "01 02", "http://203.0.113.7/mcp": "",
		"https://example.com/mcp": "", "https://localhost.example.com/mcp": ""}
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range own {
		ip := netip.MustParsePrefix(a.String()).Addr()
		addresses["http://"+netip.AddrPortFrom(ip, 80).String()+"/mcp"] = "01 02"
	}
	for address, want := range addresses {
		s := &settings{}
		if err := s.readURL(&config{URL: address, Headers: map[string]string{"Authorization": "Bearer x"}}); err != nil {
			t.Fatal(err)
		}
		got := s.header(t.Context())
		if got.Get(nesting.Header) != want || got.Get("Authorization") != "Bearer x" {
			t.Errorf("%s is told %q, want %q", address, got, want)
		}
	}
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	silent = make(chan struct{})
	defer close(silent)
	s := &settings{}
	if err := s.readURL(&config{URL: "https://behind-a-proxy.example.com/mcp"}); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if s.header(t.Context()); time.Since(began) >= 2*time.Second {
		t.Errorf("a name that only the proxy has to find took %s", time.Since(began))
	}
}

func TestWrongConfigurations(t *testing.T) {
	for written, want := range map[string]string{
		`{"command":["a"],"url":"http://x"}`:    "a server has one of them",
		`{"cwd":"/"}`:                           "command is missing",
		`{"timeout":"1m"}`:                      "no server is named",
		`{"command":["a"],"headers":{"A":"b"}}`: "headers and transport belong to url",
		`{"command":[""]}`:                      "begins with an empty word",
		`{"command":["npx -y x"]}`: `write each argument as a word of its own: ["npx", "-y", ` +
			`"x"]`,
		`{"command":["a\u0000"]}`:                              "NUL character",
		`{"command":["a"],"env":{"A=B":"c"}}`:                  `"A=B" cannot be a variable`,
		`{"url":"ftp://x"}`:                                    `scheme "ftp"`,
		`{"url":"https://"}`:                                   "names no host",
		`{"url":"https://x","env":{"A":"b"}}`:                  "env and cwd belong to command",
		`{"url":"https://x","headers":{"A b":"c"}}`:            `"A b" cannot be a header`,
		`{"url":"https://x","headers":{"A":"b\r\nC: d"}}`:      `"A" cannot be a header`,
		`{"command":["a"],"timeout":"90"}`:                     `timeout = "90": write a time`,
		`{"command":["a"],"idle_timeout":"-1s"}`:               `idle_timeout = "-1s"`,
		`{"command":["a"],"connect_timeout":"2h"}`:             `connect_timeout = "2h"`,
		`{"command":["a"],"include_tools":[""]}`:               "include_tools has an empty name",
		`{"url":"https://user:hunter2@x:bad/","headers":null}`: "url is not an address",
	} {
		var c config
		if err := json.Unmarshal([]byte(written), &c); err != nil {
			t.Fatal(err)
		}
		_, err := c.settings("/work")
		e, _ := err.(*sdk.Error)
		if e == nil || !strings.Contains(e.Message, want) || strings.Contains(e.Message, "hunter2") ||
			!strings.Contains(string(e.Details), `"path":`) {
			t.Errorf("%s: %v, want %s", written, err, want)
		}
	}
}

// The transport that the configuration names is the only one that is tried.
func TestTransportIsTheOneThatIsNamed(t *testing.T) {
	for transport, want := range map[string]struct{ posted, streamed bool }{
		"": {true, true}, "auto": {true, true}, "http": {true, false}, "sse": {false, true},
	} {
		var posted, streamed atomic.Bool
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			posted.Store(posted.Load() || r.Method == http.MethodPost)
			streamed.Store(streamed.Load() || r.Method == http.MethodGet)
			w.WriteHeader(http.StatusMethodNotAllowed)
		}))
		c := config{URL: server.URL, Transport: transport}
		s, err := c.settings("/work")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Dial(t.Context(), s.opener("/work"), client.Options{}); err == nil {
			t.Errorf("%q: there is a session", transport)
		}
		if posted.Load() != want.posted || streamed.Load() != want.streamed {
			t.Errorf("%q: messages were posted: %t, a stream was asked for: %t", transport, posted.Load(), streamed.Load())
		}
		server.Close()
	}
}

func TestDefaultsOfTheConfiguration(t *testing.T) {
	c := config{Command: []string{"bin/server"}, ExcludeTools: []string{"danger(rm"}, Cwd: "sub"}
	s, err := c.settings("/work")
	if err != nil {
		t.Fatal(err)
	}
	if s.timeout != time.Hour || s.idleTimeout != 5*time.Minute || s.connectTimeout != time.Minute ||
		s.cwd != "/work/sub" ||
		s.command[0] != "/work/bin/server" || s.choice.exclude[0] != "danger" {
		t.Errorf("%+v", s)
	}
	c = config{URL: "https://user:pass@example.com/mcp?key=secret#x"}
	if s, err = c.settings("/work"); err != nil || s.who() != "the MCP server at https://example.com/mcp" {
		t.Errorf("%s %v", s.who(), err)
	}
}
