//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// A deadline is one that the command has to end before, and that nobody else keeps: a busy machine may need any time to
// notice an end.
type deadline struct {
	context.Context
	at time.Time
}

func (d deadline) Deadline() (time.Time, bool) { return d.at, true }

// A command that ignores SIGTERM is killed before the caller's deadline, so that its output can arrive.
func TestEndsBeforeTheCallersDeadline(t *testing.T) {
	for name, had := range map[string]time.Duration{"4s": 4 * time.Second, "3s": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			ctx := deadline{t.Context(), time.Now().Add(had)}
			r, err := testShell(t).exec(ctx, &sdk.Request{Workdir: t.TempDir()},
				execArgs{Command: `trap "" TERM; echo so far; while :; do sleep 600 || :; done`})
			e, ok := errors.AsType[*sdk.Error](err)
			if r == nil || !ok {
				t.Fatal(r, err)
			}
			r.Error = e
			wantError(t, r, sdk.CodeTimeout, "Timeout", "the call had ", "timeout_seconds cannot raise it")
			if o := outcomeOf(t, r); o.Stdout != "so far\n" || o.Signal != "SIGKILL" || !o.TimedOut {
				t.Errorf("structured %+v", o)
			}
			if got := contentOf(t, r); got != "so far" {
				t.Errorf("content %q", got)
			}
		})
	}
}

// From its SIGTERM to its SIGKILL passes no more time than the caller's deadline leaves.
func TestGraceOfACall(t *testing.T) {
	ctx := deadline{t.Context(), time.Now().Add(3 * time.Second)}
	s, cmd, l := testShell(t), proctree.Command("true"), limit{Limits: proctree.LimitsFor(ctx, time.Minute)}
	if _, err := s.run(ctx, &sdk.Request{}, cmd, l); err != nil || l.Grace >= time.Second || cmd.Grace != l.Grace {
		t.Errorf("%v; it has a grace of %s, and the deadline leaves %s", err, cmd.Grace, l.Grace)
	}
}

// When the plugin is to stop, whoever made the call gets what there is so far.
func TestCanceledByThePlugin(t *testing.T) {
	lis, err := new(net.ListenConfig).Listen(t.Context(), "unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient("unix:"+lis.Addr().String(), append(sdk.DialOptions(0), grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	served := make(chan error, 1)
	go func() { served <- sdk.ServeListener(ctx, newPlugin(), lis) }()
	r, err := sdk.NewClient(conn).Call(t.Context(), &sdk.Request{CallID: t.Name(), Tool: "exec", Workdir: t.TempDir(), Attempt: 1,
		Arguments: json.RawMessage(`{"command":"echo so far; exec sleep 600"}`), Events: func(e sdk.Event) {
			if e.Type == sdk.EventOutput {
				stop()
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, r, sdk.CodeCanceled, "Canceled", "the call was canceled and the command was stopped, with everything it had started")
	if o := outcomeOf(t, r); o.Stdout != "so far\n" || o.Signal != "SIGTERM" || o.TimedOut {
		t.Errorf("structured %+v", o)
	}
	if got := contentOf(t, r); got != "so far" {
		t.Errorf("content %q", got)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestEndedBeforeTheStart(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, test := range []struct {
		name  string
		ctx   context.Context
		limit limit
		code  sdk.Code
		want  string
	}{
		{"canceled", canceled, limit{Limits: proctree.Limits{Run: time.Minute}}, sdk.CodeCanceled, "the call was canceled before the command was started; nothing was run"},
		{"no time", t.Context(), limit{}, sdk.CodeTimeout, "there was no time to start the command; nothing was run"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := testShell(t).run(test.ctx, &sdk.Request{}, proctree.Command("true"), test.limit)
			if r != nil || sdk.CodeOf(err) != test.code || fmt.Sprint(err) != test.want {
				t.Errorf("%+v, %v; want %s", r, err, test.want)
			}
		})
	}
}
