package sdk

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

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

// A change while the one before it is being told is told as well.
func TestWatchLosesNoChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // ends a Watch that waits for ever
		defer cancel()
		p, told := New("p", "1"), 0
		stream := &watchStream{ctx: ctx, send: func() {
			if told++; told == 3 {
				cancel()
			} else if err := p.SetTools(nil); err != nil {
				t.Error(err)
			}
		}}
		if err := (&server{plugin: p, base: t.Context()}).Watch(nil, stream); err != nil || told != 3 {
			t.Errorf("%d changes are told, and then %v; want 3", told, err)
		}
	})
}
