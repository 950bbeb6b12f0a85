package main

import (
	"context"
	"errors"
	"testing"

	"github.com/toolhost/toolhost/host"
)

func TestFirstAnswerWins(t *testing.T) {
	told := func(answer string) error { return errors.New("it was " + answer) }
	no := func(context.Context, int) (string, error) { return "", host.ErrNoApprover }
	if _, err := first(t.Context(), []int{1, 2}, no, told); !errors.Is(err, host.ErrNoApprover) {
		t.Errorf("no one can be asked: %v", err)
	}
	if _, err := first(t.Context(), nil, no, told); !errors.Is(err, host.ErrNoApprover) {
		t.Errorf("there is no one: %v", err)
	}
	ended := make(chan error, 1)
	answer, err := first(t.Context(), []int{1, 2, 3}, func(ctx context.Context, who int) (string, error) {
		switch who {
		case 1:
			return "", host.ErrNoApprover
		case 2:
			return "yes", nil
		}
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return "late", nil
	}, told)
	if answer != "yes" || err != nil {
		t.Errorf("%q %v", answer, err)
	}
	if why := <-ended; why == nil || why.Error() != "it was yes" { // the other question ends
		t.Errorf("the other approver hears %v", why)
	}
}
