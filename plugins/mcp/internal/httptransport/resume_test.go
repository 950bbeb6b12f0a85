package httptransport

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/plugins/mcp/internal/client"
)

// local reaches a handler without a connection, so that time may be that of a test.
func local(h http.Handler) roundTrip {
	return func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		if r.Body == nil {
			r.Body = http.NoBody
		}
		h.ServeHTTP(w, r)
		return w.Result(), nil
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// dialBy begins a session with a server that is reached in this way.
func dialBy(t *testing.T, way roundTrip) *client.Session {
	t.Helper()
	open := func(context.Context) (client.Transport, error) {
		tr, err := New(Options{URL: "http://local/mcp"})
		if err == nil {
			tr.http.Transport = way
		}
		return tr, err
	}
	s, err := client.Dial(t.Context(), open, client.Options{Name: "test", Version: "1", Revision: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// resumed answers those who ask for the rest of a stream. There is none beside requests.
func resumed(next func(w http.ResponseWriter)) func(http.ResponseWriter, *http.Request, json.RawMessage) {
	return func(w http.ResponseWriter, r *http.Request, _ json.RawMessage) {
		if r.Header.Get("Last-Event-ID") == "" {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		next(w)
	}
}

// A server of 2025-11-25 may end each stream at once and be polled: as long as the call may take, and as often as the
// server asks.
func TestServerThatIsPolled(t *testing.T) {
	for name, c := range map[string]struct {
		retry       string // field of its streams
		least, most int32  // polls
	}{
		"as it asks":            {"retry: 1000\n", 40, 41},
		"seldom, as it asks":    {"retry: 20000\n", 2, 3},
		"it does not say":       {"", 40, 41},
		"too often, for naught": {"retry: 0\n", 40, 50},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var began time.Time
				var answer string
				var polls atomic.Int32
				prime := "id: s_0\n" + c.retry + "data:\n\n"
				s := dialBy(t, local(scripted{
					"tools/call": func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
						began = time.Now()
						answer = fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"a\":1}}\n\n", id)
						events(w, prime)
					},
					"GET": resumed(func(w http.ResponseWriter) {
						polls.Add(1)
						if time.Since(began) < 40*time.Second {
							events(w, prime)
							return
						}
						events(w, answer)
					})}))
				defer s.Close()
				out, err := call(t.Context(), s, "x", "{}", nil)
				if err != nil || out != `{"a":1}` {
					t.Errorf("%s, %v", out, err)
				}
				if n := polls.Load(); n < c.least || n > c.most {
					t.Errorf("polled %d times in %v, want %d to %d", n, time.Since(began), c.least, c.most)
				}
			})
		})
	}
}

func TestEndOfTheCallEndsThePolling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var polls atomic.Int32
		s := dialBy(t, local(scripted{
			"tools/call": func(w http.ResponseWriter, _ *http.Request, _ json.RawMessage) {
				events(w, "id: s_0\ndata:\n\n")
			},
			"GET": resumed(func(w http.ResponseWriter) {
				polls.Add(1)
				events(w, ": nothing\n\n")
			})}))
		defer s.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := call(ctx, s, "x", "{}", nil); err == nil || polls.Load() < 50 {
			t.Errorf("polled %d times, %v", polls.Load(), err)
		}
		before := polls.Load()
		time.Sleep(time.Minute)
		if n := polls.Load() - before; n > 1 {
			t.Errorf("polled %d times after the call", n)
		}
	})
}

func TestStreamThatCannotBeResumedIsGivenUp(t *testing.T) {
	for status, want := range map[int]int32{http.StatusBadGateway: maxFailures, http.StatusTooManyRequests: maxFailures,
		http.StatusNotFound: 1} {
		synctest.Test(t, func(t *testing.T) {
			var calls, gets atomic.Int32
			s := dialBy(t, local(scripted{
				"tools/call": func(w http.ResponseWriter, _ *http.Request, _ json.RawMessage) {
					calls.Add(1)
					events(w, "id: e1\ndata:\n\n")
				},
				"GET": resumed(func(w http.ResponseWriter) {
					gets.Add(1)
					w.WriteHeader(status)
				})}))
			defer s.Close()
			_, err := call(t.Context(), s, "x", "{}", nil)
			wantError(t, err, "StreamEnded", true)
			if calls.Load() != 1 || gets.Load() != want {
				t.Errorf("%d: %d calls, %d times resumed, want %d", status, calls.Load(), gets.Load(), want)
			}
		})
	}
}

// A slowBody is an event stream that ends after some time.
type slowBody struct {
	*bytes.Reader
	lasts time.Duration
}

func (b *slowBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		time.Sleep(b.lasts)
	}
	return n, err
}

func (*slowBody) Close() error { return nil }

// The stream beside requests is connected again for as long as the session lasts. One that ends at once is of no use,
// and is tried less and less often.
func TestStreamBesideRequestsThatEnds(t *testing.T) {
	for _, c := range []struct {
		lasts       time.Duration
		text        string
		least, most int32 // connections in an hour
	}{
		{30 * time.Second, ": idle\n\n", 110, 117}, // as of a proxy: one connection in 31 s
		{0, ": idle\n\n", 60, 70},
		{0, "id: 1\nretry: 10000\ndata:\n\n", 355, 361},
	} {
		synctest.Test(t, func(t *testing.T) {
			var gets atomic.Int32
			s := dialBy(t, func(r *http.Request) (*http.Response, error) {
				if r.Method != http.MethodGet {
					return local(scripted{})(r)
				}
				gets.Add(1)
				return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {contentSSE}},
					Body: &slowBody{bytes.NewReader([]byte(c.text)), c.lasts}}, nil
			})
			defer s.Close()
			time.Sleep(time.Hour)
			if n := gets.Load(); n < c.least || n > c.most {
				t.Errorf("%v %q: %d connections in an hour, want %d to %d", c.lasts, c.text, n, c.least, c.most)
			}
		})
	}
}
