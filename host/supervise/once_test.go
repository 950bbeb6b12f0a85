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
	soon(t, "the connection is cut", 5*time.Second, func() bool {
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

// The second attempt gets what is left of the time, the ids of the first, and a process that marks its run once more.
func TestASecondAttemptHasTheTimeThatIsLeft(t *testing.T) {
	spec := playing("marks", "marks")
	marker := filepath.Join(t.TempDir(), "runs")
	spec.Env["MARKER"], spec.Idempotent = marker, []string{"dies"}
	p := add(t, supervisor(t), spec)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	deadline, _ := ctx.Deadline()
	_, err := p.Call(ctx, request("dies", ""))
	checkError(t, err, sdk.CodePluginCrashed)
	checkOutcome(t, err, sdk.OutcomeUnknown)
	text, _ := os.ReadFile(marker)
	lines := strings.Fields(string(text))
	if len(lines) != 4 || lines[0] != "c1" || lines[2] != "c1" {
		t.Fatalf("runs: %q", lines)
	}
	for _, i := range []int{1, 3} {
		at, err := time.Parse(time.RFC3339Nano, lines[i])
		if d := at.Sub(deadline).Abs(); err != nil || d > time.Second {
			t.Errorf("the deadline of a run is %s off, %v", d, err)
		}
	}
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
