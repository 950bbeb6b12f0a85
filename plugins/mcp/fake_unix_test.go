//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/testutil"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("FAKE_SERVER"); dir != "" {
		(&fakeServer{dir: dir}).serve()
		return
	}
	testutil.Launcher()
	os.Exit(m.Run())
}

// A fakeServer is an MCP server in a process of its own: this test program, started again. Its files say what it does.
type fakeServer struct {
	dir    string
	output sync.Mutex
	asked  int
	mu     sync.Mutex
	answer map[string]chan json.RawMessage
}

// release grows when a file of the test says so.
func (s *fakeServer) release() string {
	text, _ := os.ReadFile(filepath.Join(s.dir, "release"))
	return string(text)
}

// has reports whether a file of the test is there, such as "modern".
func (s *fakeServer) has(name string) bool {
	_, err := os.Stat(filepath.Join(s.dir, name))
	return err == nil
}

func (s *fakeServer) send(format string, a ...any) {
	s.output.Lock()
	defer s.output.Unlock()
	fmt.Printf(format+"\n", a...)
}

type fakeRequest struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
	Params struct {
		Name           string          `json:"name"`
		URI            string          `json:"uri"`
		Arguments      json.RawMessage `json:"arguments"`
		InputResponses json.RawMessage `json:"inputResponses"`
		RequestState   string          `json:"requestState"`
		Capabilities   json.RawMessage `json:"capabilities"`
		Meta           json.RawMessage `json:"_meta"`
	} `json:"params"`
}

func (s *fakeServer) serve() {
	note(s.dir, "starts", fmt.Sprint(os.Getpid()))
	s.answer = map[string]chan json.RawMessage{}
	for s.has("wait") {
		time.Sleep(time.Millisecond)
	}
	if s.has("fail") {
		fmt.Fprintln(os.Stderr, "no license key")
		os.Exit(3)
	}
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var r fakeRequest
		if err := json.Unmarshal(line, &r); err != nil {
			os.Exit(9)
		}
		s.handle(&r)
	}
}

func (s *fakeServer) handle(r *fakeRequest) {
	switch r.Method {
	case "":
		s.mu.Lock()
		waiting := s.answer[string(r.ID)]
		s.mu.Unlock()
		if r.Error != nil {
			r.Result = r.Error
		}
		if waiting != nil {
			note(s.dir, "answers", "x")
			waiting <- r.Result
		}
	case "server/discover":
		note(s.dir, "discoveries", "x")
		if !s.has("modern") {
			s.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}`, r.ID)
			return
		}
		s.send(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],`+
			`"capabilities":{"tools":{"listChanged":%t}}}}`, r.ID, !s.has("static"))
	case "initialize":
		note(s.dir, "capabilities", string(r.Params.Capabilities))
		s.send(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":`+
			`{"listChanged":%t}},"serverInfo":{"name":"fake","version":"%d"}}}`, r.ID,
			!s.has("static"), len(s.release()))
	case "tools/list":
		list, err := os.ReadFile(filepath.Join(s.dir, "tools"))
		if err != nil {
			s.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"no list today"}}`, r.ID)
			return
		}
		if s.has("empty") {
			list = []byte("[]")
			go s.fill()
		}
		note(s.dir, "lists", "x")
		ttl, _ := os.ReadFile(filepath.Join(s.dir, "ttl"))
		s.send(`{"jsonrpc":"2.0","id":%s,"result":{"tools":%s%s}}`, r.ID, strings.ReplaceAll(string(list), "\n", ""), ttl)
	case "tools/call":
		go s.call(r)
	case "notifications/cancelled":
		note(s.dir, "canceled", "x")
	case "resources/list":
		s.send(`{"jsonrpc":"2.0","id":%s,"result":{"resources":[{"uri":"x://1","name":"one","size": 9007199254740993}]}}`,
			r.ID)
	case "resources/read":
		s.send(`{"jsonrpc":"2.0","id":%s,"result":{"contents":[{"uri":%q,"text":"content"}]}}`, r.ID, r.Params.URI)
	case "prompts/get":
		s.send(`{"jsonrpc":"2.0","id":%s,"result":{"messages":[{"role":"user","content":{"type":"text","text":%q}}]}}`, r.ID,
			string(r.Params.Arguments))
	default:
		if r.ID != nil {
			s.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}`, r.ID)
		}
	}
}

// fill announces that the list is not empty any more, when the test says so; or ends.
func (s *fakeServer) fill() {
	for s.has("empty") {
		if s.has("fail") {
			fmt.Fprintln(os.Stderr, "no license key")
			os.Exit(3)
		}
		time.Sleep(time.Millisecond)
	}
	s.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
}

// call does what the name of the tool says.
func (s *fakeServer) call(r *fakeRequest) {
	note(s.dir, "calls", r.Params.Name)
	result := func(format string, a ...any) {
		s.send(`{"jsonrpc":"2.0","id":%s,"result":%s}`, r.ID, fmt.Sprintf(format, a...))
	}
	text := func(text string) { result(`{"content":[{"type":"text","text":%s}]}`, sdk.Encode(text)) }
	var token struct {
		Token json.RawMessage `json:"progressToken"`
	}
	_ = json.Unmarshal(r.Params.Meta, &token)
	progress := func(i int) {
		s.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":9,`+
			`"message":"step"}}`, token.Token, i)
	}
	switch r.Params.Name {
	case "echo", "other":
		text(string(r.Params.Arguments))
	case "raw": // answers with its arguments
		var in struct{ Result, Error json.RawMessage }
		_ = json.Unmarshal(r.Params.Arguments, &in)
		if in.Error != nil {
			s.send(`{"jsonrpc":"2.0","id":%s,"error":%s}`, r.ID, in.Error)
			return
		}
		result("%s", in.Result)
	case "meta":
		text(string(r.Params.Meta))
	case "env":
		text(strings.Join(os.Environ(), "\n"))
	case "cwd":
		dir, _ := os.Getwd()
		text(dir)
	case "die":
		fmt.Fprintln(os.Stderr, "first line\nlast line")
		os.Exit(7)
	case "print":
		fmt.Println("answer: " + string(r.ID))
	case "hang":
		fmt.Fprintln(os.Stderr, "hanging")
		progress(1)
	case "hold":
		for !s.has("go") {
			time.Sleep(time.Millisecond)
		}
		text("done")
	case "progress":
		for i := range 3 {
			progress(i + 1)
			s.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning","logger":"l",`+
				`"data":{"n":%d}}}`, i)
		}
		text("done")
	case "add": // a tool, which all lists have from then on
		list, _ := os.ReadFile(filepath.Join(s.dir, "tools"))
		writeFile(s.dir, "tools", strings.TrimSuffix(string(list), "]")+`,`+tool("other", "")+`]`)
		s.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		text("added")
	case "storm":
		for range 1000 {
			s.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		}
		text("done")
	case "elicit":
		text(string(s.ask("elicitation/create", `{"message":"Your name?","requestedSchema":{"type":"object"}}`)))
	case "twice":
		one := s.ask("elicitation/create", `{"message":"first","requestedSchema":{"type":"object"}}`)
		two := s.ask("elicitation/create", `{"message":"second","requestedSchema":{"type":"object"}}`)
		text(string(one) + string(two))
	case "withdraw": // asks, and needs no answer when the test says so
		s.withdraw()
		text("done")
	case "reconsider": // asks something else then, and goes on without an answer when the test says so
		s.withdraw()
		two := s.begin("elicitation/create", `{"message":"second"}`)
		for !s.has("on") {
			time.Sleep(time.Millisecond)
		}
		s.cancel(two)
		for !s.has("end") {
			time.Sleep(time.Millisecond)
		}
		text("done")
	case "visit": // needs a file of the test, and asks for visits with the ids in another
		if s.has("visited") {
			text("done")
			return
		}
		ids, _ := os.ReadFile(filepath.Join(s.dir, "ids"))
		var visits []string
		for _, id := range strings.Fields(string(ids)) {
			visits = append(visits, fmt.Sprintf(`{"mode":"url","elicitationId":%q,"url":"https://example.com/%[1]s",`+
				`"message":"Sign in"}`, id))
		}
		s.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32042,"message":"visit","data":{"elicitations":[%s]}}}`, r.ID,
			strings.Join(visits, ","))
	case "complete":
		s.send(`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":%s}`, r.Params.Arguments)
		text("done")
	case "sample":
		text(string(s.ask("sampling/createMessage", `{"messages":[]}`)))
	case "roots":
		text(string(s.ask("roots/list", `{}`)))
	case "modern": // asks by its result
		switch r.Params.RequestState {
		case "":
			result(`{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create",`+
				`"params":{"message":"?"}},`+
				`"r":{"method":"roots/list","params":{}}},"requestState":%s}`, sdk.Encode(`st"ate`+string(r.Params.Arguments)))
		default:
			text(r.Params.RequestState + string(r.Params.InputResponses))
		}
	default:
		s.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no such tool"}}`, r.ID)
	}
}

func (s *fakeServer) ask(method, params string) json.RawMessage {
	id := s.begin(method, params)
	s.mu.Lock()
	waiting := s.answer[id]
	s.mu.Unlock()
	return <-waiting
}

// begin sends a question, and returns its id.
func (s *fakeServer) begin(method, params string) (id string) {
	s.mu.Lock()
	s.asked++
	id = fmt.Sprintf(`"ask-%d"`, s.asked)
	s.answer[id] = make(chan json.RawMessage, 1)
	s.mu.Unlock()
	s.send(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params)
	return id
}

func (s *fakeServer) cancel(id string) {
	s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, id)
}

// withdraw asks, and withdraws the question when the test says so.
func (s *fakeServer) withdraw() {
	id := s.begin("elicitation/create", `{"message":"first"}`)
	for !s.has("go") {
		time.Sleep(time.Millisecond)
	}
	s.cancel(id)
}

// note adds a line to a file of the test.
func note(dir, name, line string) {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	_, _ = f.WriteString(line + "\n")
	_ = f.Close()
}

// writeFile puts a file in place at once: the server may be reading it.
func writeFile(dir, name, content string) {
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path+".new", []byte(content), 0o600); err != nil {
		panic(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		panic(err)
	}
}

// A fake is a plugin with a fake server, and the files that say what that does.
type fake struct {
	t          *testing.T
	dir        string
	remembered string // of an earlier start
	*bridge
	*sdktest.Plugin
}

// newFake makes a plugin that is not configured, for a server with the tools.
func newFake(t *testing.T, tools ...string) *fake {
	t.Helper()
	b := newBridge()
	f := &fake{t: t, dir: t.TempDir(), bridge: b}
	t.Cleanup(b.close) // before the plugin's end waits for its calls
	f.Plugin = sdktest.Start(t, b.plugin)
	f.list(tools...)
	return f
}

func (f *fake) list(tools ...string) {
	for i, name := range tools {
		if !strings.HasPrefix(name, "{") {
			tools[i] = tool(name, "")
		}
	}
	f.file("tools", "["+strings.Join(tools, ",")+"]")
}

func (f *fake) file(name, content string) { writeFile(f.dir, name, content) }

// start configures the plugin, with further settings as members of a JSON object.
func (f *fake) start(settings string, known ...sdk.Tool) {
	f.t.Helper()
	if err := f.tryStart(settings, known...); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fake) tryStart(settings string, known ...sdk.Tool) error {
	return f.tryStartIn(f.t.Context(), settings, known...)
}

// tryStartIn is tryStart for a host that waits as long as ctx.
func (f *fake) tryStartIn(ctx context.Context, settings string, known ...sdk.Tool) error {
	written := fmt.Sprintf(`{"command":[%q],"env":{"FAKE_SERVER":%q}%s}`, os.Args[0], f.dir, settings)
	var c config
	if err := json.Unmarshal([]byte(written), &c); err != nil {
		return err
	}
	return f.configure(ctx, &sdk.Request{Workdir: f.dir, KnownTools: known, Remembered: f.remembered}, c)
}

// startBriefly starts it for a host that waits a second, of which a part is for the answer.
func (f *fake) startBriefly() {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Second)
	defer cancel()
	if err := f.tryStartIn(ctx, ""); err != nil {
		f.t.Fatal(err)
	}
}

// lines are those that the server noted.
func (f *fake) lines(name string) []string {
	text, _ := os.ReadFile(filepath.Join(f.dir, name))
	return strings.Fields(string(text))
}

func (f *fake) names() (out []string) {
	f.t.Helper()
	tools, err := f.Tools(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	for _, tool := range tools {
		out = append(out, tool.Name)
	}
	return out
}

// kill kills the server that was started last.
func (f *fake) kill() {
	f.t.Helper()
	pids := f.lines("starts")
	pid, err := strconv.Atoi(pids[len(pids)-1])
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// ask makes a call as a host does.
func (f *fake) ask(r sdk.Request) *sdk.Result {
	f.t.Helper()
	if r.Workdir == "" {
		r.Workdir = f.dir
	}
	out, err := f.Call(f.t.Context(), &r)
	if err != nil {
		f.t.Fatal(err)
	}
	return out
}

// begin makes a call, and returns when the server has it. The result is nil for a call that failed.
func (f *fake) begin(ctx context.Context, r sdk.Request) <-chan *sdk.Result {
	f.t.Helper()
	before, out := len(f.lines("calls")), make(chan *sdk.Result, 1)
	r.Workdir = f.dir
	go func() {
		result, _ := f.Call(ctx, &r)
		out <- result
	}()
	eventually(f.t, "the call runs", func() bool { return len(f.lines("calls")) > before })
	return out
}

// text is the text of a call's result, which has no error.
func (f *fake) text(name, arguments string) string {
	f.t.Helper()
	r := f.ask(sdk.Request{Tool: name, Arguments: json.RawMessage(arguments)})
	if r.Error != nil || len(r.Content) == 0 {
		f.t.Fatalf("%s %s: %+v", name, arguments, r.Error)
	}
	return r.Content[0].Text
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it does not come true: %s", what)
		}
	}
}
