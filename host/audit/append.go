package audit

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/maphash"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/internal/textutil"
)

// Append adds a record. An error means that it was not written: a host must then refuse calls that change things. It
// waits at most five seconds for a process that holds the lock and writes nothing, a minute for others that write all
// the time, and longer only for a slow disk.
func (l *Log) Append(given Record) error {
	r := recordPool.Get().(*Record)
	*r = given
	if err := l.prepare(r); err != nil {
		return refused(l.path, err)
	}
	if r.Later && l.postpone(r) {
		if l.lost.Load() != nil {
			return nil
		}
		return l.queue.problem()
	}
	return l.enqueue(r)
}

// recordPool has records that were written. A record is most of what a small call allocates.
var recordPool = sync.Pool{New: func() any { return &Record{} }}

// recycle makes written records available to Append.
func recycle(records []*Record) {
	for _, r := range records {
		*r = Record{}
		recordPool.Put(r)
	}
}

func refused(path string, err error) error {
	return fmt.Errorf("nothing was written to the audit log %s: %w", path, err)
}

// A group are records that are written together.
type group struct {
	records []*Record
	errs    []error // of each
	sync    bool
	began   time.Time // when the first caller began to wait
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
	c := &chain{last: l.known.last, text: l.text[:0]} // a new buffer would take most of what the log allocates
	if size != l.known.size {
		if c, err = l.join(size); err != nil {
			return err
		}
	}
	for i, r := range g.records {
		g.errs[i] = c.add(r)
	}
	l.known = unknown
	l.groups++
	if err := l.writeChain(c, g.sync); err != nil {
		return errors.Join(err, l.undo(size))
	}
	l.known = tailPosition{size: size + int64(len(c.text)), last: c.last}
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
	return writeHead(l.head, c.last)
}

// undo removes the part that a failed write has left. If that fails too, the next record explains it.
func (l *Log) undo(size int64) error {
	if err := l.file.Truncate(size); err != nil {
		return fmt.Errorf("the part that was written cannot be removed: %w", err)
	}
	return nil
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
	c := &chain{last: lastRecord(text[:whole], head)}
	rest := text[whole:]
	if len(rest) > 0 {
		c.text = append(c.text, '\n')
		rest = c.resumeLine(rest)
	}
	cut := headErr != nil || c.last.Seq < head.Seq || c.last.Seq == head.Seq && c.last.Hash != head.Hash
	return c, errors.Join(c.recordTorn(rest), c.recordCut(cut, head))
}

// lastRecord is the place of the line's record. If the last line is no record, which Verify reports, the chain
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

// resumeLine continues after a line that lacks nothing but its line end, and returns any other.
func (c *chain) resumeLine(rest []byte) []byte {
	if l, err := unseal(rest); err == nil && l.Hash == l.right {
		c.last = l.place()
		return nil
	}
	return rest
}

// recordTorn records an unfinished line.
func (c *chain) recordTorn(rest []byte) error {
	if len(rest) == 0 {
		return nil
	}
	return c.add(&Record{Time: time.Now().UTC(), Kind: KindTorn,
		Torn: &Torn{Bytes: int64(len(rest)), SHA256: hashOf(rest)}})
}

// recordCut keeps what the head knew of lines that are missing; the head itself is about to change.
func (c *chain) recordCut(cut bool, head Head) error {
	if !cut {
		return nil
	}
	c.last.Seq = max(c.last.Seq, head.Seq)
	return c.add(&Record{Time: time.Now().UTC(), Kind: KindCut, Head: &head})
}

const (
	maxContent = 64 << 10 // bytes of arguments, and of a result, after redaction
	maxText    = 2 << 10  // bytes of any other text
)

// prepare checks and redacts a record, and cuts it to fit one line.
func (l *Log) prepare(r *Record) error {
	switch r.Kind {
	case KindDecision, KindCall, KindStart, KindExit:
	default:
		return fmt.Errorf("%q is not a kind of record that hosts write", r.Kind)
	}
	if r.Time.IsZero() {
		r.Time = time.Now()
	}
	r.Time, r.Torn, r.Head = r.Time.UTC(), nil, nil
	if r.Approval != nil {
		r.Approval = new(*r.Approval) // the caller's own does not change
	}
	for text := range r.texts { // before the hashes are set, which are half of it
		switch {
		case *text == "" || text == &r.ArgumentsSHA256 && isHash(*text):
		case text == &r.CallID:
			*text = l.redacted(*text)
		default:
			*text = l.texts.redacted(*text, l.redacted)
		}
	}
	l.keep(r, "arguments", &r.Arguments, &r.ArgumentsSHA256, &r.ArgumentsBytes)
	l.keep(r, "result", &r.Result, &r.ResultSHA256, &r.ResultBytes)
	if r.Content != nil {
		l.keepContent(r)
	}
	r.Note = textutil.Cut(r.Note, maxText)
	return nil
}

func (l *Log) redacted(text string) string { return textutil.Cut(l.redact.Text(text), maxText) }

// recentTexts are short texts of the last records, as they are written: names of tools and rules, folders and reasons
// are those of the record before, and looking for secrets in them is a tenth of the record's cost.
type recentTexts [64]atomic.Pointer[recentText]

type recentText struct{ given, written string }

var textSeed = maphash.MakeSeed()

func (t *recentTexts) redacted(text string, redact func(string) string) string {
	const longest = 256
	if len(text) > longest {
		return redact(text)
	}
	slot := &t[maphash.String(textSeed, text)%uint64(len(t))]
	if found := slot.Load(); found != nil && found.given == text {
		return found.written
	}
	fresh := &recentText{text, redact(text)}
	slot.Store(fresh)
	return fresh.written
}

// A hasher hashes what is written to it, in pieces that are not copied one by one.
type hasher struct {
	*bufio.Writer // to pieces
	pieces        pieces
	sum           [sha256.Size]byte
}

// pieces are hashed with a look at other goroutines now and then: the hash of a megabyte takes half a millisecond, in
// which a small call would wait.
type pieces struct {
	hash.Hash
	hashed int // bytes since the last look
}

func (p *pieces) Write(b []byte) (int, error) {
	const enough = 64 << 10
	if p.hashed += len(b); p.hashed >= enough {
		p.hashed = 0
		runtime.Gosched()
	}
	return p.Hash.Write(b)
}

// hashers are used again: a new one takes 5 KiB, more than all else of a small call.
var hashers = sync.Pool{New: func() any {
	h := &hasher{pieces: pieces{Hash: sha256.New()}}
	h.Writer = bufio.NewWriter(&h.pieces)
	return h
}}

// keepContent hashes a result, and has its JSON made only if that is kept.
func (l *Log) keepContent(r *Record) {
	h := hashers.Get().(*hasher)
	defer hashers.Put(h)
	h.pieces.Reset()
	size, _ := r.Content.WriteTo(h.Writer) // a hash takes everything
	_ = h.Flush()
	if l.content {
		r.Result, _ = r.Content.MarshalJSON() // what has no JSON form is left out
		l.keep(r, "result", &r.Result, &r.ResultSHA256, &r.ResultBytes)
	}
	r.ResultSHA256, r.ResultBytes, r.Content = hexOf(h.pieces.Sum(h.sum[:0])), size, nil
}

// keep hashes content, and keeps it only as far as the options allow.
func (l *Log) keep(r *Record, what string, content *json.RawMessage, sum *string, size *int64) {
	if *content == nil {
		return
	}
	if !isHash(*sum) {
		*sum = hashOf(*content)
	}
	*size = int64(len(*content))
	if !l.content {
		*content = nil
		return
	}
	valid := json.Valid(*content)
	text := bytes.ToValidUTF8(l.redact.JSONStart(*content, maxContent+1), []byte("\ufffd"))
	if valid && len(text) <= maxContent {
		*content = text
		return
	}
	if len(text) > maxContent {
		r.Note = strings.TrimPrefix(r.Note+fmt.Sprintf("; the %s of %d bytes stand here up to %d bytes", what, *size,
			maxContent), "; ")
	}
	*content, _ = json.Marshal(textutil.Cut(string(text), maxContent)) // a string can always be written
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
	size, quiet := sizeOf(f), began
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
			size, quiet = now, time.Now()
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
