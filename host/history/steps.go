package history

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"time"
)

// Calls are counted by series, duration and time as they are indexed, in steps of several widths, so that a plot of a
// year reads some hundred rows and not all calls.

// widths are those of steps, in microseconds.
var widths = [...]int64{int64(time.Minute / 1000), int64(10 * time.Minute / 1000), int64(time.Hour / 1000),
	int64(24 * time.Hour / 1000)}

// steps are counts that are to be added to those of the index.
type steps map[stepKey]cells

type stepKey struct{ width, step int64 }

// cells are counts by series and class of duration.
type cells map[cellKey]int64

type cellKey struct {
	series int64
	class  int
}

// floorDiv rounds down, also for times before 1970.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func (s steps) count(r row, n int64) {
	for _, width := range widths {
		key := stepKey{width, floorDiv(r.time, width)}
		if s[key] == nil {
			s[key] = cells{}
		}
		s[key][cellKey{r.series, classOf(r.took)}] += n
	}
}

func (s steps) save(ctx context.Context, tx *sql.Tx) error {
	if len(s) == 0 {
		return nil
	}
	load, err := tx.PrepareContext(ctx, "SELECT cells FROM steps WHERE width = ? AND step = ?")
	if err != nil {
		return err
	}
	defer func() { _ = load.Close() }()
	save, err := tx.PrepareContext(ctx, "INSERT OR REPLACE INTO steps VALUES (?, ?, ?)")
	if err != nil {
		return err
	}
	defer func() { _ = save.Close() }()
	for key, add := range s {
		var data []byte
		err := load.QueryRowContext(ctx, key.width, key.step).Scan(&data)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if err := decodeCells(data, func(k cellKey, n int64) { add[k] += n }); err != nil {
			return err
		}
		if data = encodeCells(add); len(data) == 0 {
			_, err = tx.ExecContext(ctx, "DELETE FROM steps WHERE width = ? AND step = ?", key.width, key.step)
		} else {
			_, err = save.ExecContext(ctx, key.width, key.step, data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// encodeCells writes counts other than zero as series, class, count.
func encodeCells(c cells) (out []byte) {
	keys := slices.SortedFunc(maps.Keys(c), func(a, b cellKey) int {
		return cmp.Or(cmp.Compare(a.series, b.series), cmp.Compare(a.class, b.class))
	})
	for _, k := range keys {
		if n := c[k]; n > 0 {
			out = binary.AppendUvarint(out, uint64(k.series))
			out = binary.AppendUvarint(out, uint64(k.class))
			out = binary.AppendUvarint(out, uint64(n))
		}
	}
	return out
}

func decodeCells(data []byte, each func(cellKey, int64)) error {
	for len(data) > 0 {
		var numbers [3]uint64
		for i := range numbers {
			n, size := binary.Uvarint(data)
			if size <= 0 {
				return errors.New("counts in the index cannot be read")
			}
			numbers[i], data = n, data[size:]
		}
		each(cellKey{int64(numbers[0]), int(numbers[1])}, int64(numbers[2]))
	}
	return nil
}
