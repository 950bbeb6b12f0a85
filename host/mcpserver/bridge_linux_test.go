package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/internal/testutil"
)

// benchServer in the environment makes this program an MCP server, written with the official SDK, of two tools: echo
// returns its text, and cpu the processor time that the server has taken, in nanoseconds.
const benchServer = "TOOLHOST_BENCH_MCP_SERVER"

func init() {
	if os.Getenv(benchServer) == "" {
		return
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	tool := func(name string, answer func(json.RawMessage) string) {
		s.AddTool(&mcp.Tool{Name: name, Description: "For the benchmark.", InputSchema: json.RawMessage(`{"type":"object",` +
			`"properties":{"text":{"type":"string"}}}`), Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
			func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: answer(r.Params.Arguments)}}}, nil
			})
	}
	tool("echo", func(arguments json.RawMessage) string {
		var in struct{ Text string }
		_ = json.Unmarshal(arguments, &in)
		return in.Text
	})
	tool("cpu", func(json.RawMessage) string { return strconv.FormatInt(int64(ownTime()), 10) })
	_ = s.Run(context.Background(), &mcp.StdioTransport{})
	os.Exit(0)
}

func ownTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// timeOf is the processor time that another process has taken.
func timeOf(b *testing.B, pid int) time.Duration {
	b.Helper()
	const scheduler = 2 // of the clocks of a process, CPUCLOCK_SCHED
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|scheduler), &t); err != nil {
		b.Fatal(err)
	}
	return time.Duration(t.Nano())
}

// A caller calls the tools of one server, some way.
type caller struct {
	call   func(tool string, arguments json.RawMessage) string
	plugin func() time.Duration // the processor time of what is between this process and the server
	total  time.Duration
}

// BenchmarkMCPBridge compares what a call costs in processor time of all processes, made through Host.Call and the
// plugin mcp, and made with the official Go client: of the same server, in turn. ratio is the first by the second; at
// most 1.25 is promised.
func BenchmarkMCPBridge(b *testing.B) {
	direct, bridge := directCaller(b), bridgeCaller(b)
	for _, size := range []struct {
		name         string
		bytes, calls int
	}{{"100B", 100, 50}, {"10KB", 10_000, 50}, {"1MB", 1_000_000, 2}} {
		arguments, err := json.Marshal(map[string]string{"text": strings.Repeat("0123456789", size.bytes/10)})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(size.name, func(b *testing.B) {
			for _, c := range []*caller{direct, bridge} {
				c.measure(b, size.bytes, arguments, 2*size.calls)
				c.total = 0
			}
			rounds := 0
			for b.Loop() {
				direct.measure(b, size.bytes, arguments, size.calls)
				bridge.measure(b, size.bytes, arguments, size.calls)
				rounds++
			}
			perCall := func(c *caller) float64 { return float64(c.total.Microseconds()) / float64(rounds*size.calls) }
			b.ReportMetric(perCall(direct), "direct-cpu-us/call")
			b.ReportMetric(perCall(bridge), "bridge-cpu-us/call")
			b.ReportMetric(perCall(bridge)/perCall(direct), "ratio")
		})
	}
}

// measure adds the processor time of some calls, one after the other.
func (c *caller) measure(b *testing.B, size int, arguments json.RawMessage, calls int) {
	b.Helper()
	spent := func() time.Duration {
		server, err := strconv.ParseInt(c.call("cpu", json.RawMessage(`{}`)), 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		return time.Duration(server) + c.plugin() + ownTime()
	}
	before := spent()
	for range calls {
		if got := c.call("echo", arguments); len(got) != size {
			b.Fatalf("%d bytes: %.100s", len(got), got)
		}
	}
	c.total += spent() - before
}

func directCaller(b *testing.B) *caller {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), benchServer+"=1")
	s, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil).Connect(b.Context(),
		&mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return &caller{plugin: func() time.Duration { return 0 }, call: func(tool string, arguments json.RawMessage) string {
		r, err := s.CallTool(context.Background(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil || len(r.Content) != 1 {
			b.Fatal(r, err)
		}
		return r.Content[0].(*mcp.TextContent).Text
	}}
}

func bridgeCaller(b *testing.B) *caller {
	b.Helper()
	dir := b.TempDir()
	if err := testutil.Programs(dir, "plugins/mcp"); err != nil {
		b.Fatal(err)
	}
	program := filepath.Join(dir, "toolhost-plugin-mcp")
	s, err := supervise.New(supervise.Options{Workdir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	p, err := s.Add(supervise.Spec{Name: "bench", Command: []string{program}, StartTimeout: time.Minute,
		Config:  json.RawMessage(fmt.Sprintf(`{"command":[%q],"env":{%q:"1"}}`, os.Args[0], benchServer)),
		Sandbox: sandbox.Spec{Level: sandbox.Supervised}})
	if err != nil {
		b.Fatal(err)
	}
	h, err := host.New(map[string]host.Plugin{"bench": p}, host.Options{MaxResultBytes: 4 << 20,
		Plugins: map[string]host.PluginOptions{"bench": {TrustForeignHints: true}}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = h.Close() })
	return &caller{plugin: func() time.Duration { return timeOf(b, p.Status().PID) },
		call: func(tool string, arguments json.RawMessage) string {
			r := h.Call(context.Background(), host.Call{Tool: "bench__" + tool, Arguments: arguments})
			if r.Error != nil || len(r.Content) != 1 {
				b.Fatalf("%+v", r)
			}
			return r.Content[0].Text
		}}
}
