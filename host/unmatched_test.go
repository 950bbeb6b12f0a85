package host_test

import (
	"context"
	"errors"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

func TestUnmatched(t *testing.T) {
	t.Parallel()
	down := &fake{list: func(context.Context) ([]sdk.Tool, error) { return nil, errors.New("no tools today") }}
	untouched := answering(nil, nil)
	broken := answering(nil, nil, tool("run"), sdk.Tool{Name: "broken", Description: "for tests"})
	h := newHost(t, map[string]host.Plugin{"files": files(), "down": down, "broken": broken, "untouched": untouched}, host.Options{})
	c := catalog(t, h, host.Filter{
		Tools:   []string{"files__read", "files__raed", "file__*", "down__anything", "dwon__*", "broken__broken", "files__raed", ""},
		Exclude: []string{"files__write", "files__wr", "down*", "files"},
	})
	c, err := c.Narrow(host.Filter{Tools: []string{"files__*", "*__nosuch"}, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	// down may have a "nosuch"
	diff(t, []string{"files__raed", "file__*", "dwon__*", "", "files__wr", "files"}, c.Unmatched(t.Context()))
	if n := untouched.listed.Load(); n != 1 { // for *__nosuch
		t.Errorf("the plugin was asked %d times", n)
	}
	diff(t, []string(nil), catalog(t, h, host.Filter{}).Unmatched(t.Context()))
}

func TestUnmatchedStartsNoOthers(t *testing.T) {
	t.Parallel()
	own, other := answering(nil, nil), answering(nil, nil)
	h := newHost(t, map[string]host.Plugin{"own": own, "other": other}, host.Options{})
	diff(t, []string{"own__nosuch"}, catalog(t, h, host.Filter{Tools: []string{"own__nosuch", "own__*"}}).Unmatched(t.Context()))
	if own.listed.Load() != 1 || other.listed.Load() != 0 {
		t.Errorf("own was asked %d times, the other %d", own.listed.Load(), other.listed.Load())
	}
}
