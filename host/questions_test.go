package host_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

// A minuteApprover is an Approver that takes a minute for each answer, unless set otherwise.
type minuteApprover struct {
	takes func(r *host.ApprovalRequest) time.Duration

	mu     sync.Mutex
	start  time.Time
	open   map[string]int // by session
	most   int            // questions open at once
	twice  bool           // two of one session were open at once
	put    []string       // calls, in the order in which they were asked about
	at     map[string]time.Duration
	before map[string]time.Duration // until when an answer counts, from when it was asked
}

func newMinuteApprover(takes func(r *host.ApprovalRequest) time.Duration) *minuteApprover {
	return &minuteApprover{takes: takes, start: time.Now(), open: map[string]int{}, at: map[string]time.Duration{},
		before: map[string]time.Duration{}}
}

func minute(*host.ApprovalRequest) time.Duration { return time.Minute }

func (d *minuteApprover) Approve(ctx context.Context, r *host.ApprovalRequest) (host.Answer, error) {
	d.count(r, +1)
	defer d.count(r, -1)
	select {
	case <-time.After(d.takes(r)):
		return host.Yes(), nil
	case <-ctx.Done():
		return host.Answer{}, ctx.Err()
	}
}

func (d *minuteApprover) count(r *host.ApprovalRequest, n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open[r.SessionID] += n
	sum := 0
	for _, n := range d.open {
		sum += n
	}
	d.most, d.twice = max(d.most, sum), d.twice || d.open[r.SessionID] > 1
	if n > 0 {
		d.put, d.at[r.CallID], d.before[r.CallID] = append(d.put, r.CallID), time.Since(d.start), time.Until(r.Expires)
	}
}

// calls makes calls, one after the other so that their order is known, and returns the results when all have ended.
func inOrder(t *testing.T, h *host.Host, calls ...host.Call) []*host.Result {
	t.Helper()
	q := queue{host: h}
	for _, c := range calls {
		q.add(t.Context(), c)
	}
	return q.all()
}

func from(session string, n int) host.Call {
	return host.Call{ID: fmt.Sprint(session, n), Tool: "test__run", SessionID: session}
}

func TestSessionsAreAskedSideBySide(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := newMinuteApprover(minute)
		h := single(t, echoing(writes("run")), host.Options{Approver: d})
		var calls []host.Call
		for n := range 3 {
			for s := range 40 {
				calls = append(calls, from(fmt.Sprint("s", s, "-"), n))
			}
		}
		for _, r := range inOrder(t, h, calls...) {
			succeeded(t, r)
		}
		if d.most != 40 || d.twice {
			t.Errorf("%d questions were open at once; two of one session: %t", d.most, d.twice)
		}
		for id, at := range d.at { // each session's, one after the other
			if want := time.Duration(id[len(id)-1]-'0') * time.Minute; at != want {
				t.Errorf("%s was asked after %s, want %s", id, at, want)
			}
		}
	})
}

// An unanswered question blocks its own session only, and each question has its whole time from when it is asked.
func TestUnansweredQuestionHoldsUpItsSession(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := newMinuteApprover(func(r *host.ApprovalRequest) time.Duration {
			if r.SessionID == "deaf" {
				return time.Hour
			}
			return 9 * time.Minute
		})
		h := single(t, echoing(writes("run")), host.Options{Approver: d})
		results := inOrder(t, h, from("deaf", 0), from("deaf", 1), from("a", 0), from("a", 1), from("", 0))
		for _, r := range results[:2] {
			failed(t, r, sdk.CodeApprovalTimeout)
		}
		for _, r := range results[2:] {
			succeeded(t, r)
		}
		diff(t, map[string]time.Duration{"deaf0": 0, "deaf1": 10 * time.Minute, "a0": 0, "a1": 9 * time.Minute, "0": 0}, d.at)
		for id, left := range d.before {
			if left != 10*time.Minute {
				t.Errorf("%s had %s", id, left)
			}
		}
	})
}

// A call keeps its place among those that wait, also when the question before it takes longer than one may, since it
// was shown late.
func TestWaitingKeepsItsPlace(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := newMinuteApprover(func(*host.ApprovalRequest) time.Duration { return 9 * time.Minute })
		h := single(t, echoing(writes("run")), host.Options{Approver: d, OneQuestion: true})
		q := queue{host: h}
		q.add(t.Context(), from("other", 0))
		q.add(t.Context(), from("a", 0)) // shown after nine minutes
		q.add(t.Context(), from("a", 1)) // waits for longer than a question may take
		time.Sleep(8 * time.Minute)
		q.add(t.Context(), from("a", 2))
		for _, r := range q.all() {
			succeeded(t, r)
		}
		diff(t, []string{"other0", "a0", "a1", "a2"}, d.put)
	})
}

// A terminal has one question at a time, and the sessions take turns.
func TestOneQuestionForAll(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := newMinuteApprover(minute)
		h := single(t, echoing(writes("run")), host.Options{Approver: d, OneQuestion: true})
		results := inOrder(t, h, from("a", 0), from("a", 1), from("a", 2), from("b", 0), from("b", 1), from("c", 0))
		for _, r := range results {
			succeeded(t, r)
		}
		if d.most != 1 {
			t.Errorf("%d questions were open at once", d.most)
		}
		diff(t, []string{"a0", "b0", "c0", "a1", "b1", "a2"}, d.put)
		if d.before["a2"] != 10*time.Minute {
			t.Errorf("the last question had %s", d.before["a2"])
		}
	})
}

// A call that is canceled while it waits for its question ends at once, is not asked about, and blocks no other.
func TestGivingUpBeforeTheQuestion(t *testing.T) {
	for _, one := range []bool{false, true} {
		t.Run(fmt.Sprintf("one for all: %t", one), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				d := newMinuteApprover(minute)
				h := single(t, echoing(writes("run")), host.Options{Approver: d, OneQuestion: one})
				ctx, cancel := context.WithCancel(t.Context())
				q, gone := queue{host: h}, queue{host: h}
				q.add(t.Context(), from("a", 0))
				gone.add(ctx, from("a", 1))
				if one {
					gone.add(ctx, from("b", 1)) // waits for the host's question
				}
				q.add(t.Context(), from("a", 2))
				began := time.Now()
				cancel()
				for _, r := range gone.all() {
					if e := failed(t, r, sdk.CodeCanceled); e.Outcome != sdk.OutcomeNotSent {
						t.Errorf("error %+v", e)
					}
				}
				if took := time.Since(began); took != 0 {
					t.Errorf("canceled after %s", took)
				}
				for _, r := range q.all() {
					succeeded(t, r)
				}
				d.mu.Lock()
				defer d.mu.Unlock()
				if slices.Contains(d.put, "a1") || d.at["a2"] != time.Minute {
					t.Errorf("asked about %v, %v", d.put, d.at)
				}
			})
		})
	}
}

// An approver that never returns delays the session in which that happens, by the timeout of each later call, and no
// other.
func TestApproverWhoNeverReturns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		h := single(t, echoing(writes("run")),
			host.Options{Approver: approveFunc(func(_ context.Context, r *host.ApprovalRequest) (host.Answer, error) {
				if r.SessionID == "stuck" {
					<-release
				}
				return host.Yes(), nil
			})})
		began := time.Now()
		for _, r := range inOrder(t, h, from("stuck", 0), from("stuck", 1), from("stuck", 2)) {
			failed(t, r, sdk.CodeApprovalTimeout)
		}
		if took := time.Since(began); took > 11*time.Minute {
			t.Errorf("it took %s", took)
		}
		succeeded(t, h.Call(t.Context(), from("free", 0)))
		close(release)
		synctest.Wait()
		succeeded(t, h.Call(t.Context(), from("stuck", 3)))
	})
}
