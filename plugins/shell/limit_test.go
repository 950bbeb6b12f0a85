package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
)

func TestWhoseLimit(t *testing.T) {
	const call = "; the call had 10s, which is set by the caller or the user's configuration; timeout_seconds cannot raise it"
	own, callers := limit{Limits: proctree.Limits{Run: 1250 * time.Millisecond}}, limit{Limits: proctree.Limits{Run: 8998 * time.Millisecond, Call: 9997 * time.Millisecond}}
	for _, test := range []struct {
		name      string
		err       error
		want      string
		raiseable bool
	}{
		{"own", own.exceeded(nil), "the command was not done after 1.25s and was stopped, with everything it had started", true},
		{"own, with trouble", own.exceeded(errors.New("it stays")), "the command was not done after 1.25s and was stopped; it stays", true},
		{"own, over before the start", own.tooShort(), "there was no time to start the command; nothing was run", true},
		{"the caller's", callers.exceeded(nil), "the command was not done after 9s and was stopped, with everything it had started" + call, false},
		{"the caller's, over before the start", callers.tooShort(), "there was no time to start the command; nothing was run" + call, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			e, ok := errors.AsType[*sdk.Error](test.err)
			if !ok || e.Code != sdk.CodeTimeout || e.Message != test.want {
				t.Fatalf("got  %q\nwant %q", test.err, test.want)
			}
			if strings.Contains(e.Suggestion, "timeout_seconds") != test.raiseable || !strings.Contains(e.Suggestion, "smaller steps") {
				t.Errorf("suggestion %q", e.Suggestion)
			}
		})
	}
}
