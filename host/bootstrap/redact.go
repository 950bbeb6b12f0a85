package bootstrap

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/internal/redact"
)

// A redactor removes the secrets of all configurations that were read from the log.
type redactor struct {
	references supervise.Hiding
	rest       atomic.Pointer[redact.Redactor] // of the last one
}

// add redacts the secrets of a configuration too.
func (r *redactor) add(c *config.Config, secrets []string) {
	r.references.Add(c.References)
	r.rest.Store(redact.New(secrets...))
}

// Redact takes the secrets of the configuration, and what looks like one, out of a text.
func (i *Instance) Redact(text string) string { return i.redactor.text(text) }

func (r *redactor) text(text string) string {
	rest := r.rest.Load()
	if rest == nil {
		rest = redact.New()
	}
	return rest.Text(r.references.Hide(text))
}

// logger is the logger without secrets; nil returns one that drops everything.
func (r *redactor) logger(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(&redactingHandler{l.Handler(), r})
}

// A redactingHandler redacts texts before they are formatted: in a formatted line, redacting a secret without an end
// would remove the text after it.
type redactingHandler struct {
	slog.Handler
	redactor *redactor
}

func (h *redactingHandler) Handle(ctx context.Context, r slog.Record) error {
	out := slog.NewRecord(r.Time, r.Level, h.redactor.text(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(h.redactor.attr(a))
		return true
	})
	return h.Handler.Handle(ctx, out)
}

func (h *redactingHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	out := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		out[i] = h.redactor.attr(a)
	}
	return &redactingHandler{h.Handler.WithAttrs(out), h.redactor}
}

func (h *redactingHandler) WithGroup(name string) slog.Handler {
	return &redactingHandler{h.Handler.WithGroup(name), h.redactor}
}

func (r *redactor) attr(a slog.Attr) slog.Attr {
	a.Value = a.Value.Resolve()
	switch k := a.Value.Kind(); {
	case k == slog.KindBool || k == slog.KindDuration || k == slog.KindTime:
	case k == slog.KindGroup && !redact.Name(a.Key):
		members := a.Value.Group()
		out := make([]slog.Attr, len(members))
		for i, member := range members {
			out[i] = r.attr(member)
		}
		a.Value = slog.GroupValue(out...)
	case redact.Name(a.Key):
		a.Value = slog.AnyValue(redact.Value(a.Value.Any()))
	case k == slog.KindString:
		a.Value = slog.StringValue(r.text(a.Value.String()))
	default: // numbers, errors, lists: unchanged, unless they contain a secret
		text := a.Value.String()
		if cleaned := r.text(text); cleaned != text {
			a.Value = slog.StringValue(cleaned)
		}
	}
	return a
}
