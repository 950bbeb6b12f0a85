package sdk

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/idlemem"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/internal/wire/pluginv1"
)

// cleanup is how long handlers have to return when the plugin stops.
const cleanup = time.Second

// ballast is the size of an idlemem.Ballast. A plugin's heap is small, and Go's collector would run after each four
// megabytes; with it, after each twelve or so, which takes a tenth off the processor time of a small call. Making it
// runs the collector, which takes a seventh of the processor time of a start, and half a megabyte: a plugin gets it
// with its hundredth call.
const (
	ballast      = 8 << 20
	ballastCalls = 100
)

// Serve makes this process the plugin p until its host ends it, and does not return. It is the last line of main. Run
// by hand, it prints one line that says what it is, and exits with code 2; with TOOLHOST_ATTACH=1 it waits for a host
// that joins it instead, such as under a debugger, and prints the command for that.
// While it serves, the process's standard output and standard error go to the host's log. If the plugin dies, the
// error of its calls quotes the last lines of standard error.
func Serve(p *Plugin) {
	started := os.Getenv(wire.EnvCookie) == wire.Cookie
	where := os.Getenv(wire.EnvAttach)
	if !started && where == "" {
		fmt.Fprintln(os.Stderr, p.byHand())
		os.Exit(2)
	}
	// When the host is gone and no longer reads, SIGPIPE must not end the plugin before it has cleaned up. It is caught
	// rather than ignored, since programs that the plugin starts would inherit the latter.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := context.WithCancel(context.Background())
	s := &server{plugin: p, base: ctx, memory: &idlemem.Trimmer{}}
	p.begin()
	run, code := s.serve, 1
	if !started {
		run, code = func() error { return s.attach(where) }, 2
	} else {
		s.memory.Begin()
		s.memory.End() // what the start has allocated is returned too, if it is much
	}
	if started && os.Getenv(wire.EnvLifeline) == "stdin" { // the host holds the other end, and closes it, or dies
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			stop()
			s.drain()
			exit(0)
		}()
	}
	err := run()
	stop()
	s.drain()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(code)
	}
	os.Exit(0)
}

// byHand is the text for a person who runs the plugin.
func (p *Plugin) byHand() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var names []string
	for _, e := range p.tools {
		names = append(names, e.Name)
	}
	tools := "its tools depend on its configuration"
	if len(names) > 0 {
		tools = "tools: " + strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s %s is a toolhost plugin (%s). To use it, name this file in a plugin block of config.hcl; "+
		"to debug it, run it with %s=1.", p.name, p.version, tools, wire.EnvAttach)
}

// serve serves the host that has started the plugin until it asks for the end.
func (s *server) serve() error {
	s.token = os.Getenv(wire.EnvToken)
	_ = os.Unsetenv(wire.EnvToken) // not for processes that the plugin starts
	lis, err := listenIn(os.Getenv(wire.EnvSocketDir))
	if err != nil {
		return err
	}
	signal.Notify(make(chan os.Signal, 1), os.Interrupt) // ^C in the host's terminal is for the host
	fmt.Println(handshake(lis))
	return s.serveOn(context.Background(), lis) // the end of s.base leaves handlers time for their results
}

// credentials are those of the plugin's connections, gRPC's and those of sessions.
func (s *server) credentials(of credentials.TransportCredentials, token string) grpc.ServerOption {
	return grpc.Creds(wire.WithSessions(of, token, func(frames *wire.Frames) {
		s.sessions.Go(func() { s.serveSession(frames) })
	}))
}

// drain waits for the handlers, whose contexts have ended, and for the functions given to AtEnd, but no longer than
// cleanup. No further handler begins after it.
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

func init() {
	wire.ServeListener = func(ctx context.Context, p any, lis net.Listener) error {
		return p.(*Plugin).serveListener(ctx, lis)
	}
	wire.UseStateDir = func(p any, dir string) { p.(*Plugin).stateDir = dir }
}

// serveListener serves the plugin over plain gRPC, without go-plugin, until ctx ends, for tests. It returns when all
// calls have ended.
func (p *Plugin) serveListener(ctx context.Context, lis net.Listener) error {
	base, stop := context.WithCancel(ctx)
	s := &server{plugin: p, base: base}
	p.begin()
	g := grpc.NewServer(append(wire.ServerOptions(), grpc.WaitForHandlers(true),
		s.credentials(insecure.NewCredentials(), ""))...)
	pluginv1.RegisterPluginServiceServer(g, s)
	defer context.AfterFunc(ctx, g.GracefulStop)()
	err := g.Serve(lis)
	g.Stop() // for when the listener broke; it waits for the calls
	stop()
	s.sessions.Wait()
	p.end()
	if ctx.Err() != nil {
		return nil // also when it ended before Serve began, which gRPC reports as an error
	}
	return err
}

// KeepDir is a folder for temporary files that outlive the plugin for a while, unlike those in os.TempDir, which a
// host removes with the plugin. Other plugins use it too: make a private folder in it, and remove that in time.
func KeepDir() string { return cmp.Or(os.Getenv(wire.EnvKeepDir), os.TempDir()) }

// StateDir is a private folder in which the plugin may keep small files between its starts, such as a cursor or a
// cache; "" when its host gives it none. There is one for each plugin of a configuration and each work folder of a
// host, so what one project makes the plugin keep does not reach another. It is removed with an installed plugin. Two
// processes of the plugin may use it at once, such as during a reload: write a file under another name, then rename it.
// Its size has no limit of its own: keep it to some megabytes, and no secrets there, since other programs of the user
// can read them.
func (p *Plugin) StateDir() string { return cmp.Or(p.stateDir, os.Getenv(wire.EnvStateDir)) }

// Instance is the plugin's label in the host's configuration, for messages that say what to run; "" if the program
// was not started by a host.
func Instance() string { return os.Getenv(wire.EnvInstance) }

// What follows is the plugin's end of go-plugin's protocol: its handshake, its health service and its request to end.
// go-plugin's own server is not linked: with it come net/rpc, gob, templates and reflection, which take a fifth of a
// plugin's start and a fifth of its program (measured: 5.9 to 4.8 ms of processor time, 13.4 to 10.9 MB).

// listenIn listens on a new socket in a folder, "" for that of temporary files.
func listenIn(dir string) (net.Listener, error) {
	const digits = 10 // the path of a socket may have 103 bytes on macOS, and 107 on Linux
	return listenAt(filepath.Join(cmp.Or(dir, os.TempDir()), "plugin"+rand.Text()[:digits]))
}

// handshake is the line that tells a host where the plugin listens.
func handshake(lis net.Listener) string {
	const goPlugin = 1 // the version of go-plugin's protocol
	return fmt.Sprintf("%d|%d|%s|%s|grpc|", goPlugin, wire.ProtocolVersion, lis.Addr().Network(), lis.Addr())
}

// serveOn serves hosts that have the server's token until one asks it to end, or ctx ends, which cuts their
// connections.
func (s *server) serveOn(ctx context.Context, lis net.Listener) error {
	s.cpus.own()
	hostPID, _ := strconv.Atoi(os.Getenv(wire.EnvHostPID)) // absent or broken: 0, any process of this user
	g := grpc.NewServer(slices.Concat(wire.ServerOptions(), wire.RequireToken(s.token),
		[]grpc.ServerOption{s.credentials(wire.PeerCredentials(hostPID), s.token)})...)
	pluginv1.RegisterPluginServiceServer(g, s)
	healthpb.RegisterHealthServer(g, health{})
	g.RegisterService(&controller, g)
	defer context.AfterFunc(ctx, g.Stop)()
	return g.Serve(lis)
}

// health is the health service as go-plugin's clients ask it.
type health struct {
	healthpb.UnimplementedHealthServer
}

// Check says that the plugin serves.
func (health) Check(_ context.Context, in *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	if name := in.GetService(); name != "" && name != wire.PluginName {
		return nil, status.Errorf(codes.NotFound, "there is no service %.80q", name)
	}
	return &healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_SERVING}, nil
}

// controller is go-plugin's service with which a client asks a plugin to end.
var controller = grpc.ServiceDesc{ServiceName: "plugin.GRPCController", HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{{MethodName: "Shutdown", Handler: shutDown}}}

// shutDown stops a *grpc.Server after its interceptor has checked the token.
func shutDown(of any, ctx context.Context, decode func(any) error, check grpc.UnaryServerInterceptor) (any, error) {
	in := &emptypb.Empty{}
	if err := decode(in); err != nil {
		return nil, err
	}
	stop := func(context.Context, any) (any, error) {
		go of.(*grpc.Server).Stop()
		return in, nil
	}
	if check == nil {
		return stop(ctx, in)
	}
	return check(ctx, in, &grpc.UnaryServerInfo{Server: of, FullMethod: "/plugin.GRPCController/Shutdown"}, stop)
}

// maxBase is how many bytes the folder for temporary files may have, so that the path of a socket in one of its folders
// is not too long.
const maxBase = 45

// attach serves the plugin in a process that a person has started, for hosts that join it through a file, until SIGINT
// or SIGTERM. The file is where, or a new one if that is "1".
func (s *server) attach(where string) error {
	ctx, stop := signal.NotifyContext(s.base, os.Interrupt, syscall.SIGTERM)
	defer stop()
	_ = os.Unsetenv(wire.EnvAttach) // not for processes that the plugin starts
	base := os.TempDir()
	if len(base) > maxBase && runtime.GOOS != "windows" { // a plugin listens at a port there
		base = "/tmp"
	}
	dir, remove, err := fsutil.TempDir(base, "toolhost-attach-")
	if err != nil {
		return fsutil.FolderError(err, base, "set TMPDIR to another folder")
	}
	defer remove()
	if where == "1" {
		where = filepath.Join(dir, s.plugin.name+".json")
	}
	if where, err = filepath.Abs(where); err != nil {
		return err
	}
	s.token = rand.Text()
	defer removeAttachment(where, s.token)
	for said := false; ctx.Err() == nil; said = true { // after a host has closed its connection, wait for the next host
		lis, err := listenIn(dir)
		if err == nil {
			a := wire.Attachment{Version: wire.AttachVersion, Plugin: s.plugin.name, Protocol: wire.ProtocolVersion,
				PID: os.Getpid(), Socket: lis.Addr().String(), Token: s.token}
			if network := lis.Addr().Network(); network != "unix" {
				a.Network = network
			}
			err = writeAttachment(where, a)
		}
		if err != nil {
			return err
		}
		if !said {
			fmt.Fprintf(os.Stderr, "%s %s runs as process %d, and waits for hosts. From another terminal:\n"+
				"  toolhost plugin run --attach %s\n", s.plugin.name, s.plugin.version, os.Getpid(), where)
		}
		if err := s.serveOn(ctx, lis); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// writeAttachment replaces the file, which only this user can read, at once.
func writeAttachment(path string, a wire.Attachment) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("%s=%s is a folder; name a file in it", wire.EnvAttach, path)
	}
	if err := fsutil.WriteFile(path, append(text, '\n'), 0o600); err != nil {
		return fsutil.FolderError(fmt.Errorf("%s=%s: %w", wire.EnvAttach, path, err), filepath.Dir(path),
			"name a file in another one")
	}
	return nil
}

// removeAttachment removes the file unless another process has replaced it.
func removeAttachment(path, token string) {
	var a wire.Attachment
	if text, err := os.ReadFile(path); err == nil && json.Unmarshal(text, &a) == nil && a.Token == token {
		_ = os.Remove(path)
	}
}
