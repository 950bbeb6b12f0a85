package telemetry

import (
	"context"
	"errors"
	"os"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// A batcher exports spans in batches, beside the calls. It does what the SDK's own batch processor does, by the same
// variables, but wakes its goroutine once a batch and not with each span: to wake one took more processor time than
// all else that a span takes.
type batcher struct {
	exporter sdktrace.SpanExporter
	queue    int           // spans that wait at most; further ones are dropped
	size     int           // of a batch, at most
	delay    time.Duration // after which less than a batch is exported
	timeout  time.Duration // of an export

	full  chan struct{} // holds a token when there is a batch
	flush chan chan struct{}
	end   chan struct{} // closed by Shutdown
	ended chan struct{} // closed when the goroutine has ended
	once  sync.Once

	mu      sync.Mutex
	waiting []sdktrace.ReadOnlySpan
	dropped int
	closed  bool
}

func newBatcher(e sdktrace.SpanExporter) *batcher {
	b := &batcher{exporter: e, queue: variable("OTEL_BSP_MAX_QUEUE_SIZE", 2048),
		size:    variable("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512),
		delay:   time.Duration(variable("OTEL_BSP_SCHEDULE_DELAY", 5000)) * time.Millisecond,
		timeout: time.Duration(variable("OTEL_BSP_EXPORT_TIMEOUT", 30000)) * time.Millisecond,
		full:    make(chan struct{}, 1), flush: make(chan chan struct{}), end: make(chan struct{}),
		ended: make(chan struct{})}
	b.size = min(b.size, b.queue)
	go b.run()
	return b
}

// variable reads a number above zero.
func variable(name string, standard int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 0 && n < 1<<31 {
		return n
	}
	return standard
}

// OnStart implements sdktrace.SpanProcessor.
func (b *batcher) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd keeps a span for the next batch. It does not wait.
func (b *batcher) OnEnd(s sdktrace.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || len(b.waiting) >= b.queue {
		b.dropped++
		return
	}
	b.waiting = append(b.waiting, s)
	if len(b.waiting) == b.size {
		select {
		case b.full <- struct{}{}:
		default:
		}
	}
}

// run exports until Shutdown.
func (b *batcher) run() {
	defer close(b.ended)
	tick := time.NewTicker(b.delay)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-b.full:
		case done := <-b.flush:
			b.export()
			close(done)
			continue
		case <-b.end:
			b.export()
			return
		}
		b.export()
	}
}

// export exports all that waits.
func (b *batcher) export() {
	for {
		batch, dropped := b.take()
		if dropped > 0 {
			otel.Handle(errors.New(strconv.Itoa(dropped) + " spans were dropped, because " + strconv.Itoa(b.queue) +
				" waited for the export already"))
		}
		if len(batch) == 0 {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), b.timeout)
		if err := b.exporter.ExportSpans(ctx, batch); err != nil {
			otel.Handle(err)
		}
		cancel()
	}
}

// take returns the next batch, and how many spans were dropped since the last one.
func (b *batcher) take() (batch []sdktrace.ReadOnlySpan, dropped int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := min(len(b.waiting), b.size)
	batch, dropped = b.waiting[:n:n], b.dropped
	b.waiting, b.dropped = b.waiting[n:], 0
	if len(b.waiting) == 0 {
		b.waiting = nil
	}
	return batch, dropped
}

// ForceFlush exports what waits.
func (b *batcher) ForceFlush(ctx context.Context) error {
	done := make(chan struct{})
	select {
	case b.flush <- done:
	case <-b.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Shutdown exports what waits, until ctx ends, and ends the exporter.
func (b *batcher) Shutdown(ctx context.Context) error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.once.Do(func() { close(b.end) })
	select {
	case <-b.ended:
	case <-ctx.Done():
	}
	return errors.Join(b.exporter.Shutdown(ctx), ctx.Err()) // which ends an export that still runs
}
