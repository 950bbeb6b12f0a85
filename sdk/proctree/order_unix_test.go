//go:build unix

package proctree

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

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

// A pipe that is closed because somebody holds its other end is told as it is without order.
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

// The same as without order, for its cost.
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
