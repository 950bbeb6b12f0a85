package client

import (
	"encoding/json"
	"errors"
	"time"
)

// changeInterval is the least time between two calls of Options.ListChanged for one list.
const changeInterval = 100 * time.Millisecond

// lists are those whose changes servers announce.
var lists = []string{"tools", "prompts", "resources"}

// startAnnouncing starts what calls Options.ListChanged.
func (s *Session) startAnnouncing() {
	if s.options.ListChanged == nil {
		return
	}
	s.changed = map[string]chan struct{}{}
	for _, list := range lists {
		changed := make(chan struct{}, 1)
		s.changed[list] = changed
		go func() {
			for s.awaitChange(changed) {
				s.options.ListChanged(list)
				s.pause(changeInterval)
			}
		}()
	}
}

func (s *Session) awaitChange(changed chan struct{}) bool {
	select {
	case <-changed:
		return s.ctx.Err() == nil
	case <-s.ctx.Done():
		return false
	}
}

// pause waits, or until the session ends.
func (s *Session) pause(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.ctx.Done():
	}
}

// announce notes that a list has changed.
func (s *Session) announce(list string) {
	select {
	case s.changed[list] <- struct{}{}:
	default: // it is noted already, or nobody wants to know
	}
}

// Times between two subscriptions.
const (
	firstResubscribe = time.Second
	lastResubscribe  = 5 * time.Minute
)

// listen subscribes to changes of the lists, as far as the server has them. A subscription that the server ends is made
// again, later each time, and after that all lists may have changed.
func (s *Session) listen() {
	wanted := map[string]bool{}
	for _, list := range lists {
		if s.options.ListChanged != nil && s.announces(list) {
			wanted[list+"ListChanged"] = true
		}
	}
	if len(wanted) == 0 {
		return
	}
	params, _ := json.Marshal(map[string]any{"notifications": wanted})
	go func() {
		for wait := firstResubscribe; ; wait = min(2*wait, lastResubscribe) {
			began := time.Now()
			_, err := s.request(s.ctx, &call{method: "subscriptions/listen", revision: s.Server().Revision}, params)
			if _, refused := errors.AsType[*RPCError](err); refused || s.ctx.Err() != nil {
				return
			}
			if time.Since(began) > lastResubscribe {
				wait = firstResubscribe
			}
			if s.pause(wait); s.ctx.Err() != nil {
				return
			}
			for _, list := range lists {
				if wanted[list+"ListChanged"] {
					s.announce(list)
				}
			}
		}
	}()
}

// announces reports whether the server says of one of its lists that it announces changes.
func (s *Session) announces(list string) bool {
	var capabilities map[string]struct {
		ListChanged bool `json:"listChanged"`
	}
	_ = json.Unmarshal(s.Server().Capabilities, &capabilities) // what fits is read all the same
	return capabilities[list].ListChanged
}
