package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/toolhost/toolhost/sdk"
)

// An event is one of a stream as it came.
type event struct{ id, data string }

// A stream is the events of a response.
type stream struct {
	t     *testing.T
	lines *bufio.Reader
	last  string // the ID of the last event
	close func()
}

// openStream sends a request whose response is a stream.
func (w *web) openStream(method, body string, headers ...string) *stream {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	w.t.Cleanup(cancel)
	r, _ := http.NewRequestWithContext(ctx, method, w.url, strings.NewReader(body))
	for name, value := range pairs(append([]string{"Content-Type", "application/json", "Accept",
		"application/json, text/event-stream", "Mcp-Session-Id", w.session, "Mcp-Protocol-Version", w.version,
		"Authorization", "Bearer " + w.token}, headers...)) {
		r.Header.Set(name, value)
	}
	out, err := new(http.Transport).RoundTrip(r) // a connection of its own
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = out.Body.Close() })
	if out.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(out.Body)
		w.t.Fatalf("%s: %s", out.Status, said)
	}
	return &stream{t: w.t, lines: bufio.NewReader(out.Body), close: func() { cancel(); _ = out.Body.Close() }}
}

func (w *web) resume(last string) *stream {
	w.t.Helper()
	return w.openStream(http.MethodGet, "", "Last-Event-ID", last)
}

// next returns the next event with data; ok is false at the end.
func (s *stream) next() (e event, ok bool) {
	s.t.Helper()
	for {
		line, err := s.lines.ReadString('\n')
		line = strings.TrimSuffix(line, "\n")
		switch {
		case err != nil:
			return event{}, false
		case strings.HasPrefix(line, "id: "):
			e.id = strings.TrimPrefix(line, "id: ")
			s.last = e.id
		case strings.HasPrefix(line, "data: "):
			e.data = strings.TrimPrefix(line, "data: ")
		case line == "" && e.data != "":
			return e, true
		}
	}
}

// steps is a plugin whose tool reports a step whenever one is let go, and ends after the last.
func steps(n int) (p *fake, step chan struct{}) {
	step = make(chan struct{})
	return &fake{tools: []sdk.Tool{readOnly("t")}, call: func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
		for i := range n {
			select {
			case <-step:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			r.Progress(float64(i+1), float64(n), "step")
		}
		return sdk.Text("done"), nil
	}}, step
}

const stepsCall = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"p__t","_meta":{"progressToken":1}}}`

// rest returns what a stream still has: the progress in its order, and "done" for the result.
func (s *stream) rest() (got []string) {
	s.t.Helper()
	for {
		e, ok := s.next()
		if !ok {
			return got
		}
		got = append(got, stepOf(s.t, e))
	}
}

func stepOf(t *testing.T, e event) string {
	t.Helper()
	if strings.Contains(e.data, `"result"`) {
		return "done"
	}
	for i := range 10 {
		if strings.Contains(e.data, fmt.Sprintf(`"progress":%d,`, i)) {
			return fmt.Sprint(i)
		}
	}
	t.Fatalf("an event that is not expected: %s", e.data)
	return ""
}

// A stream that is resumed begins with the ID from which it goes on, for clients that lose it again before an event. To
// clients of revisions without such events it begins with a comment.
func TestResumedStreamBeginsWithItsID(t *testing.T) {
	for version, want := range map[string]string{"2025-11-25": "event: prime\n", "2025-06-18": ": \n"} {
		p, step := steps(2)
		w := (&setup{plugins: map[string]*fake{"p": p}}).listen(t)
		w.handshake()
		w.version = version
		call := w.openStream(http.MethodPost, stepsCall)
		step <- struct{}{}
		e, _ := call.next()
		lost := w.resume(e.id)
		begin, _ := lost.lines.ReadString('\n')
		if id, _ := lost.lines.ReadString('\n'); begin != want || version == "2025-11-25" && id != "id: "+e.id+"\n" {
			t.Errorf("%s: %q, %q after %s", version, begin, id, e.id)
		}
		lost.close()
		again := w.resume(e.id)
		step <- struct{}{}
		if got := again.rest(); !slices.Equal(got, []string{"2", "done"}) {
			t.Errorf("%s: the rest is %q", version, got)
		}
	}
}

// A client that loses its connection in the middle of a call gets the rest of progress, and the result, once and in
// order, however its end came: the connection is closed, it looks alive to the server, or the call has ended meanwhile.
func TestStreamIsResumed(t *testing.T) {
	for _, loses := range []string{"closed", "looks alive", "ended meanwhile"} {
		t.Run(loses, func(t *testing.T) {
			p, step := steps(4)
			w := (&setup{plugins: map[string]*fake{"p": p}}).listen(t)
			w.handshake()
			first := w.openStream(http.MethodPost, stepsCall)
			step <- struct{}{}
			e, _ := first.next()
			got := []string{stepOf(t, e)}
			if loses != "looks alive" {
				first.close()
			}
			step <- struct{}{}
			if loses == "ended meanwhile" {
				step <- struct{}{}
				step <- struct{}{}
				got = append(got, w.resume(first.last).rest()...)
			} else {
				second := w.resume(first.last)
				e, _ = second.next()
				got = append(got, stepOf(t, e))
				step <- struct{}{}
				second.close()
				third := w.resume(second.last)
				step <- struct{}{}
				got = append(got, third.rest()...)
			}
			if !slices.Equal(got, []string{"1", "2", "3", "4", "done"}) {
				t.Errorf("got %q", got)
			}
		})
	}
}

// A client that has the answer to a call is given no stream to ask for again, whatever the answer is; a call that runs
// has one.
func TestStreamThatIsCompleteIsNotResumed(t *testing.T) {
	p, step := steps(1)
	w := (&setup{plugins: map[string]*fake{"p": p}}).listen(t)
	w.handshake()
	ask := func(id string) int {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url, nil)
		r.Header = http.Header{"Accept": {"text/event-stream"}, "Mcp-Session-Id": {w.session},
			"Mcp-Protocol-Version": {w.version}, "Last-Event-Id": {id}}
		out, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = out.Body.Close()
		return out.StatusCode
	}
	for name, message := range map[string]string{"a result": stepsCall,
		"an error": strings.Replace(stepsCall, "p__t", "p__none", 1)} {
		call := w.openStream(http.MethodPost, message)
		if name == "a result" {
			step <- struct{}{}
			e, _ := call.next()
			if got := ask(e.id); got != http.StatusOK {
				t.Errorf("%s, after the progress: %d", name, got)
			}
			call = w.resume(e.id)
		}
		e, _ := call.next()
		for _, c := range []struct {
			id   string
			want int
		}{{e.id, http.StatusNoContent}, {strings.TrimRight(e.id, "0123456789") + "0", http.StatusOK}} {
			if got := ask(c.id); got != c.want {
				t.Errorf("%s, after %s: %d, want %d", name, c.id, got, c.want)
			}
		}
	}
}

// A canceled call has no answer, unless its client would then take the end of the stream for a lost connection.
func TestCanceledCallOverHTTP(t *testing.T) {
	for name, c := range map[string]struct {
		version, token string
		want           bool
	}{"without events": {"2025-06-18", "null", false}, "after an event": {"2025-06-18", "1", true},
		"with events that only have an ID": {"2025-11-25", "null", true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, step := steps(2)
			w := (&setup{plugins: map[string]*fake{"p": p}}).listen(t)
			w.handshake()
			w.version = c.version
			call := w.openStream(http.MethodPost, strings.Replace(stepsCall, `:1}`, ":"+c.token+"}", 1))
			step <- struct{}{}
			if c.token != "null" {
				_, _ = call.next()
			}
			if got := w.status(fmt.Sprintf(cancelWithID, "7")); got != http.StatusAccepted {
				t.Fatal(got)
			}
			if got := call.rest(); (len(got) > 0) != c.want {
				t.Errorf("after it was canceled: %q, want an answer: %v", got, c.want)
			}
		})
	}
}

// A session, which may be open for hours, does not keep the response that began it.
func TestSessionKeepsNoResponse(t *testing.T) {
	h := (&setup{}).server(t).Handler()
	session, response := func() (string, weak.Pointer[httptest.ResponseRecorder]) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, Path, strings.NewReader(`{"jsonrpc":"2.0","id":1,`+
			`"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t"}}}`))
		r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
		out := httptest.NewRecorder()
		h.ServeHTTP(out, r)
		return out.Header().Get("Mcp-Session-Id"), weak.Make(out)
	}()
	if session == "" {
		t.Fatal("there is no session")
	}
	for range 100 {
		if runtime.GC(); response.Value() == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("it is kept")
}

// A stream of a session is read by that session alone.
func TestStreamOfAnotherIsNotResumed(t *testing.T) {
	p, step := steps(1)
	s := &setup{plugins: map[string]*fake{"p": p}, options: Options{Identities: []Identity{
		{Name: "ann", Token: "token-of-ann-0123456789"}, {Name: "bob", Token: "token-of-bob-0123456789"}}}}
	ann := s.listen(t)
	bob, other := *ann, *ann
	ann.token, bob.token, other.token = "token-of-ann-0123456789", "token-of-bob-0123456789", "token-of-ann-0123456789"
	for _, w := range []*web{ann, &bob, &other} {
		w.handshake()
	}
	first := ann.openStream(http.MethodPost, stepsCall)
	step <- struct{}{}
	_, _ = first.next()
	stolen := bob
	stolen.session = ann.session
	for name, test := range map[string]struct {
		w    *web
		want int
	}{"another identity": {&bob, http.StatusBadRequest}, "its session": {&stolen, http.StatusNotFound},
		"another session": {&other, http.StatusBadRequest}} {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, ann.url, nil)
		r.Header = http.Header{"Accept": {"text/event-stream"}, "Mcp-Session-Id": {test.w.session},
			"Authorization": {"Bearer " + test.w.token}, "Last-Event-Id": {first.last}}
		out, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		said, _ := io.ReadAll(out.Body)
		_ = out.Body.Close()
		if out.StatusCode != test.want {
			t.Errorf("%s: %s %s", name, out.Status, said)
		}
	}
	if got := first.rest(); !slices.Equal(got, []string{"done"}) {
		t.Errorf("the stream was disturbed: %q", got)
	}
}

// after returns the events of a stream after an index, or an error.
func (e *identityEvents) after(session, id string, index int) (out []string, err error) {
	for data, err := range e.After(context.Background(), session, id, index) {
		if err != nil {
			return nil, err
		}
		out = append(out, string(data))
	}
	return out, nil
}

// What is kept is bounded for each identity and for all. The oldest events of who has the most go first, and who asks
// for one that is gone gets an error and not a part.
func TestEventsAreBounded(t *testing.T) {
	ctx := t.Context()
	store := newEventStore()
	store.limit, store.identityLimit = 20*(eventCost+10), 10*(eventCost+10)
	ann, bob := store.identity(), store.identity()
	add := func(e *identityEvents, session, id string, n int) {
		t.Helper()
		_ = e.Open(ctx, session, id)
		for i := range n {
			_ = e.Append(ctx, session, id, fmt.Appendf(nil, "%10d", i))
		}
	}
	add(bob, "s", "quiet", 4)
	add(ann, "s", "a", 8)
	add(ann, "s", "b", 4)
	if ann.bytes != store.identityLimit || store.bytes != ann.bytes+bob.bytes {
		t.Errorf("%d bytes of %d are kept", ann.bytes, store.bytes)
	}
	if got, err := ann.after("s", "a", 0); err == nil {
		t.Errorf("a part of a stream: %q", got)
	}
	if got, err := ann.after("s", "a", 1); err != nil || len(got) != 6 || got[0] != "         2" {
		t.Errorf("what is left: %q, %v", got, err)
	}
	for range 5 {
		add(store.identity(), "s", "c", 10)
	}
	if store.bytes > store.limit {
		t.Errorf("%d bytes are kept", store.bytes)
	}
	if got, err := bob.after("s", "quiet", 0); err != nil || len(got) != 3 {
		t.Errorf("who keeps little has %q, %v", got, err)
	}
	_ = ann.Append(ctx, "s", "b", bytes.Repeat([]byte("x"), 2*store.limit))
	if got, err := ann.after("s", "b", 2); err == nil || ann.bytes != 0 {
		t.Errorf("an event over the limit: %.20q, %d bytes", got, ann.bytes)
	}
	for i := range maxStreams + 10 {
		_ = bob.Open(ctx, "s", fmt.Sprint(i))
	}
	if len(bob.streams) > maxStreams {
		t.Errorf("%d streams are kept", len(bob.streams))
	}
	_ = bob.SessionClosed(ctx, "s")
	store.drop(ann)
	if len(bob.streams)+len(bob.calls)+bob.bytes > 0 {
		t.Errorf("a closed session keeps %d streams and %d bytes", len(bob.streams), bob.bytes)
	}
}

// The stream without calls goes on with what is left of it: what it said twice is said once, and indexes go on from the
// one that the client has.
func TestStreamWithoutCallsGoesOn(t *testing.T) {
	ctx := t.Context()
	store := newEventStore()
	store.identityLimit = 3 * (eventCost + 1)
	e := store.identity()
	_ = e.Open(ctx, "s", "")
	for _, data := range []string{"x", "a", "b", "a"} {
		_ = e.Append(ctx, "s", "", []byte(data))
	}
	for _, index := range []int{0, -1} {
		if got, err := e.after("s", "", index); err != nil || index < 0 && !slices.Equal(got, []string{"b", "a"}) {
			t.Errorf("after %d: %q, %v", index, got, err)
		}
	}
	if got, err := e.after("s", "", 0); err != nil || !slices.Equal(got, []string{"a"}) {
		t.Errorf("the indexes do not go on: %q, %v", got, err)
	}
	if got, err := e.after("s", "", 5); err == nil {
		t.Errorf("after an event that never was: %q", got)
	}
	if e.bytes != store.bytes || e.bytes != 2*(eventCost+1) {
		t.Errorf("%d and %d bytes are counted", e.bytes, store.bytes)
	}
}
