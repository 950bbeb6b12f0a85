package sdk

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
)

// cleanup is how long handlers have to end once the plugin is to stop.
const cleanup = time.Second

// Serve makes this process the plugin p until its host ends it, and does not return. It is the last line of main. Run by
// hand it says in one line what it is and exits with 2.
//
// While it serves, what the process prints on standard output and standard error goes to the host's log. The last lines of
// standard error are told with the end of a plugin that dies.
func Serve(p *Plugin) {
	if os.Getenv(Handshake.MagicCookieKey) != Handshake.MagicCookieValue {
		fmt.Fprintln(os.Stderr, p.byHand())
		os.Exit(2)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &server{plugin: p, base: ctx}
	go lifeline(func() { stop(); s.drain(); exit(0) })
	serveGoPlugin(s)
	stop()
	s.drain()
	os.Exit(0)
}

// byHand is what a person who runs the plugin reads.
func (p *Plugin) byHand() string {
	var names []string
	for _, e := range p.tools {
		names = append(names, e.Name)
	}
	tools := "its tools depend on its configuration"
	if len(names) > 0 {
		tools = "tools: " + strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s %s is a toolhost plugin (%s). A host runs it: name this file in a plugin block of config.hcl, then `toolhost discover`.",
		p.name, p.version, tools)
}

func serveGoPlugin(s *server) {
	shown := token(os.Getenv(EnvToken))
	_ = os.Unsetenv(EnvToken) // it is not for what the plugin starts
	stderr := keepStderr()
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig:  Handshake,
		VersionedPlugins: map[int]goplugin.PluginSet{1: {"plugin": &glue{server: s}}},
		GRPCServer: func([]grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(slices.Concat(serverOptions(), shown.options(), []grpc.ServerOption{grpc.Creds(peerCredentials{pid: hostPID()}), stderr.option()})...)
		},
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Warn, JSONFormat: true, Output: stderr.given}),
	})
}

// drain waits for the handlers, whose contexts have ended, and for what AtEnd was given, but not for ever. No other handler
// begins after it.
func (s *server) drain() {
	var ends sync.WaitGroup
	ends.Go(s.plugin.end)
	ends.Go(s.running.Lock)
	done := make(chan struct{})
	go func() {
		ends.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(cleanup):
	}
}
