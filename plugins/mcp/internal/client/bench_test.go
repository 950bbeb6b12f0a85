//go:build unix

package client_test

import (
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/plugins/mcp/internal/client"
)

// BenchmarkCall compares the cost of a call that echoes a text with that of the official Go client. cpu-us/op is the
// processor time of the client alone; the server is another process.
func BenchmarkCall(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"100B", 100}, {"10KB", 10_000}, {"1MB", 1_000_000}} {
		text := strings.Repeat("0123456789", size.bytes/10)
		arguments, _ := json.Marshal(map[string]string{"text": text})
		b.Run(size.name+"/ours", func(b *testing.B) {
			s := dial(b, client.Options{Revision: client.Revision20251125}, "bench")
			measure(b, func() {
				if r, err := callTool(context.Background(), s, "echo", string(arguments), nil); err != nil || len(r) < size.bytes {
					b.Fatal(r, err)
				}
			})
		})
		b.Run(size.name+"/sdk", func(b *testing.B) {
			c := command(b, "bench")
			cmd := exec.Command(c.Path)
			cmd.Env = c.Env
			s, err := mcp.NewClient(&mcp.Implementation{Name: "n", Version: "v"}, nil).Connect(context.Background(),
				&mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: client.Revision20251125})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			measure(b, func() {
				r, err := s.CallTool(context.Background(), &mcp.CallToolParams{Name: "echo", Arguments: json.RawMessage(arguments)})
				if err != nil || len(r.Content) != 1 {
					b.Fatal(r, err)
				}
			})
		})
	}
}

func measure(b *testing.B, call func()) {
	call()
	b.ReportAllocs()
	before := processorTime()
	for b.Loop() {
		call()
	}
	b.ReportMetric(float64((processorTime()-before).Microseconds())/float64(b.N), "cpu-us/op")
}

func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
