package sdk

import (
	"net"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// A plugin that has a token answers whoever shows it, with unary calls and with streams.
func TestToken(t *testing.T) {
	for name, c := range map[string]struct {
		has   token
		shown []grpc.DialOption
		want  codes.Code
	}{
		"none":                {"", nil, codes.OK},
		"none, and one shown": {"", []grpc.DialOption{WithToken("t")}, codes.OK},
		"the right one":       {"t", []grpc.DialOption{WithToken("t")}, codes.OK},
		"another":             {"t", []grpc.DialOption{WithToken("x")}, codes.Unauthenticated},
		"an empty one":        {"t", []grpc.DialOption{WithToken("")}, codes.Unauthenticated},
		"nothing shown":       {"t", nil, codes.Unauthenticated},
	} {
		t.Run(name, func(t *testing.T) {
			lis, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
			if err != nil {
				t.Fatal(err)
			}
			g := grpc.NewServer(c.has.options()...)
			grpc_health_v1.RegisterHealthServer(g, health.NewServer())
			go func() { _ = g.Serve(lis) }()
			defer g.Stop()
			conn, err := grpc.NewClient("unix:"+lis.Addr().String(), append(c.shown, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			asked := grpc_health_v1.NewHealthClient(conn)
			if _, err := asked.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{}); status.Code(err) != c.want {
				t.Errorf("a call: %v", err)
			}
			stream, err := asked.Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{})
			if err == nil {
				_, err = stream.Recv()
			}
			if status.Code(err) != c.want {
				t.Errorf("a stream: %v", err)
			}
		})
	}
}
