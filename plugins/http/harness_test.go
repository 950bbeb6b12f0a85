package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start runs the plugin with a configuration and a seam.
func start(t testing.TB, s testHooks, config string) *sdktest.Plugin {
	t.Helper()
	w := newWeb()
	w.testHooks = s
	t.Cleanup(w.close)
	p := sdktest.Start(t, w.plugin())
	p.MustConfigure(t, config)
	return p
}

// open is a configuration that lets a test reach its own servers.
const open = `{"allow_private":["127.0.0.1"]}`

// serve runs a server for the test and returns its URL, without a slash at the end.
func serve(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// answers is a handler that gives one body.
func answers(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, body)
	}
}

// args writes the arguments of a call as JSON.
func args(t testing.TB, v map[string]any) string {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func fetch(t testing.TB, p *sdktest.Plugin, url string) *sdk.Result {
	t.Helper()
	return p.Run(t, "get", args(t, map[string]any{"url": url}))
}

func wantError(t testing.TB, r *sdk.Result, name string, says ...string) {
	t.Helper()
	if r.Error == nil || r.Error.Name != name {
		t.Fatalf("the error is %+v, want %s; content %q", r.Error, name, textOf(r))
	}
	for _, text := range says {
		if !strings.Contains(r.Error.Message+"\n"+r.Error.Suggestion, text) {
			t.Errorf("the error does not say %q: %s / %s", text, r.Error.Message, r.Error.Suggestion)
		}
	}
}

// body is the content of a result that is no note.
func body(t testing.TB, r *sdk.Result) string {
	t.Helper()
	if r.Error != nil {
		t.Fatalf("the error is %+v", r.Error)
	}
	var out []string
	for _, c := range r.Content {
		if !strings.HasPrefix(c.Text, "[") || !strings.HasSuffix(c.Text, "]") {
			out = append(out, c.Text)
		}
	}
	return strings.Join(out, "\n")
}

func textOf(r *sdk.Result) string {
	var out []string
	for _, c := range r.Content {
		out = append(out, c.Text)
	}
	return strings.Join(out, "\n")
}

func reportOf(t testing.TB, r *sdk.Result) (out report) {
	t.Helper()
	if err := json.Unmarshal(r.Structured, &out); err != nil {
		t.Fatalf("structured %s: %v (error %+v)", r.Structured, err, r.Error)
	}
	return out
}

// A names answers lookups in place of the world's name service: the n-th lookup of a name, from 0, gives addresses.
type nameService struct {
	mu       sync.Mutex
	lookups  map[string]int
	response func(name string, n int) []string
	ended    sync.WaitGroup
}

func newNames(t testing.TB, response func(name string, n int) []string) *net.Resolver {
	s := &nameService{lookups: map[string]int{}, response: response}
	t.Cleanup(s.ended.Wait)
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		s.ended.Go(func() { s.serve(there) })
		return here, nil
	}}
}

// serve answers questions in the form that they have on streams, until the other end closes.
func (s *nameService) serve(conn net.Conn) {
	defer conn.Close()
	for {
		var size uint16
		if binary.Read(conn, binary.BigEndian, &size) != nil {
			return
		}
		question := make([]byte, size)
		if _, err := io.ReadFull(conn, question); err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(question) != nil || len(m.Questions) != 1 {
			return
		}
		reply, err := s.reply(m).Pack()
		if err != nil {
			return
		}
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...)); err != nil {
			return
		}
	}
}

func (s *nameService) reply(m dnsmessage.Message) *dnsmessage.Message {
	q := m.Questions[0]
	name := strings.TrimSuffix(q.Name.String(), ".")
	s.mu.Lock()
	key := name + q.Type.String()
	addresses := s.response(name, s.lookups[key])
	s.lookups[key]++
	s.mu.Unlock()
	out := &dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, RecursionAvailable: true},
		Questions: m.Questions}
	if addresses == nil {
		out.RCode = dnsmessage.RCodeNameError
	}
	for _, text := range addresses {
		a := netip.MustParseAddr(text)
		switch header := (dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, Type: q.Type}); {
		case a.Is4() && q.Type == dnsmessage.TypeA:
			out.Answers = append(out.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: a.As4()}})
		case a.Is6() && q.Type == dnsmessage.TypeAAAA:
			out.Answers = append(out.Answers,
				dnsmessage.Resource{Header: header, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
		}
	}
	return out
}

// close gives back the connections that are kept for later calls.
func (w *webPlugin) close() {
	w.settings.Load().client.close()
	for _, c := range w.clients {
		c.close()
	}
}
