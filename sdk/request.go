package sdk

import (
	"encoding/json"
	"time"
)

// A Request is one call of one tool. A handler reads it, and reports progress, output and log lines through it.
type Request struct {
	// CallID identifies this call in logs and results. The host's caller chose it; it need not be unique.
	CallID string
	// RunID is unique within a host: a plugin refuses a second run with the same id, or with the same CallID when RunID
	// is "". A second attempt has the ids of the first.
	RunID string
	// Tool is the tool's own name, without the plugin.
	Tool string
	// Arguments is a JSON object, byte for byte the one that was checked and approved.
	Arguments json.RawMessage
	// Workdir is the absolute path of the folder that relative paths start from and that file tools do not leave.
	Workdir string
	// SessionID names the session of the host; it may be empty.
	SessionID string
	// Attempt is 1 for the first try.
	Attempt int
	// SingleCall is true when the host and the plugin end after this call. A handler should refuse to leave anything
	// running, such as a background job, which would be killed at once.
	SingleCall bool
	// LeaveOut are files and folders whose names and content a PathAware tool must not show: relative to Workdir, or
	// absolute, with slashes.
	LeaveOut []string
	// Roots are absolute paths of folders outside Workdir in which a PathAware tool may read during this call.
	Roots []string
	// Capabilities are the kinds of questions that the caller can answer, as MCP's client capabilities, a JSON object;
	// nil when it answers none.
	Capabilities json.RawMessage
	// InputResponses are the answers to the questions of an earlier result of this call, by their keys, and RequestState
	// is the State of that result; both are empty in a new call.
	InputResponses map[string]json.RawMessage
	RequestState   string
	// DuringQuestions is for tools that return questions with InputRequired.Suspended, which says what it means.
	DuringQuestions bool
	// Meta is the caller's _meta, a JSON object, for tools that pass it on; nil when there is none.
	Meta json.RawMessage
	// TraceParent and TraceState are those of W3C Trace Context: the span that the work of this call belongs to, for
	// requests to other services and for libraries that trace. Both are empty outside of a trace.
	TraceParent, TraceState string

	// KnownTools is for Configure: the cacheable list of tools that the plugin reported when it last ran with this
	// configuration; nil when none is known.
	KnownTools []Tool
	// Remembered is for Configure: what the plugin gave to Remember then.
	Remembered string

	// Services is for hosts and tests: what the methods of Request that ask the host use; nil offers nothing.
	Services Services
	// Listed is for hosts: the definition on which the call was decided, or nil. The call is not made when the plugin has
	// another one by then.
	Listed *Tool
	// Large is for hosts: it takes the large parts of a result over MaxResult, MaxLarge bytes together, so that they do
	// not have to fit in memory. When it is nil such a result is refused.
	Large    LargeParts
	MaxLarge int64
	// StartTime is for hosts: how long the call waited for the plugin's start.
	StartTime time.Duration
	// Generation is for hosts: the number of the plugin's start that ran the call.
	Generation int
	// Events receives the events of the call; nil drops them. It must not block, and is never called concurrently.
	Events func(Event)
}

// LargeParts is for hosts. OpenLarge begins a part of size bytes; part has no text and data yet.
type LargeParts interface {
	OpenLarge(part Content, size int64) LargePart
}

// A LargePart is for hosts: it takes a part of a result that is too large for memory.
type LargePart interface {
	// Write takes the next bytes. They are not used after it returns.
	Write(b []byte)
	// Done ends the part, and returns the text that stands in the result for it.
	Done() Content
	// Discard ends a part that stays incomplete.
	Discard()
}
