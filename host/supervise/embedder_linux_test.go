package supervise

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host/supervise/sandbox"
)

// What embeds the host stays as it is: nobody touches its signals, its children, its mask, its limits or its environment.
func TestEmbedderStaysAsItIs(t *testing.T) {
	for _, l := range levels {
		h := playedHost(t, "PLAY=embedder", "RUN="+shortDir(t), "LEVEL="+string(l))
		if got := h.line(t); got != "as before" {
			t.Errorf("%s: %s", l, got)
		}
		_ = h.cmd.Wait()
	}
}

// playEmbedder compares itself before and after it has run plugins, one of which was killed. Only what signals are caught is
// compared from the second host on: the runtime sets up some of its own once, such as the one that wakes threads.
func playEmbedder() {
	child := exec.Command("sh", "-c", "exit 7")
	if err := child.Start(); err != nil {
		panic(err)
	}
	before := condition()
	_ = runPlugins(sandbox.Supervised)
	caught := caughtSignals()
	pids := runPlugins(sandbox.Level(os.Getenv("LEVEL")))
	after := condition()
	err := child.Wait()
	switch {
	case before != after:
		fmt.Printf("%q became %q\n", before, after)
	case caughtSignals() != caught:
		fmt.Printf("%q became %q\n", caught, caughtSignals())
	case err == nil || err.Error() != "exit status 7":
		fmt.Printf("its child was reaped by somebody: %v\n", err)
	case unix.Kill(pids, 0) == nil:
		fmt.Println("the plugin is there")
	default:
		fmt.Println("as before")
	}
}

// runPlugins runs one, has it killed, runs it again, and gives the pid of the last.
func runPlugins(l sandbox.Level) int {
	s := must(New(Options{RunDir: os.Getenv("RUN")}))
	spec := playing("good", "good")
	spec.Sandbox.Level = l
	p := must(s.Add(spec))
	_, _ = p.Call(context.Background(), request("die", "it"))
	_ = must(p.Call(context.Background(), request("echo", "")))
	pid := p.Status().PID
	if err := s.Close(); err != nil {
		panic(err)
	}
	return pid
}

// caughtSignals are those that the process handles.
func caughtSignals() string {
	_, rest, _ := strings.Cut(string(must(os.ReadFile("/proc/self/status"))), "SigCgt:")
	mask, _, _ := strings.Cut(rest, "\n")
	return "caught" + mask
}

// condition is what a process has of its own.
func condition() string {
	var out []string
	status := must(os.ReadFile("/proc/self/status"))
	for line := range strings.Lines(string(status)) {
		for _, key := range []string{"SigBlk", "SigIgn", "Umask", "NoNewPrivs", "Cap", "Seccomp:"} {
			if strings.HasPrefix(line, key) {
				out = append(out, strings.TrimSpace(line))
			}
		}
	}
	var subreaper int32
	_ = unix.Prctl(unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&subreaper)), 0, 0, 0)
	out = append(out, fmt.Sprint("subreaper ", subreaper), string(must(os.ReadFile("/proc/self/limits"))), strings.Join(os.Environ(), "\n"))
	out = append(out, must(os.Readlink("/proc/self/ns/pid")), must(os.Getwd()), fmt.Sprint(syscall.Getpgrp()))
	return strings.Join(out, "; ")
}
