package host_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

// become changes the tools and waits until the host knows. It needs a bubble.
func (c *changing) become(tools ...sdk.Tool) {
	c.tools.Store(tools)
	c.changes <- struct{}{}
	synctest.Wait()
}

func TestCatalogFollowsChanges(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newChanging(tool("old"))
		h := newHost(t, map[string]host.Plugin{"test": p, "other": answering(nil, nil)}, host.Options{})
		c := catalog(t, h, host.Filter{Tools: []string{"test__*"}})
		list := func() []string {
			tools, _ := c.Tools(t.Context())
			return names(tools)
		}
		diff(t, []string{"test__old"}, list())
		diff(t, []string{"test__old"}, list())
		p.become(tool("old"), tool("new"))
		diff(t, []string{"test__new", "test__old"}, list())
		succeeded(t, c.Call(t.Context(), call("test__new", "")))
		p.become()
		diff(t, []string(nil), list())
		failed(t, c.Call(t.Context(), call("test__old", "")), sdk.CodeToolNotFound)
	})
}

// A list that was under way when the tools changed is not remembered.
func TestCatalogForgetsOutdatedLists(t *testing.T) {
	checkOutdatedList(t, func(t *testing.T, h *host.Host) lister { return catalog(t, h, host.Filter{}) })
}

// A plugin that could not tell its tools is asked again, and has them then.
func TestCatalogRetriesFailures(t *testing.T) {
	t.Parallel()
	p := answering(sdk.Text("done"), nil)
	works := p.list
	p.list = func(ctx context.Context) ([]sdk.Tool, error) {
		if p.listed.Load() < 3 {
			return nil, errors.New("not yet")
		}
		return works(ctx)
	}
	c := catalog(t, single(t, p, host.Options{}), host.Filter{})
	for i, want := range []int{0, 0, 1, 1} {
		if tools, problems := c.Tools(t.Context()); len(tools) != want || len(problems) != 1-want {
			t.Errorf("listing %d: %v, %v", i, names(tools), problems)
		}
	}
}

// For the race detector: one catalog used while tools come and go.
func TestCatalogAtOnce(t *testing.T) {
	t.Parallel()
	p := newChanging(tool("run"), tool("other"))
	h := newHost(t, map[string]host.Plugin{"test": p, "files": files()}, host.Options{})
	c := catalog(t, h, host.Filter{Exclude: []string{"*__other"}})
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for range 20 {
				if tools, _ := c.Tools(t.Context()); len(tools) != 5 {
					t.Errorf("tools %v", names(tools))
				}
				if hits := c.Search(t.Context(), "tests", 0); len(hits) != 5 {
					t.Errorf("found %v", found(hits))
				}
				if r := c.Call(t.Context(), call("test__run", "")); r.Error != nil {
					t.Error(r.Error)
				}
			}
			if i%4 == 0 {
				p.changes <- struct{}{}
			}
		})
	}
	within(t, time.Minute, "all goroutines", wg.Wait)
}
