package supervise

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolhost/toolhost/sdk"
)

// A request for a process that is gone is provably not sent.
func TestADeadProcessGetsNothing(t *testing.T) {
	p := add(t, supervisor(t), playing("good", "good"))
	g, err := p.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_ = syscall.Kill(g.pid(), syscall.SIGKILL)
	<-g.done()
	soon(t, "the connection is cut", patience, func() bool {
		_, err := g.client.Call(t.Context(), request("echo", ""))
		b, ok := errors.AsType[*sdk.BrokenError](err)
		return ok && !b.Delivered
	})
}

// Only a connection that was cut is a reason to make a call again, not an answer that is none.
func TestWhatIsACut(t *testing.T) {
	for name, c := range map[string]struct {
		broken sdk.BrokenError
		want   bool
	}{
		"not delivered":    {sdk.BrokenError{Err: status.Error(codes.Internal, "")}, true},
		"connection cut":   {sdk.BrokenError{Delivered: true, Err: status.Error(codes.Unavailable, "")}, true},
		"our end closed":   {sdk.BrokenError{Delivered: true, Err: status.Error(codes.Canceled, "")}, true},
		"no result":        {sdk.BrokenError{Delivered: true, Err: context.Canceled}, false},
		"another status":   {sdk.BrokenError{Delivered: true, Err: status.Error(codes.Internal, "")}, false},
		"parts that lie":   {sdk.BrokenError{Delivered: true, Err: errors.New("a part began")}, false},
		"method not there": {sdk.BrokenError{Delivered: true, Err: status.Error(codes.Unimplemented, "")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := isCut(&c.broken); got != c.want {
				t.Errorf("it is %t, want %t", got, c.want)
			}
		})
	}
}

// A call is cut as well when the host has heard of the plugin's end, and closed the connection, before that broke.
func TestAConnectionThatWeClose(t *testing.T) {
	t.Parallel()
	p := add(t, supervisor(t), playing("good", "good"))
	g, err := p.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	begun, ended := make(chan struct{}), make(chan error, 1)
	r := request("wait", "")
	r.Events = func(e sdk.Event) {
		if e.Type == sdk.EventProgress {
			close(begun)
		}
	}
	go func() { _, err := g.client.Call(t.Context(), r); ended <- err }()
	<-begun
	_ = g.conn.Close()
	if b, ok := errors.AsType[*sdk.BrokenError](<-ended); !ok || !b.Delivered || !isCut(b) {
		t.Errorf("it is told as %+v", b)
	}
}

// The second attempt gets what is left of the time, the ids of the first, and a process that marks its run once more.
func TestASecondAttemptHasTheTimeThatIsLeft(t *testing.T) {
	spec := playing("marks", "marks")
	marker := filepath.Join(t.TempDir(), "runs")
	spec.Env["MARKER"], spec.Idempotent = marker, []string{"dies"}
	p := add(t, supervisor(t), spec)
	at := time.Now().Add(2 * time.Hour)
	ctx := shrinking{t.Context(), at, at.Add(-time.Hour), marker}
	_, err := p.Call(ctx, request("dies", ""))
	checkError(t, err, sdk.CodePluginCrashed)
	checkOutcome(t, err, sdk.OutcomeUnknown)
	text, _ := os.ReadFile(marker)
	lines := strings.Fields(string(text))
	if len(lines) != 4 || lines[0] != "c1" || lines[2] != "c1" {
		t.Fatalf("runs: %q", lines)
	}
	for i, deadline := range map[int]time.Time{1: ctx.first, 3: ctx.then} {
		at, err := time.Parse(time.RFC3339Nano, lines[i])
		if d := at.Sub(deadline).Abs(); err != nil || d > patience {
			t.Errorf("the deadline of a run is %s off, %v", d, err)
		}
	}
}

// A shrinking context has an hour less once the call has run, as if that had taken so long.
type shrinking struct {
	context.Context
	first, then time.Time
	marker      string
}

func (s shrinking) Deadline() (time.Time, bool) {
	if size(s.marker) > 0 {
		return s.then, true
	}
	return s.first, true
}

// When the second attempt finds no plugin, what became of the first is still not known.
func TestASecondAttemptThatCannotBeMade(t *testing.T) {
	spec := playing("marks", "marks")
	spec.Env["MARKER"], spec.Env["ONCE"], spec.Idempotent = filepath.Join(t.TempDir(), "runs"), "1", []string{"dies"}
	_, err := call(t, add(t, supervisor(t), spec), "dies", "")
	checkError(t, err, sdk.CodePluginUnavailable)
	checkOutcome(t, err, sdk.OutcomeUnknown)
}

// playMarks is a plugin whose tool writes down its run and the deadline it has, and dies. With ONCE it does not start
// again after that.
func playMarks() {
	marker := os.Getenv("MARKER")
	if _, err := os.Stat(marker); err == nil && os.Getenv("ONCE") != "" {
		os.Exit(3)
	}
	p := sdk.New("marks", "1.0.0")
	sdk.AddTool(p, sdk.Tool{Name: "dies", Description: "for tests"}, func(ctx context.Context, r *sdk.Request, _ textArgs) (*sdk.Result, error) {
		deadline, _ := ctx.Deadline()
		f := must(os.OpenFile(marker, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600))
		must(f.WriteString(r.CallID + " " + deadline.Format(time.RFC3339Nano) + "\n"))
		os.Exit(7)
		return nil, nil
	})
	sdk.Serve(p)
}
