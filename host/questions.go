package host

import (
	"context"
	"errors"
	"sync"
	"time"
)

// questions let one question of each session be open, in the order of the calls: a person, or an agent that asks its
// own, has one to answer at a time, and one without an answer blocks its own session only.
type questions struct {
	mu     sync.Mutex
	queues map[asker]*questionQueue // that are in use
}

// An asker is a session, or all of them for hosts that ask one question at a time (Options.OneQuestion).
type asker struct {
	session string
	all     bool
}

type questionQueue struct {
	turn  chan struct{} // holds a token while a question is open
	users int           // that hold it or wait; guarded by the lock of questions, like shown
	shown time.Time     // when the open question was put; zero before
}

// A questionTurn is the right to put a question. It ends with leave.
type questionTurn struct {
	of    *questions
	by    asker
	queue *questionQueue
}

// errStuckQuestion says that the approver holds on to the question before.
var errStuckQuestion = errors.New("the approver has not returned from an earlier question, though its time is over")

// returnGrace is how long an approver may take to return from a question whose time is over.
const returnGrace = 5 * time.Second

// enter waits for the turn. Each question before has at most limit; the wait ends with errStuckQuestion when the
// approver holds on to one for longer.
func (q *questions) enter(ctx context.Context, by asker, limit time.Duration) (*questionTurn, error) {
	t := &questionTurn{q, by, q.join(by)}
	for wait := t.left(limit); ; {
		timer := time.NewTimer(max(wait, 0))
		select {
		case t.queue.turn <- struct{}{}:
			timer.Stop()
			if ctx.Err() != nil { // both at once, as after a no that cancels the rest of a batch
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

// left is how long the open question may still take.
func (t *questionTurn) left(limit time.Duration) time.Duration {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	if t.queue.shown.IsZero() {
		return limit + returnGrace
	}
	return limit + returnGrace - time.Since(t.queue.shown)
}

// show notes that the question is put now.
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

func (q *questions) join(by asker) *questionQueue {
	q.mu.Lock()
	defer q.mu.Unlock()
	queue := q.queues[by]
	if queue == nil {
		if q.queues == nil {
			q.queues = map[asker]*questionQueue{}
		}
		queue = &questionQueue{turn: make(chan struct{}, 1)}
		q.queues[by] = queue
	}
	queue.users++
	return queue
}

func (q *questions) quit(by asker) {
	q.mu.Lock()
	defer q.mu.Unlock()
	queue := q.queues[by]
	if queue.users--; queue.users == 0 {
		delete(q.queues, by)
	}
}
