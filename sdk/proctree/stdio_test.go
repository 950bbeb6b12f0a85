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

// gate is a writer that lets nothing through before it opens.
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
