//go:build unix

package conformance

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A hostile server behind an address costs its own calls: one that sends a byte now and then, one that never ends its
// answer, one that redirects to another host, one that answers with what is not a message.
func TestHostileHTTP(t *testing.T) {
	long(t)
	for name, handle := range map[string]func(t *testing.T) http.HandlerFunc{
		"slow header": func(*testing.T) http.HandlerFunc {
			return func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
		},
		"slow body": func(*testing.T) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				drip(w, r)
			}
		},
		"slow stream": func(*testing.T) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				drip(w, r)
			}
		},
		"endless body": func(*testing.T) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				for piece := []byte(`"` + strings.Repeat("x", 1<<20)); ; {
					if _, err := w.Write(piece); err != nil {
						return
					}
				}
			}
		},
		"endless call": func(*testing.T) http.HandlerFunc {
			return listing(func(w http.ResponseWriter, _ *http.Request) {
				for piece := []byte("data: " + strings.Repeat("x", 1<<20)); ; {
					if _, err := w.Write(piece); err != nil {
						return
					}
				}
			})
		},
		"slow call": func(*testing.T) http.HandlerFunc { return listing(drip) },
		"silent call": func(*testing.T) http.HandlerFunc {
			return listing(func(w http.ResponseWriter, r *http.Request) {
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			})
		},
		"web page": func(*testing.T) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>Log in, please.</html>") }
		},
		"redirect": func(t *testing.T) http.HandlerFunc {
			elsewhere := otherHost(t)
			return func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, elsewhere, http.StatusTemporaryRedirect)
			}
		},
		"authorization elsewhere": func(t *testing.T) http.HandlerFunc {
			elsewhere := otherHost(t)
			return func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer resource_metadata=%q", elsewhere+"/meta"))
				w.WriteHeader(http.StatusUnauthorized)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			answer := handle(t)
			upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body) // else the end of the connection is not noticed
				r.Body = io.NopCloser(bytes.NewReader(body))
				answer(w, r)
			}))
			t.Cleanup(func() {
				upstream.CloseClientConnections()
				upstream.Close()
			})
			b := newBed(t, fmt.Sprintf("plugin \"bad\" {\n  command = [%q]\n  trust_hints = true\n  config {\n    url = %q\n    headers = { "+
				"X-Api-Key = \"key-of-bad\" }\n    connect_timeout = \"3s\"\n    idle_timeout = \"3s\"\n  }\n}\n",
				bin(t, "toolhost-plugin-mcp"), upstream.URL+"/mcp")+fixtureConfig(t))
			b.secrets = []string{"key-of-bad"}
			c := b.mcp(handshake)
			if strings.HasSuffix(name, " call") {
				c.lists("bad__echo")
			}
			p := c.start("tools/call", `{"name":"bad__echo","arguments":{}}`)
			c.fine()
			m := p.wait()
			if got := string(m.Result) + string(m.Error); !strings.Contains(got, "E_") && !strings.Contains(got, "-32602") ||
				len(got) > 100<<10 || strings.Contains(got, "key-of-bad") {
				t.Errorf("the call gives %.2000s", got)
			}
			c.fine()
			checkCommandLines(t, b.secrets)
			if most := peakMemory(t); most > 600<<20 {
				t.Errorf("a process below toolhost used %d MiB", most>>20)
			}
		})
	}
}

// listing is a server with the tool echo, each call of which is answered by f, as a stream.
func listing(f http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch text := string(body); {
		case strings.Contains(text, `"initialize"`):
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},`+
				`"serverInfo":{"name":"f","version":"1"}}}`, idOf(text))
		case strings.Contains(text, `"tools/list"`):
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]}}`, idOf(text), plainTool("echo"))
		case strings.Contains(text, `"tools/call"`):
			w.Header().Set("Content-Type", "text/event-stream")
			f(w, r)
		case strings.Contains(text, `"server/discover"`):
			w.WriteHeader(http.StatusBadRequest)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}
}

// drip sends a byte now and then until the client is gone.
func drip(w http.ResponseWriter, r *http.Request) {
	for {
		_, _ = io.WriteString(w, " ")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// otherHost is a server that fails the test when it is asked for anything.
func otherHost(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Skipf("this system has no second loopback address: %v", err)
	}
	var requests atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		t.Errorf("the other host receives %s %s with %v", r.Method, r.URL, r.Header)
	}))
	_ = s.Listener.Close()
	s.Listener = listener
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}

// idOf is the id of a request, as JSON.
func idOf(request string) string {
	_, rest, _ := strings.Cut(request, `"id":`)
	return rest[:strings.IndexAny(rest, ",}")]
}
