package client

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// A serverRequest is a request of the server, such as elicitation/create.
type serverRequest struct {
	id     json.RawMessage // as the server wrote it
	method string
	params json.RawMessage
	ctx    context.Context // ends when the server cancels it, or the session ends
}

// maxServerRequests is how many requests of the server may run at a time.
const maxServerRequests = 64

// serverRequest has a request answered: by the call on whose stream it came, or else by the session's options.
func (s *Session) serverRequest(e *envelope, from string) {
	r := &serverRequest{id: e.id, params: forNextHop(orEmpty(e.params))}
	if (e.id[0] != '"' && e.id[0] != '-' && (e.id[0] < '0' || e.id[0] > '9')) || len(e.id) > 1000 ||
		json.Unmarshal(e.method, &r.method) != nil {
		s.warn("request", "the server sends requests without a valid id or method; they are dropped")
		return
	}
	limit := maxServerRequests
	if r.method == "ping" {
		limit *= 2 // a server that waits for many people finds the client alive all the same
	}
	s.mu.Lock()
	_, twice := s.requests[string(r.id)]
	if twice || len(s.requests) >= limit {
		s.mu.Unlock()
		if !twice {
			s.warn("requests", fmt.Sprintf("the server has more than %d requests open; others are dropped",
				maxServerRequests))
		}
		return // an answer to the second of one id would be taken for one to the first
	}
	var cancel context.CancelFunc
	r.ctx, cancel = context.WithCancel(s.ctx)
	s.requests[string(r.id)] = cancel
	c := s.waiting([]byte(from))
	switch {
	case r.method == "ping":
		go s.reply(r, json.RawMessage("{}"), nil)
	case s.modern():
		go s.reply(r, nil, &RPCError{Code: CodeMethodNotFound, Message: "protocol revision " + Revision20260728 +
			" has no requests of servers; ask with a result of type input_required"})
	case c != nil && c.options.Request != nil:
		s.push(c, event{request: r})
	default:
		go s.answer(r.ctx, r, s.options.Request)
	}
	s.mu.Unlock()
}

// answer runs the one who answers a request, and sends what that returns.
func (s *Session) answer(ctx context.Context, r *serverRequest, f RequestFunc) {
	if f == nil {
		s.reply(r, nil, &RPCError{Code: CodeMethodNotFound, Message: "this client does not answer " +
			strconv.Quote(r.method)})
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()
	result, failure := f(ctx, r.method, r.params)
	s.reply(r, result, failure)
}

// reply answers a request, unless the server has canceled it.
func (s *Session) reply(r *serverRequest, result json.RawMessage, failure *RPCError) {
	canceled := r.ctx.Err() != nil
	s.mu.Lock()
	if cancel := s.requests[string(r.id)]; cancel != nil {
		cancel()
		delete(s.requests, string(r.id))
	}
	s.mu.Unlock()
	if canceled {
		return
	}
	b := append([]byte(`{"jsonrpc":"2.0","id":`), r.id...)
	switch {
	case failure != nil:
		text, err := json.Marshal(failure)
		if err != nil { // its Data is no JSON
			text, _ = json.Marshal(&RPCError{Code: failure.Code, Message: failure.Message})
		}
		b = append(append(b, `,"error":`...), text...)
	case rawjson.Check(orEmpty(result)) != nil:
		b = append(b, `,"error":{"code":-32603,"message":"the client's answer is not JSON"}`...)
	default:
		b = append(append(b, `,"result":`...), forNextHop(orEmpty(result))...)
	}
	ctx, cancel := context.WithTimeout(s.ctx, cancelLimit)
	defer cancel()
	_ = s.transport.Send(ctx, &Message{JSON: append(b, '}'), Version: s.Server().Revision})
}

// cancelServerRequest ends a request that the server wants no answer to any more.
func (s *Session) cancelServerRequest(params []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.requests[string(rawjson.ObjectOf(params).Get("requestId"))]; cancel != nil {
		cancel()
	}
}
