//go:build unix

package proctree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const mega = 1 << 20

func TestStdin(t *testing.T) {
	file := t.TempDir() + "/input"
	if err := os.WriteFile(file, []byte("from a file"), 0o644); err != nil {
		t.Fatal(err)
	}
	opened, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	big := strings.Repeat("0123456789", mega)
	tests := []struct {
		name  string
		stdin io.Reader
		want  string
	}{
		{"none", nil, ""},
		{"reader", strings.NewReader("from a reader"), "from a reader"},
		{"file", opened, "from a file"},
		{"10 MB", strings.NewReader(big), big},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, out := script("cat")
			c.Stdin = test.stdin
			mustRun(t, c)
			if out.String() != test.want {
				t.Errorf("cat wrote %d bytes, want %d", out.Len(), len(test.want))
			}
		})
	}
}

func TestStdinNotRead(t *testing.T) {
	blocked, w := io.Pipe()
	defer w.Close()
	for name, stdin := range map[string]io.Reader{
		"more than a pipe holds": strings.NewReader(strings.Repeat("x", mega)),
		"blocked":                blocked,
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := script("exit 3")
			c.Stdin = stdin
			if exit := mustRun(t, c); exit.Code != 3 {
				t.Errorf("exit is %v, want code 3", exit)
			}
		})
	}
}

func TestStdinFails(t *testing.T) {
	broken := errors.New("broken reader")
	c, out := script("cat")
	c.Stdin = io.MultiReader(strings.NewReader("begin"), failing{broken})
	exit, err := c.Run(bounded(t))
	if !errors.Is(err, broken) || err.Error() != "stdin: broken reader" {
		t.Errorf("error is %v", err)
	}
	if exit.Code != 0 || out.String() != "begin" {
		t.Errorf("exit is %v, output %q", exit, out)
	}
}

// failing is a reader and a writer that fails.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error)  { return 0, f.err }
func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestOutputIsComplete(t *testing.T) {
	var want strings.Builder
	for i := range 20000 {
		fmt.Fprintln(&want, i+1)
	}
	c, out := script("seq 1 20000")
	mustRun(t, c)
	if out.String() != want.String() {
		t.Errorf("%d bytes of output, want %d in order", out.Len(), want.Len())
	}
}

func TestOneWriterKeepsTheOrder(t *testing.T) {
	var want strings.Builder
	for i := range 500 {
		fmt.Fprintf(&want, "out %d\nerr %d\n", i, i)
	}
	c, out := script(`i=0; while [ $i -lt 500 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done`)
	mustRun(t, c)
	if out.String() != want.String() {
		t.Error("the lines of stdout and stderr are not in the order they were written in")
	}
}

func TestBigOutputOnBoth(t *testing.T) {
	var stdout, stderr bytes.Buffer
	c, _ := script("head -c 10485760 /dev/zero & head -c 10485760 /dev/zero >&2; wait")
	c.Stdout, c.Stderr = &stdout, &stderr
	mustRun(t, c)
	if stdout.Len() != 10*mega || stderr.Len() != 10*mega {
		t.Errorf("%d and %d bytes, want 10 MiB each", stdout.Len(), stderr.Len())
	}
}

func TestOutputToFile(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/output")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	c, _ := script("echo out; echo err >&2")
	c.Stdout, c.Stderr = file, file
	mustRun(t, c)
	if text, err := os.ReadFile(file.Name()); string(text) != "out\nerr\n" {
		t.Errorf("the file holds %q (%v)", text, err)
	}
}

func TestOutputDiscarded(t *testing.T) {
	c := Command("sh", "-c", "head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2; exit 4")
	if exit := mustRun(t, c); exit.Code != 4 {
		t.Errorf("exit is %v, want code 4", exit)
	}
}

func TestOutputStreams(t *testing.T) {
	reply, answer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Close()
	defer answer.Close()
	c, _ := script("echo question; read answer; exit $answer")
	c.Stdin = reply
	c.Stdout = &trigger{text: "question\n", do: func() { fmt.Fprintln(answer, "9") }}
	if exit := mustRun(t, c); exit.Code != 9 {
		t.Errorf("exit is %v: the program got no answer to its first line", exit)
	}
}

func TestWriterFails(t *testing.T) {
	broken := errors.New("broken writer")
	c, _ := script("exec yes")
	c.Stdout = failing{broken}
	exit, err := c.Run(bounded(t))
	if !errors.Is(err, broken) || err.Error() != "stdout: broken writer" {
		t.Errorf("error is %v", err)
	}
	if exit.Signal != syscall.SIGPIPE {
		t.Errorf("exit is %v, want the signal of a closed pipe", exit)
	}
}

// gate is a writer that blocks until it is opened.
type gate struct {
	opened <-chan struct{}
	passed bytes.Buffer
}

func (g *gate) Write(b []byte) (int, error) {
	<-g.opened
	return g.passed.Write(b)
}

func TestWriterBlocksForEver(t *testing.T) {
	opened := make(chan struct{})
	defer close(opened)
	ctx, cancel := context.WithCancel(bounded(t))
	c, _ := script("echo out; echo up >&2; exec yes")
	c.Stdout, c.Stderr, c.Grace = &gate{opened: opened}, &trigger{text: "up", do: cancel}, patience
	begun := time.Now()
	exit, err := c.Run(ctx)
	if !errors.Is(err, exec.ErrWaitDelay) || !strings.Contains(err.Error(), "writer blocks") {
		t.Errorf("error is %v, want one that says the writer blocks", err)
	}
	if !exit.Canceled || exit.Signal != syscall.SIGTERM {
		t.Errorf("exit is %v, want terminated and canceled", exit)
	}
	if took := time.Since(begun); took > patience {
		t.Errorf("Run took %v", took)
	}
}

func TestWritersOfUncomparableType(t *testing.T) {
	var n int
	w := counter{func(b []byte) { n += len(b) }}
	c := Command("sh", "-c", "echo out")
	c.Stdout, c.Stderr = w, w
	mustRun(t, c)
	if n != 4 {
		t.Errorf("%d bytes of output, want 4", n)
	}
}

// counter cannot be compared with ==, which panics on funcs.
type counter struct{ add func([]byte) }

func (c counter) Write(b []byte) (int, error) {
	c.add(b)
	return len(b), nil
}

// A tagged writer puts its tag before each piece, into a text that two of them share without a lock.
type tagged struct {
	tag string
	all *bytes.Buffer
}

func (w *tagged) Write(b []byte) (int, error) {
	w.all.WriteString(w.tag)
	return w.all.Write(b)
}

// inOneText returns a Cmd whose outputs are tagged in one text.
func inOneText(text string) (*Cmd, *bytes.Buffer) {
	c, all := script(text)
	c.Stdout, c.Stderr, c.InOrder = &tagged{"1:", all}, &tagged{"2:", all}, true
	return c, all
}

func TestInOrder(t *testing.T) {
	for range 50 {
		c, all := inOneText("echo out; echo err >&2")
		mustRun(t, c)
		if all.String() != "1:out\n2:err\n" {
			t.Fatalf("the output is %q", all)
		}
	}
	c, all := inOneText("echo err >&2; read seen; echo out")
	seen, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer seen.Close()
	c.Stdin, c.Stderr = seen, io.MultiWriter(c.Stderr, &trigger{text: "err", do: func() { _ = end.Close() }})
	mustRun(t, c)
	if all.String() != "2:err\n1:out\n" {
		t.Errorf("the output is %q", all)
	}
}

func TestInOrderKeepsAll(t *testing.T) {
	c, all := inOneText("seq 1 30000 & seq 1 30000 >&2; wait")
	mustRun(t, c)
	text := strings.NewReplacer("1:", "", "2:", "").Replace(all.String())
	var out bytes.Buffer
	plain, _ := script("seq 1 30000; seq 1 30000")
	plain.Stdout, plain.Stderr = &out, nil
	mustRun(t, plain)
	if len(text) != out.Len() {
		t.Errorf("%d bytes, want %d", len(text), out.Len())
	}
}

func TestInOrderWriterFails(t *testing.T) {
	broken := errors.New("broken writer")
	for name, text := range map[string]string{"stdout": "exec yes", "stderr": "exec yes >&2"} {
		c, _ := script(text)
		var other bytes.Buffer
		c.Stdout, c.Stderr, c.InOrder = failing{broken}, &other, true
		if name == "stderr" {
			c.Stdout, c.Stderr = c.Stderr, c.Stdout
		}
		if _, err := c.Run(bounded(t)); !errors.Is(err, broken) || err.Error() != name+": broken writer" {
			t.Errorf("error is %v", err)
		}
	}
}

// The error of a pipe that is closed because another process holds its other end is the same with and without order.
func TestInOrderCutOff(t *testing.T) {
	var lanes [2]*lane
	for i, name := range []string{"stdout", "stderr"} {
		ours, theirs, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer theirs.Close()
		lanes[i] = &lane{name: name, pipe: ours, to: io.Discard}
	}
	takes, err := inOrder(lanes[0], lanes[1])
	if err != nil {
		t.Fatal(err)
	}
	for i, take := range takes {
		_ = lanes[i].pipe.Close()
		want := lanes[i].name + " is cut off: a process held it open after the end"
		if err := take(); !errors.Is(err, exec.ErrWaitDelay) || err.Error() != want {
			t.Errorf("error is %v, want %q", err, want)
		}
	}
}

// The same without order, to measure its cost.
func BenchmarkOutput(b *testing.B) {
	for name, inOrder := range map[string]bool{"in order": true, "apart": false} {
		b.Run(name, func(b *testing.B) {
			c := Command("sh", "-c", "yes | head -c 50000000")
			c.Stdout, c.Stderr, c.InOrder = &counted{}, &counted{}, inOrder
			b.SetBytes(50_000_000)
			for b.Loop() {
				if _, err := c.Run(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

type counted struct{ n int }

func (c *counted) Write(b []byte) (int, error) {
	c.n += len(b)
	return len(b), nil
}

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

// The program does not read input of far more than a terminal's buffer.
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
		c.Started = func(pid int) { pids <- pid; end.Close() } // it continues only after this call
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
