package sdk

import (
	"os"
	"runtime"
	"sync"
	"time"
)

// shortAgain is how long a plugin has all processors after its last long call.
const shortAgain = time.Second

// processors keeps a plugin on one processor while its calls are short: its goroutines then hand a call on without
// waking a thread for each step, which takes a third off the plugin's processor time for a small call (measured with
// 16 callers: 19 to 12 µs). A call is long when its result does not come with its first event, within a millisecond or
// two, or when it is too large for a session. Handlers that compute therefore run in parallel after that time. The zero
// value changes nothing.
type processors struct {
	one, all func() // set how many there are; nil: they are not ours to set

	mu    sync.Mutex
	long  int // long calls that run
	many  bool
	timer *time.Timer
}

// own has the plugin's processors set from now on, unless its environment says how many there are.
func (p *processors) own() {
	if os.Getenv("GOMAXPROCS") == "" && runtime.GOMAXPROCS(0) > 1 {
		p.one, p.all = func() { runtime.GOMAXPROCS(1) }, runtime.SetDefaultGOMAXPROCS
	}
}

// start is called when calls may come that are short.
func (p *processors) start() {
	if p.one == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer == nil {
		p.timer = time.AfterFunc(shortAgain, p.rest)
		if p.many = p.long > 0; !p.many {
			p.one()
		}
	}
}

// begin counts a long call until end.
func (p *processors) begin() {
	if p.one == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.long++; !p.many && p.timer != nil {
		p.many = true
		p.all()
	}
}

func (p *processors) end() {
	if p.one == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.long--; p.long == 0 && p.many {
		p.timer.Reset(shortAgain)
	}
}

// rest goes back to one processor, unless a long call has begun meanwhile.
func (p *processors) rest() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.many && p.long == 0 {
		p.many = false
		p.one()
	}
}
