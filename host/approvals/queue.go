// Package approvals keeps the questions of a host until a person answers: at a terminal, in a browser, by
// another program. A Queue is the host's Approver and InputHandler. Many questions wait in it at once, any number of
// approvers see them, and the first answer counts.
package approvals

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/callback"
	"github.com/toolhost/toolhost/internal/feed"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

// Kind says what a question is about.
type Kind string

// The kinds of questions.
const (
	KindCall  Kind = "call"  // whether a call may run
	KindInput Kind = "input" // questions of a tool during its call
)

// A Question waits for a person. It belongs to the queue: do not change it.
type Question struct {
	ID   string
	Kind Kind
	// Hash is of all that the person decides on. An answer names it, so that it is about these bytes and no others.
	Hash string
	// Call is set for KindCall, Input for KindInput.
	Call  *host.ApprovalRequest
	Input *host.InputRequest
	// Asked is when the question came, Expires when it lapses; zero for one that lapses with its call.
	Asked, Expires time.Time
	// Outcome is nil while the question waits.
	Outcome *Outcome

	reply chan Answer // has room for the one answer
	size  int         // bytes of what is shown
}

// CallID is the call that the question is about.
func (q *Question) CallID() string {
	if q.Call != nil {
		return q.Call.CallID
	}
	return q.Input.CallID
}

// Result says how a question ended.
type Result string

// The ends of a question.
const (
	Approved  Result = "approved"  // the call may run
	Rejected  Result = "rejected"  // it may not
	Changed   Result = "changed"   // its arguments were changed; it is decided on again
	Answered  Result = "answered"  // a tool's questions were answered
	Expired   Result = "expired"   // nobody answered in time
	Withdrawn Result = "withdrawn" // the call ended
)

// An Outcome is the end of a question.
type Outcome struct {
	Result Result
	// By is who answered, such as "console" or "terminal"; "" when nobody did.
	By     string
	Scope  host.Scope
	Reason string
	Time   time.Time
}

// An Answer is what a person says.
type Answer struct {
	// ID and Hash are those of the question as the person saw it.
	ID, Hash string
	// By is where the person answered, such as "console"; 200 characters of it are kept.
	By string
	// Call answers a question of KindCall.
	Call host.Answer
	// Input answers one of KindInput: JSON objects by the keys of the questions.
	Input map[string]json.RawMessage
}

// outcome is what the answer makes of a question.
func (a *Answer) outcome(kind Kind) *Outcome {
	o := &Outcome{Result: Rejected, By: textutil.CutRunes(a.By, maxBy, ""), Reason: textutil.Cut(a.Call.Reason, maxReason),
		Time: time.Now()}
	switch {
	case kind == KindInput:
		o.Result, o.Reason = Answered, ""
	case a.Call.Arguments != nil:
		o.Result = Changed
	case a.Call.Approved:
		o.Result, o.Scope = Approved, a.Call.Scope
	}
	return o
}

// Errors of Queue.Answer. An AnsweredError is one, too.
var (
	// ErrNotFound means that no question of that id waits or has waited lately.
	ErrNotFound = errors.New("no question of this id waits")
	// ErrChanged means that the answer is about other bytes than the question.
	ErrChanged = errors.New("the answer is about another state of the question: its hash differs. Look at it again")
)

// An AnsweredError means that the question no longer waits. As the cause with which the context of a question is
// canceled it says who has answered by another way.
type AnsweredError struct{ Outcome Outcome }

// Elsewhere is such a cause, of an answer of that kind.
func Elsewhere(kind Kind, a Answer) *AnsweredError { return &AnsweredError{*a.outcome(kind)} }

// Error says how it ended.
func (e *AnsweredError) Error() string {
	switch o := e.Outcome; o.Result {
	case Expired:
		return "nobody answered in time, and the call was refused"
	case Withdrawn:
		return "the call has ended meanwhile"
	default:
		return fmt.Sprintf("it is %s already, by %s", o.Result, cmp.Or(o.By, "another approver"))
	}
}

// Options configure a Queue.
type Options struct {
	// MaxWaiting is how many questions may wait at once; more are refused. Zero is 1000.
	MaxWaiting int
	// MaxBytes is how many bytes they may have together, with arguments and previews. Zero is 64 MiB.
	MaxBytes int
	// Notify is called with each question when it begins to wait and when it ends, one after the other and in order. It
	// must not block. It may use the queue.
	Notify func(*Question)
	// Logger receives panics of Notify; nil is slog's default.
	Logger *slog.Logger
}

const (
	defaultWaiting = 1000
	defaultBytes   = 64 << 20
	maxEnded       = 1000    // questions whose outcome is remembered
	maxReason      = 4 << 10 // bytes of the reason of an answer, which is kept and shown to all who watch
	maxBy          = 200     // characters of Answer.By
)

// A Queue holds the questions that wait. It is safe for concurrent use.
type Queue struct {
	options Options

	stopping context.Context
	stop     context.CancelFunc

	mu      sync.Mutex
	waiting map[string]*Question
	bytes   int                // of all that wait
	ended   map[string]Outcome // of the last maxEnded questions
	order   []string           // their ids, the oldest first
	changes feed.Feed[*Question]
	untold  []*Question // what Notify has not been called with yet
	telling bool        // it is being called
}

// New returns an empty queue.
func New(o Options) *Queue {
	o.MaxWaiting, o.MaxBytes = cmp.Or(o.MaxWaiting, defaultWaiting), cmp.Or(o.MaxBytes, defaultBytes)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	q := &Queue{options: o, waiting: map[string]*Question{}, ended: map[string]Outcome{}}
	q.stopping, q.stop = context.WithCancel(context.Background())
	return q
}

// Stop ends all questions, and refuses new ones, since nobody answers any more: the host stops. Their calls end with a
// StoppedName error, and have not run.
func (q *Queue) Stop() {
	q.stop()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.endWatches()
}

// endWatches ends all watches after Stop, once they have the end of every question. The lock is held.
func (q *Queue) endWatches() {
	if q.stopping.Err() != nil && len(q.waiting) == 0 {
		q.changes.End()
	}
}

// StoppedName is the name of the error of a call whose question Stop has ended.
const StoppedName = "HostStopping"

func errStopped() error {
	return &sdk.Error{Code: sdk.CodeApprovalUnavailable, Name: StoppedName, Retryable: true,
		Message:    "the host stops before a person has answered; nothing was run",
		Suggestion: "Make the call again once a host runs."}
}

// Approve waits until a person answers, or ctx ends.
func (q *Queue) Approve(ctx context.Context, r *host.ApprovalRequest) (host.Answer, error) {
	a, err := q.wait(ctx, &Question{Kind: KindCall, Call: r, Expires: r.Expires})
	a.Call.By = a.By
	return a.Call, err
}

// Capabilities are MCP's elicitations: forms and addresses to open.
func (q *Queue) Capabilities() json.RawMessage {
	return json.RawMessage(`{"elicitation":{"form":{},"url":{}}}`)
}

// AnswerInput waits until a person answers the questions of a tool, or ctx ends.
func (q *Queue) AnswerInput(ctx context.Context, r *host.InputRequest) (map[string]json.RawMessage, error) {
	question := &Question{Kind: KindInput, Input: r}
	question.Expires, _ = ctx.Deadline()
	a, err := q.wait(ctx, question)
	return a.Input, err
}

func (q *Queue) wait(ctx context.Context, question *Question) (Answer, error) {
	question.ID, question.Asked, question.reply = rand.Text(), time.Now(), make(chan Answer, 1)
	var err error
	if question.Hash, question.size, err = hashOf(question); err != nil {
		return Answer{}, err
	}
	err = q.add(question)
	q.notify()
	if err != nil {
		return Answer{}, err
	}
	select {
	case a := <-question.reply:
		return a, nil
	case <-ctx.Done():
	case <-q.stopping.Done():
	}
	o, err := &Outcome{Result: Withdrawn, Time: time.Now()}, ctx.Err()
	if err == nil {
		o.Reason, err = "the host stops", errStopped()
	} else if e, answered := errors.AsType[*AnsweredError](context.Cause(ctx)); answered {
		o = &e.Outcome
	} else if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		o.Result = Expired
	}
	if q.end(question.ID, o) {
		return Answer{}, err
	}
	return <-question.reply, nil // an answer came first
}

func (q *Queue) add(question *Question) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.stopping.Err() != nil:
		return errStopped()
	case len(q.waiting) >= q.options.MaxWaiting:
		return fmt.Errorf("%d questions wait for people already, which is the limit", len(q.waiting))
	case q.bytes+question.size > q.options.MaxBytes:
		return fmt.Errorf("the questions that wait for people already have %d bytes, this one has %d, and the limit is %d",
			q.bytes, question.size, q.options.MaxBytes)
	}
	q.bytes += question.size
	q.waiting[question.ID] = question
	q.tell(question)
	return nil
}

// end ends a question; false when it has ended already.
func (q *Queue) end(id string, o *Outcome) bool {
	defer q.notify()
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.endLocked(id, o)
}

func (q *Queue) endLocked(id string, o *Outcome) bool {
	question := q.waiting[id]
	if question == nil {
		return false
	}
	delete(q.waiting, id)
	q.bytes -= question.size
	q.ended[id], q.order = *o, append(q.order, id)
	if len(q.order) > maxEnded {
		delete(q.ended, q.order[0])
		q.order = q.order[1:]
	}
	after := *question // whoever reads the list still has the question as it was
	after.Outcome = o
	q.tell(&after)
	q.endWatches()
	return true
}

// tell passes a question on to all who watch. Notify is called without the lock, by notify.
func (q *Queue) tell(question *Question) {
	q.changes.Publish(func() *Question { return question })
	if q.options.Notify != nil {
		q.untold = append(q.untold, question)
	}
}

// notify calls Notify, unless another goroutine does, or Notify itself has made the change: that call goes on.
func (q *Queue) notify() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.telling {
		return
	}
	q.telling = true
	defer func() { q.telling = false }()
	for len(q.untold) > 0 {
		question := q.untold[0]
		q.untold = q.untold[1:]
		func() {
			q.mu.Unlock()
			defer q.mu.Lock()
			callback.Run(q.options.Logger, "approvals.Options.Notify", func() { q.options.Notify(question) })
		}()
	}
}

// Answer answers a question, unless another answer came first. Errors are ErrNotFound, ErrChanged and *AnsweredError,
// or say what the answer lacks.
func (q *Queue) Answer(a Answer) (Outcome, error) {
	defer q.notify()
	q.mu.Lock()
	defer q.mu.Unlock()
	question := q.waiting[a.ID]
	switch ended, known := q.ended[a.ID]; {
	case known:
		return Outcome{}, &AnsweredError{ended}
	case question == nil:
		return Outcome{}, ErrNotFound
	case a.Hash != question.Hash:
		return Outcome{}, ErrChanged
	}
	if err := question.check(&a); err != nil {
		return Outcome{}, err
	}
	o := a.outcome(question.Kind)
	q.endLocked(a.ID, o)
	question.reply <- a
	return *o, nil
}

// check refuses answers that the host would refuse, so that the question still waits for a better one.
func (q *Question) check(a *Answer) error {
	if q.Kind == KindInput {
		for key := range q.Input.Requests {
			if len(a.Input[key]) == 0 {
				return fmt.Errorf("the answer to %q is missing", key)
			}
		}
		return nil
	}
	c := &a.Call
	switch {
	case len(c.Reason) > maxReason:
		return fmt.Errorf("the reason has %d bytes; the limit is %d bytes. Give a shorter one", len(c.Reason), maxReason)
	case len(c.Arguments) > sdk.MaxArguments:
		return fmt.Errorf("the changed arguments have %d bytes; the limit is %d bytes", len(c.Arguments), sdk.MaxArguments)
	case c.Arguments != nil && !json.Valid(c.Arguments):
		return errors.New("the changed arguments are not JSON")
	case c.Scope == host.ScopePrefix && q.Call.Prefix == nil:
		return errors.New("the call has no beginning of a command that could be approved: choose another scope")
	case c.Scope != host.ScopeOnce && !slices.Contains([]host.Scope{host.ScopeArguments, host.ScopePrefix, host.ScopeTool},
		c.Scope):
		return fmt.Errorf("the scope %q is not one of arguments, prefix, tool", c.Scope)
	case c.Scope != host.ScopeOnce && !c.Approved:
		return errors.New("a rejection has no scope: it is of one call")
	}
	return nil
}

// List returns what waits, the oldest first.
func (q *Queue) List() []*Question {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.SortedFunc(maps.Values(q.waiting), func(a, b *Question) int {
		return cmp.Or(a.Asked.Compare(b.Asked), cmp.Compare(a.ID, b.ID))
	})
}

// hashOf is of what a person sees of a question, without its id and its time.
func hashOf(q *Question) (hash string, size int, err error) {
	shown := struct {
		Call  *host.ApprovalRequest
		Input *host.InputRequest
	}{Input: q.Input}
	if q.Call != nil {
		call := *q.Call
		call.Expires = time.Time{}
		shown.Call = &call
	}
	text, err := json.Marshal(shown)
	if err != nil {
		return "", 0, fmt.Errorf("the question cannot be shown: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), len(text), nil
}
