package host

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// questions allow one open question per session, in the order of the calls: a person, or an agent with its own
// approver, answers one at a time, and an unanswered question blocks its own session only.
type questions struct {
	mu     sync.Mutex
	queues map[questionScope]*questionQueue // those in use
}

// A questionScope is a session, or all sessions of a host that asks one question at a time (Options.OneQuestion).
type questionScope struct {
	session string
	all     bool
}

// A questionQueue is in use as long as someone has its turn. The lock of questions guards it.
type questionQueue struct {
	waiting []*questionTurn // in order
	shown   time.Time       // when the open question was shown; zero before
}

// A questionTurn is the right to ask a question. It ends with end.
type questionTurn struct {
	of    *questions
	by    questionScope
	queue *questionQueue
	begun chan struct{} // closed when it begins
}

// errStuckQuestion says that the approver has not returned from the previous question.
var errStuckQuestion = errors.New("the approver has not returned from an earlier question, though its time is over")

// returnGrace is how long an approver may take to return after a question has timed out.
const returnGrace = 5 * time.Second

// enter waits for the turn. Each earlier question has at most limit; the wait ends with errStuckQuestion when the
// approver takes longer than that for one.
func (q *questions) enter(ctx context.Context, by questionScope, limit time.Duration) (*questionTurn, error) {
	t := q.join(by)
	for {
		select {
		case <-t.begun:
			if ctx.Err() != nil { // both are ready, such as after a rejection that cancels the rest of a batch
				t.end()
				return nil, ctx.Err()
			}
			return t, nil
		case <-ctx.Done():
			t.end()
			return nil, ctx.Err()
		case <-time.After(t.left(limit)):
		}
		if t.left(limit) <= 0 {
			t.end()
			return nil, errStuckQuestion
		}
	}
}

// left is the remaining time of the open question.
func (t *questionTurn) left(limit time.Duration) time.Duration {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	if t.queue.shown.IsZero() {
		return limit + returnGrace
	}
	return limit + returnGrace - time.Since(t.queue.shown)
}

func (t *questionTurn) show() {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.queue.shown = time.Now()
}

// end gives the turn to the next in the queue, or gives up the place in it.
func (t *questionTurn) end() {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	if n := slices.Index(t.queue.waiting, t); n >= 0 {
		t.queue.waiting = slices.Delete(t.queue.waiting, n, n+1)
		return
	}
	t.queue.shown = time.Time{}
	if len(t.queue.waiting) == 0 {
		delete(t.of.queues, t.by)
		return
	}
	next := t.queue.waiting[0]
	t.queue.waiting = slices.Delete(t.queue.waiting, 0, 1)
	close(next.begun)
}

// join takes a place in the queue: the turn itself when nobody has it.
func (q *questions) join(by questionScope) *questionTurn {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := &questionTurn{q, by, q.queues[by], make(chan struct{})}
	if t.queue != nil {
		t.queue.waiting = append(t.queue.waiting, t)
		return t
	}
	t.queue = &questionQueue{}
	q.queues[by] = t.queue
	close(t.begun)
	return t
}
