package sdk

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/internal/wire/pluginv1"
)

// This file is the plugin's end of go-plugin's protocol: its handshake, its health service and its request to end.
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
