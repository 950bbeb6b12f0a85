package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/wire/pluginv1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

func output(size int) *pluginv1.CallEvent {
	return &pluginv1.CallEvent{Event: &pluginv1.CallEvent_Output{Output: &pluginv1.Output{Data: make([]byte, size)}}}
}

func numbered(sender, number, size int) Proto {
	return Proto{&pluginv1.SessionEvent{Id: uint64(sender<<20 | number), Events: []*pluginv1.CallEvent{output(size)}}}
}

// connections are pairs of ends by their kinds.
func connections(t *testing.T) map[string][2]net.Conn {
	a, b := net.Pipe()
	c, d := pair(t, listen(t))
	t.Cleanup(func() { _, _ = a.Close(), b.Close() })
	return map[string][2]net.Conn{"in memory": {a, b}, "unix socket": {c, d}}
}

// Messages of many senders arrive whole, and those of each in their order, whatever their sizes are.
func TestFramesArriveInOrder(t *testing.T) {
	for kind, ends := range connections(t) {
		t.Run(kind, func(t *testing.T) {
			const senders, each = 8, 200
			sizes := []int{0, 1, 100, 20_000, 300, 70_000, 5, 600_000}
			from, to := newFrames(ends[0]), newFrames(ends[1])
			for sender := range senders {
				go func() {
					for number := range each {
						m := numbered(sender, number, sizes[(sender+number)%len(sizes)])
						if err := from.Send(t.Context(), nil, m, sender%2 == 0); err != nil {
							t.Error(err)
						}
					}
				}()
			}
			next := [senders]int{}
			for range senders * each {
				frame, err := to.Next()
				if err != nil {
					t.Fatal(err)
				}
				var m pluginv1.SessionEvent
				if err := Decode(frame, &m); err != nil {
					t.Fatal(err)
				}
				sender, number := int(m.GetId()>>20), int(m.GetId()&0xfffff)
				if got := len(m.GetEvents()[0].GetOutput().GetData()); number != next[sender] ||
					got != sizes[(sender+number)%len(sizes)] {
					t.Fatalf("message %d of sender %d has %d bytes, after %d messages", number, sender, got, next[sender])
				}
				next[sender]++
			}
		})
	}
}

// A small message overtakes the pieces of large results, which keep their order, and none of which is lost.
func TestSmallMessagesOvertakeLargeOnes(t *testing.T) {
	for kind, ends := range connections(t) {
		t.Run(kind, func(t *testing.T) {
			from, to := newFrames(ends[0]), newFrames(ends[1])
			const pieces, small = 40, 1000
			var sent sync.WaitGroup
			sent.Go(func() {
				for i := range pieces {
					if err := from.SendBulk(t.Context(), numbered(0, i, sessionPiece)); err != nil {
						t.Error(err)
					}
				}
			})
			waits := func() bool {
				from.mu.Lock()
				defer from.mu.Unlock()
				return len(from.bulk) > 0 && from.sending
			}
			for !waits() { // until the connection is full
				runtime.Gosched()
			}
			if err := from.Send(t.Context(), nil, numbered(0, small, 1), false); err != nil {
				t.Error(err)
			}
			var got []int
			for range pieces + 1 {
				frame, err := to.Next()
				var m pluginv1.SessionEvent
				if err = errors.Join(err, Decode(frame, &m)); err != nil {
					t.Fatal(err)
				}
				got = append(got, int(m.GetId()))
			}
			sent.Wait()
			at := slices.Index(got, small)
			if rest := slices.Delete(slices.Clone(got), at, at+1); !slices.IsSorted(rest) || at > pieces/2 {
				t.Errorf("the order is %d", got)
			}
		})
	}
}

// A sender waits for an end that does not read only once 128 KiB are unsent, and then until its ctx ends or it is
// stopped; what is posted never waits. All that was sent arrives when the other end reads again.
func TestFramesToAnEndThatDoesNotRead(t *testing.T) {
	for kind, ends := range connections(t) {
		t.Run(kind, func(t *testing.T) {
			f := newFrames(ends[0])
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			sent := 0
			for ; sent < 100; sent++ {
				err := f.Send(ctx, nil, numbered(0, sent, 10_000), false)
				if errors.Is(err, context.DeadlineExceeded) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if sent < 13 || sent > 60 {
				t.Errorf("%d messages of 10 KB were taken", sent)
			}
			stopped := make(chan struct{})
			close(stopped)
			if err := f.Send(t.Context(), stopped, numbered(0, sent, 1), false); !errors.Is(err, errStopped) {
				t.Errorf("a sender that is stopped: %v", err)
			}
			if err := f.Post(numbered(0, sent, 1)); err != nil {
				t.Error(err)
			}
			to := newFrames(ends[1])
			for want := range sent + 1 {
				frame, err := to.Next()
				var m pluginv1.SessionEvent
				if err = errors.Join(err, Decode(frame, &m)); err != nil || m.GetId() != uint64(want) {
					t.Fatalf("message %d of %d: %v, error %v", want, sent+1, m.GetId(), err)
				}
			}
		})
	}
}

// A message that was not sent is an error at once, or Next reports the end.
func TestFramesOfABrokenConnection(t *testing.T) {
	for kind, ends := range connections(t) {
		t.Run(kind, func(t *testing.T) {
			f := newFrames(ends[0])
			_ = ends[1].Close()
			err := f.Send(t.Context(), nil, numbered(0, 0, 10), false)
			if kind == "unix socket" && !errors.Is(err, syscall.EPIPE) {
				t.Errorf("error %v", err)
			}
			if _, err := f.Next(); status.Code(err) != codes.Unavailable {
				t.Errorf("error %v", err)
			}
			for f.Post(numbered(0, 0, 10)) == nil { // the goroutine that writes finds out
				time.Sleep(time.Millisecond)
			}
			if err := f.Send(t.Context(), nil, numbered(0, 0, 10), true); err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestFramesThatBreakRules(t *testing.T) {
	head := func(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }
	for name, c := range map[string]struct {
		sent []byte
		want string
	}{
		"too long":          {head(maxMessage + 1), "a message of 4456449 bytes; the limit is 4456448"},
		"much too long":     {head(1<<32 - 1), "the session carries data that is not a message"},
		"text":              {[]byte("HTTP/1.1 400"), "the session carries data that is not a message"},
		"no length":         {[]byte{1, 0}, "the connection of the session ended: it was closed"},
		"no message":        {head(10), "the connection of the session ended: it was closed"},
		"half a message":    {append(head(10), 1, 2, 3), "the connection of the session ended: it was closed"},
		"nothing":           {nil, "the connection of the session ended: it was closed"},
		"no SessionEvent":   {append(head(2), 0xff, 0xff), "a message of the session cannot be decoded"},
		"too many elements": {crowd(), "4001 elements in one message; the limit is 4000"},
	} {
		t.Run(name, func(t *testing.T) {
			here, there := net.Pipe()
			go func() { _, _ = there.Write(c.sent); _ = there.Close() }()
			frame, err := newFrames(here).Next()
			if err == nil {
				err = Decode(frame, &pluginv1.SessionEvent{})
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
}

// crowd is the frame of a message with more events than one may have.
func crowd() []byte {
	m, _ := proto.Marshal(&pluginv1.SessionEvent{Events: make([]*pluginv1.CallEvent, maxParts+1)})
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(m))), m...)
}

// A length alone takes no memory: the buffer grows as the bytes come, and is small again after them.
func TestFramesTakeMemoryForWhatHasCome(t *testing.T) {
	here, there := net.Pipe()
	f := newFrames(here)
	frame := append(binary.LittleEndian.AppendUint32(nil, maxMessage), make([]byte, maxMessage)...)
	read := make(chan int, 1)
	go func() {
		frame, _ := f.Next()
		read <- len(frame)
		_, _ = f.Next()
		read <- len(f.in)
	}()
	if _, err := there.Write(frame[:100]); err != nil {
		t.Fatal(err)
	}
	if len(f.in) > readBuffer { // the reader waits for more, and does not touch it
		t.Errorf("a buffer of %d bytes for the first 100", len(f.in))
	}
	_, _ = there.Write(frame[100:])
	_, _ = there.Write([]byte{0, 0, 0, 0})
	if n := <-read; n != maxMessage {
		t.Errorf("a message of %d bytes", n)
	}
	if n := <-read; n != readBuffer {
		t.Errorf("a buffer of %d bytes after it", n)
	}
}

// counting counts what would be system calls of a connection.
type counting struct {
	*net.UnixConn
	reads, writes atomic.Int64
}

func (c *counting) Read(b []byte) (int, error) { c.reads.Add(1); return c.UnixConn.Read(b) }

func (c *counting) SyscallConn() (syscall.RawConn, error) {
	raw, err := c.UnixConn.SyscallConn()
	return countingRaw{raw, &c.writes}, err
}

type countingRaw struct {
	syscall.RawConn
	writes *atomic.Int64
}

func (c countingRaw) Write(f func(uintptr) bool) error { c.writes.Add(1); return c.RawConn.Write(f) }

// A message costs one write and one read at most, and many that are sent at once share both.
func TestFramesShareSystemCalls(t *testing.T) {
	a, b := pair(t, listen(t))
	from, to := &counting{UnixConn: a.(*net.UnixConn)}, &counting{UnixConn: b.(*net.UnixConn)}
	f, g := newFrames(from), newFrames(to)
	for i := range 50 {
		if err := f.Send(t.Context(), nil, numbered(0, i, 100), false); err != nil {
			t.Fatal(err)
		}
	}
	for range 50 {
		if _, err := g.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if w, r := from.writes.Load(), to.reads.Load(); w != 50 || r > 2 {
		t.Errorf("50 messages took %d writes and %d reads", w, r)
	}
	const together = 64
	var ready, all sync.WaitGroup
	ready.Add(together)
	f.mu.Lock() // all wait for the one that will write
	for i := range together {
		all.Go(func() { ready.Done(); _ = f.Send(t.Context(), nil, numbered(0, i, 100), true) })
	}
	ready.Wait()
	f.mu.Unlock()
	all.Wait()
	if w := from.writes.Load() - 50; w > together/2 {
		t.Errorf("%d messages at once took %d writes", together, w)
	}
}

// Messages wait for others to join them, up to a few.
func TestFramesThatAreGathered(t *testing.T) {
	a, b := pair(t, listen(t))
	from := &counting{UnixConn: a.(*net.UnixConn)}
	f, g := newFrames(from), newFrames(b)
	f.sending, f.gathered = true, 1 // a goroutine has begun to gather, and does not come to run
	for i := range maxGathered - 1 {
		if n := from.writes.Load(); n != 0 {
			t.Fatalf("%d writes of %d messages", n, i)
		}
		if err := f.Send(t.Context(), nil, numbered(0, i, 100), true); err != nil {
			t.Fatal(err)
		}
	}
	for range maxGathered - 1 {
		if _, err := g.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if n := from.writes.Load(); n != 1 || f.sending || f.gathered != 0 {
		t.Errorf("%d writes, sending %v, %d gathered", n, f.sending, f.gathered)
	}
}

// A server accepts sessions of hosts that have the token, beside gRPC on the same socket.
func TestOpenSession(t *testing.T) {
	for name, c := range map[string]struct {
		has, shown string
		refused    bool
	}{
		"right":      {has: "t", shown: "t"},
		"none":       {},
		"not needed": {shown: "t"},
		"wrong":      {has: "t", shown: "x", refused: true},
		"missing":    {has: "t", refused: true},
		"longer":     {has: "t", shown: "tt", refused: true},
		"too long":   {has: "t", shown: strings.Repeat("t", 256), refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			lis := must(net.Listen("unix", filepath.Join(t.TempDir(), "s")))(t)
			g := grpc.NewServer(grpc.Creds(WithSessions(insecure.NewCredentials(), c.has, func(f *Frames) {
				go func() {
					defer f.Close()
					if frame, err := f.Next(); err == nil {
						_ = f.Send(context.Background(), nil, Proto{&pluginv1.SessionEvent{Id: uint64(len(frame))}}, false)
					}
				}()
			})))
			grpc_health_v1.RegisterHealthServer(g, health.NewServer())
			go func() { _ = g.Serve(lis) }()
			defer g.Stop()
			conn := must(net.Dial("unix", lis.Addr().String()))(t)
			defer conn.Close()
			f, err := OpenSession(conn, c.shown)
			if (err != nil) != c.refused {
				t.Errorf("error %v", err)
			}
			if err == nil {
				if err := f.Post(Proto{&pluginv1.SessionRequest{Id: 1}}); err != nil {
					t.Error(err)
				}
				var m pluginv1.SessionEvent
				if frame, err := f.Next(); errors.Join(err, Decode(frame, &m)) != nil || m.GetId() != 2 {
					t.Errorf("answer %v, error %v", &m, err)
				}
			}
			over := must(grpc.NewClient("unix:"+lis.Addr().String(),
				grpc.WithTransportCredentials(insecure.NewCredentials())))(t)
			defer over.Close()
			if _, err := grpc_health_v1.NewHealthClient(over).Check(t.Context(),
				&grpc_health_v1.HealthCheckRequest{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// What begins like neither, or ends too early, ends nothing but its own connection.
func TestConnectionsThatBeginWrong(t *testing.T) {
	lis := listen(t)
	g := grpc.NewServer(grpc.Creds(WithSessions(insecure.NewCredentials(), "t", func(*Frames) { t.Error("a session") })))
	go func() { _ = g.Serve(lis) }()
	defer g.Stop()
	for _, begin := range []string{"", "toolhost", sessionPreface, sessionPreface + "\xff" + "t",
		strings.Repeat("x", 100), sessionPreface + "\x00"} {
		conn := must(net.Dial("unix", lis.Addr().String()))(t)
		if _, err := conn.Write([]byte(begin)); err != nil {
			t.Error(err)
		}
		_ = conn.(*net.UnixConn).CloseWrite()
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		for buffer, err := make([]byte, 100), error(nil); err == nil; {
			if _, err = conn.Read(buffer); errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%.30q is not ended", begin)
			}
			if err == nil && buffer[0] == sessionAnswer {
				t.Errorf("%.30q is accepted", begin)
			}
		}
		_ = conn.Close()
	}
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// BenchmarkFrames is one message of 200 bytes there and one back.
func BenchmarkFrames(b *testing.B) {
	lis := try(net.Listen("unix", filepath.Join(b.TempDir(), "s")))
	go func() {
		conn, _ := lis.Accept()
		f := newFrames(conn)
		for {
			if _, err := f.Next(); err != nil {
				return
			}
			_ = f.Post(numbered(0, 0, 200))
		}
	}()
	f := newFrames(try(net.Dial("unix", lis.Addr().String())))
	m := numbered(0, 0, 200)
	b.ReportAllocs()
	for b.Loop() {
		if err := f.Send(b.Context(), nil, m, false); err != nil {
			b.Fatal(err)
		}
		if _, err := f.Next(); err != nil {
			b.Fatal(err)
		}
	}
	_ = f.Close()
}

func try[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Sprint(err))
	}
	return v
}

// The socket of a session holds more than sockets do as a rule, so that large results need not wait for each other.
func TestSocketHoldsMore(t *testing.T) {
	held := func(c net.Conn) (n int) {
		raw, err := c.(*net.UnixConn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		err = errors.Join(raw.Control(func(fd uintptr) {
			n, err = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_SNDBUF)
		}), err)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	a, b := pair(t, listen(t))
	newFrames(a)
	if with, without := held(a), held(b); with <= without {
		t.Errorf("it holds %d bytes, and %d as a rule", with, without)
	}
}
