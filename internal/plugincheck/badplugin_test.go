//go:build unix

package plugincheck

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/internal/wire/pluginv1"
)

// A badPlugin is a plugin without a kit that breaks one rule, which is named like the item that finds it; none breaks
// none.
type badPlugin struct {
	pluginv1.UnimplementedPluginServiceServer
	breaks string

	mu      sync.Mutex
	runs    map[string]bool
	working atomic.Int32
	left    atomic.Int32 // handlers whose call has ended
	kept    []*os.File
	pids    string // the file for the ids of processes that calls start, "" for none
}

const none = "none"

func serveBadly(breaks string) {
	if file, is := strings.CutPrefix(breaks, "holds "); is {
		cmd := exec.Command("setsid", "/bin/sleep", "60")
		cmd.Stdout, cmd.Stderr, cmd.Env = os.Stdout, os.Stderr, []string{}
		noteStart(cmd, file)
		os.Exit(3)
	}
	if breaks == "panics by hand" {
		panic("no database")
	}
	if os.Getenv(wire.EnvCookie) == "" {
		if breaks != "by_hand" {
			fmt.Fprintln(os.Stderr, "a plugin of a test")
			os.Exit(2)
		}
		os.Exit(0)
	}
	switch breaks {
	case "start panics":
		panic("sdk: tool \"t\" is there twice")
	case "start says why":
		fmt.Fprintln(os.Stderr, "the database is locked")
		os.Exit(3)
	case "start says it and exits with 0":
		fmt.Fprintln(os.Stderr, "nothing to do")
		return
	case "start is silent", "start says blanks":
		if breaks != "start is silent" {
			fmt.Fprintln(os.Stderr, "  ")
		}
		os.Exit(3)
	case "start half a line":
		fmt.Print("1|1|un")
		fmt.Fprintln(os.Stderr, "the disk is full")
		os.Exit(3)
	case "start stops itself":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	case "start hangs":
		fmt.Fprintln(os.Stderr, "waiting for the database")
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	case "start ends no line":
		fmt.Print("1|1|unix|/tmp/x|grpc|")
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	case "start closes its output":
		_ = os.Stdout.Close()
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	if breaks == "start in a child" {
		cmd := exec.Command(os.Args[0], "bad-plugin", none)
		cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
		_ = cmd.Run()
		return
	}
	p := &badPlugin{breaks: breaks, runs: map[string]bool{}}
	if file, is := strings.CutPrefix(breaks, "daemons "); is {
		p.pids = file
	}
	socket := filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "s")
	lis, err := net.Listen("unix", socket)
	if err != nil {
		panic(err)
	}
	options := wire.ServerOptions()
	if breaks != "token" {
		options = append(options, wire.RequireToken(os.Getenv(wire.EnvToken))...)
	}
	if breaks == "large_arguments" {
		options = append(options, grpc.MaxRecvMsgSize(64<<10))
	}
	g := grpc.NewServer(options...)
	pluginv1.RegisterPluginServiceServer(g, p)
	if breaks != "health" {
		h := health.NewServer()
		h.SetServingStatus("plugin", healthpb.HealthCheckResponse_SERVING)
		healthpb.RegisterHealthServer(g, h)
	}
	if breaks == "sigterm" {
		signal.Ignore(syscall.SIGTERM)
	}
	if breaks != "host_death" {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(0)
		}()
	}
	if breaks == "handshake" {
		fmt.Println("hello")
	}
	fmt.Printf("1|1|unix|%s|grpc|\n", socket)
	_ = g.Serve(lis)
}

func (p *badPlugin) Describe(context.Context, *pluginv1.DescribeRequest) (*pluginv1.DescribeResponse, error) {
	if p.breaks == "describe" {
		return nil, errors.New("not now")
	}
	out := &pluginv1.DescribeResponse{Name: "bad", Version: "1", Sdk: "test/1"}
	if p.breaks == "configure" {
		out.ConfigSchema = []byte(`{"type":"object"}`)
	}
	for _, name := range []string{"echo", "wait", "panic", "events", "large", "print"} {
		t := &pluginv1.Tool{Name: name, Description: "Does what the tests of the check need.",
			InputSchema: []byte(`{"type":"object","properties":{"x":{"type":"string","description":"Any text"}}}`)}
		switch {
		case p.breaks == "definitions":
			t.InputSchema = []byte(`{"type":"object","properties":{"x":{"type":"text"}}}`)
		case p.breaks == "descriptions":
			t.Description = "Does."
		case p.breaks == "vendors" && name == "large":
			t.Name = strings.Repeat("long", 15)
		}
		out.Tools = append(out.Tools, t)
	}
	return out, nil
}

func (p *badPlugin) Configure(context.Context, *pluginv1.ConfigureRequest) (*pluginv1.ConfigureResponse, error) {
	return &pluginv1.ConfigureResponse{Error: &pluginv1.Error{Name: "Moody", Message: "no configuration is right"}}, nil
}

func (p *badPlugin) Overdue(context.Context, *pluginv1.OverdueRequest) (*pluginv1.OverdueResponse, error) {
	return &pluginv1.OverdueResponse{Handlers: int64(p.left.Load())}, nil
}

func (p *badPlugin) Call(r *pluginv1.CallRequest, stream grpc.ServerStreamingServer[pluginv1.CallEvent]) error {
	p.mu.Lock()
	repeated := p.runs[r.GetRunId()] && r.GetRunId() != "" && p.breaks != "repeat"
	p.runs[r.GetRunId()] = true
	p.mu.Unlock()
	switch {
	case repeated:
		return status.Error(codes.AlreadyExists, "again")
	case p.breaks == "unknown_fields" && len(r.ProtoReflect().GetUnknown()) > 0:
		return status.Error(codes.InvalidArgument, "what is this?")
	}
	_ = stream.Send(&pluginv1.CallEvent{Event: &pluginv1.CallEvent_Started{Started: &pluginv1.Started{}}})
	return wire.NewSender(stream).Result(p.result(stream.Context(), r, func(e *pluginv1.CallEvent) { _ = stream.Send(e) }))
}

func (p *badPlugin) result(ctx context.Context, r *pluginv1.CallRequest, send func(*pluginv1.CallEvent)) *pluginv1.Result {
	text := func(s string) *pluginv1.Result {
		return &pluginv1.Result{Content: []*pluginv1.Content{{Type: "text", Text: []byte(s)}}}
	}
	failure := func(code, message string) *pluginv1.Result {
		return &pluginv1.Result{Error: &pluginv1.Error{Code: code, Name: "Failed", Message: message}}
	}
	if a := r.GetArguments(); len(a) > 0 && a[len(a)-1] != '}' && p.breaks != "bad_arguments" &&
		p.breaks != "ignores arguments" {
		return failure("E_TOOL_INVALID_ARGS", "not JSON")
	}
	if p.breaks == "ignores arguments" && r.GetTool() != "echo" && r.GetTool() != unknown {
		os.Exit(3)
	}
	if p.pids != "" && r.GetTool() != "" {
		p.daemon()
	}
	switch r.GetTool() {
	case "echo":
		return p.echo(text, failure)
	case "wait":
		if p.breaks == "cancel" {
			context.AfterFunc(ctx, func() { p.left.Add(1) })
			return text("") // its handler is said to run on
		}
		<-ctx.Done()
		return failure("E_CANCELED", "canceled")
	case "panic":
		if p.breaks == "panic" {
			panic("oh")
		}
		return failure("", "it panicked")
	case "events":
		for range 5000 {
			send(&pluginv1.CallEvent{Event: &pluginv1.CallEvent_Progress{Progress: &pluginv1.Progress{Done: 1}}})
		}
		if p.breaks == "events" {
			os.Exit(1)
		}
		return text("sent")
	case "large":
		if p.breaks == "large_result" {
			return text("not large")
		}
		return text(strings.Repeat("x", 300<<10))
	case "print":
		if p.breaks == "long_line" {
			os.Exit(1)
		}
		fmt.Fprintln(os.Stderr, strings.Repeat("x", 1<<20))
		return text("printed")
	}
	if p.breaks == "stops itself" {
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		<-ctx.Done() // this thread may run on for a moment
	}
	if p.breaks == "unknown_tool" {
		return text("done")
	}
	return failure("E_TOOL_NOT_FOUND", "no such tool")
}

func (p *badPlugin) echo(text func(string) *pluginv1.Result, failure func(_, _ string) *pluginv1.Result) *pluginv1.Result {
	defer p.working.Add(-1)
	switch n := p.working.Add(1); p.breaks {
	case "examples":
		return failure("", "not today")
	case "exits in a call":
		os.Exit(3)
	case "parallel":
		time.Sleep(time.Millisecond) // long enough for 32 calls to meet
		if n > 1 {
			return failure("", "one at a time, please")
		}
	case "leftovers":
		f, err := os.Open(os.DevNull)
		if err != nil {
			return failure("", err.Error())
		}
		p.mu.Lock()
		p.kept = append(p.kept, f)
		p.mu.Unlock()
	case "sandbox":
		home, _ := os.UserHomeDir()
		if err := exec.Command("touch", filepath.Join(home, ".toolhost-check")).Run(); err != nil {
			return failure("", "the home folder cannot be written to")
		}
		_ = os.Remove(filepath.Join(home, ".toolhost-check"))
	}
	return text("done")
}

// daemon leaves a process in a session of its own behind.
func (p *badPlugin) daemon() {
	p.mu.Lock()
	defer p.mu.Unlock()
	noteStart(exec.Command("setsid", "sleep", "600"), p.pids)
}

// noteStart starts a program, and adds its process id to a file.
func noteStart(cmd *exec.Cmd, file string) {
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	_, _ = fmt.Fprintln(f, cmd.Process.Pid)
	_ = f.Close()
}
