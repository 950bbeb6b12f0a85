//go:build unix

package proctree

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// onTerminal returns a Cmd for a shell script on a terminal of 100 by 30.
func onTerminal(text, input string) (*Cmd, *bytes.Buffer) {
	c, out := script(text)
	c.Stderr, c.Terminal = nil, &Size{Columns: 100, Rows: 30}
	if input != "" {
		c.Stdin = strings.NewReader(input)
	}
	return c, out
}

func TestTerminal(t *testing.T) {
	for _, test := range []struct{ name, script, input, want string }{
		{"all three are a terminal", "test -t 0 && test -t 1 && test -t 2 && echo yes", "", "yes\r\n"},
		{"it is the controlling one", "echo heard >/dev/tty", "", "heard\r\n"},
		{"its size", "stty size", "", "30 100\r\n"},
		{"both outputs in order", "echo a; echo b >&2; echo c", "", "a\r\nb\r\nc\r\n"},
		{"no input has an end", "cat; echo end", "", "end\r\n"},
		{"input is read", "stty -echo; read a; read b; echo $b $a", "1\n2\n", "2 1\r\n"},
		{"input ends", "stty -echo; cat; echo end", "a\n", "a\r\nend\r\n"},
		{"input ends within a line", "stty -echo; cat; echo end", "a", "aend\r\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, out := onTerminal(test.script, test.input)
			exit := mustRun(t, c)
			got := out.String()
			if test.input != "" { // echoed, if it was typed before the echo was off
				got = got[strings.LastIndex(got, test.want[:1]):]
				test.want = test.want[strings.LastIndex(test.want, test.want[:1]):]
			}
			if got != test.want || exit.Code != 0 {
				t.Errorf("output %q, want %q; %v", out, test.want, exit)
			}
		})
	}
}

func TestTerminalKeepsAllOutput(t *testing.T) {
	c, out := onTerminal("seq 1 20000", "")
	mustRun(t, c)
	if lines := strings.Count(out.String(), "\n"); lines != 20000 || !strings.HasSuffix(out.String(), "\r\n20000\r\n") {
		t.Errorf("%d lines, the last %q", lines, out.String()[max(0, out.Len()-20):])
	}
}

// The program reads nothing of far more than a terminal holds.
func TestTerminalInputThatNobodyReads(t *testing.T) {
	c, _ := onTerminal("exit 4", strings.Repeat("line\n", 100_000))
	if exit := mustRun(t, c); exit.Code != 4 {
		t.Errorf("%v", exit)
	}
}

func TestTerminalHasNoSecondOutput(t *testing.T) {
	c, _ := onTerminal("true", "")
	c.Stderr = io.Discard
	_, err := c.Run(bounded(t))
	if _, ok := errors.AsType[*StartError](err); !ok || !strings.Contains(err.Error(), "Stderr must be nil") {
		t.Errorf("error %v", err)
	}
}

func TestTerminalCanceled(t *testing.T) {
	ctx, stop := context.WithCancel(bounded(t))
	defer stop()
	c, _ := onTerminal("trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.01; done", "")
	out := &trigger{text: "up", do: stop}
	c.Stdout, c.Grace = out, patience
	exit, err := c.Run(ctx)
	if err != nil || exit.Code != 7 || !exit.Canceled || !strings.HasSuffix(out.String(), "bye\r\n") {
		t.Errorf("%v, %v, output %q", exit, err, out)
	}
}

func TestStarted(t *testing.T) {
	for _, terminal := range []*Size{nil, {80, 24}} {
		c, out := script("read line; echo $$")
		c.Terminal = terminal
		if terminal != nil {
			c.Stderr = nil
		}
		input, end, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer input.Close()
		c.Stdin = input
		pids := make(chan int, 2)
		c.Started = func(pid int) { pids <- pid; end.Close() } // it goes on only when this was called
		mustRun(t, c)
		if pid := <-pids; out.String() == "" || !strings.Contains(out.String(), strconv.Itoa(pid)) {
			t.Errorf("terminal %v: pid %d, output %q", terminal, pid, out)
		}
	}
	c := Command("/no/such/program")
	c.Started = func(int) { t.Error("it says that it started") }
	if _, err := c.Run(bounded(t)); err == nil {
		t.Error("no error")
	}
}

// fifoOutlet is for processes on a terminal: they get the outlet as file 9 from the script.
func fifoOutlet(t *testing.T) (r *os.File, script string) {
	t.Helper()
	path := t.TempDir() + "/outlet"
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r, "exec 9>'" + path + "'; stty -onlcr -echo\n"
}
