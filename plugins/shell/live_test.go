package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

type closable struct {
	bytes.Buffer
	closed bool
}

func (c *closable) Close() error {
	c.closed = true
	return nil
}

func TestLive(t *testing.T) {
	var out closable
	now := time.Now()
	l := newLive(&out)
	l.now = func() time.Time { return now }
	write := func(n int, text string) {
		t.Helper()
		if got, err := l.Write([]byte(strings.Repeat(text, n))); got != n*len(text) || err != nil {
			t.Fatalf("%d, %v", got, err)
		}
	}
	write(liveBurst, "a") // as much as there may be at once
	write(100, "b")
	write(50, "c")
	if out.Len() != liveBurst {
		t.Errorf("%d bytes were passed on, want %d", out.Len(), liveBurst)
	}
	out.Reset()
	now = now.Add(time.Second / 1024)
	write(1, "\xa4\nlater\n")
	if want := "\n[... 151 bytes not shown while it runs ...]\n\nlater\n"; out.String() != want || !utf8.Valid(out.Bytes()) {
		t.Errorf("passed on %q, want %q", out.String(), want)
	}
	out.Reset()
	write(8<<10, "d")
	if err := l.Close(); err != nil || out.String() != "\n[... 8192 bytes not shown while it runs ...]\n" || !out.closed {
		t.Errorf("at the end %q, %v", out.String(), err)
	}
	write(10, "after the end")
}
