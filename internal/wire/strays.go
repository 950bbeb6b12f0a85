package wire

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/stats"
)

// LimitStrays are options that follow DialOptions. A plugin that sends more than maxStrays bytes that belong to no
// call, such as pings or frames of streams that are closed, breaks its connection, and onFlood is called: gRPC would
// read and answer them for as long as they come, which takes a processor.
func LimitStrays(pid int, onFlood func()) []grpc.DialOption {
	s := &strays{peerCredentials: peerCredentials{pid: pid}, onFlood: sync.OnceFunc(onFlood)}
	return []grpc.DialOption{grpc.WithTransportCredentials(s), grpc.WithStatsHandler(s)}
}

const (
	maxStrays = 4 * window // what may be on its way over the connection
	// callStrays is what may come for a call and is no message yet, or not any more: one that is incomplete, and what was
	// on its way when the call ended.
	callStrays = maxMessage + window
	// messageStrays is what a message takes beside its own length, at most: the heads of its frames.
	messageStrays = 64
)

// strays counts the bytes that have come over a connection, without those of messages.
type strays struct {
	peerCredentials
	onFlood func()
	calls   atomic.Int64 // that have not ended
	bytes   atomic.Int64
}

// ClientHandshake checks the plugin, and has what it sends counted.
func (s *strays) ClientHandshake(ctx context.Context, name string, conn net.Conn) (
	net.Conn, credentials.AuthInfo, error) {
	conn, info, err := s.peerCredentials.ClientHandshake(ctx, name, conn)
	if err == nil {
		conn = countedConn{conn, s}
	}
	return conn, info, err
}

// Clone returns the same: all connections to a plugin are counted together.
func (s *strays) Clone() credentials.TransportCredentials { return s }

type countedConn struct {
	net.Conn
	strays *strays
}

// Read counts what it reads.
func (c countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.strays.bytes.Add(int64(n)) > maxStrays+c.strays.calls.Load()*callStrays {
		c.strays.onFlood()
		return 0, errors.New("it sends without end what belongs to no call")
	}
	return n, err
}

// HandleRPC takes off what belongs to calls.
func (s *strays) HandleRPC(_ context.Context, event stats.RPCStats) {
	switch e := event.(type) {
	case *stats.Begin:
		s.calls.Add(1)
	case *stats.InPayload:
		s.takeOff(e.WireLength + messageStrays)
	case *stats.End:
		s.calls.Add(-1)
		s.takeOff(callStrays)
	}
}

func (s *strays) takeOff(n int) {
	if s.bytes.Add(int64(-n)) < 0 {
		s.bytes.Store(0)
	}
}

// TagRPC adds nothing.
func (*strays) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// TagConn adds nothing.
func (*strays) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn does nothing.
func (*strays) HandleConn(context.Context, stats.ConnStats) {}
