package host_test

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A recorder is a slog.Handler that remembers.
type recorder struct {
	mu    sync.Mutex
	lines []line
	attrs []slog.Attr
	under *recorder // that remembers for this one
}

type line struct {
	Level   slog.Level
	Message string
	Attrs   map[string]string
}

func (r *recorder) Enabled(context.Context, slog.Level) bool { return true }

func (r *recorder) Handle(_ context.Context, rec slog.Record) error {
	attrs := map[string]string{}
	for _, a := range slices.AppendSeq(slices.Clone(r.attrs), rec.Attrs) {
		attrs[a.Key] = a.Value.String()
	}
	if r.under != nil {
		r = r.under
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, line{rec.Level, rec.Message, attrs})
	return nil
}

func (r *recorder) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &recorder{attrs: slices.Concat(r.attrs, attrs), under: r}
}

func (r *recorder) WithGroup(string) slog.Handler { return r }

func (r *recorder) all() []line {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.lines)
}

// named gives the lines with one of these messages.
func (r *recorder) named(messages ...string) []line {
	return slices.DeleteFunc(r.all(), func(l line) bool { return !slices.Contains(messages, l.Message) })
}

// diff says how two values differ.
func diff(t testing.TB, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
