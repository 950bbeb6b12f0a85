//go:build unix

package client_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/plugins/mcp/internal/client"
)

func TestLinesOfAnySize(t *testing.T) {
	const mib = 1 << 20
	for _, last := range []bool{false, true} {
		t.Run(fmt.Sprintf("id at the end %v", last), func(t *testing.T) {
			t.Parallel()
			s := dial(t, client.Options{})
			for _, size := range []int{10 * mib, 40 * mib, 32*mib - 100, 32 * mib} {
				got, err := callTool(context.Background(), s, "large", fmt.Sprintf(`{"Bytes":%d,"Last":%v}`, size, last), nil)
				if size < 32*mib && (err != nil || len(got) < size || strings.Count(got, "x") < size) {
					t.Errorf("%d: %d bytes, %v", size, len(got), err)
				}
				if e, ok := errors.AsType[*client.SizeError](err); size >= 32*mib && (!ok || e.Limit != 32*mib || e.Size < int64(size)) {
					t.Errorf("%d: %d bytes, %v", size, len(got), err)
				}
			}
			if got, err := callTool(context.Background(), s, "echo", `1`, nil); err != nil {
				t.Error(got, err)
			}
		})
	}
}

func TestResultOfAGibibyteTakesNoMemory(t *testing.T) {
	cmd := command(t)
	cmd.MaxMessage = 1 << 20
	s := dialTo(t, cmd.Open, client.Options{})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := callTool(context.Background(), s, "large", fmt.Sprintf(`{"Bytes":%d,"Last":true}`, 1<<30), nil)
	runtime.ReadMemStats(&after)
	if e, ok := errors.AsType[*client.SizeError](err); !ok || e.Size < 1<<30 {
		t.Error(err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
		t.Errorf("%d bytes allocated", used)
	}
}

// Calls in flight fail within a second, with how the process ended and what it wrote; later calls are not delivered.
func TestServerEndsDuringACall(t *testing.T) {
	for tool, want := range map[string]string{
		"exit": "the server ended with exit code 5; its last lines on standard error:\npanic: out of cheese",
		"kill": "the server was killed by SIGKILL; its last lines on standard error:\nhanging",
	} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			cmd := command(t)
			hangs := make(chan string, 10)
			cmd.Stderr = func(line string) { hangs <- line }
			s := dialTo(t, cmd.Open, client.Options{})
			done := make(chan outcome, 1)
			go func() {
				r, err := callTool(context.Background(), s, "hang", `{}`, nil)
				done <- outcome{r, err}
			}()
			<-hangs
			_, err := callTool(context.Background(), s, tool, `{}`, nil)
			for i, err := range []error{err, await(t, done).err, func() error {
				<-s.Done()
				_, err := callTool(context.Background(), s, "echo", `{}`, nil)
				return err
			}()} {
				call, ok := errors.AsType[*client.CallError](err)
				exit, is := errors.AsType[*client.ExitError](err)
				if !ok || !is || call.Delivered != (i < 2) || !strings.HasSuffix(exit.Error(), want[strings.LastIndex(want, "\n"):]) ||
					!strings.HasPrefix(exit.Error(), want[:20]) {
					t.Errorf("%d: %+v", i, err)
				}
			}
			if s.Err() == nil {
				t.Error("the session has no error")
			}
		})
	}
}

// Whatever a server ignores and leaves behind, nothing of it is left after Close.
func TestCloseEndsEverything(t *testing.T) {
	for _, modes := range [][]string{{}, {"ignores-eof"}, {"ignores-eof", "stubborn"}} {
		t.Run(strings.Join(modes, " "), func(t *testing.T) {
			t.Parallel()
			cmd := command(t, modes...)
			cmd.Grace = 100 * time.Millisecond
			s, err := client.Dial(context.Background(), cmd.Open, client.Options{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := callTool(context.Background(), s, "children", `{}`, nil)
			pid, parsed := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(got, `{"content":[],"structuredContent":`), "}"))
			if err != nil || parsed != nil {
				t.Fatal(got, err)
			}
			for range 2 {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
			if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
				t.Errorf("the child still runs: %v", err)
			}
			_, err = callTool(context.Background(), s, "echo", `{}`, nil)
			if call, ok := errors.AsType[*client.CallError](err); !ok || call.Delivered || !strings.Contains(err.Error(), "closed") {
				t.Error(err)
			}
		})
	}
}

// A server that does not read its input delays no other call and no Close; what it never got is not delivered.
func TestServerThatStopsReading(t *testing.T) {
	s := dial(t, client.Options{}, "deaf")
	blob := `"` + strings.Repeat("x", 1<<20) + `"`
	first := func(arguments string, limit time.Duration) outcome {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		r, err := callTool(ctx, s, "echo", arguments, nil)
		return outcome{r, err}
	}
	limits := []time.Duration{time.Second, 50 * time.Millisecond, 50 * time.Millisecond}
	for i, delivered := range []bool{true, false, false} { // the first is partly in the pipe
		got := first(blob, limits[i])
		call, ok := errors.AsType[*client.CallError](got.err)
		if !ok || call.Delivered != delivered || !errors.Is(got.err, context.DeadlineExceeded) {
			t.Errorf("call %d: %+v", i, got.err)
		}
	}
	done := make(chan outcome, 1)
	go func() {
		r, err := callTool(context.Background(), s, "echo", blob, nil)
		done <- outcome{r, err}
	}()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if got := await(t, done); got.err == nil {
		t.Error(got)
	}
}

func TestQueueOfAServerThatDoesNotReadIsBounded(t *testing.T) {
	s := dial(t, client.Options{}, "deaf")
	blob := `"` + strings.Repeat("x", 8<<20) + `"`
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	errs := make(chan error, 20)
	for range 20 {
		go func() {
			_, err := callTool(ctx, s, "echo", blob, nil)
			errs <- err
		}()
	}
	err := <-errs
	if call, ok := errors.AsType[*client.CallError](err); !ok || call.Delivered || !strings.Contains(err.Error(), "does not read its input") {
		t.Error(err)
	}
	cancel()
	for range 19 {
		<-errs
	}
}

func TestServerThatStopsWriting(t *testing.T) {
	s := dial(t, client.Options{})
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if _, err := callTool(ctx, s, "half", `{}`, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

func TestStandardErrorIsBounded(t *testing.T) {
	cmd := command(t)
	lines := 0
	cmd.Path, cmd.Args, cmd.Env = "/bin/sh", []string{"-c",
		`i=0; while [ $i -lt 500 ]; do echo "line $i" >&2; i=$((i+1)); done; printf 'x\0%05000d\n\nlast' 7 >&2; exit 9`}, nil
	cmd.Stderr = func(line string) {
		if lines++; len(line) > 4<<10 {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
	_, err := client.Dial(context.Background(), cmd.Open, client.Options{Revision: client.Revision20251125})
	exit, ok := errors.AsType[*client.ExitError](err)
	if !ok || lines != 502 || len(exit.Stderr) > 9<<10 || !strings.HasSuffix(exit.Stderr, "\nlast") ||
		!strings.HasPrefix(exit.Error(), "the server ended with exit code 9; its last lines on standard error:\nline 48") {
		t.Errorf("%d lines, %v", lines, err)
	}
}

// The process gets the environment that it is given and nothing else.
func TestEnvironmentIsTheGivenOne(t *testing.T) {
	t.Setenv("SECRET_CANARY", "1")
	cmd := &client.Command{Path: "/usr/bin/env", Env: []string{"A=1"}}
	for range 2 {
		tr, err := cmd.Open(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for {
			r, err := tr.Receive()
			if err != nil {
				break
			}
			if name, _, _ := strings.Cut(string(r.JSON), "="); name != "PROCTREE_ID" {
				got = append(got, string(r.JSON))
			}
		}
		_ = tr.Close()
		if want := strings.Join(cmd.Env, ""); strings.Join(got, " ") != want {
			t.Errorf("%q", got)
		}
		cmd.Env = nil
	}
	if os.Getenv("SECRET_CANARY") == "" {
		t.Error("the canary is gone")
	}
}
