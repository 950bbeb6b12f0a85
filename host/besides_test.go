package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

// A timeline is a plugin whose calls take a second each, and notes when each ran.
type timeline struct {
	*fake
	mu    sync.Mutex
	start time.Time
	at    map[string]int // by call, in seconds
}

func newTimeline(tools ...sdk.Tool) *timeline {
	l := &timeline{start: time.Now(), at: map[string]int{}}
	l.fake = calling(func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
		l.mu.Lock()
		l.at[r.CallID] = int(time.Since(l.start) / time.Second)
		l.mu.Unlock()
		select {
		case <-time.After(time.Second):
			return sdk.Text("done"), nil
		case <-ctx.Done():
			return nil, sdk.EndedError(ctx)
		}
	}, tools...)
	return l
}

// shellTool is a tool whose calls are commands. Its plugin says nothing of reading.
func shellTool(name string) sdk.Tool {
	t := writes(name)
	t.Category = "shell"
	return t
}

func running(id, arguments string) host.Call {
	return host.Call{ID: id, Tool: "test__exec", Arguments: json.RawMessage(arguments)}
}

func command(text string) string { return fmt.Sprintf(`{"command":%q}`, text) }

// Commands run side by side if the host knows of each of their parts that it reads.
func TestCommandsThatReadRunSideBySide(t *testing.T) {
	cases := map[string]struct {
		arguments []string
		begins    []int
	}{
		"all read":                  {[]string{command("ls"), command("git status && cat a | head -n 3"), command("grep -rn x .")}, []int{0, 0, 0}},
		"one writes":                {[]string{command("ls"), command("make"), command("ls")}, []int{0, 1, 2}},
		"a part writes":             {[]string{command("ls"), command("ls && rm a"), command("ls")}, []int{0, 1, 2}},
		"a redirect":                {[]string{command("ls"), command("ls > a"), command("cat a")}, []int{0, 1, 2}},
		"a substitution":            {[]string{command("ls"), command("ls $(touch a)"), command("cat a")}, []int{0, 1, 2}},
		"nothing is known":          {[]string{command("ls"), command("$CMD"), command("ls")}, []int{0, 1, 2}},
		"no command":                {[]string{command("ls"), `{}`, command("ls")}, []int{0, 1, 2}},
		"no JSON":                   {[]string{command("ls"), `{`, command("ls")}, []int{0, -1, 1}},
		"in a string":               {[]string{command("ls"), fmt.Sprintf("%q", command("ls")), command("ls")}, []int{0, 0, 0}},
		"on a terminal":             {[]string{command("ls"), `{"command":"git log","pty":true}`, command("ls")}, []int{0, 1, 2}},
		"for another interpreter":   {[]string{command("ls"), `{"command":"ls","interpreter":"python3"}`, command("ls")}, []int{0, 1, 2}},
		"with an environment of it": {[]string{command("ls"), `{"command":"ls","env":{"LD_PRELOAD":"x"}}`, command("ls")}, []int{0, 1, 2}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				l := newTimeline(shellTool("exec"))
				h := willing(t, l, host.Options{})
				var calls []host.Call
				for i, a := range c.arguments {
					calls = append(calls, running(fmt.Sprint(i), a))
				}
				h.CallAll(t.Context(), calls, host.BatchOptions{})
				for i, want := range c.begins {
					if at, ran := l.at[fmt.Sprint(i)]; ran != (want >= 0) || ran && at != want {
						t.Errorf("call %d (%s) began in second %d (%t), want %d", i, c.arguments[i], at, ran, want)
					}
				}
			})
		})
	}
}

// A tool that is no shell tool, or whose plugin is not believed to have one, gets no judgement of its commands.
func TestOnlyShellCommandsAreJudged(t *testing.T) {
	for name, c := range map[string]struct {
		tool    sdk.Tool
		options host.Options
	}{
		"another category":  {writes("exec"), host.Options{}},
		"hints are ignored": {shellTool("exec"), host.Options{Plugins: map[string]host.PluginOptions{"test": {IgnoreHints: true}}}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				l := newTimeline(c.tool)
				h := willing(t, l, c.options)
				h.CallAll(t.Context(), []host.Call{running("0", command("ls")), running("1", command("ls"))}, host.BatchOptions{})
				diff(t, map[string]int{"0": 0, "1": 1}, l.at)
			})
		})
	}
}

// A call that read when the batch began, and does not when it runs, runs alone all the same.
func TestWhatTurnsOutToWriteRunsAlone(t *testing.T) {
	write := json.RawMessage(command("rm a"))
	cases := map[string]host.Options{
		"by a person": {Policy: must(policy.New(policy.Layer{Name: "user", Rules: []policy.Rule{{Name: "all", Effect: policy.Ask}}})),
			Approver: approveFunc(func(_ context.Context, r *host.ApprovalRequest) (host.Answer, error) {
				if r.CallID == "1" && string(r.Arguments) != string(write) {
					return host.Answer{Arguments: write}, nil
				}
				return host.Yes(), nil
			})},
		"by a middleware": {Approver: agreeing, Middleware: []host.Middleware{before(func(c *host.Call) error {
			if c.ID == "1" {
				c.Arguments = write
			}
			return nil
		})}},
		"by another tool": {Approver: agreeing, Middleware: []host.Middleware{before(func(c *host.Call) error {
			if c.ID == "1" {
				c.Tool = "test__write"
			}
			return nil
		})}},
	}
	for name, o := range cases {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				l := newTimeline(shellTool("exec"), writes("write"))
				h := single(t, l, o)
				var calls []host.Call
				for i := range 5 {
					calls = append(calls, running(fmt.Sprint(i), command("ls")))
				}
				for _, r := range h.CallAll(t.Context(), calls, host.BatchOptions{}) {
					succeeded(t, r)
				}
				alone := l.at["1"]
				for id, at := range l.at {
					if id != "1" && at == alone {
						t.Errorf("call %s ran beside the one that writes: %v", id, l.at)
					}
				}
			})
		})
	}
}

// A call that waits to run alone can be canceled.
func TestWaitingToRunAloneEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := newTimeline(tool("read"), writes("write"))
		h := willing(t, l, host.Options{Middleware: []host.Middleware{func(next host.CallFunc) host.CallFunc {
			return func(ctx context.Context, c *host.Call) (*sdk.Result, error) {
				if c.ID == "1" {
					<-time.After(time.Millisecond) // the other one runs by then
					c.Tool = "test__write"
				}
				return next(ctx, c)
			}
		}}})
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		results := h.CallAll(ctx, []host.Call{taking("0", "read", 0), taking("1", "read", 0)}, host.BatchOptions{})
		if e := failed(t, results[1], sdk.CodeTimeout); e.Outcome != sdk.OutcomeNotSent {
			t.Errorf("error %+v", e)
		}
		synctest.Wait()
	})
}
