package audit

import (
	"testing"
	"testing/synctest"
	"time"
)

// The one that writes waits for the calls that were answered last, no longer than a group takes, and for no others.
func TestGather(t *testing.T) {
	for name, c := range map[string]struct {
		answered, waiting, come int
		since                   time.Duration // the last group
		most                    time.Duration
		want                    int
	}{
		"one caller":                {1, 1, 0, 0, 0, 1},
		"many callers that come":    {8, 4, 5, 0, 0, 9},
		"more than are waited for":  {2, 2, 9, 0, 0, 3},
		"many callers that stay":    {8, 4, 2, 0, 500 * time.Microsecond, 6},
		"many callers, a while ago": {8, 4, 0, time.Second, 0, 4},
		"no caller":                 {8, 0, 0, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &Log{}
				q := &l.queue
				q.open()
				q.writing, q.answered, q.took = true, c.answered, 500*time.Microsecond
				q.ended = time.Now()
				time.Sleep(c.since)
				come := func(n int) {
					for range n {
						go func() { _ = l.writeAndWait(&line{}) }()
					}
					synctest.Wait()
				}
				come(c.waiting)
				began := time.Now()
				var got []*pending
				done := make(chan time.Duration, 1)
				go func() { got = q.gather(); done <- time.Since(began) }()
				synctest.Wait()
				for range c.come {
					come(1)
				}
				if took := <-done; took != c.most || len(got) != c.want {
					t.Errorf("%d records after %s, want %d after %s", len(got), took, c.want, c.most)
				}
				for _, p := range append(got, q.gather()...) {
					p.done <- nil
				}
			})
		})
	}
}
