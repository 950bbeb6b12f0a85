package main

import (
	"sync"
	"sync/atomic"
)

// A crowd makes calls in the background while it runs. It is for one goroutine.
type crowd struct {
	call    func(int) error
	callers int

	running bool
	ended   atomic.Bool
	all     sync.WaitGroup
	err     atomic.Pointer[error]
}

func (c *crowd) start() {
	if c.running {
		return
	}
	c.running = true
	c.ended.Store(false)
	for i := range c.callers {
		c.all.Go(func() {
			for !c.ended.Load() {
				if err := c.call(i); err != nil {
					c.err.Store(&err)
					return
				}
			}
		})
	}
}

func (c *crowd) stop() {
	if c.running {
		c.ended.Store(true)
		c.all.Wait()
		c.running = false
	}
}

func (c *crowd) failed() error {
	if err := c.err.Load(); err != nil {
		return *err
	}
	return nil
}
