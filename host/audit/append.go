package audit

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/internal/fsutil"
)

// Append adds a record. An error means that it was not written: a host must then refuse calls that change things. It
// waits at most five seconds for a process that holds the lock and writes nothing, a minute for others that write all
// the time, and longer only for a slow disk.
func (l *Log) Append(r Record) error {
	next := lines.Get().(*line)
	err := r.check()
	if err == nil {
		next.sync = r.Sync
		next.text, err = r.appendTo(next.text[:0], l)
	}
	if err != nil {
		next.recycle()
		return refused(l.path, err)
	}
	if r.Later && l.writeLater(next) {
		if l.onLost.Load() != nil {
			return nil
		}
		return l.queue.takeError()
	}
	return l.writeAndWait(next)
}

// A line is a record to be written, but for its number and the links to others.
type line struct {
	text []byte
	sync bool
}

// lines has those that were written, for Append.
var lines = sync.Pool{New: func() any { return &line{} }}

func (r *line) recycle() {
	const largest = 8 << 10 // arguments and results can be larger
	if cap(r.text) <= largest {
		lines.Put(r)
	}
}

func refused(path string, err error) error {
	return fmt.Errorf("nothing was written to the audit log %s: %w", path, err)
}

type group struct {
	lines []*line
	errs  []error // of each
	sync  bool
	began time.Time // when the first caller began to wait
}

// writeRecords writes a group under one lock.
func (l *Log) writeRecords(g *group) {
	err := func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.file == nil {
			return errClosed
		}
		if err := l.lock(g.began); err != nil {
			return err
		}
		defer l.unlock()
		return l.append(g)
	}()
	for i := range g.errs {
		if g.errs[i] = cmp.Or(g.errs[i], err); g.errs[i] != nil {
			g.errs[i] = refused(l.path, g.errs[i])
		}
	}
}

// append writes while the file is locked. A record that cannot be written leaves the others in their chain.
func (l *Log) append(g *group) error {
	size, err := l.size()
	if err != nil {
		return err
	}
	c := newChain(l.known.last, l.text[:0]) // a new buffer would take most of what the log allocates
	if size != l.known.size {
		if c, err = l.join(size); err != nil {
			return err
		}
	}
	for i, r := range g.lines {
		g.errs[i] = c.add(r.text)
	}
	l.known = unknown
	l.groups++
	if err := l.writeChain(c, g.sync); err != nil {
		if left := l.file.Truncate(size); left != nil { // the next record explains it
			err = errors.Join(err, fmt.Errorf("the part that was written cannot be removed: %w", left))
		}
		return err
	}
	l.known = tailPosition{size: size + int64(len(c.text)), last: c.last()}
	if cap(c.text) <= maxLine {
		l.text = c.text
	}
	return nil
}

func (l *Log) writeChain(c *chain, sync bool) error {
	if _, err := l.file.Write(c.text); err != nil {
		return err
	}
	if sync { // before the head is written, which must not name a record that is lost
		if err := l.file.Sync(); err != nil {
			return err
		}
	}
	return writeHead(l.head, c.last())
}

// size returns the log's size, if both files are still those that were opened. Else the record was removed under a
// running host: an error that people must look into, not one to hide with a new file.
func (l *Log) size() (int64, error) {
	info, err := statSame(l.file, l.path)
	if err != nil {
		return 0, err
	}
	_, err = statSame(l.head, headPath(l.path))
	return info.Size(), err
}

func statSame(f *os.File, path string) (os.FileInfo, error) {
	ours, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if there, err := os.Stat(path); err != nil || !os.SameFile(ours, there) {
		return nil, fmt.Errorf("%s was removed or replaced while the log was open; find out why, then start again", path)
	}
	return ours, nil
}

// join reads the ending of a file that others have written, and starts with records of its error.
func (l *Log) join(size int64) (*chain, error) {
	text, err := lastLines(l.file, size, 1, 2*maxLine)
	if err != nil {
		return nil, fmt.Errorf("%s does not end as an audit log does: %w", l.path, err)
	}
	head, headErr := readHead(l.head)
	whole := bytes.LastIndexByte(text, '\n') + 1
	c := newChain(lastRecord(text[:whole], head), nil)
	rest := text[whole:]
	if len(rest) > 0 {
		c.text = append(c.text, '\n')
		if l, err := unseal(rest); err == nil && l.Hash == l.right { // it lacks nothing but its line end
			c.follow(l.place())
			rest = nil
		}
	}
	last := c.last()
	var torn, cut error
	if len(rest) > 0 { // an unfinished line
		torn = c.addOwn(&Record{Kind: KindTorn, Torn: &Torn{Bytes: int64(len(rest)), SHA256: Hash(rest)}})
	}
	if headErr != nil || last.Seq < head.Seq || last.Seq == head.Seq && last.Hash != head.Hash {
		c.seq = max(c.seq, head.Seq) // keeps what the head knew of lines that are missing: it is about to change
		cut = c.addOwn(&Record{Kind: KindCut, Head: &head})
	}
	return c, errors.Join(torn, cut)
}

// lastRecord is the place of the line's record. If the last line is not a record, which Verify reports, the chain
// continues from the head.
func lastRecord(line []byte, head Head) Head {
	if l, err := unseal(bytes.TrimSuffix(line, []byte("\n"))); err == nil && l.Hash == l.right {
		return l.place()
	}
	if len(line) == 0 || head.Hash == "" {
		return Head{Hash: noHash}
	}
	return head
}

const (
	// lockWait is how long to wait for a process that holds the lock and adds nothing; each holds it for one record.
	lockWait = 5 * time.Second
	// busyWait is how long to wait while others add records: the lock does not go to the process that waits longest.
	busyWait = time.Minute

	firstPause = 20 * time.Microsecond
	maxPause   = 2 * time.Millisecond
)

// lock locks the log for one writer, or for several readers. It does not wait in the kernel: a process that is stopped
// while it holds the lock would block all others permanently. freed is when this process had the lock last.
func lock(f *os.File, alone bool, began, freed time.Time) error {
	size, quiet := int64(-1), began
	if freed.After(began) {
		quiet = freed
	}
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		err := fsutil.LockFile(f, alone)
		if err == nil {
			return nil
		}
		if !errors.Is(err, fsutil.ErrLocked) && !errors.Is(err, syscall.EINTR) {
			return fmt.Errorf("%s cannot be locked: %w", f.Name(), err)
		}
		if now := sizeOf(f); now != size {
			if size >= 0 { // not the first look
				quiet = time.Now()
			}
			size = now
		}
		switch {
		case time.Since(quiet) > lockWait:
			return fmt.Errorf("%s has been locked by another process for %v%s; find out why it keeps the lock, and end it",
				f.Name(), lockWait, holder(f))
		case time.Since(began) > busyWait:
			return fmt.Errorf("%s was locked by other processes that write to it for %v; find out what writes so much", f.Name(),
				busyWait)
		}
		time.Sleep(pause)
	}
}

// sizeOf changes when others write.
func sizeOf(f *os.File) int64 {
	info, err := f.Stat()
	if err != nil {
		return -1
	}
	return info.Size()
}

// lock is for a caller that began to wait some time ago, maybe for others of this process: their wait says nothing
// about the process that has the lock now.
func (l *Log) lock(began time.Time) error { return lock(l.file, true, began, l.freed) }

func (l *Log) unlock() {
	l.freed = time.Now()
	unlock(l.file)
}

func lockForReading(f *os.File) error { return lock(f, false, time.Now(), time.Time{}) }

// unlock cannot fail on an open file; closing it unlocks too.
func unlock(f *os.File) { _ = fsutil.UnlockFile(f) }
