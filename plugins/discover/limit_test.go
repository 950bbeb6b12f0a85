package main

import (
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
)

func TestWhoseLimit(t *testing.T) {
	for _, test := range []struct {
		name, want string
		limit      limit
		raiseable  bool
	}{
		{"own", "late", limit{proctree.Limits{Run: time.Second}, "call_timeout_seconds"}, true},
		{"the caller's", "late; the call had 10s, which is set by the caller or the user's configuration; call_timeout_seconds cannot raise it",
			limit{proctree.Limits{Run: 8998 * time.Millisecond, Call: 9997 * time.Millisecond}, "call_timeout_seconds"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := test.limit.exceeded("late")
			if e.Code != sdk.CodeTimeout || e.Message != test.want || strings.Contains(e.Suggestion, "call_timeout_seconds") != test.raiseable {
				t.Errorf("got %+v, want the message %q", e, test.want)
			}
		})
	}
}
