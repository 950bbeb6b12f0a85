package proctree

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestLimitsFor(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	for _, test := range []struct {
		name      string
		own, left time.Duration
		want      Limits
	}{
		{"no deadline", 120 * s, 0, Limits{Run: 120 * s, Grace: 2 * s}},
		{"far deadline", 120 * s, 3600 * s, Limits{Run: 120 * s, Grace: 2 * s}},
		{"long", 3600 * s, 600 * s, Limits{Run: 597 * s, Grace: 1500 * ms, Call: 600 * s}},
		{"10 s", 120 * s, 10 * s, Limits{Run: 9 * s, Grace: 500 * ms, Call: 10 * s}},
		{"300 ms", 120 * s, 300 * ms, Limits{Run: 200 * ms, Grace: 50 * ms, Call: 300 * ms}},
		{"never more than half", 120 * s, 100 * ms, Limits{Run: 50 * ms, Grace: 25 * ms, Call: 100 * ms}},
		{"own limit just before the deadline", 9500 * ms, 10 * s, Limits{Run: 9 * s, Grace: 500 * ms, Call: 10 * s}},
		{"own limit before the reserve", 8 * s, 10 * s, Limits{Run: 8 * s, Grace: s}},
		{"next to nothing", 120 * s, 1, Limits{Run: 1, Grace: 1, Call: 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // with fake time
				ctx := t.Context()
				if test.left > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, test.left)
					defer cancel()
				}
				if got := LimitsFor(ctx, test.own); got != test.want {
					t.Errorf("got %+v, want %+v", got, test.want)
				}
			})
		})
	}
}
