package mcpserver

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

// patience bounds what a test waits for.
const patience = time.Minute

// A fake is a plugin in the memory of the test.
type fake struct {
	mu      sync.Mutex
	tools   []sdk.Tool
	err     error         // of listing
	hold    chan struct{} // when set, listing waits until it is closed
	call    func(ctx context.Context, r *sdk.Request) (*sdk.Result, error)
	preview func() *sdk.Preview // of tools that have one
	changed func()
	calls   []*sdk.Request
}

func (f *fake) Tools(ctx context.Context) ([]sdk.Tool, error) {
	f.mu.Lock()
	hold := f.hold
	f.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.tools), f.err
}

func (f *fake) Call(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
	f.mu.Lock()
	f.calls = append(f.calls, r)
	call := f.call
	f.mu.Unlock()
	if call == nil {
		return sdk.Text(r.Tool + " " + string(r.Arguments)), nil
	}
	return call(ctx, r)
}

func (f *fake) Preview(context.Context, *sdk.Request) (*sdk.Preview, error) { return f.preview(), nil }

func (f *fake) Watch(ctx context.Context, changed func()) error {
	f.mu.Lock()
	f.changed = changed
	f.mu.Unlock()
	<-ctx.Done()
	return nil
}

func (f *fake) Close() error { return nil }

// set replaces the tools, and reports that.
func (f *fake) set(t *testing.T, tools ...sdk.Tool) {
	t.Helper()
	f.mu.Lock()
	f.tools = tools
	f.mu.Unlock()
	eventually(t, "the plugin is watched", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.changed != nil
	})
	f.changed()
}

func (f *fake) made() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.calls)
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); {
		if time.Now().After(end) {
			t.Fatalf("not within %s: %s", patience, what)
		}
		time.Sleep(time.Millisecond)
	}
}

func readOnly(name string) sdk.Tool {
	return sdk.Tool{Name: name, Description: "Does " + name + ".", InputSchema: json.RawMessage(`{"type":"object"}`),
		Hints: sdk.Hints{ReadOnly: sdk.Yes}}
}

func changing(name string) sdk.Tool {
	out := readOnly(name)
	out.Hints = sdk.Hints{ReadOnly: sdk.No, Destructive: sdk.Yes}
	return out
}

// A testBackend is a host of fakes.
type testBackend struct {
	host    *host.Host
	catalog *host.Catalog
}

func (b testBackend) Catalog() *host.Catalog { return b.catalog }
func (b testBackend) Close() error           { return b.host.Close() }

// A setup says what is served.
type setup struct {
	plugins map[string]*fake
	filter  host.Filter
	host    host.Options
	options Options
	log     *logs
}

// logs keeps what is logged.
type logs struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// server makes the server, which ends with the test.
func (s *setup) server(t *testing.T) *Server {
	t.Helper()
	if s.log == nil {
		s.log = &logs{}
	}
	o := s.options
	o.Logger = slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	o.Version = "1.0"
	if o.Open == nil {
		o.Open = func(_ context.Context, _ Identity, hooks Hooks) (Backend, error) { return s.open(hooks) }
	}
	out, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := out.Close(); err != nil {
			t.Error(err)
		}
	})
	return out
}

func (s *setup) open(hooks Hooks) (Backend, error) {
	plugins := map[string]host.Plugin{}
	for name, p := range s.plugins {
		plugins[name] = p
	}
	o := s.host
	o.OnToolsChanged, o.Approver, o.Input = hooks.ToolsChanged, hooks.Approver, hooks.Input
	h, err := host.New(plugins, o)
	if err != nil {
		return nil, err
	}
	c, err := h.Catalog(s.filter)
	return testBackend{h, c}, err
}

// A wire is a client that sees every byte.
type wire struct {
	t     *testing.T
	send  io.WriteCloser
	lines chan string
	ended chan error
	next  int
	other []string // lines that were not asked for
}

// stdio connects a client over streams.
func (s *setup) stdio(t *testing.T) *wire {
	t.Helper()
	server := s.server(t)
	in, send := io.Pipe()
	receive, out := io.Pipe()
	w := &wire{t: t, send: send, lines: make(chan string, 10000), ended: make(chan error, 1)}
	go func() {
		err := server.Run(t.Context(), in, out)
		_ = out.Close()
		w.ended <- err
	}()
	go func() {
		defer close(w.lines)
		for r := bufio.NewReader(receive); ; {
			line, err := r.ReadString('\n')
			if line != "" {
				w.lines <- strings.TrimSuffix(line, "\n")
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { _ = send.Close() })
	return w
}

func (w *wire) write(line string) {
	w.t.Helper()
	if _, err := io.WriteString(w.send, line+"\n"); err != nil {
		w.t.Error(err)
	}
}

// read returns the next line.
func (w *wire) read() string {
	w.t.Helper()
	select {
	case line, ok := <-w.lines:
		if !ok {
			w.t.Fatal("the server has closed its end")
		}
		return line
	case <-time.After(patience):
		w.t.Fatal("no line came")
	}
	return ""
}

// begin sends a request and returns its id.
func (w *wire) begin(method, params string) int {
	w.t.Helper()
	w.next++
	w.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, w.next, method, cmp.Or(params, "{}")))
	return w.next
}

// A reply is a response as it came.
type reply struct {
	ID     any             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

// await returns the response to a request; lines before it are kept in w.other.
func (w *wire) await(id int) reply {
	w.t.Helper()
	for earlier := w.other; ; { // it may have come before the answer to a later request
		var line string
		if len(earlier) > 0 {
			line, earlier = earlier[0], earlier[1:]
		} else {
			line = w.read()
			w.other = append(w.other, line)
		}
		var r reply
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			w.t.Fatalf("not JSON: %s", line)
		}
		if r.Method == "" && r.ID == float64(id) {
			w.other = slices.DeleteFunc(w.other, func(other string) bool { return other == line })
			return r
		}
	}
}

func (w *wire) request(method, params string) reply {
	w.t.Helper()
	return w.await(w.begin(method, params))
}

// handshake makes the session one of a revision with these capabilities.
func (w *wire) handshake(version, capabilities string) {
	w.t.Helper()
	r := w.request("initialize",
		fmt.Sprintf(`{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"t","version":"1"}}`,
			version, capabilities))
	if r.Error != nil {
		w.t.Fatalf("initialize: %+v", r.Error)
	}
	w.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// modernParams adds what revision 2026-07-28 wants in each request.
func modernParams(params, capabilities string) string {
	meta := fmt.Sprintf(`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientCapabilities":%s}`, capabilities)
	if params = strings.TrimSpace(params); params == "" || params == "{}" {
		return "{" + meta + "}"
	}
	return strings.TrimSuffix(params, "}") + "," + meta + "}"
}

func names(t *testing.T, r reply) (out []string) {
	t.Helper()
	var list struct{ Tools []struct{ Name string } }
	if r.Error != nil {
		t.Fatalf("the list failed: %+v", r.Error)
	}
	if err := json.Unmarshal(r.Result, &list); err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		out = append(out, tool.Name)
	}
	return out
}

var errDown = errors.New("the program cannot be found")
