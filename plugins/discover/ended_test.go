//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// A deadline is one that the program has to end before, and that nobody else keeps: a busy machine may need any time to
// notice an end.
type deadline struct {
	context.Context
	at time.Time
}

func (d deadline) Deadline() (time.Time, bool) { return d.at, true }

// A program that ignores SIGTERM is killed before the caller's deadline, so that its output can arrive.
func TestEndsBeforeTheCallersDeadline(t *testing.T) {
	script := command{words: []string{"sh", "-c", `trap "" TERM; echo so far; while :; do sleep 600 || :; done`}, program: "/bin/sh"}
	for name, had := range map[string]time.Duration{"4s": 4 * time.Second, "3s": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			ctx, s := deadline{t.Context(), time.Now().Add(had)}, &settings{maxOutput: 1 << 10}
			r, err := s.run(ctx, &sdk.Request{Workdir: t.TempDir()}, job{command: script, timeout: time.Minute, timeSetting: "call_timeout_seconds"})
			e, ok := errors.AsType[*sdk.Error](err)
			if r == nil || !ok {
				t.Fatal(r, err)
			}
			r.Error = e
			wantError(t, r, "Timeout")
			const why = ", which is set by the caller or the user's configuration; call_timeout_seconds cannot raise it"
			if !strings.Contains(r.Error.Message, "; the call had ") || !strings.HasSuffix(r.Error.Message, why) || r.Error.Suggestion != "Ask for less at once." {
				t.Errorf("error %+v", r.Error)
			}
			if len(r.Content) != 1 || !strings.HasPrefix(r.Content[0].Text, "Stdout: so far\n\n") || !strings.HasSuffix(r.Content[0].Text, "\nSignal: SIGKILL") {
				t.Errorf("content %+v", r.Content)
			}
		})
	}
}

// From its SIGTERM to its SIGKILL passes no more time than the caller's deadline leaves.
func TestGraceOfACall(t *testing.T) {
	l := proctree.LimitsFor(deadline{t.Context(), time.Now().Add(3 * time.Second)}, time.Minute)
	if cmd := (command{words: []string{"true"}, program: "/bin/true"}).in(t.TempDir(), l); l.Grace >= time.Second || cmd.Grace != l.Grace {
		t.Errorf("it has a grace of %s, and the deadline leaves %s", cmd.Grace, l.Grace)
	}
}

func TestCancel(t *testing.T) {
	l := newLifeline(t)
	c := newProject(t).calling(t, l.leftBehind()+`exec 8>"`+l.path+`"; echo up; sleep 600`, usual)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := call(ctx, t, c, "one", `{}`, func(e sdk.Event) {
		if e.Type == sdk.EventOutput {
			cancel()
		}
	})
	if code := sdk.CodeOf(err); code != sdk.CodeCanceled {
		t.Errorf("code %s: %v", code, err)
	}
	l.wantEnd(t)
}

// When the plugin is to stop, whoever made the call gets what there is so far.
func TestCanceledByThePlugin(t *testing.T) {
	p := newProject(t)
	p.prints(t, `[{"name":"one"}]`)
	p.script(t, "bin/call_tool", "echo so far; exec sleep 600")
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
	c := sdk.NewClient(conn)
	if err := c.Configure(t.Context(), json.RawMessage(usual), p.dir); err != nil {
		t.Fatal(err)
	}
	r, err := c.Call(t.Context(), &sdk.Request{CallID: t.Name(), Tool: "one", Workdir: p.dir, Attempt: 1, Arguments: json.RawMessage(`{}`),
		Events: func(e sdk.Event) {
			if e.Type == sdk.EventOutput {
				stop()
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Error == nil || r.Error.Code != sdk.CodeCanceled || r.Error.Message != "bin/call_tool one was canceled, and stopped, with everything it had started" {
		t.Errorf("error %+v", r.Error)
	}
	want := "Stdout: so far\n\nStderr: (empty)\nError: canceled, and stopped\nExit Code: (none)\nSignal: SIGTERM"
	if len(r.Content) != 1 || r.Content[0].Text != want || len(r.Structured) == 0 {
		t.Errorf("content %+v, want %q", r.Content, want)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// Calls that are over before their program is started say that it was not.
func TestEndedBeforeTheStart(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, test := range []struct {
		name string
		ctx  context.Context
		own  time.Duration
		code sdk.Code
		want string
	}{
		{"canceled", canceled, time.Minute, sdk.CodeCanceled, "the call was canceled before tool was started; nothing was run"},
		{"no time", t.Context(), 0, sdk.CodeTimeout, "there was no time to start tool; nothing was run"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &settings{maxOutput: 1 << 10}
			j := job{command: command{words: []string{"tool"}, program: "tool"}, timeout: test.own}
			r, err := s.run(test.ctx, &sdk.Request{Workdir: t.TempDir()}, j)
			if r != nil || sdk.CodeOf(err) != test.code || fmt.Sprint(err) != test.want {
				t.Errorf("%+v, %v; want %s", r, err, test.want)
			}
		})
	}
}
