package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

// A web is an HTTP client that sees every byte.
type web struct {
	t       *testing.T
	url     string
	token   string
	session string
	version string
	next    int
}

// listen serves the setup over HTTP.
func (s *setup) listen(t *testing.T) *web {
	t.Helper()
	return listenFor(t, s.server(t))
}

func listenFor(t *testing.T, s *Server) *web {
	t.Helper()
	server := httptest.NewServer(s.Handler())
	t.Cleanup(server.CloseClientConnections)
	t.Cleanup(server.Close)
	return &web{t: t, url: server.URL}
}

// post sends a message, with the headers of its revision.
func (w *web) post(ctx context.Context, body string, headers ...string) *http.Response {
	w.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	all := append([]string{"Content-Type", "application/json", "Accept", "application/json, text/event-stream",
		"Mcp-Session-Id", w.session, "Mcp-Protocol-Version", w.version}, headers...)
	if w.token != "" {
		all = append(all, "Authorization", "Bearer "+w.token)
	}
	for name, value := range pairs(all) {
		if name == "Host" {
			r.Host = value
		} else if value != "" {
			r.Header[http.CanonicalHeaderKey(name)] = strings.Split(value, "\n")
		}
	}
	out, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func pairs(all []string) map[string]string {
	out := map[string]string{}
	for i := 0; i < len(all); i += 2 {
		out[all[i]] = all[i+1]
	}
	return out
}

// request returns the response to a request.
func (w *web) request(method, params string) reply {
	w.t.Helper()
	w.next++
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, w.next, method, params)
	var named struct{ Name, URI string }
	_ = json.Unmarshal([]byte(params), &named)
	out := w.post(w.t.Context(), body, "Mcp-Method", method, "Mcp-Name", named.Name+named.URI)
	defer out.Body.Close()
	if id := out.Header.Get("Mcp-Session-Id"); id != "" {
		w.session = id
	}
	return w.response(out.Body, float64(w.next))
}

// response reads messages until the response comes.
func (w *web) response(body io.Reader, id any) reply {
	w.t.Helper()
	var all []string
	for lines := bufio.NewReader(body); ; {
		line, err := lines.ReadString('\n')
		all = append(all, line)
		var r reply
		if json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &r) == nil && r.Method == "" &&
			(r.ID == id || r.Error != nil) {
			return r
		}
		if err != nil {
			w.t.Fatalf("no response: %v\n%s", err, strings.Join(all, ""))
		}
	}
}

// handshake begins a session.
func (w *web) handshake() { w.handshakeWith("{}") }

// handshakeWith begins the session of a client with these capabilities.
func (w *web) handshakeWith(capabilities string) {
	w.t.Helper()
	w.request("initialize", fmt.Sprintf(
		`{"protocolVersion":"2025-11-25","capabilities":%s,"clientInfo":{"name":"t","version":"1"}}`, capabilities))
	w.version = "2025-11-25"
	_ = w.post(w.t.Context(), `{"jsonrpc":"2.0","method":"notifications/initialized"}`).Body.Close()
}

func (w *web) status(body string, headers ...string) int {
	w.t.Helper()
	out := w.post(w.t.Context(), body, headers...)
	defer out.Body.Close()
	return out.StatusCode
}

func modernWeb(w *web) *web { out := *w; out.session, out.version = "", modern; return &out }

func TestBothErasAtOneEndpoint(t *testing.T) {
	w := (&setup{plugins: map[string]*fake{"p": {tools: []sdk.Tool{readOnly("t")}}}}).listen(t)
	w.handshake()
	m := modernWeb(w)
	for range 2 {
		if got := names(t, w.request("tools/list", "{}")); !slices.Equal(got, []string{"p__t"}) || w.session == "" {
			t.Errorf("with a session: %q", got)
		}
		if got := names(t, m.request("tools/list", modernParams("", "{}"))); !slices.Equal(got, []string{"p__t"}) ||
			m.session != "" {
			t.Errorf("without: %q", got)
		}
		for _, r := range []reply{w.request("tools/call", `{"name":"p__t","arguments":{"n":9007199254740993}}`),
			m.request("tools/call", modernParams(`{"name":"p__t","arguments":{"n":9007199254740993}}`, "{}"))} {
			if !strings.Contains(string(r.Result), `9007199254740993`) {
				t.Errorf("got %s", r.Result)
			}
		}
	}
}

// A request of revision 2026-07-28 is canceled by its client going away.
func TestDroppedRequestCancelsTheCall(t *testing.T) {
	began, ended := make(chan struct{}), make(chan struct{})
	w := modernWeb((&setup{plugins: map[string]*fake{"p": {tools: []sdk.Tool{readOnly("t")},
		call: func(ctx context.Context, _ *sdk.Request) (*sdk.Result, error) {
			close(began)
			<-ctx.Done()
			close(ended)
			return nil, ctx.Err()
		}}}}).listen(t))
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-began; cancel() }()
	r, _ := http.NewRequestWithContext(ctx, http.MethodPost, w.url,
		strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+
			modernParams(`{"name":"p__t"}`, "{}")+"}"))
	for name, value := range pairs([]string{"Content-Type", "application/json", "Accept",
		"application/json, text/event-stream",
		"Mcp-Protocol-Version", modern, "Mcp-Method", "tools/call", "Mcp-Name", "p__t"}) {
		r.Header.Set(name, value)
	}
	if out, err := http.DefaultClient.Do(r); err == nil {
		_, _ = io.Copy(io.Discard, out.Body) // until it is canceled
		_ = out.Body.Close()
	}
	select {
	case <-ended:
	case <-time.After(patience):
		t.Error("the call goes on")
	}
}

// Identities have hosts of their own: no tool, call, session, state or kept result of the other.
func TestIdentitiesAreApart(t *testing.T) {
	plugins := map[string]*fake{"ann": {tools: []sdk.Tool{changing("a")}}, "bob": {tools: []sdk.Tool{changing("b")}}}
	opened := make(chan string, 10)
	s := &setup{options: Options{Identities: []Identity{{Name: "ann", Token: "token-of-ann-0123456789"},
		{Name: "bob", Token: "token-of-bob-0123456789"}}}}
	s.options.Open = func(_ context.Context, who Identity, hooks Hooks) (Backend, error) {
		opened <- who.Name
		own := &setup{plugins: map[string]*fake{"p": plugins[who.Name]}}
		return own.open(hooks)
	}
	ann := s.listen(t)
	if len(opened) > 0 {
		t.Error("a host was opened before anyone came")
	}
	bob := *ann
	ann.token, bob.token = "token-of-ann-0123456789", "token-of-bob-0123456789"
	ann.handshake()
	if got := names(t, ann.request("tools/list", "{}")); !slices.Equal(got, []string{"p__a"}) || len(opened) != 1 {
		t.Errorf("ann sees %q; %d hosts", got, len(opened))
	}
	bob.handshake()
	if got := names(t, bob.request("tools/list", "{}")); !slices.Equal(got, []string{"p__b"}) {
		t.Errorf("bob sees %q", got)
	}
	if r := bob.request("tools/call", `{"name":"p__a"}`); r.Error == nil {
		t.Errorf("bob calls a tool of ann: %s", r.Result)
	}
	stolen := bob
	stolen.session = ann.session
	if got := stolen.status(`{"jsonrpc":"2.0","id":9,"method":"tools/list"}`); got != http.StatusNotFound {
		t.Errorf("bob uses the session of ann: %d", got)
	}
	plugins["bob"].set(t, changing("a"))
	both := modernWeb(&bob)
	eventually(t, "bob has the tool", func() bool {
		return slices.Equal(names(t, both.request("tools/list", modernParams("", "{}"))), []string{"p__a"})
	})
	const call = `"name":"p__a"`
	_, state := required(t, modernWeb(ann).request("tools/call", modernParams("{"+call+"}", canElicit)))
	r := both.request("tools/call", modernParams(answered(call, approvalKey, yes, state), canElicit))
	if r.Error == nil || plugins["bob"].made() > 0 {
		t.Errorf("bob uses the approval of ann: %s", r.Result)
	}
	for _, token := range []string{"", "wrong", "token-of-ann-012345678", "token-of-ann-01234567890"} {
		other := web{t: t, url: ann.url, token: token}
		if got := other.status(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); got != http.StatusUnauthorized {
			t.Errorf("token %q: %d", token, got)
		}
	}
}

// An identity that is removed loses what it has open: streams, calls and sessions; others keep theirs.
func TestRemovedIdentityLosesWhatIsOpen(t *testing.T) {
	ann, bob := Identity{Name: "ann", Token: "token-of-ann-0123456789"}, Identity{Name: "bob",
		Token: "token-of-bob-0123456789"}
	ended := make(chan struct{})
	annPlugin := &fake{tools: []sdk.Tool{readOnly("t")}, call: func(ctx context.Context, _ *sdk.Request) (*sdk.Result,
		error) {
		<-ctx.Done()
		close(ended)
		return nil, ctx.Err()
	}}
	bobPlugin, step := steps(2)
	s := &setup{options: Options{Identities: []Identity{ann, bob}}}
	s.options.Open = func(_ context.Context, who Identity, hooks Hooks) (Backend, error) {
		return (&setup{plugins: map[string]*fake{"p": map[string]*fake{"ann": annPlugin, "bob": bobPlugin}[who.Name]}}).
			open(hooks)
	}
	server := s.server(t)
	w := listenFor(t, server)
	other := *w
	w.token, other.token = ann.Token, bob.Token
	w.handshake()
	other.handshake()
	notices := w.openStream(http.MethodGet, "")
	call := w.openStream(http.MethodPost, stepsCall)
	kept := other.openStream(http.MethodPost, stepsCall)
	step <- struct{}{}
	eventually(t, "the call runs", func() bool { return annPlugin.made() == 1 })
	if err := server.SetIdentities([]Identity{bob}); err != nil {
		t.Fatal(err)
	}
	<-ended
	_, _ = notices.rest(), call.rest() // they end
	if got := w.status(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); got != http.StatusUnauthorized {
		t.Errorf("who was removed: %d", got)
	}
	step <- struct{}{}
	if got := kept.rest(); !slices.Equal(got, []string{"1", "2", "done"}) {
		t.Errorf("the call of another: %q", got)
	}
	for name, wrong := range map[string][]Identity{"a short token": {{Name: "ann", Token: "x"}},
		"one token twice": {bob, {Name: "ann", Token: bob.Token}}} {
		if err := server.SetIdentities(wrong); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	names(t, other.request("tools/list", "{}"))
	if err := server.SetIdentities(nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []*web{w, &other, {t: t, url: w.url}} {
		if got := c.status(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); got != http.StatusUnauthorized {
			t.Errorf("without identities: %d", got)
		}
	}
}

func TestHostileRequests(t *testing.T) {
	w := (&setup{plugins: map[string]*fake{"p": {tools: []sdk.Tool{readOnly("t")}}}}).listen(t)
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for name, test := range map[string]struct {
		body    string
		headers []string
		want    int
	}{
		"another host":    {list, []string{"Host", "evil.example"}, http.StatusForbidden},
		"a host like it":  {list, []string{"Host", "127.0.0.1.evil.example:80"}, http.StatusForbidden},
		"another origin":  {list, []string{"Origin", "http://evil.example"}, http.StatusForbidden},
		"a null origin":   {list, []string{"Origin", "null"}, http.StatusForbidden},
		"another site":    {list, []string{"Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
		"a large body":    {strings.Repeat(" ", maxBody+1), nil, http.StatusRequestEntityTooLarge},
		"no JSON":         {"{", nil, http.StatusBadRequest},
		"a deep body":     {strings.Repeat("[", 100_000), nil, http.StatusBadRequest},
		"another type":    {list, []string{"Content-Type", "text/plain"}, http.StatusUnsupportedMediaType},
		"unknown session": {list, []string{"Mcp-Session-Id", "x"}, http.StatusNotFound},
	} {
		if got := w.status(test.body, test.headers...); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
	long := w.post(t.Context(), strings.Repeat(" ", maxBody+1))
	defer long.Body.Close()
	if why, err := io.ReadAll(long.Body); err != nil || string(why) != "the message is longer than 4 MiB\n" {
		t.Errorf("a large body: %q, %v", why, err)
	}
	w.handshake()
	names(t, w.request("tools/list", "{}"))
}

func TestSessionsAreBounded(t *testing.T) {
	w := (&setup{plugins: map[string]*fake{"p": {tools: []sdk.Tool{readOnly("t")}}}}).listen(t)
	for range maxSessions {
		w.session, w.version = "", ""
		w.handshake()
	}
	other := web{t: t, url: w.url}
	if got := other.status(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`); got != http.StatusServiceUnavailable {
		t.Errorf("one more session: %d", got)
	}
	names(t, w.request("tools/list", "{}"))
}

// At the limit a session that is idle makes room, not one that a client listens on.
func TestSessionsThatAreIdleMakeRoom(t *testing.T) {
	s := (&setup{plugins: map[string]*fake{"p": {tools: []sdk.Tool{readOnly("t")}}}}).server(t)
	s.limits.session = 0
	w := listenFor(t, s)
	listening := web{t: t, url: w.url}
	listening.handshake()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Accept": {"text/event-stream"}, "Mcp-Session-Id": {listening.session},
		"Mcp-Protocol-Version": {listening.version}}
	stream, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	var idle []string
	for range maxSessions - 1 {
		w.session, w.version = "", ""
		w.handshake()
		idle = append(idle, w.session)
	}
	other := web{t: t, url: w.url}
	other.handshake()
	for _, used := range []web{other, listening} {
		names(t, used.request("tools/list", "{}"))
	}
	ended := 0
	for _, w.session = range idle {
		if w.status(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`) == http.StatusNotFound {
			ended++
		}
	}
	if ended != 1 {
		t.Errorf("%d idle sessions have ended for one more", ended)
	}
}

// A session that its client ends takes its calls with it, also those that wait for an answer, and no other's.
func TestEndOfASessionEndsItsCalls(t *testing.T) {
	calls, began, letGo, ended := waiting()
	asks, _ := asking(methodElicit)
	w := (&setup{plugins: map[string]*fake{"p": calls, "q": asks}}).listen(t)
	w.handshakeWith(canAnswer)
	other := *w
	other.session = ""
	other.handshake()
	const call = `{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"name":%q,"arguments":{%s}}}`
	w.openStream("POST", fmt.Sprintf(call, "a", "p__t", `"n":1`))
	w.openStream("POST", fmt.Sprintf(call, "b", "q__t", "")).question(t, methodElicit)
	rest := other.openStream("POST", fmt.Sprintf(call, "c", "p__t", `"n":2`))
	single := modernWeb(w)
	alone := single.openStream("POST", `{"jsonrpc":"2.0","id":"d","method":"tools/call","params":`+
		modernParams(`{"name":"p__t","arguments":{"n":3}}`, "{}")+`}`, "Mcp-Method", "tools/call", "Mcp-Name", "p__t")
	for range 3 {
		<-began
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, d := range []struct {
		session, version, host string
		status                 int
	}{{"", w.version, "", 400}, {"none", w.version, "", 404}, {w.session, "2020-01-01", "", 400},
		{w.session, w.version, "evil.example", 403}, {w.session, w.version, "", 204}} {
		select {
		case got := <-ended:
			t.Fatalf("ended by a DELETE that is refused: %s", got)
		default:
		}
		r, _ := http.NewRequestWithContext(ctx, http.MethodDelete, w.url, nil)
		r.Header, r.Host = http.Header{"Mcp-Protocol-Version": {d.version}}, d.host
		if d.session != "" {
			r.Header.Set("Mcp-Session-Id", d.session)
		}
		out, err := http.DefaultClient.Do(r)
		if err != nil || out.StatusCode != d.status {
			t.Fatalf("%+v, %v", out, err)
		}
		_ = out.Body.Close()
	}
	if got := <-ended; got != `{"n":1}` {
		t.Errorf("ended: %s", got)
	}
	for n, stream := range map[int]*stream{2: rest, 3: alone} {
		close(letGo[fmt.Sprintf(`{"n":%d}`, n)])
		if e, ok := stream.next(); !ok || !strings.Contains(e.data, fmt.Sprintf(`of {\"n\":%d}`, n)) {
			t.Errorf("another call: %+v", e)
		}
	}
}

// Without a token only this machine is served.
func TestListenNeedsAToken(t *testing.T) {
	open := (&setup{}).server(t)
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "example.com:80"} {
		if l, err := open.Listen(address); err == nil || !strings.Contains(err.Error(), "TOOLHOST_MCP_TOKEN") {
			t.Errorf("%s: %v, %v", address, l, err)
		}
	}
	for _, address := range []string{"127.0.0.1:0", "localhost:0", "0"} {
		l, err := open.Listen(address)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		if ip := l.Addr().(*net.TCPAddr).IP; !ip.IsLoopback() {
			t.Errorf("%s: %s", address, ip)
		}
		_ = l.Close()
	}
	taken, err := open.Listen("0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for address, want := range map[string]string{taken.Addr().String(): "is in use by another process",
		"127.0.0.1:x": `"x" is not a port`} {
		if _, err := open.Listen(address); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
	for _, bad := range [][]Identity{{{Name: "a", Token: "short"}},
		{{Name: "a", Token: "0123456789abcdef"}, {Name: "b", Token: "0123456789abcdef"}},
		{{Name: "a", Token: "0123456789abcdef"}, {Name: "a", Token: "0123456789abcdeg"}}} {
		if _, err := New(Options{Open: func(context.Context, Identity, Hooks) (Backend, error) { return nil, nil },
			Identities: bad}); err == nil {
			t.Errorf("taken: %v", bad)
		}
	}
}

// What was begun for a host that cannot be opened ends, and the next request tries again.
func TestOpeningFails(t *testing.T) {
	var given []context.Context
	s, err := New(Options{Open: func(ctx context.Context, _ Identity, _ Hooks) (Backend, error) {
		if given = append(given, ctx); len(given) == 2 {
			panic("no configuration")
		}
		return nil, errDown
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for n, want := range []string{errDown.Error(), "opening the host panicked: no configuration", errDown.Error()} {
		if _, err := s.endpoint(t.Context(), nil); err == nil || err.Error() != want {
			t.Errorf("request %d: %v, want %s", n, err, want)
		}
		if given[n].Err() == nil {
			t.Errorf("the context of opening %d has not ended", n)
		}
	}
}

// The server ends with its context, although a client has a stream open and a call runs.
func TestServeEnds(t *testing.T) {
	began := make(chan struct{})
	s := (&setup{plugins: map[string]*fake{"p": {tools: []sdk.Tool{readOnly("t")},
		call: func(ctx context.Context, _ *sdk.Request) (*sdk.Result, error) {
			close(began)
			<-ctx.Done()
			return nil, ctx.Err()
		}}}}).server(t)
	l, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	w := &web{t: t, url: "http://" + l.Addr().String() + Path}
	w.handshake()
	stream, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url, nil)
	stream.Header.Set("Accept", "text/event-stream")
	stream.Header.Set("Mcp-Session-Id", w.session)
	out, err := http.DefaultClient.Do(stream)
	if err != nil || out.StatusCode != http.StatusOK {
		t.Fatal(out, err)
	}
	defer out.Body.Close()
	call, _ := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPost, w.url,
		strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"p__t"}}`))
	call.Header = http.Header{"Content-Type": {"application/json"}, "Mcp-Session-Id": {w.session},
		"Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {w.version}}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		if r, err := http.DefaultClient.Do(call); err == nil { // it fails when the server ends
			_ = r.Body.Close()
		}
	}()
	defer func() { <-answered }()
	<-began
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Error("it goes on")
	}
}
