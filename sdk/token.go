package sdk

import (
	"context"
	"crypto/subtle"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// A token is what a host shows with each request to the plugin that it has given it to, in EnvToken. In a process
// namespace of its own a plugin cannot tell who of the same user connects: everybody outside has the pid 0.
type token string

const tokenHeader = "toolhost-token"

// WithToken is the host's option for a connection to a plugin that has the token.
func WithToken(text string) grpc.DialOption { return grpc.WithPerRPCCredentials(token(text)) }

// GetRequestMetadata is what gRPC sends along.
func (t token) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{tokenHeader: string(t)}, nil
}

// RequireTransportSecurity is false: nothing leaves the machine.
func (t token) RequireTransportSecurity() bool { return false }

// options have a server answer nobody without the token, whatever is asked; with no token anybody may ask.
func (t token) options() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(func(ctx context.Context, in any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if err := t.check(ctx); err != nil {
				return nil, err
			}
			return next(ctx, in)
		}),
		grpc.ChainStreamInterceptor(func(in any, s grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			if err := t.check(s.Context()); err != nil {
				return err
			}
			return next(in, s)
		}),
	}
}

func (t token) check(ctx context.Context) error {
	shown := metadata.ValueFromIncomingContext(ctx, tokenHeader)
	if t == "" || len(shown) == 1 && subtle.ConstantTimeCompare([]byte(shown[0]), []byte(t)) == 1 {
		return nil
	}
	return status.Error(codes.Unauthenticated, "this plugin answers the host that has started it, and nobody else")
}
