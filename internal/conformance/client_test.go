//go:build unix

package conformance

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The two eras of the protocol: with a handshake, and with what a request needs in its _meta.
const (
	handshake = "2025-11-25"
	modern    = "2026-07-28"
)

// A client is an MCP client over standard input and output that sees the bytes of what it receives.
type client struct {
	t        testing.TB
	cmd      *exec.Cmd
	revision string
	stdin    io.WriteCloser
	stderr   lockedBuffer
	ended    chan struct{} // closed when the server's output has ended

	mu            sync.Mutex
	next          int
	waiting       map[string]chan message
	notifications []message
	questions     []string // methods of what the server asked
}

type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

// capabilities are what a client declares: it answers every kind of question.
const capabilities = `{"elicitation":{},"sampling":{},"roots":{}}`

// connect starts a server as a child and, in the handshake era, introduces the client. The server is ended with the
// test.
func connect(t testing.TB, cmd *exec.Cmd, revision string) *client {
	t.Helper()
	c := &client{t: t, cmd: cmd, revision: revision, waiting: map[string]chan message{}, ended: make(chan struct{})}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.stdin, cmd.Stderr = stdin, &c.stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go c.receive(stdout)
	t.Cleanup(c.close)
	if revision == handshake {
		c.request("initialize", fmt.Sprintf(`{"protocolVersion":%q,"capabilities":%s,`+
			`"clientInfo":{"name":"test","version":"1"}}`, revision, capabilities))
		c.send(message{Method: "notifications/initialized"})
	}
	return c
}

// mcp connects to `toolhost mcp`.
func (b *bed) mcp(revision string, args ...string) *client {
	b.t.Helper()
	c := connect(b.t, b.command(context.Background(), append([]string{"mcp"}, args...)...), revision)
	b.t.Cleanup(func() { b.checkText("the log of toolhost mcp", []byte(c.stderr.String())) })
	return c
}

// close ends the server as clients do: its input ends first.
func (c *client) close() {
	_ = c.stdin.Close()
	impatient := time.AfterFunc(10*time.Second, func() { _ = c.cmd.Process.Signal(syscall.SIGTERM) })
	kill := time.AfterFunc(30*time.Second, func() {
		c.t.Error("the server does not end")
		_ = c.cmd.Process.Kill()
	})
	<-c.ended
	_ = c.cmd.Wait() // some servers report the end of their input as a failure
	impatient.Stop()
	kill.Stop()
}

func (c *client) receive(stdout io.Reader) {
	defer close(c.ended)
	for lines := bufio.NewReader(stdout); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		if bytes.Contains(line, []byte(canary)) {
			c.t.Errorf("a secret of the host's environment is in %.200s", line)
		}
		var m message
		if json.Unmarshal(line, &m) != nil {
			c.t.Errorf("%s prints what is not a message: %.200q", c.cmd.Path, line)
			continue
		}
		c.dispatch(m)
	}
}

func (c *client) dispatch(m message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case m.Method != "" && m.ID != nil:
		c.questions = append(c.questions, m.Method)
		go c.send(message{ID: m.ID, Result: json.RawMessage(answer(m.Method))})
	case m.Method != "":
		c.notifications = append(c.notifications, m)
	case c.waiting[string(m.ID)] != nil:
		c.waiting[string(m.ID)] <- m
		delete(c.waiting, string(m.ID))
	default:
		c.t.Errorf("a response to nothing: %.200s", m.ID)
	}
}

// answer is what the person at the client says.
func answer(method string) string {
	switch method {
	case "elicitation/create":
		return `{"action":"accept","content":{"name":"Ada"}}`
	case "sampling/createMessage":
		return `{"role":"assistant","content":{"type":"text","text":"Paris"},"model":"test","stopReason":"endTurn"}`
	case "roots/list":
		return `{"roots":[{"uri":"file:///test/root","name":"Test"}]}`
	}
	return `{}`
}

func (c *client) send(m message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	line, err := json.Marshal(struct {
		Version string `json:"jsonrpc"`
		message
	}{"2.0", m})
	if err == nil {
		_, err = c.stdin.Write(append(line, '\n'))
	}
	if err != nil {
		c.t.Logf("%s: %v", m.Method, err) // a server may have ended
	}
}

// A pending is a request without its response.
type pending struct {
	c        *client
	id       string
	response chan message
}

// start sends a request; params are a JSON object.
func (c *client) start(method, params string) pending {
	c.t.Helper()
	c.mu.Lock()
	c.next++
	p := pending{c, strconv.Itoa(c.next), make(chan message, 1)}
	c.waiting[p.id] = p.response
	c.mu.Unlock()
	if c.revision == modern {
		params = c.withMeta(params)
	}
	c.send(message{ID: json.RawMessage(p.id), Method: method, Params: json.RawMessage(params)})
	return p
}

// withMeta adds what each modern request has.
func (c *client) withMeta(params string) string {
	var object map[string]json.RawMessage
	var meta map[string]json.RawMessage
	if err := json.Unmarshal([]byte(params), &object); err != nil {
		c.t.Fatal(err)
	}
	_ = json.Unmarshal(object["_meta"], &meta) // it may be absent
	all := map[string]json.RawMessage{
		"io.modelcontextprotocol/protocolVersion":    json.RawMessage(strconv.Quote(modern)),
		"io.modelcontextprotocol/clientInfo":         json.RawMessage(`{"name":"test","version":"1"}`),
		"io.modelcontextprotocol/clientCapabilities": json.RawMessage(capabilities)}
	maps.Copy(all, meta)
	object["_meta"], _ = json.Marshal(all)
	out, err := json.Marshal(object)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(out)
}

// wait returns the response. No call of these tests takes as long as it waits.
func (p pending) wait() message {
	p.c.t.Helper()
	select {
	case m := <-p.response:
		return m
	case <-p.c.ended:
		select {
		case m := <-p.response:
			return m
		default:
			p.c.t.Fatalf("%s ended before it answered\n%s", p.c.cmd.Path, tail(p.c.stderr.String()))
		}
	case <-time.After(3 * time.Minute):
		p.c.t.Fatalf("%s does not answer\n%s", p.c.cmd.Path, tail(p.c.stderr.String()))
	}
	return message{}
}

// request returns the result of a request that works.
func (c *client) request(method, params string) json.RawMessage {
	c.t.Helper()
	m := c.start(method, params).wait()
	if m.Error != nil || m.Result == nil {
		c.t.Fatalf("%s %.300s: %.1000s\n%s", method, params, m.Error, tail(c.stderr.String()))
	}
	return m.Result
}

// call calls a tool, answers what it asks, and returns its result.
func (c *client) call(tool, arguments string) json.RawMessage {
	c.t.Helper()
	params := fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments)
	for range 10 {
		result := c.request("tools/call", params)
		var asks struct {
			ResultType    string                             `json:"resultType"`
			InputRequests map[string]struct{ Method string } `json:"inputRequests"`
			RequestState  json.RawMessage                    `json:"requestState"`
		}
		if err := json.Unmarshal(result, &asks); err != nil {
			c.t.Fatal(err)
		}
		if asks.ResultType != "input_required" {
			return result
		}
		responses := map[string]json.RawMessage{}
		for key, request := range asks.InputRequests {
			c.questions = append(c.questions, request.Method)
			responses[key] = json.RawMessage(answer(request.Method))
		}
		given, err := json.Marshal(responses)
		if err != nil {
			c.t.Fatal(err)
		}
		params = fmt.Sprintf(`{"name":%q,"arguments":%s,"inputResponses":%s`, tool, arguments, given)
		if asks.RequestState != nil {
			params += fmt.Sprintf(`,"requestState":%s`, asks.RequestState)
		}
		params += "}"
	}
	c.t.Fatalf("%s asks and asks", tool)
	return nil
}

// text is the first text of the result of a call.
func (c *client) text(tool, arguments string) string {
	c.t.Helper()
	return firstText(c.call(tool, arguments))
}

func firstText(result json.RawMessage) string {
	var r struct{ Content []struct{ Text string } }
	if json.Unmarshal(result, &r) != nil || len(r.Content) == 0 {
		return string(result)
	}
	return r.Content[0].Text
}

// tools are the names of those that the server lists, sorted.
func (c *client) tools() (names []string) {
	c.t.Helper()
	for _, t := range c.definitions() {
		var named struct{ Name string }
		if err := json.Unmarshal(t, &named); err != nil {
			c.t.Fatal(err)
		}
		names = append(names, named.Name)
	}
	slices.Sort(names)
	return names
}

// definitions are those of all tools, on all pages.
func (c *client) definitions() (out []json.RawMessage) {
	c.t.Helper()
	for params := "{}"; ; {
		var page struct {
			Tools      []json.RawMessage
			NextCursor *string
		}
		if err := json.Unmarshal(c.request("tools/list", params), &page); err != nil {
			c.t.Fatal(err)
		}
		out = append(out, page.Tools...)
		if page.NextCursor == nil {
			return out
		}
		params = fmt.Sprintf(`{"cursor":%q}`, *page.NextCursor)
	}
}

// received are the notifications of a method so far.
func (c *client) received(method string) (out []message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.notifications {
		if n.Method == method {
			out = append(out, n)
		}
	}
	return out
}

// until waits for a condition that nothing else reports.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within a minute", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// A lockedBuffer is one that a program writes while a test reads it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.b.Len() > 64<<20 {
		return 0, errors.New("a program printed more than 64 MiB")
	}
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
