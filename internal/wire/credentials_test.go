//go:build linux || darwin

package wire

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/wire/pluginv1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

func listen(t *testing.T) net.Listener {
	t.Helper()
	lis, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lis.Close() })
	return lis
}

// pair returns both ends of a connection over lis.
func pair(t *testing.T, lis net.Listener) (client, server net.Conn) {
	t.Helper()
	client, err := net.Dial(lis.Addr().Network(), lis.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err = lis.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = client.Close(), server.Close() })
	return client, server
}

func TestPeerCredentials(t *testing.T) {
	client, server := pair(t, listen(t))
	ours := os.Getpid()
	for pid, want := range map[int]string{
		ours: "", 0: "",
		ours + 1: fmt.Sprintf("the other end of the socket is process %d, not %d", ours, ours+1),
	} {
		c := peerCredentials{pid: pid}
		_, info, err := c.ClientHandshake(t.Context(), "", client)
		if want != "" {
			checkPeer(t, info, err, "it does not serve in the process that was started (a script ends with exec): "+want)
		} else {
			checkPeer(t, info, err, want)
		}
		_, info, err = c.Clone().ServerHandshake(server)
		checkPeer(t, info, err, want)
	}
}

func checkPeer(t *testing.T, info credentials.AuthInfo, err error, want string) {
	t.Helper()
	switch {
	case want != "" && (err == nil || err.Error() != want || info != nil):
		t.Errorf("error is %v, want %s", err, want)
	case want == "" && err != nil:
		t.Error(err)
	case want == "" && credentials.CheckSecurityLevel(info, credentials.PrivacyAndIntegrity) != nil:
		t.Error("gRPC would not trust the connection")
	}
}

func TestPeerCredentialsWithoutAPeer(t *testing.T) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	overTCP, _ := pair(t, tcp)
	inMemory, other := net.Pipe()
	defer other.Close()
	closed, _ := pair(t, listen(t))
	_ = closed.Close()
	for want, conn := range map[string]net.Conn{
		"peer credentials need a Unix socket, not tcp":  overTCP,
		"peer credentials need a Unix socket, not pipe": inMemory,
		"asking who is at the other end of the socket":  closed,
	} {
		if _, _, err := (peerCredentials{}).ServerHandshake(conn); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %s", err, want)
		}
	}
}

// Through gRPC, as host and plugin use it, each end refuses an unexpected process.
func TestPeerCredentialsThroughGRPC(t *testing.T) {
	ours := os.Getpid()
	for _, c := range []struct {
		name           string
		client, server int // the process that each expects
		refused        bool
	}{
		{"both right", ours, ours, false},
		{"both open", 0, 0, false},
		{"the client expects another", ours + 1, ours, true},
		{"the server expects another", ours, ours + 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			lis := listen(t)
			g := grpc.NewServer(grpc.Creds(peerCredentials{pid: c.server}))
			pluginv1.RegisterPluginServiceServer(g, pluginv1.UnimplementedPluginServiceServer{})
			served := make(chan error, 1)
			go func() { served <- g.Serve(lis) }()
			conn, err := grpc.NewClient("unix:"+lis.Addr().String(), DialOptions(c.client)...)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close(); g.Stop(); <-served })
			_, err = pluginv1.NewPluginServiceClient(conn).Describe(t.Context(), &pluginv1.DescribeRequest{})
			if got := status.Code(err); c.refused != (got == codes.Unavailable) || c.refused == (got == codes.Unimplemented) {
				t.Errorf("error is %v; refused: %v", err, c.refused)
			}
		})
	}
}

// The peer must be of the same user and, if a process is expected, that one.
func TestAcceptedPeers(t *testing.T) {
	me := os.Getuid()
	for name, c := range map[string]struct {
		meant int
		peer  Peer
		words string // in the error, "" for accepted
	}{
		"the one that is meant":          {7, Peer{me, 7}, ""},
		"any of the user":                {0, Peer{me, 7}, ""},
		"one that the system hides":      {7, Peer{me, 0}, ""},
		"another process":                {7, Peer{me, 8}, "is process 8, not 7"},
		"another user":                   {0, Peer{me + 1, 7}, fmt.Sprintf("belongs to user %d", me+1)},
		"another user, the same process": {7, Peer{me + 1, 7}, fmt.Sprintf("belongs to user %d", me+1)},
	} {
		err := peerCredentials{c.meant}.accepts(c.peer)
		if (c.words == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v, want %q", name, err, c.words)
		}
	}
}

// A plugin with a token accepts any process that sends it, for unary calls and for streams.
func TestToken(t *testing.T) {
	for name, c := range map[string]struct {
		has   string
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
			g := grpc.NewServer(RequireToken(c.has)...)
			grpc_health_v1.RegisterHealthServer(g, health.NewServer())
			go func() { _ = g.Serve(lis) }()
			defer g.Stop()
			conn, err := grpc.NewClient("unix:"+lis.Addr().String(), append(c.shown,
				grpc.WithTransportCredentials(insecure.NewCredentials()))...)
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
