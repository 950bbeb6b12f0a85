package main

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/toolhost/toolhost/plugins/mcp/internal/client"
)

// The error of an attempt that ran out of time has what the server said until then.
func TestTimedOut(t *testing.T) {
	cause := errors.New("it has not answered")
	for said, want := range map[string]string{
		"":                                "it has not answered",
		"; its last lines on x:\nhello":   "it has not answered; its last lines on x:\nhello",
		client.Lost + `it prints "hi"`:    `it has not answered` + client.Lost + `it prints "hi"`,
		client.Lost + "a; its last lines": "it has not answered" + client.Lost + "a; its last lines",
	} {
		if got := timedOut(cause, fmt.Errorf("initialize: %w%s", context.DeadlineExceeded, said)); got.Error() != want ||
			!errors.Is(got, cause) {
			t.Errorf("%q gives %q", said, got)
		}
	}
}
