package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"os"
)

// A source is an open file for one call: it ends with the call, and where the file ended when it was opened, however fast
// somebody writes to it.
type source struct {
	ctx   context.Context
	in    io.Reader
	sum   hash.Hash // nil when the file is too large to read to its end
	ended bool
}

// newSource reads f from its start. Size is what the system tells; files that it makes up, such as those in /proc, have none.
func newSource(ctx context.Context, f *os.File, size int64) *source {
	if size > countUpTo {
		return &source{ctx: ctx, in: io.LimitReader(f, size)}
	}
	limit := size
	if size == 0 {
		limit = countUpTo
	}
	return &source{ctx: ctx, in: io.LimitReader(f, limit), sum: sha256.New()}
}

// endSource reads the last tailBytes of f, from a border of 4 bytes on: no encoding has wider characters.
func endSource(ctx context.Context, f *os.File, size int64) *source {
	from := (size - tailBytes) &^ 3
	return &source{ctx: ctx, in: io.NewSectionReader(f, from, size-from)}
}

func (s *source) Read(b []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := s.in.Read(b)
	if s.sum != nil {
		_, _ = s.sum.Write(b[:n]) // which never fails
	}
	s.ended = errors.Is(err, io.EOF)
	if stopped := s.ctx.Err(); stopped != nil && err != nil && !s.ended {
		err = stopped // the end of the call has closed the file
	}
	return n, err
}

// etag is what workspace.Etag gives for all bytes of the file, or "" when not all of them have been read.
func (s *source) etag() string {
	if s.sum == nil || !s.ended {
		return ""
	}
	return hex.EncodeToString(s.sum.Sum(nil)[:6])
}

// closeWith closes the file when the call ends, which wakes up a read that waits. The function it gives closes it at once.
func closeWith(ctx context.Context, f *os.File) (done func()) {
	stop := context.AfterFunc(ctx, func() { _ = f.Close() })
	return func() {
		stop()
		_ = f.Close()
	}
}
