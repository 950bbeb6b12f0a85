//go:build unix

package supervise

import (
	"context"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/internal/wire/client"
)

// The yardstick is plain go-plugin with AutoMTLS, in the same run: compare ratios, not figures of two runs.

// stockPlugin serves nothing but go-plugin's own services.
func stockPlugin() {
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: client.Handshake,
		Plugins:         goplugin.PluginSet{"plugin": nothing{}},
		GRPCServer:      goplugin.DefaultGRPCServer,
		Logger:          hclog.NewNullLogger(),
	})
}

type nothing struct {
	goplugin.NetRPCUnsupportedPlugin
}

func (nothing) GRPCServer(*goplugin.GRPCBroker, *grpc.Server) error { return nil }
func (nothing) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, nil
}

func startStock(b *testing.B) (*goplugin.Client, goplugin.ClientProtocol) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "FIXTURE=stock")
	c := goplugin.NewClient(&goplugin.ClientConfig{HandshakeConfig: client.Handshake, Cmd: cmd, AutoMTLS: true,
		Plugins: goplugin.PluginSet{"plugin": nothing{}}, AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		Logger: hclog.NewNullLogger(), SyncStdout: io.Discard, SyncStderr: io.Discard})
	protocol, err := c.Client()
	if err != nil {
		b.Fatal(err)
	}
	if err := protocol.Ping(); err != nil {
		b.Fatal(err)
	}
	return c, protocol
}

// BenchmarkStart measures a start up to the first answer, and the stop.
func BenchmarkStart(b *testing.B) {
	for _, level := range []sandbox.Level{sandbox.Supervised, sandbox.Confined} {
		b.Run("toolhost/"+string(level), func(b *testing.B) {
			s := supervisor(b)
			spec := fixture("good", "good").complete("")
			spec.Sandbox.Level = level
			for b.Loop() {
				p := newProcess(spec, s.log, s.start, nil)
				if _, err := p.Tools(b.Context()); err != nil {
					b.Fatal(err)
				}
				_ = p.Close()
			}
		})
	}
	b.Run("stock", func(b *testing.B) {
		for b.Loop() {
			c, _ := startStock(b)
			c.Kill()
		}
	})
}

// BenchmarkStartAtLevel is BenchmarkStart for each level of the sandbox.
func BenchmarkStartAtLevel(b *testing.B) {
	for _, level := range allLevels {
		b.Run(string(level), func(b *testing.B) {
			s, spec := supervisor(b), fixture("good", "good")
			spec.Sandbox.Level, spec.Dir = level, s.options.Workdir
			for b.Loop() {
				p := newProcess(spec.complete(""), s.log, s.start, nil)
				if _, err := p.Tools(b.Context()); err != nil {
					b.Fatal(err)
				}
				_ = p.Close()
			}
		})
	}
}

// BenchmarkCall makes one small call of a running plugin; stock is a Ping, which does less.
func BenchmarkCall(b *testing.B) {
	b.Run("toolhost", func(b *testing.B) {
		p := add(b, supervisor(b), fixture("good", "good"))
		mustCall(b, p, "echo", "warm")
		b.ReportAllocs()
		for b.Loop() {
			if _, err := p.Call(b.Context(), request("echo", "hello")); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("stock", func(b *testing.B) {
		c, protocol := startStock(b)
		defer c.Kill()
		b.ReportAllocs()
		for b.Loop() {
			if err := protocol.Ping(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkDeath measures from the SIGKILL of a plugin to the error of the call in flight, and to the next answer.
func BenchmarkDeath(b *testing.B) {
	spec := fixture("good", "good")
	spec.Restart = Restart{MaxCrashes: 1 << 20, Backoff: time.Nanosecond, BackoffMax: time.Nanosecond}
	p := add(b, supervisor(b), spec)
	var heard, served time.Duration
	for b.Loop() {
		ended := begin(b, b.Context(), p, "")
		killed := time.Now()
		_ = syscall.Kill(p.Status().PID, syscall.SIGKILL)
		<-ended
		heard += time.Since(killed)
		mustCall(b, p, "echo", "")
		served += time.Since(killed)
	}
	b.ReportMetric(float64(heard.Microseconds())/float64(b.N), "us-to-error")
	b.ReportMetric(float64(served.Microseconds())/float64(b.N), "us-to-answer")
}

// BenchmarkList measures a whole host that lists a hundred plugins: from the cache, by starting them, and with plain
// go-plugin, one after the other.
func BenchmarkList(b *testing.B) {
	c := newCaching(b)
	specs := c.linked(100)
	settleProgram(b)
	c.list(Options{}, specs...)
	c.wantStarts(len(specs), "to fill the cache")
	b.Run("cached", func(b *testing.B) {
		for b.Loop() {
			c.list(Options{}, specs...)
		}
		c.wantStarts(0, "from the cache")
	})
	b.Run("started", func(b *testing.B) {
		for b.Loop() {
			c.list(Options{Refresh: true}, specs...)
		}
	})
	b.Run("stock", func(b *testing.B) {
		for b.Loop() {
			for range specs {
				client, _ := startStock(b)
				client.Kill()
			}
		}
	})
}
