package sdk

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A plugin has all processors while a long call runs, and for a second after the last.
func TestProcessors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var set []string
		note := func(to string) {
			mu.Lock()
			defer mu.Unlock()
			set = append(set, to)
		}
		p := &processors{one: func() { note("one") }, all: func() { note("all") }}
		expect := func(want ...string) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(set, want) {
				t.Errorf("set to %v, want %v", set, want)
			}
			set = nil
		}
		p.begin() // before the first session
		p.end()
		expect()
		p.start()
		p.start()
		expect("one")
		time.Sleep(2 * shortAgain)
		expect()
		p.begin()
		p.begin()
		p.end()
		time.Sleep(2 * shortAgain)
		expect("all")
		p.end()
		time.Sleep(shortAgain / 2)
		p.begin()
		time.Sleep(2 * shortAgain)
		p.end()
		time.Sleep(shortAgain / 2)
		expect()
		time.Sleep(shortAgain)
		expect("one")

		p = &processors{one: p.one, all: p.all}
		p.begin()
		p.start() // while a long call runs
		time.Sleep(2 * shortAgain)
		expect()
		p.end()
		time.Sleep(2 * shortAgain)
		expect("one")
	})
}

// What the environment says holds.
func TestProcessorsOfTheEnvironment(t *testing.T) {
	t.Setenv("GOMAXPROCS", "2")
	p := &processors{}
	p.own()
	p.start() // would set the test's own
	p.begin()
	p.end()
	if p.one != nil || p.timer != nil {
		t.Error("the processors are set")
	}
}
