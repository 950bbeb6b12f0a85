package approvals

import (
	"context"

	"github.com/toolhost/toolhost/internal/feed"
)

// A Watch follows a Queue.
type Watch struct {
	queue  *Queue
	follow *feed.Watcher[*Question]
	fresh  bool // whether the next change is a snapshot
}

// A Change is what has happened since the last one.
type Change struct {
	// Snapshot means that Questions are all that wait now. Otherwise they have begun to wait, or have ended and have an
	// Outcome, in this order; one of the snapshot may come again.
	Snapshot  bool
	Questions []*Question
	// Lost is how many changes a snapshot stands for, after a thousand waited for who watches.
	Lost int
}

// Watch follows the queue. Its first change is a snapshot. The caller calls End.
func (q *Queue) Watch() *Watch { return &Watch{queue: q, follow: q.changes.Watch(), fresh: true} }

// ErrWatchEnded is the error of Watch.Next after End, and after Queue.Stop once all questions have ended.
var ErrWatchEnded = feed.ErrEnded

// End ends the watch, and a Next that waits.
func (w *Watch) End() { w.follow.End() }

// Next waits for the next change, until ctx ends or the watch does.
func (w *Watch) Next(ctx context.Context) (Change, error) {
	if w.fresh {
		w.fresh = false
		return Change{Snapshot: true, Questions: w.queue.List()}, nil
	}
	changes, dropped, err := w.follow.Next(ctx)
	if err != nil {
		return Change{}, err
	}
	if dropped > 0 {
		return Change{Snapshot: true, Questions: w.queue.List(), Lost: dropped}, nil
	}
	return Change{Questions: changes}, nil
}
