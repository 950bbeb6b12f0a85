package sdk

import (
	"context"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	"github.com/toolhost/toolhost/internal/idlemem"
	"github.com/toolhost/toolhost/internal/wire/pluginv1"
)

// A watchStream runs a function for every message of a Watch.
type watchStream struct {
	grpc.ServerStream
	ctx  context.Context
	send func()
}

func (s *watchStream) Context() context.Context        { return s.ctx }
func (s *watchStream) Send(*pluginv1.WatchEvent) error { s.send(); return nil }

// A change during the notification of the previous one is reported too.
func TestWatchLosesNoChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // ends a Watch that would wait without limit
		defer cancel()
		p, reported := New("p", "1"), 0
		stream := &watchStream{ctx: ctx, send: func() {
			if reported++; reported == 3 {
				cancel()
			} else if err := p.SetTools(nil); err != nil {
				t.Error(err)
			}
		}}
		if err := (&server{plugin: p, base: t.Context()}).Watch(nil, stream); err != nil || reported != 3 {
			t.Errorf("%d changes are reported, and then %v; want 3", reported, err)
		}
	})
}

// A host watches the tools of a plugin that was dynamic when it listed them.
func TestSetToolsThatNoHostSees(t *testing.T) {
	set := func(p *Plugin) error { return p.SetTools(nil) }
	configure := func(p *Plugin) { Configure(p, func(context.Context, *Request, struct{}) error { return set(p) }) }
	for name, c := range map[string]struct {
		prepare func(*Plugin)
		seen    bool
	}{
		"never dynamic": {func(*Plugin) {}, false}, "dynamic": {(*Plugin).Dynamic, true},
		"set before": {func(p *Plugin) { _ = set(p) }, true}, "set in Configure": {configure, true},
		"configured": {func(p *Plugin) { Configure(p, func(context.Context, *Request, struct{}) error { return nil }) }, false},
	} {
		p := New("p", "1")
		c.prepare(p)
		s := &server{plugin: p, base: t.Context(), memory: &idlemem.Trimmer{}}
		s.description()
		if p.configure != nil {
			if r, err := s.Configure(t.Context(), &pluginv1.ConfigureRequest{}); err != nil || r.GetError() != nil {
				t.Errorf("%s: %v, %v", name, r, err)
			}
			s.description()
		}
		if err := set(p); (err == nil) != c.seen {
			t.Errorf("%s: SetTools returns %v", name, err)
		}
	}
}

// Any grace gives a sensible number.
func TestGraceOfOverdue(t *testing.T) {
	s := &server{}
	ctx, cancel := context.WithCancel(t.Context())
	defer s.overdue.watch(ctx)()
	cancel()
	for grace, late := range map[int64]int64{math.MinInt64: 1, -1: 1, 0: 1, math.MaxInt64: 0} {
		if r, err := s.Overdue(t.Context(), &pluginv1.OverdueRequest{GraceMs: grace}); r.GetHandlers() != 1 ||
			r.GetLate() != late || err != nil {
			t.Errorf("a grace of %d gives %v, %v", grace, r, err)
		}
	}
}

// The number of remembered runs is bounded; running ones are never forgotten.
func TestRunIDsAreBounded(t *testing.T) {
	var m runIDs
	if !m.begin("running") {
		t.Fatal("a new call is not new")
	}
	for i := range 3 * maxEnded {
		id := fmt.Sprint(i)
		if !m.begin(id) {
			t.Fatalf("call %s is not new", id)
		}
		m.end(id)
	}
	if n := len(m.known); n != maxEnded+1 || len(m.ended) != maxEnded {
		t.Errorf("%d calls are known, want %d", n, maxEnded+1)
	}
	for id, fresh := range map[string]bool{"running": false, "0": true, fmt.Sprint(2 * maxEnded): false,
		fmt.Sprint(3*maxEnded - 1): false} {
		if m.begin(id) != fresh {
			t.Errorf("call %s is new: %t, want %t", id, !fresh, fresh)
		}
	}
}
