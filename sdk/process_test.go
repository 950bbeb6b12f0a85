package sdk_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/internal/wire/client"
	"github.com/toolhost/toolhost/sdk"
)

// soon bounds what takes milliseconds, or a second where handlers are waited for, on a machine that may be busy.
const soon = 10 * time.Second

// slow is a plugin with tools that end only with their ctx, or not even then.
func slow() {
	p := sdk.New("slow", "1.0.0")
	add := func(name string, handle sdk.Handler) {
		p.AddRawTool(sdk.Tool{Name: name, Description: "Takes for ever.", InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
				r.Progress(0, 1, "the handler runs")
				return handle(ctx, r)
			})
	}
	add("tidy", func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
		<-ctx.Done()
		return sdk.Text("cleaned up"), os.WriteFile(filepath.Join(r.Workdir, "tidied"), nil, 0o600)
	})
	add("stubborn", func(context.Context, *sdk.Request) (*sdk.Result, error) { select {} })
	p.AtEnd(func() { panic("not the last one") })
	p.AtEnd(func() {
		if path := os.Getenv(atEndVar); path != "" {
			fmt.Fprintln(os.Stderr, "the end")
			_ = os.WriteFile(path, nil, 0o600)
		}
	})
	sdk.Serve(p)
}

// atEndVar names a file that slow writes at its end.
const atEndVar = "SDK_TEST_AT_END"

// A process is a running plugin, with the host's data about it.
type process struct {
	*client.Client
	cmd      *exec.Cmd
	lifeline io.Closer
	socket   string
	exited   chan error
}

// cookie is what a host puts into the environment of every plugin.
var cookie = wire.EnvCookie + "=" + wire.Cookie

// socketDir makes a plugin listen in a temporary folder of the test.
func socketDir(t *testing.T) string { return "PLUGIN_UNIX_SOCKET_DIR=" + t.TempDir() }

func lifelineEnv() []string {
	return []string{wire.EnvLifeline + "=stdin", wire.EnvHostPID + "=" + strconv.Itoa(os.Getpid())}
}

// start starts the test binary as a plugin, as a host does, and connects.
func start(t *testing.T, role string, prepare func(*exec.Cmd), env ...string) *process {
	t.Helper()
	cmd := as(t.Context(), role, append(env, cookie, socketDir(t))...)
	if prepare != nil {
		prepare(cmd)
	}
	p := &process{cmd: cmd, exited: make(chan error, 1)}
	p.lifeline = must(cmd.StdinPipe())
	stdout := bufio.NewReader(must(cmd.StdoutPipe()))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.socket = handshake(t, stdout)
	go func() {
		_, _ = io.Copy(io.Discard, stdout)
		p.exited <- cmd.Wait()
		close(p.exited)
	}()
	t.Cleanup(func() { <-p.exited }) // t.Context has ended, which kills it
	p.Client = client.New(p.dial(t, cmd.Process.Pid))
	return p
}

// handshake reads the handshake line of a plugin.
func handshake(t *testing.T, stdout *bufio.Reader) (socket string) {
	t.Helper()
	line, err := stdout.ReadString('\n')
	fields := strings.Split(line, "|")
	if err != nil || len(fields) < 5 || fields[2] != "unix" {
		t.Fatalf("handshake %q: %v", line, err)
	}
	return fields[3]
}

func (p *process) dial(t *testing.T, pid int) *grpc.ClientConn {
	t.Helper()
	conn := must(grpc.NewClient("unix:"+p.socket, wire.DialOptions(pid)...))
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// begin starts a call and returns when its handler runs. The channel receives the call's error.
func (p *process) begin(t *testing.T, tool, workdir string) <-chan error {
	t.Helper()
	running, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := p.Call(t.Context(), &sdk.Request{Tool: tool, Workdir: workdir, Events: func(e sdk.Event) {
			if e.Type == sdk.EventProgress {
				close(running)
			}
		}})
		ended <- err
	}()
	select {
	case <-running:
	case err := <-ended:
		t.Fatalf("the call ended at once: %v", err)
	case <-time.After(soon):
		t.Fatal("the handler does not run")
	}
	return ended
}

func (p *process) awaitExit(t *testing.T) {
	t.Helper()
	select {
	case err := <-p.exited:
		if err != nil {
			t.Errorf("the plugin ended with %v, want exit code 0", err)
		}
	case <-time.After(soon):
		t.Fatalf("the plugin still runs after %v", soon)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
