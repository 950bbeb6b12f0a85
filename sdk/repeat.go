package sdk

import (
	"hash/maphash"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolhost/toolhost/internal/wire/pluginv1"
)

// maxEnded is how many calls that have ended a plugin knows again. A call that comes twice does so at once: gRPC sends one
// anew that the other end is said not to have looked at, also where retries are off.
const maxEnded = 4096

// A memory knows the calls that run and the last that have ended by their ids, hashed: ids of any length take the same
// room, about 100 KiB for all.
type memory struct {
	mu    sync.Mutex
	known map[uint64]struct{}
	ended []uint64 // a ring, once it is full
	next  int
}

var memorySeed = maphash.MakeSeed()

// begin says whether the call is new. A new one is known from then on, and ends with end. Calls without an id are all new.
func (m *memory) begin(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := maphash.String(memorySeed, id)
	if _, seen := m.known[key]; seen && id != "" {
		return false
	}
	if m.known == nil {
		m.known = map[uint64]struct{}{}
	}
	if id != "" {
		m.known[key] = struct{}{}
	}
	return true
}

// end takes note that the call has ended. The one that ended longest ago may be forgotten.
func (m *memory) end(id string) {
	if id == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := maphash.String(memorySeed, id)
	if len(m.ended) < maxEnded {
		m.ended = append(m.ended, key)
		return
	}
	delete(m.known, m.ended[m.next])
	m.ended[m.next] = key
	m.next = (m.next + 1) % maxEnded
}

// The refusal is a status and no result: what the first run of the call came to is not known here.
func repeated(r *pluginv1.CallRequest) error {
	return status.Errorf(codes.AlreadyExists, "call %.100q of %.100s is a repeat of one that this plugin has had; it is not run again", r.GetCallId(), r.GetTool())
}

// repeatRefused is the same for the caller, who may not have heard of the first run.
func repeatRefused(err error) *Error {
	return &Error{Code: CodeProtocol, Name: "Repeated", Message: "the plugin got the call twice and ran it once at most: " + status.Convert(err).Message()}
}
