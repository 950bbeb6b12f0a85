package client_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolhost/toolhost/internal/testutil"
	"github.com/toolhost/toolhost/plugins/mcp/internal/client"
)

// modeVariable makes this executable a server with a fault.
const modeVariable = "MCP_TEST_SERVER"

func TestMain(m *testing.M) {
	if mode := os.Getenv(modeVariable); mode != "" {
		if mode == "sdk" {
			serveOfficial()
		} else {
			newFake(mode).serve()
		}
		os.Exit(0)
	}
	testutil.Launcher()
	goleak.VerifyTestMain(m)
}

// command is the server with these modes, separated by blanks.
func command(t testing.TB, modes ...string) *client.Command {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &client.Command{Path: self, Env: []string{modeVariable + "=" + strings.Join(append(modes, "-"), " ")},
		Dir: t.TempDir()}
}

// dial connects to the server with these modes, and closes the session at the end of the test.
func dial(t testing.TB, o client.Options, modes ...string) *client.Session {
	t.Helper()
	return dialTo(t, command(t, modes...).Open, o)
}

func dialTo(t testing.TB, open client.OpenFunc, o client.Options) *client.Session {
	t.Helper()
	s, err := client.Dial(context.Background(), open, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// callTool calls a tool with arguments and returns the result's bytes.
func callTool(ctx context.Context, s *client.Session, name, arguments string, o *client.CallOptions) (string, error) {
	r, err := s.Call(ctx, "tools/call", json.RawMessage(`{"name":"`+name+`","arguments":`+arguments+`}`), o)
	return string(r), err
}

// A fake is an MCP server with faults. What a mode does is where it is read.
type fake struct {
	modes map[string]bool
	out   *bufio.Writer
	mu    sync.Mutex
	calls sync.WaitGroup

	asked  map[string]chan json.RawMessage // answers to requests of the server, by id
	cancel map[string]context.CancelFunc   // by id of the request
	listen string                          // id of the subscription
}

type fakeMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Cursor    string          `json:"cursor"`
		Version   string          `json:"protocolVersion"`
		RequestID json.RawMessage `json:"requestId"`
		Meta      json.RawMessage `json:"_meta"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func newFake(modes string) *fake {
	f := &fake{modes: map[string]bool{}, out: bufio.NewWriter(os.Stdout), asked: map[string]chan json.RawMessage{},
		cancel: map[string]context.CancelFunc{}}
	for _, mode := range strings.Fields(modes) {
		f.modes[mode] = true
	}
	return f
}

func (f *fake) send(format string, a ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fmt.Fprintf(f.out, format+"\n", a...)
	f.out.Flush()
}

func (f *fake) result(id json.RawMessage, format string, a ...any) {
	f.send(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, fmt.Sprintf(format, a...))
}

func (f *fake) failure(id json.RawMessage, code int, text string) {
	f.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, id, code, text)
}

func (f *fake) serve() {
	if f.modes["stubborn"] {
		signal.Ignore(syscall.SIGTERM)
	}
	if f.modes["banner"] {
		fmt.Println("Welcome to the server!\n{\"level\":30,\"msg\":\"ready\",\"id\":1}\n[1,2]\n\n{broken\n\xff\xfe")
	}
	if f.modes["dies-at-start"] {
		fmt.Fprintln(os.Stderr, "error: no token is set")
		os.Exit(3)
	}
	if f.modes["bench"] {
		f.serveBenchmark()
		return
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			break
		}
		var m fakeMessage
		if err := json.Unmarshal(line, &m); err != nil {
			f.send(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`)
			continue
		}
		f.handle(&m)
	}
	if f.modes["ignores-eof"] {
		time.Sleep(time.Hour)
	}
}

func (f *fake) handle(m *fakeMessage) {
	switch m.Method {
	case "":
		f.mu.Lock()
		answered := f.asked[string(m.ID)]
		f.mu.Unlock()
		if answered != nil {
			answered <- append(m.Result, m.Error...)
		}
	case "server/discover":
		f.discover(m)
	case "initialize":
		f.initialize(m)
	case "notifications/cancelled":
		f.mu.Lock()
		if cancel := f.cancel[string(m.Params.RequestID)]; cancel != nil {
			cancel()
		}
		f.mu.Unlock()
	case "tools/list":
		f.list(m)
	case "logging/setLevel":
		f.result(m.ID, `{}`)
	case "subscriptions/listen":
		f.listen = string(m.ID)
		f.send(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":`+
			`{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{"toolsListChanged":true}}}`, m.ID)
	case "notifications/initialized":
		if f.modes["deaf"] {
			time.Sleep(time.Hour)
		}
	case "tools/call":
		f.calls.Go(func() { f.call(m) })
	default:
		if m.ID != nil {
			f.failure(m.ID, client.CodeMethodNotFound, "Method not found")
		}
	}
}

func (f *fake) discover(m *fakeMessage) {
	switch {
	case f.modes["silent-on-discover"]:
	case f.modes["exits-on-discover"]:
		os.Exit(7)
	case f.modes["nonsense-on-discover"]:
		f.result(m.ID, `{"hello":"world"}`)
	case f.modes["modern"]:
		f.result(m.ID, `{"resultType":"complete","supportedVersions":["2026-07-28"],"ttlMs":0,"cacheScope":"private",`+
			`"capabilities":{"tools":{"listChanged":true},"logging":{}},"instructions":"be kind","_meta":`+
			`{"io.modelcontextprotocol/serverInfo":{"name":"fake","version":"1"}}}`)
	case f.modes["null-id"]:
		f.failure(json.RawMessage("null"), client.CodeInvalidRequest, "what?")
	default:
		f.failure(m.ID, client.CodeMethodNotFound, "Method not found")
	}
}

func (f *fake) initialize(m *fakeMessage) {
	if f.modes["silent-on-initialize"] {
		fmt.Fprintln(os.Stderr, "waiting for the moon")
		return
	}
	if f.modes["refuses-initialize"] {
		f.failure(m.ID, client.CodeMethodNotFound, "Method not found")
		return
	}
	version := m.Params.Version
	for mode := range f.modes {
		if strings.HasPrefix(mode, "20") {
			version = mode
		}
	}
	f.result(m.ID, `{"protocolVersion":%q,"capabilities":{"tools":{"listChanged":true},"logging":{}},`+
		`"serverInfo":{"name":"fake","version":"1"},"instructions":"be kind"}`, version)
	if f.modes["storm"] {
		go f.storm()
	}
}

// storm sends a hundred notifications each millisecond.
func (f *fake) storm() {
	burst := strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n", 99) +
		`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	for range time.Tick(time.Millisecond) {
		f.send("%s", burst)
	}
}

func (f *fake) list(m *fakeMessage) {
	switch {
	case f.modes["many-tools"]:
		var tools bytes.Buffer
		for i := range 100_000 {
			fmt.Fprintf(&tools, `,{"name":"t%d","inputSchema":{"type":"object"}}`, i)
		}
		f.result(m.ID, `{"tools":[%s]}`, tools.Bytes()[1:])
	case f.modes["endless-pages"]:
		f.result(m.ID, `{"tools":[{"name":"t"}],"nextCursor":"again"}`)
	case f.modes["many-pages"]:
		n, _ := strconv.Atoi(m.Params.Cursor)
		f.result(m.ID, `{"tools":[{"name":"t%d"}],"nextCursor":"%d"}`, n, n+1)
	case f.modes["no-tools"]:
		f.result(m.ID, `{}`)
	case m.Params.Cursor == "":
		f.result(m.ID, `{"tools":[{"name":"one","b":1,"a":9007199254740993}, 5],"nextCursor":"p2","ttlMs":60000}`)
	default:
		f.result(m.ID, `{"ttlMs":3000,"cacheScope":"public","tools":[ {"name":"two"} ]}`)
	}
}

// serveBenchmark is a server that costs little: it decodes nothing.
func (f *fake) serveBenchmark() {
	in := bufio.NewReaderSize(os.Stdin, 4<<20)
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return
		}
		_, from, call := bytes.Cut(line, []byte(`"arguments":{"text":`))
		if !call {
			var m fakeMessage
			_ = json.Unmarshal(line, &m)
			f.handle(&m)
			continue
		}
		id, _, _ := bytes.Cut(line[bytes.Index(line, []byte(`"id":`))+5:], []byte(","))
		text := from[:bytes.IndexByte(from[1:], '"')+2]
		fmt.Fprintf(f.out, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%s}]}}`+"\n", id, text)
		f.out.Flush()
	}
}
