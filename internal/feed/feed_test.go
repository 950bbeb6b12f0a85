package feed

import (
	"context"
	"errors"
	"testing"
)

func TestWatchersSeeChangesInOrder(t *testing.T) {
	var f Feed[int]
	f.Publish(func() int { t.Error("made for no one"); return 0 })
	w := f.Watch()
	for i := range 3 {
		f.Publish(func() int { return i })
	}
	got, lost, err := w.Next(t.Context())
	if err != nil || lost != 0 || len(got) != 3 || got[0] != 0 || got[2] != 2 {
		t.Fatal(got, lost, err)
	}
	w.End()
	f.Publish(func() int { t.Error("made for no one"); return 0 })
}

func TestSlowWatcherLosesTheOldest(t *testing.T) {
	var f Feed[int]
	w := f.Watch()
	defer w.End()
	const all = 10 * maxPending
	for i := range all {
		f.Publish(func() int { return i })
	}
	got, lost, err := w.Next(t.Context())
	if err != nil || lost+len(got) != all || len(got) > maxPending || got[len(got)-1] != all-1 || got[0] != lost {
		t.Fatalf("%d changes, %d lost, %v", len(got), lost, err)
	}
}

func TestNextEndsWithItsContext(t *testing.T) {
	var f Feed[int]
	w := f.Watch()
	defer w.End()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := w.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}
