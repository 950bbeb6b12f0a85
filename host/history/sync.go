package history

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/fsutil"
)

// position is how far the index has read the record, and how it recognizes that record.
type position struct {
	file         string // identity of the file, "" where the system has none
	at           int64  // bytes
	first, last  sample // of the bytes before at
	oldest, next int64  // numbers of calls: of the oldest in the index, and of the next one
	commits      int64  // counts changes of the index
	build        []byte // new whenever the index is made again
}

// A sample is the hash of some bytes of the record.
type sample struct {
	size int64
	sum  []byte
}

// sampled is how much of the record's beginning, and of what was read last, is compared before more is read.
const sampled = 4096

func takeSample(f io.ReaderAt, from, size int64) (sample, error) {
	text := make([]byte, size)
	if _, err := f.ReadAt(text, from); err != nil && !errors.Is(err, io.EOF) {
		return sample{}, err
	}
	sum := sha256.Sum256(text)
	return sample{size, sum[:16]}, nil
}

func (p *position) load(ctx context.Context, q querier) error {
	return q.QueryRowContext(ctx, `SELECT file, at, first_size, first_sum, last_size, last_sum, oldest, next, commits,
		build FROM position`).Scan(&p.file, &p.at, &p.first.size, &p.first.sum, &p.last.size, &p.last.sum, &p.oldest, &p.next,
		&p.commits, &p.build)
}

// matches reports whether f is still the record that was read, up to here.
func (p *position) matches(f *os.File) (why string, err error) {
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if p.at == 0 && p.next == 1 {
		return "", nil
	}
	switch {
	case p.file != "" && p.file != identity(info):
		return "it is another file than before", nil
	case info.Size() < p.at:
		return "it is shorter than before", nil
	}
	for _, s := range []struct {
		sample
		from int64
		why  string
	}{{p.first, 0, "it begins differently than before"}, {p.last, p.at - p.last.size, "its lines were changed"}} {
		now, err := takeSample(f, s.from, s.size)
		if err != nil {
			return "", err
		}
		if string(now.sum) != string(s.sum) {
			return s.why, nil
		}
	}
	return "", nil
}

// A State says how far the index is.
type State struct {
	Record, Index string
	// Indexed and Size are bytes of the record. Unread are those of lines that are not indexed yet: not of the last one
	// while it has no end.
	Indexed, Size, Unread int64
	// Calls is how many the index has, and Oldest the number of the oldest.
	Calls, Oldest int64
}

// State returns how far the index is. The size of a record that is not there is 0.
func (i *Index) State(ctx context.Context) (State, error) {
	out := State{Record: i.options.Record, Index: i.options.Index}
	if info, err := os.Stat(i.options.Record); err == nil {
		out.Size = info.Size()
	}
	err := i.use(ctx, func(s *store) error {
		var p position
		if err := p.load(ctx, s.read); err != nil {
			return err
		}
		out.Indexed, out.Calls, out.Oldest = p.at, p.next-p.oldest, p.oldest
		return nil
	})
	if err == nil && out.Indexed < out.Size {
		out.Unread, err = wholeLines(i.options.Record, out.Indexed, out.Size)
	}
	return out, err
}

// maxLastLine is how long a last line without an end may be, in bytes: longer than any that a host writes.
const maxLastLine = 64 << 20

// wholeLines returns how many bytes between from and to are before the end of the last line there, and what is before
// the last 64 MiB.
func wholeLines(path string, from, to int64) (int64, error) {
	f, err := openRecord(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	part := make([]byte, 64<<10)
	least := max(from, to-maxLastLine)
	for end := to; end > least; {
		begin := max(least, end-int64(len(part)))
		n, err := f.ReadAt(part[:end-begin], begin)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if last := bytes.LastIndexByte(part[:n], '\n'); last >= 0 {
			return begin + int64(last) + 1 - from, nil
		}
		end = begin
	}
	return least - from, nil
}

const followEvery = 250 * time.Millisecond // how often Follow looks at the record

// Follow keeps the index up to date until the context ends. Errors are logged once, and it goes on trying.
func (i *Index) Follow(ctx context.Context) {
	ticker := time.NewTicker(followEvery)
	defer ticker.Stop()
	last := ""
	for {
		if err := i.Sync(ctx); err != nil && ctx.Err() == nil {
			if text := err.Error(); text != last {
				last = text
				i.log.Error("the history does not follow the record", "record", i.options.Record, "error", err)
			}
		} else {
			last = ""
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Sync reads what the record has and the index has not. A record that has changed, or is shorter, is read from its
// beginning; without a record the index becomes empty.
func (i *Index) Sync(ctx context.Context) error {
	return i.alone(ctx, func() error { return i.sync(ctx) })
}

// Rebuild makes the index again from the record.
func (i *Index) Rebuild(ctx context.Context) error {
	return i.alone(ctx, func() error {
		err := i.use(ctx, func(s *store) error { return i.writer.clear(ctx, s) })
		if err != nil {
			return err
		}
		return i.sync(ctx)
	})
}

// alone runs f while no other goroutine changes the index.
func (i *Index) alone(ctx context.Context, f func() error) error {
	select {
	case <-i.syncing:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { i.syncing <- struct{}{} }()
	return f()
}

func (i *Index) sync(ctx context.Context) error {
	for rebuilds := 0; ; {
		more, err := i.step(ctx, batchBytes, true)
		if _, again := errors.AsType[*RebuildError](err); again && rebuilds < 3 {
			rebuilds++
			continue
		}
		if err != nil || !more {
			return err
		}
	}
}

// catchUp reads a little of what is new, so that a search finds the call that ended just before it. It does not wait
// for a Sync that runs, here or in another process.
func (i *Index) catchUp(ctx context.Context) error {
	select {
	case <-i.syncing:
	default:
		return nil
	}
	defer func() { i.syncing <- struct{}{} }()
	_, err := i.step(ctx, batchBytes/16, false)
	return err
}

// batchBytes is how much of the record is read at once: a transaction has some ten thousand lines, and the lock on the
// index is held for less than a second.
const batchBytes = 8 << 20

// seen is the record, and the index, as they were when all was indexed, so that nothing is read while they stay so.
type seen struct {
	store    *store
	commits  int64
	identity string
	size     int64
	modified time.Time
	until    time.Time // when calls may have become too old
}

// step indexes one batch. It reports whether there may be more. With wait it waits for another process that writes.
func (i *Index) step(ctx context.Context, limit int64, wait bool) (more bool, err error) {
	f, err := openRecord(i.options.Record)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = nil, nil
	}
	if err != nil {
		return false, err
	}
	if f != nil {
		defer f.Close()
	}
	err = i.use(ctx, func(s *store) error {
		more, err = i.writer.step(ctx, i, s, f, limit, wait)
		return err
	})
	return more, err
}

func openRecord(path string) (*os.File, error) {
	f, err := fsutil.OpenRegular(path)
	if errors.Is(err, fsutil.ErrIrregular) {
		err = fmt.Errorf("%s is not a regular file, so it is not a record", path)
	}
	return f, err
}

// step indexes a batch of f, nil if there is no record.
func (w *writer) step(ctx context.Context, i *Index, s *store, f *os.File, limit int64, wait bool) (more bool,
	err error) {
	now := seen{store: s}
	if f != nil {
		info, err := f.Stat()
		if err != nil {
			return false, err
		}
		now.identity, now.size, now.modified = identity(info), info.Size(), info.ModTime()
	}
	var p position
	if err := p.load(ctx, s.write); err != nil {
		return false, err
	}
	if s.replaced() {
		return false, errReplaced
	}
	now.commits, now.until = p.commits, w.seen.until
	if now == w.seen && time.Now().Before(now.until) {
		return false, nil
	}
	why := "it is gone"
	if f != nil {
		if why, err = p.matches(f); err != nil {
			return false, err
		}
	}
	if why != "" && (f != nil || p.next > 1 || p.at > 0) {
		i.log.Info("the index of the history is made again", "record", i.options.Record, "why", why)
		return true, w.clear(ctx, s)
	}
	b := w.ahead
	if w.ahead = nil; b == nil || b.at != p.at || b.file != now.identity {
		b = &batch{at: p.at, file: now.identity}
		if err := b.read(ctx, f, now.size, limit); err != nil {
			return false, err
		}
	}
	b.wait = wait
	var wrote bool
	if !b.more {
		wrote, err = w.commit(ctx, i, s, f, &p, b)
	} else { // the next batch is read on another processor
		next := &batch{at: b.at + b.size, file: b.file}
		read := make(chan error, 1)
		go func() { read <- next.read(ctx, f, now.size, limit) }()
		wrote, err = w.commit(ctx, i, s, f, &p, b)
		if <-read == nil {
			w.ahead = next
		}
	}
	if err != nil {
		return false, err
	}
	if b.more || !wrote || w.store == s && w.expiring {
		return true, nil
	}
	if w.store == s {
		now.commits = w.commits
	}
	now.until = time.Now().Add(time.Minute)
	w.seen = now
	return false, nil
}

var errReplaced = errors.New("another process has replaced it")

// clear removes everything, to begin again.
func (w *writer) clear(ctx context.Context, s *store) error {
	w.seen = seen{}
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := clearTables(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}

func clearTables(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM calls; DELETE FROM blocks; DELETE FROM unfinished; DELETE FROM series;
		DELETE FROM steps; INSERT INTO words(words) VALUES ('delete-all')`)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE position SET file = '', at = 0, first_size = 0, first_sum = x'', last_size = 0,
		last_sum = x'', oldest = 1, next = 1, commits = commits + 1, build = randomblob(8)`)
	return err
}

// A batch is a part of the record, its lines joined to calls.
type batch struct {
	file     string // the record's identity
	at, size int64  // bytes of the record
	more     bool   // the record goes on
	wait     bool   // for another process that writes

	events []event
}

// An event is a line that belongs to a call.
type event struct {
	record audit.Record
	line   lineRef
}

// read reads whole lines from the record, nil for none, of that size.
func (b *batch) read(ctx context.Context, f *os.File, size, limit int64) error {
	if f == nil {
		return nil
	}
	for l, err := range audit.Lines(io.NewSectionReader(f, b.at, size-b.at)) {
		if err != nil {
			return err
		}
		if b.size >= limit {
			b.more = true
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r, ok := audit.Parse(l.Text)
		if !ok && !l.Ended {
			return nil // it is being written, or a crash has left it: the next line will end it
		}
		b.size += l.Size
		if ok && (r.Kind == audit.KindDecision || r.Kind == audit.KindCall) {
			b.events = append(b.events, event{r, lineRef{b.at + l.Offset, int64(len(l.Text)), checksum(l.Text)}})
		}
	}
	return nil
}
