package server

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/api/convert"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/feed"
	"github.com/toolhost/toolhost/internal/redact"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

// Bounds of what is kept of calls.
const (
	maxRecent    = 500      // calls that have ended
	maxEvents    = 200      // of one call
	maxKept      = 16 << 10 // bytes of the arguments, the events and the result of one call, each
	maxSessions  = 1000
	maxArguments = 2 << 10 // bytes of a summary
	maxErrorText = 4 << 10 // bytes of each text of an error
)

// Calls is the register of the calls that run and of those that have just ended, with their sessions. Its Middleware
// sees the calls of a host; those of the API are there from their request on. It is safe for concurrent use; make one
// with NewCalls.
type Calls struct {
	feed   feed.Feed[*apiv1.CallSummary]
	redact func(text string) string

	mu       sync.Mutex
	running  map[*tracked]struct{}
	ids      map[string]int      // how many running calls have the ID: callers of MCP may use one twice
	recent   [maxRecent]*tracked // a ring
	next     int                 // place of the next in the ring
	sessions map[sessionKey]*session
	active   time.Time // when the last call began or ended
}

// NewCalls returns an empty register. Redact takes secrets out of what it shows; nil takes out what looks like one.
func NewCalls(redacted func(text string) string) *Calls {
	if redacted == nil {
		redacted = redact.New().Text
	}
	return &Calls{redact: redacted, running: map[*tracked]struct{}{}, ids: map[string]int{},
		sessions: map[sessionKey]*session{}, active: time.Now()}
}

// A tracked call is one that runs or has ended.
type tracked struct {
	of     *Calls
	cancel context.CancelFunc
	id     string
	began  time.Time
	taken  bool   // by the middleware, or ended without it; guarded by the lock of the register
	why    string // it was canceled, if its caller does not know; guarded so, too

	mu        sync.Mutex
	tool      string
	plugin    string
	caller    string // changed under the lock of the register, too, as sess
	sess      string
	via       *host.Via
	arguments string // cut
	status    string
	progress  string
	events    []timedEvent
	kept      int // bytes of the events
	dropped   int // events
	ended     time.Time
	err       *sdk.Error
	result    *sdk.Result // nil when it is larger than what is kept
	decision  policy.Decision
}

type timedEvent struct {
	sdk.Event
	at time.Time
}

// A sessionKey names a session. Without an ID it is its caller's own; callers may share one with an ID.
type sessionKey struct{ id, caller string }

func sessionOf(id, caller string) sessionKey {
	if id != "" {
		caller = ""
	}
	return sessionKey{id, caller}
}

func (t *tracked) session() sessionKey { return sessionOf(t.sess, t.caller) }

// A session is one that has made calls.
type session struct {
	caller        string
	first, last   time.Time
	calls, failed int64
	running       int
}

// Middleware belongs into the host's options. It follows each call that the host begins, and registers those that did
// not come through the API, such as those of plugins and of MCP clients.
func (c *Calls) Middleware(next host.CallFunc) host.CallFunc {
	return func(ctx context.Context, call *host.Call) (*sdk.Result, error) {
		t := c.take(ctx, call)
		if t == nil {
			own, cancel := context.WithCancel(ctx)
			defer cancel()
			ctx = own
			t = &tracked{of: c, cancel: cancel, id: call.ID, began: time.Now(), status: string(host.Generated)}
			t.describe(call)
			c.begin(t)
		}
		receive := call.Events
		call.Events = func(e sdk.Event) {
			t.event(&e)
			if receive != nil {
				receive(e)
			}
		}
		var result *sdk.Result
		var err error = errPanicked
		defer func() { c.end(t, call, result, err) }()
		result, err = next(ctx, call)
		result, err = c.because(t, result, err)
		return result, err
	}
}

// because has the error of a call that was canceled say why.
func (c *Calls) because(t *tracked, r *sdk.Result, err error) (*sdk.Result, error) {
	c.mu.Lock()
	why := t.why
	c.mu.Unlock()
	e := failure(r, err)
	if why == "" || e == nil || e.Code != sdk.CodeCanceled {
		return r, err
	}
	e = new(*e)
	e.Message = why + ": " + e.Message
	if err != nil {
		return r, e
	}
	r = new(*r)
	r.Error = e
	return r, nil
}

// describe notes what is known of the call. The caller holds the lock, if others know the call.
func (t *tracked) describe(call *host.Call) {
	t.tool, t.caller, t.sess, t.via = call.Tool, call.Caller, call.SessionID, call.Via()
	t.arguments = cut(call.Arguments, maxKept)
	if call.Definition != nil {
		t.plugin = call.Definition.Plugin
	}
}

// cut returns a copy of the start of a text: what is kept must not hold the memory of what is not.
func cut(text []byte, n int) string {
	return textutil.Cut(string(text[:min(len(text), n+utf8.UTFMax)]), n)
}

// errPanicked is the error of a call that has none, since a panic ended it.
var errPanicked = &sdk.Error{Code: sdk.CodeInternal, Name: "Panic", Message: "a panic ended the call"}

func (c *Calls) begin(t *tracked) {
	c.mu.Lock()
	t.taken = true
	c.add(t)
	c.mu.Unlock()
	c.feed.Publish(t.summary)
}

// add adds a running call. The caller holds the lock.
func (c *Calls) add(t *tracked) {
	c.active = t.began
	c.running[t] = struct{}{}
	c.ids[t.id]++
	c.join(t)
}

// join counts a running call for its session. The caller holds the lock.
func (c *Calls) join(t *tracked) {
	s := c.sessions[t.session()]
	if s == nil {
		if len(c.sessions) >= maxSessions {
			c.dropSession()
		}
		s = &session{first: t.began}
		c.sessions[t.session()] = s
	}
	s.caller, s.last = t.caller, t.began
	s.calls++
	s.running++
}

// dropSession forgets the session that has not called for longest, unless it has running calls. The caller holds the
// lock.
func (c *Calls) dropSession() {
	var oldest sessionKey
	var last time.Time
	for key, s := range c.sessions {
		if s.running == 0 && (last.IsZero() || s.last.Before(last)) {
			oldest, last = key, s.last
		}
	}
	if !last.IsZero() {
		delete(c.sessions, oldest)
	}
}

func (c *Calls) end(t *tracked, call *host.Call, r *sdk.Result, err error) {
	t.mu.Lock()
	t.ended, t.decision = time.Now(), call.Decision
	if call.Definition != nil {
		t.plugin = call.Definition.Plugin
	}
	switch e := failure(r, err); {
	case e == nil:
		t.status = string(host.Done)
	case e.Code == sdk.CodeCanceled:
		t.status, t.err = string(host.Canceled), keptError(e)
	default:
		t.status, t.err = string(host.Errored), keptError(e)
	}
	if r != nil && size(r) <= maxKept {
		t.result = &sdk.Result{Content: r.Content, Structured: r.Structured, Truncated: r.Truncated}
	}
	failed := t.err != nil
	t.mu.Unlock()
	c.mu.Lock()
	c.active = t.ended
	delete(c.running, t)
	if c.ids[t.id]--; c.ids[t.id] == 0 {
		delete(c.ids, t.id)
	}
	t.cancel = nil // it holds the contexts of the caller
	c.recent[c.next] = t
	c.next = (c.next + 1) % maxRecent
	if s := c.sessions[t.session()]; s != nil {
		s.running--
		if failed {
			s.failed++
		}
	}
	c.mu.Unlock()
	c.feed.Publish(t.summary)
}

// failure is why a call failed, nil if it did not.
func failure(r *sdk.Result, err error) *sdk.Error {
	if e, is := err.(*sdk.Error); is { //nolint:errorlint // the host's own
		return e
	}
	if err != nil {
		return &sdk.Error{Code: sdk.CodeOf(err), Message: err.Error()}
	}
	if r != nil {
		return r.Error
	}
	return nil
}

// keptError is a copy of an error with as much of its texts as is kept. They are not cut yet: the host does that for
// the caller, outside of all middleware.
func keptError(e *sdk.Error) *sdk.Error {
	out := *e
	for _, text := range []*string{&out.Name, &out.Message, &out.Suggestion, &out.HelpURL} {
		*text = strings.Clone(textutil.Cut(*text, maxErrorText))
	}
	if out.Details = nil; len(e.Details) <= maxErrorText {
		out.Details = slices.Clone(e.Details)
	}
	return &out
}

// size is how many bytes of a result are kept.
func size(r *sdk.Result) int {
	n := len(r.Structured) + len(r.Extra)
	for _, p := range r.Content {
		n += len(p.Text) + len(p.Data) + len(p.Raw) + len(p.Extra) + len(p.Source)
	}
	return n
}

func (t *tracked) event(e *sdk.Event) {
	t.mu.Lock()
	changed := true
	switch {
	case !t.ended.IsZero():
		changed = false
	case e.Type == sdk.EventStatus:
		t.status = e.Message
	case e.Type == sdk.EventProgress:
		t.progress = strings.Clone(textutil.Cut(e.Message, 300))
	default:
		changed = false
	}
	n := len(e.Message) + len(e.Attributes) + len(e.Data)
	if len(t.events) < maxEvents && t.kept+n <= maxKept {
		kept := *e
		kept.Data, kept.Attributes = slices.Clone(e.Data), slices.Clone(e.Attributes)
		t.events = append(t.events, timedEvent{kept, time.Now()})
		t.kept += n
	} else {
		t.dropped++
	}
	t.mu.Unlock()
	if changed {
		t.of.feed.Publish(t.summary)
	}
}

func (t *tracked) summary() *apiv1.CallSummary {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := &apiv1.CallSummary{CallId: convert.Text(t.id), Tool: convert.Text(t.tool), Plugin: t.plugin,
		Caller: convert.Text(t.caller), SessionId: convert.Text(t.sess), Status: t.status, Began: timestamppb.New(t.began),
		Ended: convert.Time(t.ended), Progress: convert.Text(t.of.redact(t.progress)),
		Arguments: convert.Text(textutil.Cut(t.of.redact(t.arguments), maxArguments))}
	if !t.ended.IsZero() {
		out.Duration = durationpb.New(t.ended.Sub(t.began))
	}
	if t.via != nil {
		out.ViaTool, out.ViaCallId = convert.Text(t.via.Tool), convert.Text(t.via.CallID)
	}
	if e := t.err; e != nil {
		out.ErrorCode, out.ErrorName, out.ErrorMessage = string(e.Code), convert.Text(e.Name),
			convert.Text(t.of.redact(e.Message))
	}
	return out
}

// list returns the running calls, the oldest first.
func (c *Calls) list() []*apiv1.CallSummary {
	c.mu.Lock()
	all := slices.Collect(maps.Keys(c.running))
	c.mu.Unlock()
	slices.SortFunc(all, func(a, b *tracked) int { return a.began.Compare(b.began) })
	return convert.Each(all, (*tracked).summary)
}

// Running is how many calls run or wait, and since when that is so if it is zero.
func (c *Calls) Running() (n int, since time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.running), c.active
}

// cancel cancels the running calls that match, and returns how many. Their errors say why; "" where callers know.
func (c *Calls) cancel(why string, match func(*tracked) bool) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for t := range c.running {
		if match(t) {
			t.why = why
			t.cancel()
			n++
		}
	}
	return n
}

// hasSession reports whether a session has made calls lately.
func (c *Calls) hasSession(key sessionKey) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions[key] != nil
}

// listSessions returns the sessions, the last active first.
func (c *Calls) listSessions() (out []*apiv1.Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, s := range c.sessions {
		out = append(out, &apiv1.Session{Id: convert.Text(key.id), Caller: convert.Text(s.caller),
			FirstCall: timestamppb.New(s.first), LastCall: timestamppb.New(s.last), Calls: s.calls, Failed: s.failed,
			Running: int32(s.running)})
	}
	slices.SortFunc(out, func(a, b *apiv1.Session) int {
		return cmp.Or(b.LastCall.AsTime().Compare(a.LastCall.AsTime()), strings.Compare(a.Id, b.Id),
			strings.Compare(a.Caller, b.Caller))
	})
	return out
}

// Describe fills in what the register knows of a call that runs or has just ended: secrets are replaced as in the log.
// It reports whether it knows the call.
func (c *Calls) Describe(id string, out *apiv1.GetCallResponse) bool {
	t := c.find(id)
	if t == nil {
		return false
	}
	out.Summary = t.summary()
	t.mu.Lock()
	defer t.mu.Unlock()
	out.Decision = convert.Decision(t.decision)
	for i := range t.events {
		out.Events = append(out.Events, convert.Event(&t.events[i].Event, t.events[i].at))
	}
	out.Stages = t.stages()
	defer func() { c.redactMessage(out.ProtoReflect()) }()
	if t.ended.IsZero() || t.result == nil && t.err == nil {
		return true
	}
	r := &host.Result{CallID: t.id, Tool: t.tool, Plugin: t.plugin, Status: host.StatusOK, Error: t.err,
		Duration: t.ended.Sub(t.began)}
	if t.err != nil {
		r.Status = host.StatusError
	}
	if t.result != nil {
		r.Content, r.Structured, r.Truncated = t.result.Content, t.result.Structured, t.result.Truncated
	}
	out.Result = convert.Result(r)
	return true
}

// redactMessage takes secrets out of all texts of a message, and of bytes that are a text.
func (c *Calls) redactMessage(m protoreflect.Message) {
	value := func(kind protoreflect.Kind, v protoreflect.Value) protoreflect.Value {
		switch kind {
		case protoreflect.StringKind:
			return protoreflect.ValueOfString(c.redact(v.String()))
		case protoreflect.BytesKind:
			if utf8.Valid(v.Bytes()) {
				return protoreflect.ValueOfBytes([]byte(c.redact(string(v.Bytes()))))
			}
		case protoreflect.MessageKind:
			c.redactMessage(v.Message())
		}
		return v
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsMap():
			v.Map().Range(func(k protoreflect.MapKey, one protoreflect.Value) bool {
				v.Map().Set(k, value(f.MapValue().Kind(), one))
				return true
			})
		case f.IsList():
			for i := range v.List().Len() {
				v.List().Set(i, value(f.Kind(), v.List().Get(i)))
			}
		default:
			m.Set(f, value(f.Kind(), v))
		}
		return true
	})
}

// find returns the newest call with the id.
func (c *Calls) find(id string) (found *tracked) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for t := range c.running {
		if t.id == id && (found == nil || t.began.After(found.began)) {
			found = t
		}
	}
	for i := 0; found == nil && i < maxRecent; i++ {
		if t := c.recent[(c.next-1-i+2*maxRecent)%maxRecent]; t != nil && t.id == id {
			found = t
		}
	}
	return found
}

// stages are the times between the statuses. The caller holds the lock.
func (t *tracked) stages() (out []*apiv1.Stage) {
	name, since := "decide", t.began
	add := func(until time.Time) {
		out = append(out, &apiv1.Stage{Name: name, Duration: durationpb.New(until.Sub(since))})
		since = until
	}
	for _, e := range t.events {
		if e.Type != sdk.EventStatus {
			continue
		}
		switch host.CallStatus(e.Message) {
		case host.AwaitingApproval:
			add(e.at)
			name = "approval"
		case host.Calling:
			add(e.at)
			name = "call"
		}
	}
	if !t.ended.IsZero() {
		add(t.ended)
	}
	return out
}
