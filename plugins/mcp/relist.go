package main

import (
	"context"
	"time"

	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/plugins/mcp/internal/client"
)

const (
	// relistInterval is the least time between two lists of a server that announces changes without end.
	relistInterval = time.Second
	// A list that says how long it is valid is asked for again after that time, but not before leastTTL, and after mostTTL
	// at the latest.
	leastTTL = 30 * time.Second
	mostTTL  = 24 * time.Hour

	// emptyTime is how long tools are expected of a server that has none and can announce changes: it may never have any.
	emptyTime = 10 * time.Second

	announced = "it announced a change, but "
)

// listChanged lists again after the server said that a list changed. It is not called twice at a time.
func (u *upstream) listChanged(list string) {
	if list != client.Tools {
		return
	}
	u.mu.Lock()
	session := u.session
	if session == nil && u.attempt != nil { // the change came before the session was in use
		wake(u.attempt.changed)
	}
	u.mu.Unlock()
	if session == nil {
		return
	}
	u.relist(session, announced)
	select {
	case <-session.Done():
	case <-time.After(relistInterval):
	}
}

// awaitTools lists again whenever the server announces a change, until it has tools, or its time is over, or it can
// announce none: then it has none.
func (u *upstream) awaitTools(ctx context.Context, session *client.Session, a *attempt, c *catalog) (*catalog, error) {
	ctx, cancel := context.WithTimeout(ctx, u.bridge.emptyTime)
	defer cancel()
	if u.primary() {
		u.bridge.expect(true, "%s lists no tools yet, and says that its list may change; it is waited for, %s at most",
			u.bridge.who(), min(u.bridge.connectTimeout, u.bridge.emptyTime))
	}
	for {
		select {
		case <-a.changed:
		case <-session.Done():
			return nil, session.Err()
		case <-session.Deaf():
			return c, nil
		case <-ctx.Done():
			return c, nil
		}
		now, err := u.list(ctx, session)
		if err == nil && !now.empty || err != nil && ctx.Err() == nil {
			return now, err
		}
		pause(ctx, relistInterval)
	}
}

// relist lists again. If that fails, the notice begins with because, the reason for listing again.
func (u *upstream) relist(session *client.Session, because string) {
	u.relisting.Lock()
	defer u.relisting.Unlock()
	ctx, cancel := context.WithTimeout(u.bridge.ctx, u.bridge.connectTimeout)
	defer cancel()
	c, err := u.list(ctx, session)
	if err != nil {
		if u.primary() && session.Err() == nil && u.bridge.ctx.Err() == nil {
			u.bridge.setTrouble("its tools are those of before: "+because+textutil.Cut(err.Error(), 1000), "")
		}
		return
	}
	u.mu.Lock()
	current := u.session == session
	if current {
		u.adopt(c)
	}
	u.mu.Unlock()
	if !current {
		return
	}
	if u.primary() {
		u.bridge.setCatalog(c)
	}
	u.relistAfter(session, c.ttl)
}

// relistAfter lists again when the list is not valid any more; a time of zero is not a time. A list that fails then is
// that of before for as long again.
func (u *upstream) relistAfter(session *client.Session, ttl time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.expiry != nil {
		u.expiry.Stop()
		u.expiry = nil
	}
	if ttl <= 0 {
		return
	}
	u.expiry = time.AfterFunc(min(max(ttl, u.bridge.leastTTL), mostTTL), func() {
		if session.Err() != nil || u.bridge.ctx.Err() != nil { // the next session lists
			return
		}
		u.relistAfter(session, ttl)
		u.relist(session, "it said that the list is not valid any more, but ")
	})
}
