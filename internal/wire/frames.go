package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

const (
	frameHead  = 4        // bytes of a frame's length, little-endian
	readBuffer = 16 << 10 // what one read takes, at least
	// maxPlausible is the largest length that can be meant as one: text that a plugin writes into its sockets has more.
	maxPlausible = 256 << 20
	maxUnsent    = 128 << 10 // bytes that wait for the other end to read; more have their senders wait
	maxKept      = 64 << 10  // the largest buffer for reading that is kept for the next message
	maxKeptOut   = 256 << 10 // likewise for writing, of which there are two
	maxRounds    = 8         // writes of one sender for all before a goroutine of its own continues
	// maxGathered is how many messages are written at the latest, though other goroutines could add theirs: the other
	// end has nothing to do meanwhile. With it 16 callers make a fifth more calls.
	maxGathered = 8
	// sendBuffer is what a socket is asked to hold. A sender that found it full is woken when a quarter is left in it:
	// with Linux's 208 KiB the other end has read that before the sender comes, and large results waited for each other
	// (measured with 1 MB: a third more calls a second). The system's limit, net.core.wmem_max, may be lower.
	sendBuffer = 256 << 10
)

// Frames carry messages over a connection, in both directions, each behind its length. A message costs one write and
// one read, or a part of them when many are on their way, and no goroutine but the one that reads: a quarter of what it
// costs over a gRPC stream, which hands each message from goroutine to goroutine four times.
type Frames struct {
	conn net.Conn
	raw  syscall.RawConn // for writes that do not wait; nil where the connection has none

	in         []byte // read, and not taken yet, from start to end
	start, end int
	full       bool // the last read filled the buffer

	mu      sync.Mutex
	unsent  []byte
	bulk    []byte // likewise, a piece of a large result: it goes when nothing else is unsent
	spare   []byte // the buffer of the last write
	sending bool   // some goroutine writes, or gathers, and will write what is added meanwhile
	// gathered are the messages for which the goroutine that gathers lets others run; zero: none does.
	gathered int
	room     chan struct{} // closed when unsent or bulk was taken; nil when none waits for that
	err      error         // of a write

	// Of the goroutine that writes.
	writing   func(fd uintptr) bool
	out       []byte
	written   int
	writeFail error
}

// newFrames carries messages over conn, which Close closes.
func newFrames(conn net.Conn) *Frames {
	f := &Frames{conn: conn, in: make([]byte, readBuffer)}
	if s, ok := conn.(syscall.Conn); ok {
		f.raw, _ = s.SyscallConn() // of a closed connection there is none
	}
	f.writing = f.writeOnce
	if c, ok := conn.(interface{ SetWriteBuffer(bytes int) error }); ok {
		_ = c.SetWriteBuffer(sendBuffer) // a smaller one is slower only
	}
	return f
}

// Close ends both directions.
func (f *Frames) Close() error { return f.conn.Close() }

// EndNext makes Next fail; messages can still be sent.
func (f *Frames) EndNext() { _ = f.conn.SetReadDeadline(time.Now()) }

// Send sends a message. It writes at once if the other end reads, also what other goroutines have added meanwhile, and
// else leaves that to a goroutine: it waits only while 128 KiB are unsent, until ctx ends or stop is closed (nil never
// is). With others, it lets other goroutines that can run add their messages first. An error means that nothing of the
// message was sent; when there is none, Next tells if the connection broke.
func (f *Frames) Send(ctx context.Context, stop <-chan struct{}, m Appender, others bool) error {
	f.mu.Lock()
	if err := f.await(ctx, stop, func() bool { return len(f.unsent) <= maxUnsent }); err != nil {
		return err
	}
	return f.add(&f.unsent, m, others)
}

// SendBulk sends a piece of a large result. It waits for the piece before it, and messages of Send go first: a small
// one overtakes large results up to what the socket holds. Messages of SendBulk keep their order.
func (f *Frames) SendBulk(ctx context.Context, m Appender) error {
	f.mu.Lock()
	if err := f.await(ctx, nil, func() bool { return len(f.bulk) == 0 }); err != nil {
		return err
	}
	return f.add(&f.bulk, m, false)
}

var errStopped = errors.New("the calls of the plugin are being ended")

// await waits for room. The lock is held, and released after an error.
func (f *Frames) await(ctx context.Context, stop <-chan struct{}, hasRoom func() bool) error {
	for !hasRoom() && f.err == nil {
		if f.room == nil {
			f.room = make(chan struct{})
		}
		room := f.room
		f.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return ctx.Err()
		case <-stop:
			return errStopped
		}
		f.mu.Lock()
	}
	return nil
}

// Post is like Send but never blocks. Use it for few, small messages.
func (f *Frames) Post(m Appender) error {
	f.mu.Lock()
	return f.add(&f.unsent, m, false)
}

// add appends a message to a queue, and writes unless another goroutine does. The lock is held, and released.
func (f *Frames) add(queue *[]byte, m Appender, others bool) error {
	if f.err != nil {
		defer f.mu.Unlock()
		return f.err
	}
	begin := len(*queue)
	framed, err := m.AppendTo(append(*queue, 0, 0, 0, 0))
	if err != nil {
		*queue = framed[:begin]
		f.mu.Unlock()
		return err
	}
	binary.LittleEndian.PutUint32(framed[begin:], uint32(len(framed)-begin-frameHead))
	*queue = framed
	switch {
	case f.sending && f.gathered == 0:
		f.mu.Unlock()
		return nil
	case f.sending:
		if f.gathered++; f.gathered < maxGathered {
			f.mu.Unlock()
			return nil
		}
	case others:
		f.sending, f.gathered = true, 1
		f.mu.Unlock()
		runtime.Gosched() // measured with 16 callers: two to four messages a write
		f.mu.Lock()
		if f.gathered == 0 { // another goroutine has written it
			f.mu.Unlock()
			return nil
		}
	}
	f.sending, f.gathered = true, 0
	return f.flush()
}

// flush writes all that is unsent. The lock is held, and released. The error is of the first write, if that wrote
// nothing.
func (f *Frames) flush() (failed error) {
	for round := 0; f.waiting() && f.err == nil; round++ {
		out := f.take()
		f.mu.Unlock()
		n, err := f.tryWrite(out)
		if err == nil && (n < len(out) || round == maxRounds) { // the other end does not read now
			go f.drain(out, n)
			return nil
		}
		f.mu.Lock()
		f.keep(out, err)
		if round == 0 && n == 0 {
			failed = err
		}
	}
	f.sending = false
	f.mu.Unlock()
	return failed
}

// drain writes what is left of out, and then what is unsent, as slowly as the other end reads.
func (f *Frames) drain(out []byte, n int) {
	for {
		_, err := f.conn.Write(out[n:])
		f.mu.Lock()
		if f.keep(out, err); !f.waiting() || f.err != nil {
			f.sending = false
			f.mu.Unlock()
			return
		}
		out, n = f.take(), 0
		f.mu.Unlock()
	}
}

func (f *Frames) waiting() bool { return len(f.unsent)+len(f.bulk) > 0 }

func (f *Frames) take() []byte {
	queue := &f.unsent
	if len(f.unsent) == 0 {
		queue = &f.bulk
	}
	out := *queue
	*queue, f.spare = f.spare[:0], nil
	f.makeRoom()
	return out
}

// keep stores the write buffer for reuse, and the write error.
func (f *Frames) keep(out []byte, err error) {
	if cap(out) <= maxKeptOut {
		f.spare = out[:0]
	}
	if err != nil && f.err == nil {
		f.err = err
		f.makeRoom()
	}
}

func (f *Frames) makeRoom() {
	if f.room != nil {
		close(f.room)
		f.room = nil
	}
}

// tryWrite writes as much as fits now.
func (f *Frames) tryWrite(out []byte) (n int, err error) {
	if f.raw == nil || !canTryWrite {
		return 0, nil
	}
	f.out, f.written, f.writeFail = out, 0, nil
	err = f.raw.Write(f.writing)
	f.out = nil
	return f.written, errors.Join(err, f.writeFail)
}

// Next returns the next message's bytes, which hold until it is called again. An error is a gRPC status, as of a stream
// that broke. It is for one goroutine.
func (f *Frames) Next() ([]byte, error) {
	for {
		need := frameHead
		if f.end-f.start >= frameHead {
			size := binary.LittleEndian.Uint32(f.in[f.start:])
			switch {
			case size > maxPlausible:
				return nil, status.Error(codes.Internal, "the session carries data that is not a message")
			case size > maxMessage: // not ResourceExhausted, which is of one call: it breaks all calls of the session
				return nil, status.Errorf(codes.Internal, "a message of %d bytes; the limit is %d", size, maxMessage)
			}
			if need += int(size); f.end-f.start >= need {
				frame := f.in[f.start+frameHead : f.start+need]
				f.start += need
				return frame, nil
			}
		}
		f.fit(need)
		n, err := f.conn.Read(f.in[f.end:])
		f.end += n
		f.full = f.end == len(f.in)
		if n == 0 && err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("it was closed")
			}
			return nil, status.Error(codes.Unavailable, "the connection of the session ended: "+err.Error())
		}
	}
}

// fit makes room for more of a message of so many bytes. The buffer grows as they come, and shrinks after them to what
// takes several messages of 10 KB in one read.
func (f *Frames) fit(need int) {
	switch {
	case f.full && len(f.in) < maxKept:
		in := make([]byte, min(4*len(f.in), maxKept))
		f.start, f.end, f.in = 0, copy(in, f.in[f.start:f.end]), in
	case f.start == f.end && len(f.in) > maxKept && need <= readBuffer:
		f.in, f.start, f.end = make([]byte, readBuffer), 0, 0
	case f.start == f.end:
		f.start, f.end = 0, 0
	case f.end == len(f.in) && f.start > 0:
		f.end = copy(f.in, f.in[f.start:f.end])
		f.start = 0
	}
	if f.end == len(f.in) {
		f.in = append(make([]byte, 0, min(max(need, readBuffer), 4*len(f.in))), f.in...)
		f.in = f.in[:cap(f.in)]
	}
}

// Decode is proto.Unmarshal for a message of a plugin, with the limits of the host's codec.
func Decode(frame []byte, m proto.Message) error {
	if len(frame) > fewEnough {
		if n, most := elements(frame, m); n > most {
			return status.Error(codes.Internal, tooManyElements(n, most).Error())
		}
	}
	if err := proto.Unmarshal(frame, m); err != nil {
		return status.Error(codes.Internal, "a message of the session cannot be decoded: "+err.Error())
	}
	return nil
}
