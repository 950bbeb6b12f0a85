package host

import (
	"context"
	"errors"
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

type questionQueue struct {
	turn  chan struct{} // holds a token while a question is open
	users int           // goroutines that hold or await the turn; guarded by the lock of questions, like shown
	shown time.Time     // when the open question was shown; zero before
}

// A questionTurn is the right to ask a question. It ends with leave.
type questionTurn struct {
	of    *questions
	by    questionScope
	queue *questionQueue
}

// errStuckQuestion says that the approver has not returned from the previous question.
var errStuckQuestion = errors.New("the approver has not returned from an earlier question, though its time is over")

// returnGrace is how long an approver may take to return after a question has timed out.
const returnGrace = 5 * time.Second

// enter waits for the turn. Each earlier question has at most limit; the wait ends with errStuckQuestion when the
// approver takes longer than that for one.
func (q *questions) enter(ctx context.Context, by questionScope, limit time.Duration) (*questionTurn, error) {
	t := &questionTurn{q, by, q.join(by)}
	for wait := t.left(limit); ; {
		timer := time.NewTimer(max(wait, 0))
		select {
		case t.queue.turn <- struct{}{}:
			timer.Stop()
			if ctx.Err() != nil { // both are ready, such as after a rejection that cancels the rest of a batch
				t.leave()
				return nil, ctx.Err()
			}
			return t, nil
		case <-ctx.Done():
			timer.Stop()
			q.quit(by)
			return nil, ctx.Err()
		case <-timer.C:
		}
		if wait = t.left(limit); wait <= 0 {
			q.quit(by)
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

// show records that the question is shown now.
func (t *questionTurn) show() {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.queue.shown = time.Now()
}

// leave gives the turn to the next in the queue.
func (t *questionTurn) leave() {
	t.of.mu.Lock()
	t.queue.shown = time.Time{}
	t.of.mu.Unlock()
	<-t.queue.turn
	t.of.quit(t.by)
}

func (q *questions) join(by questionScope) *questionQueue {
	q.mu.Lock()
	defer q.mu.Unlock()
	queue := q.queues[by]
	if queue == nil {
		if q.queues == nil {
			q.queues = map[questionScope]*questionQueue{}
		}
		queue = &questionQueue{turn: make(chan struct{}, 1)}
		q.queues[by] = queue
	}
	queue.users++
	return queue
}

func (q *questions) quit(by questionScope) {
	q.mu.Lock()
	defer q.mu.Unlock()
	queue := q.queues[by]
	if queue.users--; queue.users == 0 {
		delete(q.queues, by)
	}
}
