package history

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/toolhost/toolhost/host/audit"
)

const (
	// blockCalls is how many calls share the bounds of their times, and are removed together when they are too old.
	blockCalls = 1024
	// maxUnfinished is how many calls may be without an end; of more, the oldest are taken for calls that never end.
	maxUnfinished = 65_536
)

// A writer adds batches to the index. What it keeps in memory is that of the index after its last commit.
type writer struct {
	seen seen

	store      *store
	commits    int64
	unfinished map[string]int64 // numbers of calls by their ids
	order      []openCall       // of unfinished, oldest first; some have ended
	series     map[series]int64
	expiring   bool   // there was more to remove
	ahead      *batch // was read already, nil for none
}

type openCall struct {
	id     string
	number int64
}

// A series are calls that are counted together.
type series struct{ plugin, tool, status, code string }

// A lineRef is where a line of the record is, and what it must be.
type lineRef struct {
	offset, size int64
	sum          uint32
}

var sums = crc32.MakeTable(crc32.Castagnoli)

func checksum(text []byte) uint32 { return crc32.Checksum(text, sums) }

func encodeLines(lines []lineRef) []byte {
	var out []byte
	for _, l := range lines {
		out = binary.AppendUvarint(out, uint64(l.offset))
		out = binary.AppendUvarint(out, uint64(l.size))
		out = binary.LittleEndian.AppendUint32(out, l.sum)
	}
	return out
}

func decodeLines(data []byte) (out []lineRef, err error) {
	for len(data) > 0 {
		offset, n := binary.Uvarint(data)
		size, m := binary.Uvarint(data[max(n, 0):])
		if n <= 0 || m <= 0 || len(data) < n+m+4 || size > 1<<20 {
			return nil, errors.New("a call in the index has no readable lines")
		}
		out = append(out, lineRef{int64(offset), int64(size), binary.LittleEndian.Uint32(data[n+m:])})
		data = data[n+m+4:]
	}
	return out, nil
}

// readLines reads lines of the record again. A ChangedError says that they are others by now.
func readLines(f io.ReaderAt, lines []lineRef, each func(text []byte, r *audit.Record)) error {
	for _, l := range lines {
		text := make([]byte, l.size)
		if _, err := f.ReadAt(text, l.offset); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		r, ok := audit.Parse(text)
		if !ok || checksum(text) != l.sum {
			return &ChangedError{Offset: l.offset}
		}
		each(text, &r)
	}
	return nil
}

// A ChangedError says that a line of the record is not the one that was indexed.
type ChangedError struct{ Offset int64 }

func (e *ChangedError) Error() string {
	return fmt.Sprintf("the record was changed: the line at byte %d is not the one that was indexed; "+
		"`toolhost audit verify` shows what was changed; the index is made again", e.Offset)
}

// An entry is a call while its lines are joined.
type entry struct {
	call  Call
	lines []lineRef
	last  audit.Record
	texts wordWriter
	old   *row // as it is in the index, nil for a new call
	now   row
}

// A row is what the index has of a call, besides its words.
type row struct {
	time, took, series, session int64
}

func (e *entry) add(r *audit.Record, l lineRef) {
	e.call.add(r)
	e.lines = append(e.lines, l)
	writeTexts(&e.texts, r, &e.last)
	e.last = *r
}

// words are all that the call is found by.
func (e *entry) words() string {
	w := wordWriter{text: make([]byte, 0, len(e.texts.text)+512)}
	for f, value := range e.call.values {
		w.field(f, value)
	}
	if e.call.Status != statusUnfinished {
		w.durationTokens(e.call.Duration.Microseconds())
	}
	w.breakText()
	w.text = append(w.text, e.texts.text...)
	return string(w.text)
}

// sessionKey stands for the session in the index; 0 is no session.
func sessionKey(session string) int64 {
	if session == "" {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(session))
	return int64(h.Sum64())
}

type changes struct {
	entries map[int64]*entry
	next    int64
	given   []int64 // calls over maxUnfinished, which stay unfinished
	steps   steps
	blocks  map[int64][2]int64
}

// commit writes the batch. It reports false if another process has changed the index meanwhile.
func (w *writer) commit(ctx context.Context, i *Index, s *store, f io.ReaderAt, p *position, b *batch) (wrote bool,
	err error) {
	if b.size == 0 {
		if expired, err := i.expired(ctx, s.write, p.oldest, p.next); err != nil || !expired {
			w.expiring = false
			return err == nil, err
		}
	}
	tx, err := s.begin(ctx, b.wait)
	if err != nil {
		return false, err
	}
	defer func() {
		if err != nil || !wrote {
			w.store = nil // what is in memory may be ahead
		}
		_ = tx.Rollback()
	}()
	now := position{}
	if err := now.load(ctx, tx); err != nil {
		return false, err
	}
	if now.commits != p.commits {
		return false, nil
	}
	if err := w.load(ctx, tx, s, p); err != nil {
		return false, err
	}
	c := &changes{entries: map[int64]*entry{}, next: p.next, steps: steps{}, blocks: map[int64][2]int64{}}
	for n := range b.events {
		if err := w.join(ctx, tx, f, c, &b.events[n]); err != nil {
			if _, changed := errors.AsType[*ChangedError](err); changed {
				return false, errors.Join(clearTables(ctx, tx), tx.Commit())
			}
			return false, err
		}
	}
	if err := w.write(ctx, tx, c); err != nil {
		return false, err
	}
	end := p.at + b.size
	oldest, err := w.expire(ctx, tx, i, p.oldest, c)
	if err != nil {
		return false, err
	}
	if err := c.steps.save(ctx, tx); err != nil {
		return false, err
	}
	first, last := sample{}, sample{}
	if f != nil {
		if first, err = takeSample(f, 0, min(end, sampled)); err != nil {
			return false, err
		}
		size := min(end, sampled)
		if last, err = takeSample(f, end-size, size); err != nil {
			return false, err
		}
	}
	_, err = tx.ExecContext(ctx, `UPDATE position SET file = ?, at = ?, first_size = ?, first_sum = ?, last_size = ?,
		last_sum = ?, oldest = ?, next = ?, commits = commits + 1`, b.file, end, first.size, notNil(first.sum), last.size,
		notNil(last.sum), oldest, c.next)
	if err != nil {
		return false, err
	}
	if err := tx.Commit(); err != nil {
		return false, err
	}
	w.commits = p.commits + 1
	w.expiring = oldest-p.oldest >= (maxExpired-1)*blockCalls
	return true, nil
}

func notNil(b []byte) []byte { return append([]byte{}, b...) }

// load reads what other processes, or this one before, have left unfinished.
func (w *writer) load(ctx context.Context, tx *sql.Tx, s *store, p *position) error {
	if w.store == s && w.commits == p.commits {
		return nil
	}
	*w = writer{seen: w.seen, store: s, commits: p.commits, unfinished: map[string]int64{}, series: map[series]int64{}}
	var c openCall
	return eachRow(ctx, tx, []any{&c.id, &c.number}, func() error {
		w.unfinished[c.id] = c.number
		w.order = append(w.order, c)
		return nil
	}, "SELECT call_id, id FROM unfinished ORDER BY id")
}

func (w *writer) join(ctx context.Context, tx *sql.Tx, f io.ReaderAt, c *changes, ev *event) error {
	r := &ev.record
	number, open := w.unfinished[r.CallID]
	e := c.entries[number]
	switch {
	case !open || r.CallID == "":
		number = c.next
		c.next++
		e = &entry{call: Call{Number: number}}
		c.entries[number] = e
	case e == nil:
		var err error
		if e, err = loadEntry(ctx, tx, f, number); err != nil {
			return err
		}
		c.entries[number] = e
	}
	e.add(r, ev.line)
	switch {
	case r.CallID == "":
	case r.Kind == audit.KindCall:
		delete(w.unfinished, r.CallID)
	case !open:
		w.unfinished[r.CallID] = number
		w.order = append(w.order, openCall{r.CallID, number})
		w.giveUp(c)
	}
	return nil
}

// giveUp stops waiting for the ends of the oldest calls when there are too many without one.
func (w *writer) giveUp(c *changes) {
	for len(w.unfinished) > maxUnfinished {
		first := w.order[0]
		w.order = w.order[1:]
		if w.unfinished[first.id] == first.number {
			delete(w.unfinished, first.id)
			c.given = append(c.given, first.number)
		}
	}
	if len(w.order) > 2*len(w.unfinished)+1024 {
		w.order = slices.DeleteFunc(slices.Clone(w.order), func(o openCall) bool { return w.unfinished[o.id] != o.number })
	}
}

func loadEntry(ctx context.Context, tx *sql.Tx, f io.ReaderAt, number int64) (*entry, error) {
	e := &entry{call: Call{Number: number}, old: &row{}}
	var lines []byte
	err := tx.QueryRowContext(ctx, "SELECT time, took, series, session, lines FROM calls WHERE id = ?", number).Scan(
		&e.old.time, &e.old.took, &e.old.series, &e.old.session, &lines)
	if err != nil {
		return nil, err
	}
	refs, err := decodeLines(lines)
	if err != nil {
		return nil, err
	}
	n := 0
	return e, readLines(f, refs, func(_ []byte, r *audit.Record) {
		e.add(r, refs[n])
		n++
	})
}

// write writes the calls of a batch. Their numbers ascend, as the full-text index takes it.
func (w *writer) write(ctx context.Context, tx *sql.Tx, c *changes) error {
	for _, number := range c.given {
		if _, err := tx.ExecContext(ctx, "DELETE FROM unfinished WHERE id = ?", number); err != nil {
			return err
		}
	}
	if len(c.entries) == 0 {
		return nil
	}
	calls, err := tx.PrepareContext(ctx, "INSERT OR REPLACE INTO calls VALUES (?, ?, ?, ?, ?, ?)")
	if err != nil {
		return err
	}
	defer func() { _ = calls.Close() }()
	words, err := tx.PrepareContext(ctx, "INSERT OR REPLACE INTO words(rowid, text) VALUES (?, ?)")
	if err != nil {
		return err
	}
	defer func() { _ = words.Close() }()
	for _, e := range c.entries {
		e.now = row{e.call.Time().UnixMicro(), e.call.Duration.Microseconds(), 0, sessionKey(e.call.SessionID)}
		key := series{e.call.Plugin, e.call.Tool, e.call.Status, e.call.Code}
		if e.now.series, err = w.seriesID(ctx, tx, key); err != nil {
			return err
		}
	}
	// A statement that can be rolled back alone, as that of seriesID, has the full-text index write what it holds in
	// memory.
	for _, number := range slices.Sorted(maps.Keys(c.entries)) {
		e, now := c.entries[number], c.entries[number].now
		if _, err := calls.ExecContext(ctx, number, now.time, now.took, now.series, now.session,
			encodeLines(e.lines)); err != nil {
			return err
		}
		if _, err := words.ExecContext(ctx, number, e.words()); err != nil {
			return err
		}
		if e.old != nil {
			c.steps.count(*e.old, -1)
		}
		c.steps.count(now, 1)
		c.widen(number/blockCalls, now.time)
		if err := w.keepUnfinished(ctx, tx, e); err != nil {
			return err
		}
	}
	for block, bounds := range c.blocks {
		_, err := tx.ExecContext(ctx, `INSERT INTO blocks VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET
			low = min(low, excluded.low), high = max(high, excluded.high)`, block, bounds[0], bounds[1])
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *changes) widen(block, time int64) {
	bounds, is := c.blocks[block]
	if !is {
		bounds = [2]int64{time, time}
	}
	c.blocks[block] = [2]int64{min(bounds[0], time), max(bounds[1], time)}
}

// keepUnfinished has the table of unfinished calls follow the map.
func (w *writer) keepUnfinished(ctx context.Context, tx *sql.Tx, e *entry) (err error) {
	number, open := w.unfinished[e.call.CallID]
	open = open && number == e.call.Number
	switch {
	case open && e.old == nil:
		_, err = tx.ExecContext(ctx, "INSERT INTO unfinished VALUES (?, ?)", number, e.call.CallID)
	case !open && e.old != nil:
		_, err = tx.ExecContext(ctx, "DELETE FROM unfinished WHERE id = ?", e.call.Number)
	}
	return err
}

// maxSeries is how many series are kept in memory; a record with more has made-up names of tools.
const maxSeries = 10_000

func (w *writer) seriesID(ctx context.Context, tx *sql.Tx, k series) (id int64, err error) {
	if id, is := w.series[k]; is {
		return id, nil
	}
	if len(w.series) == maxSeries {
		clear(w.series)
	}
	err = tx.QueryRowContext(ctx, `INSERT INTO series (plugin, tool, status, code) VALUES (?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET code = code RETURNING id`, k.plugin, k.tool, k.status, k.code).Scan(&id)
	if err == nil {
		w.series[k] = id
	}
	return id, err
}

// expired reports whether the block of the oldest call is to be removed.
func (i *Index) expired(ctx context.Context, q querier, oldest, next int64) (bool, error) {
	end := min((oldest/blockCalls+1)*blockCalls, next)
	switch {
	case end <= oldest:
		return false, nil
	case i.options.KeepCalls > 0 && next-end >= i.options.KeepCalls:
		return true, nil
	case i.options.KeepFor <= 0:
		return false, nil
	}
	var high int64
	err := q.QueryRowContext(ctx, "SELECT high FROM blocks WHERE id = ?", oldest/blockCalls).Scan(&high)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return high < time.Now().Add(-i.options.KeepFor).UnixMicro(), err
}

const maxExpired = 16 // how many blocks are removed at once

// expire removes whole blocks of calls that are too old or too many, and returns the number of the oldest call left.
func (w *writer) expire(ctx context.Context, tx *sql.Tx, i *Index, oldest int64, c *changes) (int64, error) {
	for range maxExpired {
		expired, err := i.expired(ctx, tx, oldest, c.next)
		if err != nil || !expired {
			return oldest, err
		}
		end := min((oldest/blockCalls+1)*blockCalls, c.next)
		if err := w.remove(ctx, tx, c, oldest, end); err != nil {
			return 0, err
		}
		oldest = end
	}
	return oldest, nil
}

// remove removes calls from..end-1 of one block.
func (w *writer) remove(ctx context.Context, tx *sql.Tx, c *changes, from, end int64) error {
	var r row
	err := eachRow(ctx, tx, []any{&r.time, &r.took, &r.series}, func() error {
		c.steps.count(r, -1)
		return nil
	}, "SELECT time, took, series FROM calls WHERE id >= ? AND id < ?", from, end)
	if err != nil {
		return err
	}
	for id, number := range w.unfinished {
		if number < end {
			delete(w.unfinished, id)
		}
	}
	for _, remove := range []string{"DELETE FROM words WHERE rowid >= ? AND rowid < ?",
		"DELETE FROM calls WHERE id >= ? AND id < ?", "DELETE FROM unfinished WHERE id >= ? AND id < ?"} {
		if _, err := tx.ExecContext(ctx, remove, from, end); err != nil {
			return err
		}
	}
	_, err = tx.ExecContext(ctx, "DELETE FROM blocks WHERE id = ? AND ? % ? = 0", from/blockCalls, end, blockCalls)
	return err
}
