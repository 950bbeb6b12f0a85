package sdk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestCodeOf(t *testing.T) {
	for want, err := range map[Code]error{
		"":           nil,
		CodeTimeout:  &Error{Code: CodeTimeout},
		CodeCanceled: fmt.Errorf("calling: %w", &Error{Code: CodeCanceled}),
		CodeInternal: errors.New("no code"),
	} {
		if got := CodeOf(err); got != want {
			t.Errorf("the code of %v is %q, want %q", err, got, want)
		}
	}
}

func TestBrokenErrorSaysWhat(t *testing.T) {
	for want, err := range map[string]error{
		"the plugin ended the call without a result":                         io.EOF,
		"the plugin or its connection broke: connection reset (Unavailable)": status.Error(codes.Unavailable, "connection reset"),
		"the plugin or its connection broke: odd":                            errors.New("odd"),
	} {
		e := &BrokenError{Err: err}
		if e.Error() != want || !errors.Is(e, err) {
			t.Errorf("it says %q, want %q", e, want)
		}
	}
}

func TestBroken(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	limited, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	for name, c := range map[string]struct {
		ctx       context.Context
		err       error
		delivered bool
		want      Code
	}{
		"the caller gave up":                {ended, io.EOF, true, CodeCanceled},
		"the deadline passed":               {late, io.EOF, true, CodeTimeout},
		"the plugin saw the deadline first": {limited, status.Error(codes.DeadlineExceeded, ""), true, CodeTimeout},
		"there is no deadline":              {t.Context(), status.Error(codes.DeadlineExceeded, ""), true, CodeInternal},
		"one message is too large":          {t.Context(), status.Error(codes.ResourceExhausted, ""), true, CodeResultTooLarge},
		"ours is too large":                 {t.Context(), status.Error(codes.ResourceExhausted, ""), false, CodeInternal},
		"it broke":                          {limited, status.Error(codes.Unavailable, ""), true, CodeInternal},
	} {
		t.Run(name, func(t *testing.T) {
			err := broken(c.ctx, c.err, c.delivered)
			e, isBroken := errors.AsType[*BrokenError](err)
			if CodeOf(err) != c.want || isBroken != (c.want == CodeInternal) || isBroken && e.Delivered != c.delivered {
				t.Errorf("error is %#v", err)
			}
		})
	}
}

func TestDetails(t *testing.T) {
	if got := Details(map[string]int{"a": 1}); string(got) != `{"a":1}` {
		t.Errorf("details are %s", got)
	}
	if got := Details(make(chan int)); got != nil {
		t.Errorf("details are %s", got)
	}
}
