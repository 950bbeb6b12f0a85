//go:build !proctree_group

package proctree

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func init() {
	roles["terminal-host"] = func() {
		c := Command("sh", "-c", os.Args[1])
		c.Env = append(os.Environ(), roleVar+"=")
		c.Stdout, c.Terminal = os.Stdout, &Size{80, 24}
		_, _ = c.Run(context.Background())
	}
}

func TestLeftoversOnATerminal(t *testing.T) {
	for _, l := range leftovers {
		t.Run(l.name+", program ends", func(t *testing.T) { testLeftoverOnATerminal(t, l.text, false) })
		t.Run(l.name+", context ends", func(t *testing.T) { testLeftoverOnATerminal(t, l.text, true) })
	}
}

func testLeftoverOnATerminal(t *testing.T, text string, cancel bool) {
	r, prelude := fifoOutlet(t)
	input, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	defer end.Close()
	ctx, stop := context.WithCancel(bounded(t))
	defer stop()
	up := make(chan struct{})
	out := &trigger{text: "up\n", do: func() { close(up) }}
	c := Command("sh", "-c", prelude+text+"\nread line; exit 3", self(t))
	c.Stdin, c.Stdout, c.Terminal, c.Grace = input, out, &Size{80, 24}, 20*time.Millisecond
	run := begin(ctx, c)
	if !within(up, patience) {
		t.Fatalf("nothing comes up: %q", out)
	}
	if cancel {
		stop()
	} else {
		end.Close()
	}
	exit, err := run.end(t, patience)
	(&processPipe{r: r}).mustBeOver(t)
	// Some may have ended without being killed: the end of a terminal's controlling process sends SIGHUP to the
	// foreground group.
	if err != nil || exit.Canceled != cancel || !cancel && exit.Code != 3 {
		t.Errorf("Run: %#v, %v", exit, err)
	}
}

func TestHostOfATerminalIsKilled(t *testing.T) {
	r, prelude := fifoOutlet(t)
	text := prelude + strings.ReplaceAll(everything(), `"$0"`, self(t))
	host := exec.Command(self(t), text)
	host.Env = append(os.Environ(), roleVar+"=terminal-host")
	out := &trigger{text: "all started", do: func() { _ = host.Process.Kill() }}
	host.Stdout = out
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait()
	(&processPipe{r: r, w: r}).awaitEnd(t, patience)
	launcher := number(t, out.String(), "launcher")
	until(t, patience, "the launcher ends", func() bool { return !alive(launcher) })
}

// A program that closes its files before it ends, as wc does, does not get SIGHUP.
func TestTerminalIsOpenToTheEnd(t *testing.T) {
	for range 20 {
		c := Command("bash", "-c", "exec <&- >&- 2>&-; for i in {1..2000}; do :; done; exit 3")
		c.Terminal = &Size{80, 24}
		if exit := mustRun(t, c); exit.Signal != 0 || exit.Code != 3 {
			t.Fatal(exit)
		}
	}
}

// A program that reads keys gets ^D as one, also where it begins to read them after everything was typed.
func TestEndOfInputIsAKey(t *testing.T) {
	for before, typed := range map[string]string{"": "ab\n", "read -r first; ": "a\nab\n"} {
		var out strings.Builder
		c := Command("bash", "-c", before+"stty raw -echo; printf '>'; head -c 5 | od -An -c")
		c.Terminal, c.Stdin, c.Stdout = &Size{80, 24}, strings.NewReader(typed), &out
		if exit := mustRun(t, c); exit.Code != 0 || !strings.Contains(out.String(), "004") {
			t.Fatalf("%v: %q", exit, out.String())
		}
	}
}
