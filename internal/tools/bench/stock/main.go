// Command stock is a plugin of go-plugin as it comes: one unary method over gRPC.
package main

import (
	"context"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/toolhost/toolhost/internal/tools/bench/payload"
)

type echo struct {
	goplugin.NetRPCUnsupportedPlugin
}

func (echo) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, nil
}

func (echo) GRPCServer(_ *goplugin.GRPCBroker, s *grpc.Server) error {
	handler := func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		var in wrapperspb.BytesValue
		if err := decode(&in); err != nil {
			return nil, err
		}
		return &wrapperspb.BytesValue{Value: payload.Answer(in.Value)}, nil
	}
	s.RegisterService(&grpc.ServiceDesc{ServiceName: "bench.Echo", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Echo", Handler: handler}}}, struct{}{})
	return nil
}

func main() {
	goplugin.Serve(&goplugin.ServeConfig{Plugins: goplugin.PluginSet{"echo": echo{}}, GRPCServer: goplugin.DefaultGRPCServer,
		Logger: hclog.NewNullLogger(), HandshakeConfig: goplugin.HandshakeConfig{ProtocolVersion: 1,
			MagicCookieKey: "BENCH", MagicCookieValue: "bench"}})
}
