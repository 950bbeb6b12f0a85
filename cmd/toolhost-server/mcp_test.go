package main

import (
	"context"
	"errors"
	"testing"

	"github.com/toolhost/toolhost/host"
)

func TestFirstAnswerWins(t *testing.T) {
	no := func(context.Context, int) (string, error) { return "", host.ErrNoApprover }
	if _, err := first(t.Context(), []int{1, 2}, no); !errors.Is(err, host.ErrNoApprover) {
		t.Errorf("no one can be asked: %v", err)
	}
	if _, err := first(t.Context(), nil, no); !errors.Is(err, host.ErrNoApprover) {
		t.Errorf("there is no one: %v", err)
	}
	ended := make(chan struct{})
	answer, err := first(t.Context(), []int{1, 2, 3}, func(ctx context.Context, who int) (string, error) {
		switch who {
		case 1:
			return "", host.ErrNoApprover
		case 2:
			return "yes", nil
		}
		<-ctx.Done()
		close(ended)
		return "late", nil
	})
	if answer != "yes" || err != nil {
		t.Errorf("%q %v", answer, err)
	}
	<-ended // the other question is withdrawn
}
