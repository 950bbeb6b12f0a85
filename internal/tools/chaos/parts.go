//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

// Environment variables by which this program tells itself what to be.
const (
	envPart   = "CHAOS_PART"
	envMark   = "CHAOS_MARK"   // in everything that is started, to find it again
	envLedger = "CHAOS_LEDGER" // the file that counts side effects
	envScript = "CHAOS_SCRIPT" // what a raw plugin does
	envWords  = "CHAOS_WORDS"  // for the description of count
)

// parts are what this program can be besides the one that breaks things.
var parts map[string]func()

func init() {
	parts = map[string]func(){
		"victim": func() { sdk.Serve(victim()) },
		"raw":    playRaw,
		"host":   playHost,
	}
}

type countArgs struct {
	Before int `json:"before"` // milliseconds to wait before the effect
	After  int `json:"after"`  // and after it
}

type dieArgs struct {
	How string `json:"how"`
}

type sizeArgs struct {
	Bytes int `json:"bytes"`
}

type noArgs struct{}

// victim is a plugin that behaves, as long as it is let.
func victim() *sdk.Plugin {
	p := sdk.New("victim", "1.0.0")
	sdk.AddTool(p, sdk.Tool{Name: "count", Description: "has one effect, which is counted " + os.Getenv(envWords)}, count)
	sdk.AddTool(p, sdk.Tool{Name: "echo", Description: "has none"},
		func(context.Context, *sdk.Request, noArgs) (*sdk.Result, error) {
			return sdk.Text("echo"), nil
		})
	sdk.AddTool(p, sdk.Tool{Name: "die", Description: "ends the plugin"}, die)
	sdk.AddTool(p, sdk.Tool{Name: "hang", Description: "never ends"},
		func(context.Context, *sdk.Request, noArgs) (*sdk.Result, error) { select {} })
	sdk.AddTool(p, sdk.Tool{Name: "flood", Description: "prints"}, flood)
	sdk.AddTool(p, sdk.Tool{Name: "big", Description: "gives much"},
		func(_ context.Context, _ *sdk.Request, in sizeArgs) (*sdk.Result, error) {
			return sdk.Text(strings.Repeat("x", in.Bytes)), nil
		})
	sdk.AddTool(p, sdk.Tool{Name: "litter", Description: "starts processes that want to outlive it"}, litter)
	return p
}

// count writes the call's id into the ledger, in one write, and waits around it. The dot tells a whole one from what a
// full disk had room for.
func count(ctx context.Context, r *sdk.Request, in countArgs) (*sdk.Result, error) {
	if err := pause(ctx, in.Before); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(os.Getenv(envLedger), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := f.WriteString("\n" + r.CallID + ".\n"); err != nil {
		return nil, err
	}
	return sdk.Text("counted"), pause(ctx, in.After)
}

func pause(ctx context.Context, milliseconds int) error {
	t := time.NewTimer(time.Duration(milliseconds) * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func die(_ context.Context, _ *sdk.Request, in dieArgs) (*sdk.Result, error) {
	switch in.How {
	case "panic":
		go panic("chaos")
	case "kill":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "stop":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	case "parent":
		_ = syscall.Kill(os.Getppid(), syscall.SIGKILL)
	default:
		os.Exit(3)
	}
	select {}
}

// flood prints to what the plugin was started with, past everything that the sdk puts in between.
func flood(ctx context.Context, _ *sdk.Request, in sizeArgs) (*sdk.Result, error) {
	line := []byte(strings.Repeat("f", 200) + "\n")
	for n := 0; n < in.Bytes && ctx.Err() == nil; n += len(line) {
		if _, err := syscall.Write(1+n%2, line); err != nil {
			return nil, err
		}
	}
	return sdk.Text("flooded"), ctx.Err()
}

// ugly is a tree of processes of all the kinds that tend to stay.
const ugly = `trap '' TERM HUP INT; sleep 1000 & setsid sleep 1000 & (setsid setsid nohup sleep 1000 >/dev/null 2>&1 ` +
	`&) ; sleep 1000 | sleep 1000 & echo up; exec sleep 1000`

func litter(context.Context, *sdk.Request, noArgs) (*sdk.Result, error) {
	cmd := exec.Command("sh", "-c", ugly) //nolint:noctx // it is to outlive the call
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var word string
	_, err = fmt.Fscan(out, &word)
	return sdk.Text(word), err
}
