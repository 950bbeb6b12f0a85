//go:build unix

package supervise

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/internal/procstat"
	"github.com/toolhost/toolhost/internal/testutil"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// The test binary also serves as fixtures: plugins, good and bad, and a host, each a real process. FIXTURE selects
// one.
func TestMain(m *testing.M) {
	if withFakeProcess, ok := fixtures[os.Getenv("FIXTURE")]; ok {
		withFakeProcess()
		os.Exit(0)
	}
	testutil.Launcher()
	flag.Parse()
	if !given("test.parallel") { // most tests here wait for processes: more of them run in parallel than there are cores
		_ = flag.Set("test.parallel", "6")
	}
	_ = os.Setenv(raceOptions, races)
	code := m.Run()
	if err := leaked(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// leaked returns the goroutines that do not end.
func leaked() (err error) {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if err = goleak.Find(); err == nil {
			return nil
		}
	}
	return err
}

// patience is how long a test waits for an event that must come. Only a failing test waits that long: it allows for
// very busy machines.
const patience = time.Minute

// slack is the factor by which a bound is extended for such a machine.
const slack = 4

// given reports whether a flag is on the command line.
func given(name string) (is bool) {
	flag.Visit(func(f *flag.Flag) { is = is || f.Name == name })
	return is
}

// Fixture processes end at once, not a second later as they do with the race detector, and a race in one of them ends
// it immediately, so that the test fails: nothing else would notice it.
const (
	raceOptions = "GORACE"
	races       = "atexit_sleep_ms=0 halt_on_error=1"
)

var fixtures = map[string]func(){
	"good":       func() { sdk.Serve(goodPlugin()) },
	"deaf":       ignoreSignals,
	"dynamic":    func() { noteStart(); sdk.Serve(dynamicPlugin()) },
	"late":       latePlugin,
	"noted":      func() { noteStart(); sdk.Serve(goodPlugin()) },
	"bridge":     func() { noteStart(); sdk.Serve(bridgePlugin()) },
	"changing":   func() { noteStart(); sdk.Serve(changingPlugin()) },
	"stock":      stockPlugin,
	"unfinished": func() { fmt.Fprint(os.Stderr, "the key is missing"); os.Exit(3) },
	"vanishes":   func() { socketAnd(func(net.Listener) { os.Exit(5) }) },
	"daemon":     func() { leaveBehind(os.Stdout); os.Exit(0) },
	"closes":     func() { _ = os.Stdout.Close(); forever() },
	"bequeaths":  func() { socketAnd(leaveSocket) },
	"knocks":     func() { socketAnd(keepDialing) },
	"later": func() {
		serveConfigured(func(context.Context) error { return &sdk.Error{Message: "not yet", Retryable: true} })
	},
	"slow":    func() { serveConfigured(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }) },
	"garbage": func() { fmt.Println("hello, I am no plugin"); forever() },
	"half":    func() { fmt.Print("1|1|unix"); forever() },
	"long":    func() { fmt.Println(strings.Repeat("x", 70<<10)); forever() },
	"silent":  forever,
	// another thread may receive it first
	"stopped":     func() { _ = syscall.Kill(os.Getpid(), syscall.SIGSTOP); forever() },
	"exits":       func() { fmt.Fprintln(os.Stderr, "I cannot go on"); os.Exit(3) },
	"panics":      func() { panic("no good") },
	"tcp":         func() { fmt.Println("1|1|tcp|127.0.0.1:22|grpc|"); forever() },
	"elsewhere":   func() { fmt.Println("1|1|unix|/tmp/x|grpc|"); forever() },
	"certificate": func() { listenAnd("1|1|unix|%s|grpc|" + strings.Repeat("A", 80)) },
	"future":      func() { listenAnd("1|2|unix|%s|grpc|") },
	"mute":        func() { listenAnd("1|1|unix|%s|grpc|") },
	"netrpc":      func() { listenAnd("1|1|unix|%s|netrpc|") },
	"flood":       func() { flood(); sdk.Serve(goodPlugin()) },
	"marks":       runMarks,
	"host":        runHost,
}

// forever sleeps: where cgo is off, Go ends a program that only waits.
func forever() {
	for {
		time.Sleep(time.Hour)
	}
}

// listenAnd opens a socket where plugins do, reports it in its own way, and never answers on it.
func listenAnd(format string) {
	path := filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "plugin1")
	lis, err := net.Listen("unix", path)
	if err != nil {
		panic(err)
	}
	fmt.Printf(format+"\n", path)
	for {
		if _, err := lis.Accept(); err != nil {
			return
		}
	}
}

// socketAnd opens and reports a socket as plugins do, and continues in its own way.
func socketAnd(then func(net.Listener)) {
	path := filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "plugin1")
	lis := must(net.Listen("unix", path))
	fmt.Printf("1|1|unix|%s|grpc|\n", path)
	then(lis)
}

// leaveBehind starts a process that escapes the process group and holds a file for a while.
func leaveBehind(held *os.File) {
	cmd := exec.Command("sleep", "20")
	cmd.Stdout, cmd.ExtraFiles = held, []*os.File{held}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
}

// leaveSocket leaves the listening socket to a process that never answers on it.
func leaveSocket(lis net.Listener) {
	leaveBehind(must(lis.(*net.UnixListener).File()))
	forever()
}

// keepDialing answers only go-plugin's broker, with one new connection after the other.
func keepDialing(lis net.Listener) {
	s := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		if method, _ := grpc.MethodFromServerStream(stream); !strings.Contains(method, "Broker") {
			return stream.SendMsg(&emptypb.Empty{})
		}
		for id := uint64(1); ; id++ {
			info := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), id) // ConnInfo.service_id
			info = protowire.AppendBytes(protowire.AppendTag(info, 4, protowire.BytesType), []byte{8, 1})
			m := &emptypb.Empty{}
			m.ProtoReflect().SetUnknown(info)
			if err := stream.SendMsg(m); err != nil {
				return err
			}
		}
	}))
	_ = s.Serve(lis)
}

// serveConfigured is a good plugin whose Configure ends with f's result.
func serveConfigured(f func(context.Context) error) {
	p := goodPlugin()
	sdk.Configure(p, func(ctx context.Context, _ *sdk.Request, _ struct{}) error { return f(ctx) })
	sdk.Serve(p)
}

// flood writes to standard error without end, in the background.
func flood() {
	line, to := []byte(strings.Repeat("flood ", 20)+"\n"), os.Stderr // go-plugin replaces it
	go func() {
		for {
			if _, err := to.Write(line); err != nil {
				return
			}
		}
	}()
}

// ignoreSignals is a plugin that ignores its lifeline and SIGTERM.
func ignoreSignals() {
	signal.Ignore(syscall.SIGTERM)
	_ = os.Unsetenv(wire.EnvLifeline)
	sdk.Serve(goodPlugin())
}

// latePlugin has no tools until it reads a line from the pipe that $PIPE names: "come", or why they do not.
func latePlugin() {
	p := sdk.New("late", "1.0.0")
	p.Cacheable(true)
	p.MissingTools("its server is starting", true)
	go func() {
		for {
			said, err := os.ReadFile(os.Getenv("PIPE"))
			switch {
			case err != nil || string(said) == "die":
				os.Exit(3)
			case string(said) == "come":
				err = p.SetTools([]sdk.BoundTool{{Tool: sdk.Tool{Name: "echo", Description: "for tests",
					InputSchema: []byte(`{"type":"object"}`)}, Handler: func(context.Context, *sdk.Request) (*sdk.Result, error) {
					return sdk.Text("late"), nil
				}}})
				if err != nil {
					panic(err)
				}
				p.MissingTools("", false)
			default:
				p.MissingTools(string(said), false)
			}
		}
	}()
	sdk.Serve(p)
}

type textArgs struct {
	Text string `json:"text,omitempty"`
}

func goodPlugin() *sdk.Plugin {
	p := sdk.New("good", "1.2.3")
	add := func(name string, f func(ctx context.Context, r *sdk.Request, in textArgs) (*sdk.Result, error)) {
		sdk.AddTool(p, sdk.Tool{Name: name, Description: "for tests"}, f)
	}
	add("echo", func(_ context.Context, r *sdk.Request, in textArgs) (*sdk.Result, error) {
		return sdk.Text(in.Text), nil
	})
	add("env", func(context.Context, *sdk.Request, textArgs) (*sdk.Result, error) { return sdk.JSON(os.Environ()), nil })
	add("pid", func(context.Context, *sdk.Request, textArgs) (*sdk.Result, error) {
		return sdk.Textf("%d", os.Getpid()), nil
	})
	add("workdir", func(context.Context, *sdk.Request, textArgs) (*sdk.Result, error) {
		wd, _ := os.Getwd()
		return sdk.Text(wd), nil
	})
	add("print", func(_ context.Context, _ *sdk.Request, in textArgs) (*sdk.Result, error) {
		fmt.Println("stdout: " + in.Text)
		fmt.Fprintln(os.Stderr, "stderr: "+in.Text)
		return sdk.Text("printed"), nil
	})
	add("litter", func(context.Context, *sdk.Request, textArgs) (*sdk.Result, error) {
		dir := filepath.Join(os.TempDir(), "locked", "in")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		return sdk.Text(os.TempDir()), os.Chmod(filepath.Dir(dir), 0)
	})
	add("wait", waitTool)
	add("fail", func(_ context.Context, _ *sdk.Request, in textArgs) (*sdk.Result, error) {
		return nil, errors.New(in.Text)
	})
	add("die", func(_ context.Context, _ *sdk.Request, in textArgs) (*sdk.Result, error) {
		fmt.Fprintln(os.Stderr, "dying of "+in.Text)
		os.Exit(7)
		return nil, nil
	})
	add("canceled", func(ctx context.Context, _ *sdk.Request, _ textArgs) (*sdk.Result, error) {
		<-ctx.Done()
		return nil, &sdk.Error{Code: sdk.CodeCanceled, Name: "Canceled", Message: "canceled"}
	})
	add("stop", func(ctx context.Context, _ *sdk.Request, _ textArgs) (*sdk.Result, error) {
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	add("child", func(_ context.Context, _ *sdk.Request, in textArgs) (*sdk.Result, error) {
		cmd := exec.Command("sleep", "1000")
		cmd.Stdout, cmd.Stderr = os.NewFile(1, "stdout"), os.NewFile(2, "stderr") // holds our pipes
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		return sdk.Textf("%d", cmd.Process.Pid), nil
	})
	return p
}

type dynamicConfig struct {
	Tools  []string `json:"tools"`
	Refuse string   `json:"refuse,omitempty"`
	Recall bool     `json:"recall,omitempty"` // the tools are cacheable, and cached ones are used
}

// dynamicPlugin has the tools that its configuration names; calling one adds the tool that its argument names.
func dynamicPlugin() *sdk.Plugin {
	p := sdk.New("dynamic", "1.0.0")
	var bound []sdk.BoundTool
	var add func(name string) error
	add = func(name string) error {
		bound = append(bound, sdk.BoundTool{
			Tool: sdk.Tool{Name: name, Description: "adds another", InputSchema: []byte(`{"type":"object"}`)},
			Handler: func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
				return sdk.Text("added"), add(strings.Trim(string(r.Arguments), `{}":tex`))
			},
		})
		return p.SetTools(bound, sdk.Remarks(fmt.Sprintf("there are %d now", len(bound)))...)
	}
	sdk.Configure(p, func(_ context.Context, r *sdk.Request, c dynamicConfig) error {
		if c.Recall {
			p.Cacheable(true)
			p.Remember("a note")
		}
		if c.Recall && r.KnownTools != nil {
			if r.Remembered != "a note" {
				return errors.New("it is not remembered")
			}
			c.Tools = nil
			for _, t := range r.KnownTools {
				c.Tools = append(c.Tools, t.Name)
			}
		}
		for _, name := range c.Tools {
			if err := add(name); err != nil {
				return err
			}
		}
		if c.Refuse != "" {
			return &sdk.Error{Message: "I refuse: " + c.Refuse, Details: sdk.Details(map[string]string{"path": "refuse"})}
		}
		return nil
	})
	return p
}

type serverConfig struct {
	Server string `json:"server"` // a file, which has the server's state
}

// bridgePlugin has the tool of a server, in a list that is cacheable. When the host does not know the tool it asks the
// server, which is "up", "starting" until "up" or "down" is written to the pipe beside its file, or not there.
func bridgePlugin() *sdk.Plugin {
	p := sdk.New("bridge", "1.0.0")
	var offer func(notices ...sdk.Notice) error
	var server string
	up := func() bool {
		state, _ := os.ReadFile(server)
		return string(state) == "up"
	}
	offer = func(notices ...sdk.Notice) error {
		p.Cacheable(true)
		defer p.MissingTools("", false)
		ask := func(context.Context, *sdk.Request) (*sdk.Result, error) {
			if up() {
				return sdk.Text("answer"), offer()
			}
			if _, err := os.Stat(server); err == nil { // it starts anew, and has no tools yet
				p.Cacheable(false)
				return sdk.Text("none"), p.SetTools(nil)
			}
			err := offer(sdk.Notice{Kind: sdk.Problem, Text: "it was down in a call"})
			return nil, cmp.Or(err, errors.New("it is down"))
		}
		tool := sdk.Tool{Name: "ask", Description: "for tests", InputSchema: []byte(`{"type":"object"}`)}
		return p.SetTools([]sdk.BoundTool{{Tool: tool, Handler: ask}}, notices...)
	}
	sdk.Configure(p, func(_ context.Context, r *sdk.Request, c serverConfig) error {
		server = c.Server
		switch {
		case r.KnownTools != nil || up():
			return offer()
		case missing(server):
			p.MissingTools("its server is down", false)
			return nil
		}
		p.MissingTools("its server is starting", true)
		go func() {
			state, err := os.ReadFile(server + ".pipe")
			if string(state) == "down" {
				p.MissingTools("its server does not start", false)
			} else if err != nil || os.WriteFile(server, state, 0o600) != nil || offer() != nil {
				os.Exit(3)
			}
		}()
		return nil
	})
	return p
}

// noteStart adds a line to the file that STARTS names.
func noteStart() {
	if path := os.Getenv("STARTS"); path != "" {
		f := must(os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600))
		must(f.WriteString("started\n"))
		_ = f.Close()
	}
}

// changingPlugin has a tool for each line NAME DESCRIPTION of the file that TOOLS_FILE names, and does not report changes.
func changingPlugin() *sdk.Plugin {
	p := sdk.New("changing", "1.0.0")
	for line := range strings.Lines(string(must(os.ReadFile(os.Getenv("TOOLS_FILE"))))) {
		name, description, _ := strings.Cut(strings.TrimSpace(line), " ")
		sdk.AddTool(p, sdk.Tool{Name: name, Description: description},
			func(context.Context, *sdk.Request, textArgs) (*sdk.Result, error) {
				return sdk.Text("done"), nil
			})
	}
	return p
}

// waitTool reports that it has begun, and waits for the end of its context. With text "deaf" it ignores its context.
func waitTool(ctx context.Context, r *sdk.Request, in textArgs) (*sdk.Result, error) {
	r.Progress(0, 0, "waiting")
	if in.Text == "deaf" {
		forever()
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// supervisor makes a supervisor that is closed with the test.
func supervisor(t testing.TB) *Supervisor {
	t.Helper()
	s, err := New(Options{RunDir: shortDir(t)})
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

// fixture is the spec of a plugin that the test binary runs as.
func fixture(name, role string) Spec {
	return Spec{Name: name, Command: []string{os.Args[0]}, Env: map[string]string{"FIXTURE": role, raceOptions: races},
		StartTimeout: patience,
		Sandbox:      sandbox.Spec{Level: sandbox.Supervised}} // so that its pids are the same to the test
}

func add(t testing.TB, s *Supervisor, spec Spec) *Process {
	t.Helper()
	p, err := s.Add(spec)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// call runs a tool and returns its text.
func call(t testing.TB, p *Process, tool, text string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	r, err := p.Call(ctx, request(tool, text))
	if err != nil {
		return "", err
	}
	if r.Error != nil {
		return "", r.Error
	}
	return r.Content[0].Text, nil
}

func mustCall(t testing.TB, p *Process, tool, text string) string {
	t.Helper()
	out, err := call(t, p, tool, text)
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return out
}

func request(tool, text string) *sdk.Request {
	return &sdk.Request{CallID: "c1", RunID: rand.Text(), Tool: tool, Arguments: fmt.Appendf(nil, `{"text":%q}`, text),
		Workdir: "/"}
}

// A late is a context whose deadline passes when the test calls pass.
type late struct {
	context.Context
	passed chan struct{}
}

func lateIn(t testing.TB) *late { return &late{t.Context(), make(chan struct{})} }

// Done and Err are of the deadline alone, which the test controls.
func (l *late) Done() <-chan struct{} { return l.passed }

func (l *late) Err() error {
	if isClosed(l.passed) {
		return context.DeadlineExceeded
	}
	return nil
}

// pass makes the deadline pass.
func (l *late) pass() { close(l.passed) }

// begin starts a call of the tool wait and returns when the plugin has it.
func begin(t testing.TB, ctx context.Context, p *Process, text string) <-chan error {
	t.Helper()
	return beginTool(t, ctx, p, "wait", text)
}

// beginTool is begin for any tool that reports that it waits.
func beginTool(t testing.TB, ctx context.Context, p *Process, tool, text string) <-chan error {
	t.Helper()
	ended, begun := make(chan error, 1), make(chan struct{})
	r := request(tool, text)
	r.Events = func(e sdk.Event) {
		if e.Type == sdk.EventProgress {
			close(begun)
		}
	}
	go func() {
		result, err := p.Call(ctx, r)
		if err == nil && result.Error != nil {
			err = result.Error
		}
		ended <- err
	}()
	select {
	case <-begun:
	case err := <-ended:
		t.Fatalf("the call ended before it began: %v", err)
	case <-time.After(2 * patience):
		t.Fatal("the call did not begin")
	}
	return ended
}

// allLevels are the levels, from the loosest.
var allLevels = []sandbox.Level{sandbox.Supervised, sandbox.Confined, sandbox.Isolated}

// reached is the level that this machine reaches for a requested one.
func reached(asked sandbox.Level) sandbox.Level {
	got, _ := sandbox.Spec{Level: asked}.Evaluate(proctree.DetectCapabilities())
	return got.Effective
}

// soon waits for a condition that an event elsewhere brings about.
func soon(t testing.TB, what string, within time.Duration, ok func() bool) {
	t.Helper()
	deadline := time.After(within)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			if !ok() { // the test itself may have been suspended meanwhile
				t.Fatalf("not within %s: %s", within, what)
			}
			return
		}
	}
}

// alive reports whether a process exists and is not a zombie.
func alive(pid int) bool {
	return !slices.Contains([]string{"", "Z", "X"}, procstat.Read(pid).Text(procstat.State))
}

// runHost is a host that runs one plugin with a child, prints their pids and that all is in order, and waits to be
// killed. With STRANGER it runs that program instead of a plugin.
func runHost() {
	s := must(New(Options{RunDir: os.Getenv("RUN")}))
	spec := fixture("good", cmp.Or(os.Getenv("ROLE"), "good"))
	spec.Sandbox.Level = cmp.Or(sandbox.Level(os.Getenv("LEVEL")), sandbox.Supervised)
	spec.Env["MARK"] = os.Getenv("MARK")
	if stranger := os.Getenv("STRANGER"); stranger != "" {
		spec.Command, spec.StartTimeout = []string{stranger, "1000"}, time.Minute
	}
	p := must(s.Add(spec))
	r := must(p.Call(context.Background(), request("child", "")))
	pid := p.Status().PID
	fmt.Println(pid, r.Content[0].Text)
	if os.Getenv("STOP") != "" {
		_ = syscall.Kill(pid, syscall.SIGSTOP)
	}
	fmt.Println("now")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// shortDir makes a folder with a path short enough for sockets.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "th")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
