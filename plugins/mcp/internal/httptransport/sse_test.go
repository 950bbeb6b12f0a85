package httptransport

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func TestEvents(t *testing.T) {
	for _, tt := range []struct{ name, stream, want string }{
		{"one line", "data: a\n\n", "|a"},
		{"several lines", "data: a\ndata:b\ndata\n\n", "|a\nb\n"},
		{"named", "event: endpoint\ndata: /x\n\n", "endpoint|/x"},
		{"line ends", "data: a\r\n\r\ndata: b\r\rdata: c\n\n", "|a,|b,|c"},
		{"mixed line ends", "data: a\r\n\ndata: b\n\r\n", "|a,|b"},
		{"byte order mark", "\ufeffdata: a\n\n", "|a"},
		{"comments", ": hi\n:\n\ndata: a\n:x\n\n", "|a"},
		{"unknown fields", "foo: a\nbar\ndata: a\n\n", "|a"},
		{"no data", "event: x\nid: 1\n\n", ""},
		{"cut off", "data: a\n\ndata: b\n", "|a"},
		{"colons", "data: a: b\ndata:  c\n\n", "|a: b\n c"},
	} {
		for _, in := range []io.Reader{strings.NewReader(tt.stream), iotest.OneByteReader(strings.NewReader(tt.stream))} {
			r := newEventReader(in, 1<<10, newPace(time.Minute, func() {}))
			var got []string
			for {
				e, err := r.next()
				if err != nil {
					break
				}
				got = append(got, e.name+"|"+string(e.data))
			}
			if strings.Join(got, ",") != tt.want {
				t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
			}
		}
	}
}

func TestIDAndRetryOutliveEvents(t *testing.T) {
	r := newEventReader(strings.NewReader("id: 1\nretry: 20\n\nid: \x00\nretry: x\ndata: a\n\n"), 1<<10,
		newPace(time.Minute, func() {}))
	if _, err := r.next(); err != nil || r.lastID != "1" || r.retry != 20*time.Millisecond {
		t.Errorf("id %q, retry %v, %v", r.lastID, r.retry, err)
	}
}

func TestIDOfAnEventThatIsCutOffDoesNotCount(t *testing.T) {
	r := newEventReader(strings.NewReader("id: 1\ndata: a\n\nid: 2\ndata: {\"jso"), 1<<10,
		newPace(time.Minute, func() {}))
	for range 2 {
		if _, err := r.next(); r.lastID != "1" {
			t.Errorf("id %q, %v", r.lastID, err)
		}
	}
}

func FuzzEvents(f *testing.F) {
	f.Add("data: a\r\n\r\nid: 1\ndata: b\n\n")
	f.Fuzz(func(t *testing.T, stream string) {
		read := func(in io.Reader) (out []string) {
			r := newEventReader(in, 1<<10, newPace(time.Minute, func() {}))
			for {
				e, err := r.next()
				if err != nil {
					return out
				}
				if len(e.data) > 1<<10 {
					t.Fatal("over the limit")
				}
				out = append(out, e.name+"|"+string(e.data))
			}
		}
		whole, bytes := read(strings.NewReader(stream)), read(iotest.OneByteReader(strings.NewReader(stream)))
		if strings.Join(whole, "\n") != strings.Join(bytes, "\n") {
			t.Errorf("%q is %q at once and %q byte by byte", stream, whole, bytes)
		}
	})
}
