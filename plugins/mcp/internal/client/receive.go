package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/internal/textutil"
)

func (s *Session) receive() {
	for {
		r, err := s.transport.Receive()
		switch {
		case err != nil:
			s.fail(err)
			return
		case r.Err != nil:
			s.failRequest(r.For, r.Err)
		default:
			s.dispatch(r.JSON, r.For)
		}
	}
}

func (s *Session) fail(err error) {
	s.mu.Lock()
	s.err = err
	close(s.ended)
	for _, c := range s.pending {
		s.push(c, event{answered: true, err: &CallError{Delivered: true, Err: err}})
	}
	s.mu.Unlock()
	s.cancel()
}

func (s *Session) failRequest(id string, err error) {
	if _, ok := errors.AsType[*CallError](err); !ok {
		err = &CallError{Delivered: true, Err: err}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.waiting([]byte(id)); c != nil {
		s.finish(c, nil, err)
	}
}

// finish gives a call its answer. What comes for it later is unknown.
func (s *Session) finish(c *call, result json.RawMessage, err error) {
	delete(s.pending, c.id)
	s.push(c, event{answered: true, result: result, err: err})
}

// waiting returns the call with an id, as a number or, from servers that do so, as a string.
func (s *Session) waiting(id []byte) *call {
	id = bytes.Trim(id, `"`)
	n, err := strconv.ParseInt(string(id), 10, 64)
	if err != nil {
		return nil
	}
	return s.pending[n]
}

// An envelope has the members of a JSON-RPC message, nil if absent.
type envelope struct {
	version, id, method, params, result, err []byte
}

// open reads the members of a message. After an error it has those that came before.
func (e *envelope) open(text []byte) error { return e.read(rawjson.MembersOf(text)) }

func (e *envelope) read(m rawjson.Members) error {
	for m.Next() {
		switch string(m.Name) {
		case "jsonrpc":
			e.version = m.Value
		case "id":
			e.id = m.Value
		case "method":
			e.method = m.Value
		case "params":
			e.params = m.Value
		case "result":
			e.result = m.Value
		case "error":
			e.err = m.Value
		}
	}
	return m.Err
}

// byteOrderMark is what some runtimes begin their output with.
const byteOrderMark = "\uFEFF"

// dispatch gives a message to whom it is for.
func (s *Session) dispatch(text []byte, from string) {
	text = rawjson.WellFormed(bytes.TrimPrefix(text, []byte(byteOrderMark)))
	if rawjson.First(text) == '[' {
		s.dispatchBatch(text, from)
		return
	}
	var e envelope
	err := e.open(text)
	if errors.Is(err, rawjson.ErrDeep) {
		err = s.openDeep(&e, text)
	}
	switch {
	case string(e.version) != `"2.0"`:
		s.answersIn(text, from, maxNoise)
		s.junk(text, from, err)
	case err != nil:
		if s.answersIn(text, from, 0) {
			s.junk(text, from, err)
		} else {
			s.broken(&e, text, from, err)
		}
	case e.method == nil:
		s.response(&e, from)
	case e.id == nil:
		s.notification(&e, from)
	default:
		s.serverRequest(&e, from)
	}
}

// openDeep reads the members of a message that is nested deeper than rawjson.MaxDepth. That is an error unless it
// answers a list: there it costs only the items that are nested so deep.
func (s *Session) openDeep(e *envelope, text []byte) error {
	*e = envelope{}
	if err := e.read(rawjson.DeepMembersOf(text)); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.waiting(e.id); e.method == nil && c != nil && c.lists() {
		return nil
	}
	return rawjson.ErrDeep
}

const maxBatch = 10_000

// dispatchBatch takes the messages of a batch one by one. Only the revision 2025-03-26 has batches, but it does no harm
// to understand them at all times.
func (s *Session) dispatchBatch(text []byte, from string) {
	if err := rawjson.Check(text); err != nil { // a log may begin so
		s.answersIn(text, from, maxNoise)
		s.junk(text, from, err)
		return
	}
	batch, more, err := rawjson.Elements(text, maxBatch)
	if err != nil || more {
		s.warn("batch", fmt.Sprintf("the server sent a batch of more than %d messages; the rest is dropped", maxBatch))
	}
	for _, message := range batch {
		if message[0] == '[' {
			s.junk(message, from, nil) // there are no batches in batches
			continue
		}
		s.dispatch(message, from)
	}
}

// junk drops what is no message. On the stream of one request it ends that request, which gets no other answer.
func (s *Session) junk(text []byte, from string, err error) {
	if from != "" {
		reason := "the server's answer is not a JSON-RPC message"
		if err != nil {
			reason += ": " + err.Error()
		}
		s.failRequest(from, errors.New(reason))
		return
	}
	s.warn("junk", fmt.Sprintf("the server writes lines that are not messages to its standard output, which is for "+
		"messages; logs belong on standard error. They are skipped. The first: %q",
		textutil.Cut(string(text[:min(len(text), 400)]), 200)))
}

// maxNoise is how many braces of other text are passed over in search of an answer.
const maxNoise = 16

// answersIn ends the requests whose answers share a line with other text, such as a log without a line end. Any other
// message there may be one that a log quotes, and so may any in an object that is broken. Noise is how many braces that
// begin no JSON are passed over.
func (s *Session) answersIn(text []byte, from string, noise int) (found bool) {
	for parts := 0; from == "" && parts < maxBatch; parts++ {
		var object json.RawMessage
		d := json.NewDecoder(bytes.NewReader(text))
		if err := d.Decode(&object); err == nil {
			text = text[d.InputOffset():]
		} else if noise--; noise >= 0 && len(text) > 0 && (text[0] != '{' || rawjson.First(text[1:]) != '"') {
			text = text[1:]
		} else {
			break
		}
		var e envelope
		if err := e.open(object); err == nil && string(e.version) == `"2.0"` && e.method == nil {
			s.mu.Lock()
			c := s.waiting(e.id)
			s.mu.Unlock()
			if c != nil {
				s.response(&e, from)
				found = true
			}
		}
		at := bytes.IndexByte(text, '{')
		if at < 0 {
			break
		}
		text = text[at:]
	}
	return found
}

// broken is for a JSON-RPC message with a syntax error. If the request that it answers is known, that fails.
func (s *Session) broken(e *envelope, text []byte, from string, err error) {
	id := e.id
	if id == nil {
		id = lastID(text)
	}
	if from != "" {
		id = []byte(from)
	}
	if e.method == nil && id != nil {
		s.failRequest(string(id), fmt.Errorf("the server's answer is not valid JSON: %w", err))
		return
	}
	s.junk(text, "", err)
}

// response ends the request that it answers. An error counts before a result. An error for no known request is that of
// the only one in flight, since a server that could not read a request does not know its id. All other answers are
// late, sent twice or made up, and dropped.
func (s *Session) response(e *envelope, from string) {
	isNull := func(v []byte) bool { return v == nil || string(v) == "null" }
	s.mu.Lock()
	c := s.waiting(e.id)
	if c == nil && isNull(e.id) && !isNull(e.err) {
		c = s.only(from, false)
	}
	defer s.mu.Unlock()
	switch {
	case c == nil:
	case !isNull(e.err):
		s.finish(c, nil, s.rpcError(c, e.err))
	case e.result == nil:
		s.finish(c, nil, c.wrong("the answer has neither a result nor an error"))
	case string(e.result) == "null":
		s.finish(c, json.RawMessage("{}"), nil)
	case e.result[0] != '{':
		s.finish(c, nil, c.wrong("the result is not a JSON object"))
	case c.byCall:
		s.finish(c, forNextHop(e.result), nil)
	default:
		s.finish(c, e.result, nil)
	}
}

// only returns the request on whose stream a message came, or else the only one in flight: of all, or of those that
// Call made.
func (s *Session) only(from string, byCall bool) (found *call) {
	if from != "" {
		return s.waiting([]byte(from))
	}
	for _, c := range s.pending {
		if byCall && !c.byCall {
			continue
		}
		if found != nil {
			return nil
		}
		found = c
	}
	return found
}

func (c *call) wrong(reason string) error {
	return &CallError{Delivered: true, Err: &ProtocolError{Method: c.method, Reason: reason}}
}

func (s *Session) rpcError(c *call, text []byte) error {
	var e struct {
		Code    json.Number     `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(text, &e); err != nil {
		return c.wrong("the answer has an error that is not one of JSON-RPC: " +
			textutil.Cut(string(text[:min(len(text), 400)]), 200))
	}
	code, err := strconv.ParseInt(e.Code.String(), 10, 64)
	if err != nil {
		code = CodeInternalError
	}
	return &RPCError{Code: code, Message: e.Message, Data: e.Data}
}

func (s *Session) notification(e *envelope, from string) {
	var method string
	if json.Unmarshal(e.method, &method) != nil {
		return
	}
	switch method {
	case "notifications/progress":
		var p struct {
			ProgressToken json.RawMessage `json:"progressToken"`
		}
		if json.Unmarshal(e.params, &p) == nil {
			s.notify(func() *call { return s.waiting(p.ProgressToken) }, event{progress: e.params})
		}
	case "notifications/message":
		if s.notify(func() *call { return s.only(from, true) }, event{log: e.params}) || s.options.Log == nil {
			return
		}
		var l LogMessage
		if json.Unmarshal(e.params, &l) == nil {
			s.options.Log(l)
		}
	case "notifications/cancelled":
		s.cancelServerRequest(e.params)
	case "notifications/elicitation/complete":
		var p struct {
			ID string `json:"elicitationId"`
		}
		if json.Unmarshal(e.params, &p) == nil && s.options.Completed != nil {
			s.options.Completed(p.ID)
		}
	case "notifications/subscriptions/acknowledged":
		signal(s.acknowledged)
	case "notifications/tools/list_changed", "notifications/prompts/list_changed",
		"notifications/resources/list_changed":
		s.announce(strings.Split(method, "/")[1])
	}
}

// notify passes a notification on to a call, if there is one.
func (s *Session) notify(find func() *call, e event) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := find()
	if c == nil || e.progress != nil && c.options.Progress == nil || e.log != nil && c.options.Log == nil {
		return false
	}
	if e.log == nil || c.options.wants(e.log) {
		s.push(c, e)
	}
	return true
}

// idAtEnd finds the id of a response at the end of its text, where some servers write it. The brace after it closes the
// message, so it is a member of the message itself.
var idAtEnd = regexp.MustCompile(`,\s*"id"\s*:\s*"?(\d{1,18})"?\s*(,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)

// lastID returns the id of a response from the end of its text, nil if it is not there.
func lastID(text []byte) []byte {
	if found := idAtEnd.FindSubmatch(text[max(0, len(text)-200):]); found != nil {
		return found[1]
	}
	return nil
}
