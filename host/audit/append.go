package audit

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"time"
)

// Append adds a record. An error means that it was not written, and says why: a host must then refuse calls that change
// things. It waits five seconds at most for a process that holds the log and writes nothing, a minute for others that write
// all the time, and longer only for a slow disk.
func (l *Log) Append(r Record) error {
	if r.Later {
		later := r // so that others need no memory of their own
		if l.postpone(&later) {
			return l.later.problem()
		}
	}
	return l.appendAll([]Record{r})
}

func (l *Log) appendAll(records []Record) error {
	for i := range records {
		if err := l.prepare(&records[i]); err != nil {
			return l.refused(err)
		}
	}
	began := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return l.refused(errors.New("it is closed"))
	}
	if err := l.lock(began); err != nil {
		return l.refused(err)
	}
	defer l.unlock()
	return l.refused(l.append(records))
}

func (l *Log) refused(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("nothing was written to the audit log %s: %w", l.path, err)
}

// append writes while the file is locked.
func (l *Log) append(records []Record) error {
	size, err := l.size()
	if err != nil {
		return err
	}
	c := &chain{last: l.known.last}
	if size != l.known.size {
		if c, err = l.join(size); err != nil {
			return err
		}
	}
	sync := false
	for _, r := range records {
		if err := c.add(r); err != nil {
			return err
		}
		sync = sync || r.Sync
	}
	l.known = unknown
	if err := l.write(c, sync); err != nil {
		return errors.Join(err, l.undo(size))
	}
	l.known = ending{size: size + int64(len(c.text)), last: c.last}
	return nil
}

func (l *Log) write(c *chain, sync bool) error {
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

// undo takes away what a write that failed has left. If that fails too, the next record sets it aside.
func (l *Log) undo(size int64) error {
	if err := l.file.Truncate(size); err != nil {
		return fmt.Errorf("what was written of it cannot be taken back: %w", err)
	}
	return nil
}

// size gives the log's size, after a look at whether the files are still those that were opened. If not, somebody has
// taken the record away under a running host: that is for people to look into, and not to be papered over by a new file.
func (l *Log) size() (int64, error) {
	info, err := stillThere(l.file, l.path)
	if err != nil {
		return 0, err
	}
	_, err = stillThere(l.head, headPath(l.path))
	return info.Size(), err
}

func stillThere(f *os.File, path string) (os.FileInfo, error) {
	ours, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if there, err := os.Stat(path); err != nil || !os.SameFile(ours, there) {
		return nil, fmt.Errorf("%s was removed or replaced while the log was open; find out why, then start again", path)
	}
	return ours, nil
}

// join finds out how the file ends that others have written, and begins with what has to be said about that.
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
		rest = c.takeUp(rest)
	}
	cut := headErr != nil || c.last.Seq < head.Seq || c.last.Seq == head.Seq && c.last.Hash != head.Hash
	return c, errors.Join(c.setAside(rest), c.tellCut(cut, head))
}

// lastRecord is the place of the line's record. A last line that is none is for Verify to name; the chain goes on where
// the head is.
func lastRecord(line []byte, head Head) Head {
	if l, err := unseal(bytes.TrimSuffix(line, []byte("\n"))); err == nil && l.Hash == l.right {
		return l.place()
	}
	if len(line) == 0 || head.Hash == "" {
		return Head{Hash: noHash}
	}
	return head
}

// takeUp goes on after an unfinished line that lacks nothing but its end. Any other it gives back.
func (c *chain) takeUp(rest []byte) []byte {
	if l, err := unseal(rest); err == nil && l.Hash == l.right {
		c.last = l.place()
		return nil
	}
	return rest
}

// setAside explains a line that was left unfinished.
func (c *chain) setAside(rest []byte) error {
	if len(rest) == 0 {
		return nil
	}
	return c.add(Record{Time: time.Now().UTC(), Kind: KindTorn, Torn: &Torn{Bytes: int64(len(rest)), SHA256: hashOf(rest)}})
}

// tellCut keeps for good what the head knew of lines that are no longer there; the head itself is about to change.
func (c *chain) tellCut(cut bool, head Head) error {
	if !cut {
		return nil
	}
	c.last.Seq = max(c.last.Seq, head.Seq)
	return c.add(Record{Time: time.Now().UTC(), Kind: KindCut, Head: &head})
}
