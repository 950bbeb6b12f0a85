package netlimit

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what should be there at once.
const patience = time.Minute

// short is a limit that is reached, long one that is not.
const short, long = 20 * time.Millisecond, time.Hour

// serve serves a handler over a version of HTTP. The streams of the client that it returns take 64 KiB unread.
func serve(t *testing.T, version int, h http.HandlerFunc) (*http.Client, *httptest.Server) {
	t.Helper()
	protocols := &http.Protocols{}
	protocols.SetHTTP1(version == 1)
	protocols.SetUnencryptedHTTP2(version == 2)
	server := httptest.NewUnstartedServer(h)
	server.Config.Protocols = protocols
	server.Start()
	transport := &http.Transport{Protocols: protocols, HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: window}}
	t.Cleanup(func() { transport.CloseIdleConnections(); server.Close() })
	return &http.Client{Transport: transport}, server
}

const window = 64 << 10 // bytes

func receive[T any](t *testing.T, from <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(patience):
		t.Fatal(what)
	}
	return v
}

func eachVersion(t *testing.T, test func(t *testing.T, version int)) {
	for name, version := range map[string]int{"HTTP/1": 1, "HTTP/2": 2} {
		t.Run(name, func(t *testing.T) { test(t, version) })
	}
}

func TestSlowBodyEnds(t *testing.T) {
	eachVersion(t, func(t *testing.T, version int) {
		ended := make(chan error, 1)
		client, server := serve(t, version, func(plain http.ResponseWriter, r *http.Request) {
			w := NewWriter(plain, r, short, long)
			defer w.End()
			_, err := io.ReadAll(w.Body(r.Body))
			ended <- err
			w.WriteHeader(http.StatusRequestTimeout)
		})
		body, more := io.Pipe()
		defer more.Close()
		go func() { _, _ = more.Write([]byte("half")) }() // the server takes it, or has ended the request
		answer, err := client.Post(server.URL, "text/plain", body)
		if err == nil {
			defer answer.Body.Close()
		}
		if err := receive(t, ended, "a body that does not end is read on"); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the body ends with %v", err)
		}
	})
}

func TestWriteToAClientThatDoesNotRead(t *testing.T) {
	eachVersion(t, func(t *testing.T, version int) {
		ended := make(chan error, 1)
		client, server := serve(t, version, func(plain http.ResponseWriter, r *http.Request) {
			w := NewWriter(plain, r, long, short)
			defer w.End()
			var err error
			for n := 0; err == nil && n < 1<<30; n += window { // more than all buffers on the way
				_, err = w.Write(make([]byte, window))
			}
			ended <- err
		})
		answer, err := client.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if receive(t, ended, "the handler writes on") == nil {
			t.Error("a client that does not read has a gigabyte")
		}
	})
}

// net/http sends what was not flushed when the handler has ended.
func TestRestToAClientThatDoesNotRead(t *testing.T) {
	client, server := serve(t, 2, func(plain http.ResponseWriter, r *http.Request) {
		w := NewWriter(plain, r, long, short)
		defer w.End()
		_, err := io.WriteString(w, strings.Repeat("x", window))
		err = errors.Join(err, w.FlushError())
		if _, rest := io.WriteString(w, "rest"); err != nil || rest != nil {
			t.Errorf("%v, %v", err, rest)
		}
	})
	answer, err := client.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := server.Config.Shutdown(ctx); err != nil { // it waits for streams that are open
		t.Errorf("the stream stays open: %v", err)
	}
	if _, err := io.ReadAll(answer.Body); err == nil {
		t.Error("the client has received all")
	}
}

// deadlines counts those that are set, and may be slow to write.
type deadlines struct {
	http.ResponseWriter
	slow         time.Duration
	reads, write int
}

func (d *deadlines) SetReadDeadline(time.Time) error  { d.reads++; return nil }
func (d *deadlines) SetWriteDeadline(time.Time) error { d.write++; return nil }

func (d *deadlines) Write(b []byte) (int, error) {
	<-time.After(d.slow)
	return d.ResponseWriter.Write(b)
}

// slowBody is slow at its end.
type slowBody struct {
	io.Reader
	slow time.Duration
}

func (b *slowBody) Close() error { return nil }

func (b *slowBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil {
		<-time.After(b.slow)
	}
	return n, err
}

// A stream whose client is fast has no deadline, however long its handler takes, and one that is not has one.
func TestDeadlinesOfStreams(t *testing.T) {
	for name, c := range map[string]struct {
		body, write  time.Duration // each second write
		reads, wrote int
	}{
		"fast":                {0, 0, 0, 0},
		"at the limit nearly": {999 * time.Millisecond, 999 * time.Millisecond, 0, 0},
		"slow to send":        {time.Second + 1, 0, 1, 0},
		"slow to read":        {0, time.Second + 1, 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				plain := &deadlines{ResponseWriter: httptest.NewRecorder(), slow: c.write}
				r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
				r.ProtoMajor = 2
				w := NewWriter(plain, r, time.Second, time.Second)
				body := w.Body(&slowBody{strings.NewReader("body"), c.body})
				if text, err := io.ReadAll(body); string(text) != "body" || err != nil {
					t.Errorf("%q %v", text, err)
				}
				for range 2 {
					<-time.After(time.Minute)
					_, _ = io.WriteString(w, "x") // a recorder takes all
					w.Flush()
				}
				<-time.After(time.Minute)
				w.End()
				<-time.After(time.Minute)
				if plain.reads != c.reads || plain.write != c.wrote {
					t.Errorf("%d deadlines for the body, want %d; %d to write, want %d", plain.reads, c.reads, plain.write,
						c.wrote)
				}
			})
		})
	}
}
