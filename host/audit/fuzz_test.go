package audit

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// Whatever a file holds, it is walked to its end, and what is found is bounded.
func FuzzVerify(f *testing.F) {
	whole := read(f, written(f, 3))
	head := Head{Seq: 3, Hash: noHash}.line()
	for _, seed := range []string{"", whole, whole[:len(whole)-1], whole[1:], strings.Replace(whole, "shell", "x", 1),
		whole + "x", "\n\n", `{"seq":1}`, strings.Repeat("{\n", 300)} {
		f.Add([]byte(seed), head)
	}
	f.Fuzz(func(t *testing.T, log []byte, headText string) {
		head, err := parseHead(headText)
		r, failure := verify(bytes.NewReader(log), head, err)
		if failure != nil {
			t.Fatal(failure)
		}
		if lines := bytes.Count(log, []byte("\n")) + 1; r.Records+r.Torn > lines || len(r.Problems) > maxProblems {
			t.Errorf("%d lines, %d records, %d torn, %d problems", lines, r.Records, r.Torn, len(r.Problems))
		}
		if r.OK() && (err != nil || r.Last.Seq < head.Seq || len(log) > 0 && r.Records == 0) {
			t.Errorf("%q passes with the head %q: %+v", log, headText, r)
		}
		for _, p := range r.Problems {
			if p.Text == "" || p.Fault == "" || p.Line < 0 || len(p.Text) > 1000 {
				t.Errorf("problem %+v", p)
			}
		}
	})
}

// Whatever the end of a file is, a record can be added after it, and Verify finds it in its place.
func FuzzAppend(f *testing.F) {
	whole := read(f, written(f, 2))
	for _, seed := range []string{"", whole, whole[:len(whole)-1], whole[:len(whole)-9], whole + "x", whole + "x\n", "\n",
		"x"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, log []byte) {
		path := logPath(t)
		write(t, path, string(log))
		write(t, headPath(path), Head{Hash: noHash}.line()) // else a file that is no log is refused
		l := openLog(t, path, Options{})
		if err := l.Append(call(1)); err != nil {
			t.Fatal(err)
		}
		if r := verified(t, path); r.Last != l.known.last || r.Newer != 0 || !bytes.HasPrefix([]byte(read(t, path)), log) ||
			len(log) == 0 && !r.OK() {
			t.Errorf("%q: %+v, want the last %v", log, r, l.known.last)
		}
	})
}

// A reader that fails is an error, and not a fault of the log.
func TestReaderFails(t *testing.T) {
	broken := errors.New("broken disk")
	if _, err := verify(failing{broken}, Head{}, nil); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
