package history

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/host/audit"
)

// A Page says which calls of those that match are returned.
type Page struct {
	// Size is the page size, 1 to 1000; 0 means 100. A page holds fewer calls if their lines exceed 4 MiB.
	Size int
	// Cursor is that of the Result before, "" for the first page. Pages are stable while records are added: no call is on
	// two of them, and none is left out but new ones.
	Cursor string
	// OldestFirst turns the order.
	OldestFirst bool
	// Count also counts all calls that match.
	Count bool
}

// A Result are calls in the order of their first lines.
type Result struct {
	Calls []Call
	// Cursor is for the next page, "" on the last one.
	Cursor string
	// Count is how many calls match, where it was asked for. AtLeast says that there are more: no more than 100,000 are
	// counted, unless there is no filter but for the time.
	Count   int64
	AtLeast bool
}

const (
	defaultPage = 100
	maxPage     = 1000
	maxRead     = 4 << 20 // bytes of lines that are read for a page
	maxCount    = 100_000
)

// Search returns calls, the newest first. It also finds what was recorded just before, unless the index is far behind;
// see State. It returns a FilterError for an invalid filter or cursor, and a RebuildError or ChangedError if the index
// is being rebuilt.
func (i *Index) Search(ctx context.Context, f Filter, page Page) (*Result, error) {
	out := &Result{}
	err := i.onSnapshot(ctx, func(v *view) error {
		rows, next, count, err := v.page(ctx, &f, page)
		if err != nil {
			return err
		}
		*out = Result{Cursor: next, Count: count.calls, AtLeast: count.more}
		read := 0
		for n, r := range rows {
			c, err := v.call(r, func(line []byte, _ *audit.Record) { read += len(line) })
			if err != nil {
				return err
			}
			out.Calls = append(out.Calls, c)
			if read > maxRead && n < len(rows)-1 {
				out.Cursor = v.cursor(r.number)
				return nil
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// A CallLines is a call with its lines of the record, the oldest first.
type CallLines struct {
	Call
	Lines [][]byte
}

// Lines returns the calls of an id with their lines, the oldest first: one, unless the id was used again. Of many it
// returns the newest 100, and at most 1000 lines of 4 MiB.
func (i *Index) Lines(ctx context.Context, callID string) (calls []CallLines, err error) {
	err = i.onSnapshot(ctx, func(v *view) error {
		calls = nil
		lines, read := 0, 0
		rows, _, _, err := v.page(ctx, &Filter{CallID: callID}, Page{Size: defaultPage})
		if err != nil {
			return err
		}
		for _, r := range rows {
			var one CallLines
			one.Call, err = v.call(r, func(line []byte, _ *audit.Record) {
				if read += len(line); lines < maxPage && (read <= maxRead || lines == 0) {
					one.Lines = append(one.Lines, line)
					lines++
				}
			})
			if err != nil {
				return err
			}
			calls = append(calls, one)
			if read > maxRead {
				break
			}
		}
		slices.Reverse(calls)
		return nil
	})
	return calls, err
}

// A view is the index and the record at one moment.
type view struct {
	db     querier
	record *os.File // nil if there is none
	position
}

// onSnapshot runs f on the index as it is now. When the record turns out to have changed, the index is cleared.
func (i *Index) onSnapshot(ctx context.Context, f func(*view) error) error {
	if err := i.catchUp(ctx); err != nil && !errors.Is(err, ErrLocked) { // what is there already can be searched
		return err
	}
	err := i.use(ctx, func(s *store) error {
		tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }()
		v := &view{db: tx}
		if err := v.load(ctx, tx); err != nil {
			return err
		}
		v.record, err = openRecord(i.options.Record)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if v.record != nil {
			defer v.record.Close()
			if err := v.sameRecord(); err != nil {
				return err
			}
		}
		return f(v)
	})
	if _, changed := errors.AsType[*ChangedError](err); changed {
		clearing := i.alone(ctx, func() error {
			return i.use(ctx, func(s *store) error { return i.writer.clear(ctx, s) })
		})
		return errors.Join(err, clearing)
	}
	return err
}

// sameRecord checks that the file is the one of the index; it may have been replaced a moment ago.
func (v *view) sameRecord() error {
	info, err := v.record.Stat()
	if err != nil {
		return err
	}
	if v.file != "" && v.file != identity(info) {
		return &RebuildError{Index: "of the history", Why: errors.New("the record is another file than before")}
	}
	return nil
}

type foundRow struct {
	number int64
	lines  []byte
}

func (v *view) call(r foundRow, each func(text []byte, r *audit.Record)) (Call, error) {
	c := Call{Number: r.number}
	refs, err := decodeLines(r.lines)
	if err != nil {
		return c, err
	}
	if v.record == nil {
		return c, &RebuildError{Index: "of the history", Why: errors.New("the record is gone")}
	}
	return c, readLines(v.record, refs, func(text []byte, r *audit.Record) {
		c.add(r)
		if each != nil {
			each(text, r)
		}
	})
}

// page returns rows of the calls that match, the cursor for the next page, and how many match if that is asked for.
func (v *view) page(ctx context.Context, f *Filter, p Page) (rows []foundRow, next string, count count, err error) {
	if p.Size < 0 || p.Size > maxPage {
		return nil, "", count, &FilterError{fmt.Sprintf("a page has 1 to %d calls, not %d", maxPage, p.Size)}
	}
	p.Size = cmp.Or(p.Size, defaultPage)
	after, err := v.parseCursor(p.Cursor)
	if err != nil {
		return nil, "", count, err
	}
	q, err := f.compile(ctx, v.db)
	if err != nil {
		return nil, "", count, err
	}
	spans, err := q.spans(ctx, v.db, &v.position)
	if err != nil {
		return nil, "", count, err
	}
	if p.Count {
		if count, err = q.count(ctx, v.db, spans); err != nil {
			return nil, "", count, err
		}
	}
	rows, err = q.rows(ctx, v.db, spans, after, p.Size+1, p.OldestFirst)
	if err != nil {
		return nil, "", count, err
	}
	if len(rows) > p.Size {
		rows = rows[:p.Size]
		next = v.cursor(rows[p.Size-1].number)
	}
	return rows, next, count, nil
}

func (v *view) cursor(number int64) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%x %d", v.build, number))
}

// parseCursor returns the number of the last call that was returned, 0 on the first page.
func (v *view) parseCursor(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	plain, err := base64.RawURLEncoding.DecodeString(text)
	build, digits, _ := strings.Cut(string(plain), " ")
	number, errNumber := strconv.ParseInt(digits, 10, 64)
	switch {
	case err != nil || errNumber != nil || number < 1:
		return 0, &FilterError{"the cursor is none of a page before; begin with the first page"}
	case build != hex.EncodeToString(v.build):
		return 0, &FilterError{"the index was made again since the page before; begin with the first page"}
	}
	return number, nil
}

// A count is a number of calls, or the least that there are.
type count struct {
	calls int64
	more  bool
}

// rows returns up to limit rows after the call with the number after.
func (q *query) rows(ctx context.Context, db querier, spans []span, after int64, limit int, oldestFirst bool) (
	out []foundRow, err error) {
	for n := range spans {
		s := spans[n]
		if !oldestFirst {
			s = spans[len(spans)-1-n]
		}
		switch {
		case after == 0:
		case oldestFirst:
			s.from = max(s.from, after+1)
		default:
			s.end = min(s.end, after)
		}
		if s.from >= s.end {
			continue
		}
		text, args := q.sql("c.id, c.lines", true, q.match, q.took, s)
		text += " ORDER BY " + q.id()
		if !oldestFirst {
			text += " DESC"
		}
		var r foundRow
		err := eachRow(ctx, db, []any{&r.number, &r.lines}, func() error {
			out = append(out, r)
			return nil
		}, text+" LIMIT ?", append(args, limit-len(out))...)
		if err != nil {
			return nil, err
		}
		if len(out) == limit {
			return out, nil
		}
	}
	return out, nil
}

func (q *query) id() string {
	if q.match == "" {
		return "c.id"
	}
	return "words.rowid"
}

// sql returns a query for calls of a span. The full-text index is the outer loop, in the order of its row ids.
func (q *query) sql(columns string, join bool, match string, took int64, s span) (text string, args []any) {
	checked := !s.whole || took > 0
	id := "words.rowid"
	switch {
	case match == "":
		text, id = "SELECT "+columns+" FROM calls c WHERE 1", "c.id"
	case join || checked:
		text = "SELECT " + columns + " FROM words CROSS JOIN calls c ON c.id = words.rowid WHERE words MATCH ?"
		args = append(args, match)
	default:
		text = "SELECT " + columns + " FROM words WHERE words MATCH ?"
		args = append(args, match)
	}
	text += " AND " + id + " >= ? AND " + id + " < ?"
	args = append(args, s.from, s.end)
	if !s.whole {
		text += " AND c.time >= ? AND c.time < ?"
		args = append(args, q.since, q.until)
	}
	if took > 0 {
		text += " AND c.took >= ?"
		args = append(args, took)
	}
	return text, args
}

// count counts the calls that match, up to a limit: a million that match words take longer than a page of them.
func (q *query) count(ctx context.Context, db querier, spans []span) (out count, err error) {
	for _, s := range spans {
		if q.match == "" && s.whole {
			out.calls += s.end - s.from // numbers have no gaps
			continue
		}
		parts := map[string]int64{q.match: 0}
		if q.edge != "" { // counts of many alternatives take twice as long as their sum
			parts = map[string]int64{q.edge: q.took}
			for _, match := range q.above {
				parts[match] = 0
			}
		}
		for match, took := range parts {
			text, args := q.sql("1", false, match, took, s)
			var n int64
			err := db.QueryRowContext(ctx, "SELECT count(*) FROM ("+text+" LIMIT ?)", append(args, maxCount+1)...).Scan(&n)
			if err != nil {
				return out, err
			}
			if out.calls += n; n > maxCount || out.calls > maxCount && q.match != "" {
				return count{maxCount, true}, nil
			}
		}
	}
	return out, nil
}
