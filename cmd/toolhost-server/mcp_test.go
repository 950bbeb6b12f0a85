package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/mcpserver"
	"github.com/toolhost/toolhost/sdk"
)

func TestClientBesideTheQueue(t *testing.T) {
	errFull, errAnswered := errors.New("full"), errors.New("answered")
	again := &sdk.Error{Code: sdk.CodeApprovalUnavailable, Name: "ApprovalPending"}
	if !mcpserver.CallsAgain(again) {
		t.Fatal("the name of the error is another now")
	}
	type ask = func(context.Context) (string, error)
	says := func(answer string, err error) ask {
		return func(context.Context) (string, error) { return answer, err }
	}
	waits := func(ctx context.Context) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}
	cause := make(chan error, 1)
	for name, test := range map[string]struct {
		client, queue ask
		want          string
		err           error
	}{
		"the client answers": {says("client", nil), func(ctx context.Context) (string, error) {
			<-ctx.Done()
			cause <- context.Cause(ctx)
			return "", ctx.Err()
		}, "client", nil},
		"the queue answers": {waits, says("queue", nil), "queue", nil},
		"both answer": {says("client", nil), func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "queue", nil // an answer of which a person knows that it counts
		}, "queue", nil},
		"the client calls again": {says("", again), waits, "", again},
		"the client cannot ask":  {says("", host.ErrNoApprover), says("queue", nil), "queue", nil},
		"the client fails":       {says("", errors.New("gone")), says("queue", nil), "queue", nil},
		"the client panics":      {func(context.Context) (string, error) { panic("x") }, says("queue", nil), "queue", nil},
		"the queue is full":      {says("client", nil), says("", errFull), "client", nil},
		"no one can be asked":    {says("", host.ErrNoApprover), says("", errFull), "", errFull},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, queue := test.client, test.queue
				if name == "the client cannot ask" || name == "the client fails" || name == "the client panics" {
					queue = func(ctx context.Context) (string, error) {
						synctest.Wait() // the client has failed
						if ctx.Err() != nil {
							return "", ctx.Err()
						}
						return test.queue(ctx)
					}
				}
				got, err := beside(t.Context(), client, queue, func(string) error { return errAnswered })
				if got != test.want || !errors.Is(err, test.err) {
					t.Errorf("%q, %v", got, err)
				}
			})
		})
	}
	if got := <-cause; !errors.Is(got, errAnswered) {
		t.Errorf("the others see %v", got)
	}
}

func TestNeitherAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		hangs := make(chan struct{})
		defer close(hangs)
		go func() {
			synctest.Wait()
			cancel()
		}()
		_, err := beside(ctx, func(context.Context) (int, error) { <-hangs; return 1, nil },
			func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() }, func(int) error { return nil })
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
