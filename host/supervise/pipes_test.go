package supervise

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// What is in a pipe at its deadline is read, however late anybody comes to it, and nobody is waited for.
func TestLastWordsOutliveTheDeadline(t *testing.T) {
	text := strings.Repeat("last words\n", 3000)
	for name, closed := range map[string]bool{"the writer has ended": true, "the writer holds on": false} {
		t.Run(name, func(t *testing.T) {
			r, w := must2(os.Pipe())
			defer r.Close()
			defer w.Close()
			must(w.WriteString(text))
			want := os.ErrDeadlineExceeded
			if closed {
				w.Close()
				want = nil // the end of the file
			}
			check(t, r.SetReadDeadline(time.Now().Add(-time.Second)))
			var out bytes.Buffer
			if _, err := io.Copy(&out, &lastWords{from: r}); !errors.Is(err, want) || out.String() != text {
				t.Errorf("%d bytes of %d, %v", out.Len(), len(text), err)
			}
		})
	}
}

// Who writes without end is not read without end.
func TestLastWordsHaveAnEnd(t *testing.T) {
	r, w := must2(os.Pipe())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for block := make([]byte, 4096); ; {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}()
	check(t, r.SetReadDeadline(time.Now().Add(-time.Second)))
	n, err := io.Copy(io.Discard, &lastWords{from: r})
	if !errors.Is(err, os.ErrDeadlineExceeded) || n > maxLate+64<<10 {
		t.Errorf("%d bytes, %v", n, err)
	}
	r.Close()
	w.Close()
	<-done
}

func must2[A, B any](a A, b B, err error) (A, B) {
	must(0, err)
	return a, b
}
