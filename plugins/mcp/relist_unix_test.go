//go:build unix

package main

import (
	"slices"
	"testing"
	"time"
)

// A list that says how long it is valid is asked for again after that time, also when that failed once; one that does
// not say it is not.
func TestListIsReadAgainWhenItIsNotValidAnyMore(t *testing.T) {
	f := newFake(t, "one")
	f.leastTTL = time.Millisecond
	f.file("modern", "")
	f.file("ttl", `,"ttlMs":1`)
	f.start("")
	f.file("tools", "no list") // not JSON
	lists := len(f.lines("lists"))
	eventually(t, "it is asked again", func() bool { return len(f.lines("lists")) > lists+2 })
	f.list("one", "two")
	eventually(t, "the new tool is there", func() bool { return slices.Equal(f.names(), []string{"one", "two"}) })
	f.file("ttl", "")
	u, err := f.upstreams.use(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer u.release()
	eventually(t, "no list is asked for any more", func() bool {
		u.mu.Lock()
		defer u.mu.Unlock()
		return u.expiry == nil
	})
}

// A list that the end of the plugin cuts off is no trouble: a host would keep it with the tools.
func TestEndWhileListingAgain(t *testing.T) {
	f := newFake(t, "one")
	f.start("")
	u, err := f.upstreams.use(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer u.release()
	f.end()
	u.relist(u.session, "it announced a change, but ")
	if d, err := f.Describe(t.Context()); err != nil || len(d.Tools) != 1 || len(d.Notices) != 0 {
		t.Errorf("%d tools, %v, %v", len(d.Tools), d.Notices, err)
	}
}
