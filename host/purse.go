package host

import (
	"math"
	"sync"

	"github.com/toolhost/toolhost/sdk"
)

// A purse holds what the calls of a batch may still put out.
type purse struct {
	limited bool

	mu    sync.Mutex
	left  int64 // bytes
	calls int   // that have not taken their share yet
}

// take gives the next call its share. It is never zero.
func (p *purse) take() int64 {
	if !p.limited {
		return math.MaxInt64
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	share := max(p.left/int64(p.calls), 1)
	p.left -= share
	p.calls--
	return share
}

// settle takes back what a call has left over of its share, or what it has put out above it.
func (p *purse) settle(share int64, r *Result) {
	if !p.limited {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left += share - size(r)
}

// size counts what a model reads of a result, in bytes. Structured often is the text once more, and counts once.
func size(r *Result) (n int64) {
	for _, c := range r.Content {
		n += int64(len(c.Text) + len(c.Raw))
	}
	if string(r.Structured) != allText(r.Content) {
		n += int64(len(r.Structured))
	}
	return n
}

// share is how much of a result the call's batch leaves it.
func (c *Call) share() int64 {
	if c.entry == nil {
		return sdk.MaxResult
	}
	return c.entry.share
}
