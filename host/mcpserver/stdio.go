package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/rawjson"
)

const (
	// maxLine is the longest message that is read.
	maxLine = 16 << 20
	// keptOfLong is how many bytes of each end of a longer one are looked at for its id.
	keptOfLong = 4 << 10
	// endGrace is how long requests may take to be answered once the client has closed its end.
	endGrace = 2 * time.Second
)

// ErrNotRead means that the client has closed its end and does not read the answers.
var ErrNotRead = errors.New("the client has closed its end, and does not read what it was sent")

// Run serves one client over a pair of streams, such as the standard ones of a process, with one message a line. It
// ends when in does, or with ctx, and then closes the server. A write to out that still waits is left alone.
func (s *Server) Run(ctx context.Context, in io.Reader, out io.Writer) error {
	e, err := s.endpoint(ctx, nil)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	t := &stdioTransport{in: in, out: out, ended: make(chan struct{})}
	session, err := e.mcp.Connect(ctx, t, nil)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case err = <-ended:
	case <-ctx.Done():
	case <-t.ended: // the session's end waits for its writes, and the client may read nothing anymore
		select {
		case err = <-ended:
		case <-ctx.Done():
		case <-time.After(endGrace):
			err = ErrNotRead
		}
	}
	return errors.Join(err, s.Close())
}

// stdioTransport is a transport of one message a line. Unlike the SDK's, it continues after a line that is no message.
type stdioTransport struct {
	in    io.Reader
	out   io.Writer
	ended chan struct{} // closed when in has ended, and the time to answer its requests with it
}

func (t *stdioTransport) Connect(context.Context) (mcp.Connection, error) {
	c := &stdioConnection{out: t.out, ended: t.ended, messages: make(chan jsonrpc.Message), closed: make(chan struct{}),
		answered: make(chan struct{}, 1), open: map[jsonrpc.ID]*messageBatch{}, canceled: map[jsonrpc.ID]bool{}}
	go c.read(t.in)
	return c, nil
}

type stdioConnection struct {
	messages chan jsonrpc.Message
	err      error // set before messages is closed
	closing  sync.Once
	closed   chan struct{}
	ended    chan struct{} // the transport's

	writing sync.Mutex
	out     io.Writer

	mu       sync.Mutex
	open     map[jsonrpc.ID]*messageBatch // requests without an answer; nil ones came alone
	canceled map[jsonrpc.ID]bool          // those of open that the client has canceled
	answered chan struct{}                // receives when none is open
}

// A messageBatch is the answers to a JSON-RPC batch, which revision 2025-03-26 has. They are sent together.
type messageBatch struct {
	left    int
	answers []json.RawMessage
}

// add adds an answer, unless that was canceled, and returns all of them after the last one; otherwise nil.
func (b *messageBatch) add(answer json.RawMessage, canceled bool) (json.RawMessage, error) {
	if !canceled {
		b.answers = append(b.answers, answer)
	}
	if b.left--; b.left > 0 || len(b.answers) == 0 {
		return nil, nil
	}
	return json.Marshal(b.answers)
}

func (*stdioConnection) SessionID() string { return "" }

func (c *stdioConnection) read(in io.Reader) {
	lines := bufio.NewReaderSize(in, 64<<10)
	for first := true; ; first = false {
		line, end, err := readLine(lines, maxLine)
		if first {
			line = withoutMark(line)
		}
		switch {
		case end != nil:
			c.refuse(idOfCut(line, end), jsonrpc.CodeInvalidRequest, "the message is longer than 16 MiB")
		case len(bytes.TrimSpace(line)) > 0:
			c.accept(line)
		}
		if err != nil {
			c.err = err
			close(c.messages)
			return
		}
	}
}

// readLine reads a line. Of one that is longer than the limit it returns the beginning and, with its last keptOfLong
// bytes, the end; of another one end is nil.
func readLine(in *bufio.Reader, limit int) (line, end []byte, err error) {
	for {
		piece, err := in.ReadSlice('\n')
		switch {
		case end != nil:
			end = append(end[max(0, len(end)-keptOfLong):], piece...)
		case len(line)+len(piece) > limit:
			line, end = bytes.Clone(line[:keptOfLong]), slices.Concat(line[len(line)-keptOfLong:], piece)
		default:
			line = append(line, piece...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, end, err
		}
	}
}

func (c *stdioConnection) accept(line []byte) {
	line = bytes.TrimSpace(line)
	if err := rawjson.Check(line); err != nil { // the SDK ignores what follows the first value
		c.refuse(nil, jsonrpc.CodeParseError, "the message is not JSON: "+err.Error())
		return
	}
	parts := []json.RawMessage{line}
	var batch *messageBatch
	if rawjson.First(line) == '[' {
		batch = &messageBatch{}
		if _ = json.Unmarshal(line, &parts); len(parts) == 0 {
			c.refuse(nil, jsonrpc.CodeInvalidRequest, "the batch is empty")
		}
	}
	var messages []jsonrpc.Message
	for _, part := range parts {
		id := idOf(part)
		m, err := jsonrpc.DecodeMessage(withHiddenID(part, id))
		if err != nil {
			members := rawjson.ObjectOf(part)
			if members.Get("method") == nil && (members.Get("result") != nil || members.Get("error") != nil) {
				continue // an answer to an answer might have one in turn, without end
			}
			if isID := isNumber(id) || bytes.HasPrefix(id, []byte(`"`)); !isID || members.Get("method") == nil {
				id = nil // that of an answer is this server's
			}
			c.refuse(id, jsonrpc.CodeInvalidRequest, "the line is no JSON-RPC message: "+err.Error())
			continue
		}
		switch r := m.(type) {
		case *jsonrpc.Response:
			r.Result = exactAnswer(r.Result)
		case *jsonrpc.Request:
			r.Extra = &mcp.RequestExtra{Header: http.Header{paramsHeader: {string(r.Params)}}}
			if isLossy(id) {
				c.refuse(id, jsonrpc.CodeInvalidRequest, lossyID)
				continue
			}
			switch {
			case r.IsCall():
				c.begin(r.ID, batch)
			case r.Method == cancelled:
				r.Params = withHiddenRequest(r.Params)
				c.cancel(r.Params)
			}
		}
		messages = append(messages, m)
	}
	for _, m := range messages {
		select {
		case c.messages <- m:
		case <-c.closed:
		}
	}
}

func (c *stdioConnection) begin(id jsonrpc.ID, batch *messageBatch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, twice := c.open[id]; twice {
		return // the SDK refuses it
	}
	if batch != nil {
		batch.left++
	}
	c.open[id] = batch
}

// cancel notes that a request is to have no answer any more: its client would not know it.
func (c *stdioConnection) cancel(params json.RawMessage) {
	var p struct {
		RequestID any `json:"requestId"`
	}
	_ = json.Unmarshal(params, &p) // the SDK ignores what is wrong, too
	id, err := jsonrpc.MakeID(p.RequestID)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, open := c.open[id]; open {
		c.canceled[id] = true
	}
}

func (c *stdioConnection) refuse(id json.RawMessage, code int, why string) {
	_ = c.writeLine(failure(id, code, why)) // a stream that is broken is noticed by the next answer
}

// Read returns the next message. At the end it waits a while until all requests are answered.
func (c *stdioConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m, ok := <-c.messages:
		if ok {
			return m, nil
		}
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.closed:
		return nil, io.EOF
	}
	defer close(c.ended) // the SDK reads no more after an error
	for grace := time.After(endGrace); ; {
		c.mu.Lock()
		open := len(c.open)
		c.mu.Unlock()
		if open == 0 {
			return nil, c.err
		}
		select {
		case <-c.answered:
		case <-grace:
			return nil, c.err
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.closed:
			return nil, io.EOF
		}
	}
}

// Write sends a message, or keeps it until its batch is complete.
func (c *stdioConnection) Write(_ context.Context, m jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	answer, is := m.(*jsonrpc.Response)
	if !is {
		return c.writeLine(data)
	}
	c.mu.Lock()
	batch, known := c.open[answer.ID]
	canceled := c.canceled[answer.ID]
	delete(c.open, answer.ID)
	delete(c.canceled, answer.ID)
	if data = withCode(data); batch != nil {
		data, err = batch.add(data, canceled)
	} else if canceled {
		data = nil
	}
	none := known && len(c.open) == 0
	c.mu.Unlock()
	if err == nil && data != nil {
		err = c.writeLine(data)
	}
	if none {
		select {
		case c.answered <- struct{}{}:
		default:
		}
	}
	return err
}

func (c *stdioConnection) writeLine(line []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err := c.out.Write(append(withNumberIDs(line), '\n'))
	return err
}

// Close ends reading; a read of the stream that waits is left alone.
func (c *stdioConnection) Close() error {
	c.closing.Do(func() { close(c.closed) })
	return nil
}
