package sdk

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

func TestEncode(t *testing.T) {
	t.Parallel()
	if got := string(Encode(map[string]any{"a": "<b> & c\n"})); got != `{"a":"<b> & c\n"}` {
		t.Errorf("%s", got)
	}
	if got := Encode(make(chan int)); got != nil {
		t.Errorf("%s", got)
	}
}

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

func TestDetails(t *testing.T) {
	if got := Details(map[string]int{"a": 1}); string(got) != `{"a":1}` {
		t.Errorf("details are %s", got)
	}
	for _, v := range []any{make(chan int), math.NaN(), map[string]any{"a": func() {}}} {
		if got := string(Details(v)); !strings.HasPrefix(got, `{"error":"the details have no JSON form: json: unsupported `) {
			t.Errorf("details of %T are %s", v, got)
		}
	}
}

// A handler whose context has ended, and that returns only that, does not say what it has done until then.
func TestHandlersThatWereStopped(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		err  error
		want Outcome
	}{
		"canceled":            {ended, context.Canceled, OutcomeUnknown},
		"in other words":      {ended, fmt.Errorf("sending it: %w", context.DeadlineExceeded), OutcomeUnknown},
		"its own time limit":  {t.Context(), context.DeadlineExceeded, ""},
		"another failure":     {ended, errors.New("no"), ""},
		"an error of its own": {ended, fmt.Errorf("sending it: %w", &Error{Code: CodeCanceled, Message: "nothing was run"}), ""},
	} {
		p := New("x", "1")
		AddTool(p, Tool{Name: "x", Description: "x"}, func(context.Context, *Request, struct{}) (*Result, error) {
			return nil, c.err
		})
		if e := p.run(c.ctx, &Request{Tool: "x"}).Error; e == nil || e.Outcome != c.want {
			t.Errorf("%s: %+v, want the outcome %q", name, e, c.want)
		}
	}
}
