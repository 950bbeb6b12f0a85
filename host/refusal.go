package host

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

// limitDetails are the details of CodeLimit.
type limitDetails struct {
	Setting string `json:"setting"`      // by its name in config.hcl
	Of      string `json:"of,omitempty"` // what it is set for
	Limit   any    `json:"limit"`
	// RetryAfter is when a retry makes sense, in milliseconds; exact for a rate, an estimate for a queue.
	RetryAfter int64 `json:"retry_after_ms,omitempty"`
}

// overLimit is for a call over a limit. It names the setting; what says why.
func overLimit(name string, d limitDetails, what string) *sdk.Error {
	e := fail(sdk.CodeLimit, name, "%s (%s of %s); nothing was run", what, d.Setting, d.Of)
	e.Details = sdk.Details(d)
	return e
}

// A boundState is what a bound says at one moment. Errors are made of it without the line's lock.
type boundState struct {
	of string
	Limits
	pause   time.Duration // until the rate lets one more call through
	backlog int64         // see bound.backlog
	blocked bool          // as many run as may
}

func (b *bound) read() *boundState {
	return &boundState{of: b.of, Limits: b.Limits, backlog: b.backlog(), blocked: !b.free()}
}

func (r *boundState) refuse(name string, d limitDetails, what string) *sdk.Error {
	d.Of = r.of
	return overLimit(name, d, what)
}

// tooEarly gives the bound whose rate a call comes too early for; nil when it may come now.
func (p pair) tooEarly(now time.Time) (r *boundState) {
	var longest time.Duration
	for _, b := range p {
		if d := b.pause(now); d > longest {
			r, longest = b.read(), d
			r.pause = d
		}
	}
	return r
}

// early refuses a call that comes before the rate allows it; nil when there is none.
func (r *boundState) early() *sdk.Error {
	if r == nil {
		return nil
	}
	ms := milliseconds(r.pause)
	e := r.refuse("RateLimited", limitDetails{Setting: "rate", Limit: r.Rate, RetryAfter: ms},
		fmt.Sprintf("there may be %g calls a second, %d at once, and there were as many", r.Rate, r.Burst))
	e.Retryable = true
	e.Suggestion = fmt.Sprintf("Call again in %s.", time.Duration(ms)*time.Millisecond)
	return e
}

// pause is how long it takes until the rate lets one more call through. The fraction of a nanosecond is cut off, as the
// limiter does.
func (b *bound) pause(now time.Time) time.Duration {
	if b.Rate == 0 {
		return 0
	}
	seconds := (1 - b.rate.TokensAt(now)) / b.Rate
	return time.Duration(min(max(seconds*float64(time.Second), 0), float64(math.MaxInt64/2)))
}

func (r *boundState) queueFull() *sdk.Error {
	what := fmt.Sprintf("there may be %d at once and %d in line, and there are as many", r.Concurrency, r.Queue)
	d := limitDetails{Setting: "queue", Limit: r.Queue, RetryAfter: r.backlog}
	if r.Queue == 0 {
		what = fmt.Sprintf("there may be %d at once and none in line, and there are as many", r.Concurrency)
	}
	return r.busy("QueueFull", d, what)
}

// waitedTooLong blames what kept the call waiting.
func (p pair) waitedTooLong() *sdk.Error {
	r := p[0].read()
	if r.Concurrency == 0 || !r.blocked {
		r = p[1].read()
	}
	d := limitDetails{Setting: "concurrency", Limit: r.Concurrency, RetryAfter: r.backlog}
	return r.busy("WaitedTooLong", d, fmt.Sprintf("the call waited %s in line, since there may be %d at once", maxWait, r.Concurrency))
}

func (r *boundState) busy(name string, d limitDetails, what string) *sdk.Error {
	e := r.refuse(name, d, what)
	e.Retryable = true
	e.Suggestion = "Call again when calls that run now have ended."
	return e
}

// backlog estimates when a call that comes now would have its turn, in milliseconds; zero when nothing is known.
func (b *bound) backlog() int64 {
	if b.Concurrency == 0 {
		return 0
	}
	return milliseconds(time.Duration(float64(b.typical) * float64(b.waiting+1) / float64(b.Concurrency)))
}

// milliseconds rounds up: whoever waits so long has waited long enough.
func milliseconds(d time.Duration) int64 {
	return int64(math.Ceil(float64(d) / float64(time.Millisecond)))
}

// notBegun is what is said of a call whose context has ended before it came to the plugin.
func notBegun(ctx context.Context, when string) *sdk.Error {
	e := sdk.EndedError(ctx)
	what := "the call was canceled"
	if e.Code == sdk.CodeTimeout {
		what, e.Retryable, e.Suggestion = "the caller's deadline passed", true, "Call again with more time."
	}
	e.Message = what + " " + when + "; nothing was run"
	return e
}
