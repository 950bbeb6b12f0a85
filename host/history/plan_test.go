package history

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// A query that reads a whole table, or sorts, takes longer with each call that is recorded.
func TestQueriesUseIndexes(t *testing.T) {
	i := synced(t, written(t, 4, 3000))
	r := rand.New(rand.NewPCG(4, 9))
	plans := map[string]int{}
	explain := func(s *store, text string, args []any) {
		t.Helper()
		rows, err := s.read.Query("EXPLAIN QUERY PLAN "+text, args...)
		if err != nil {
			t.Fatal(text, err)
		}
		defer rows.Close()
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatal(err)
			}
			plans[detail]++
			// The virtual table is always scanned; after the colon is what it searches: M a match, > and < row ids.
			search := strings.HasPrefix(detail, "SEARCH ") || strings.HasPrefix(detail, "SCAN words VIRTUAL TABLE INDEX") &&
				strings.Contains(detail[strings.Index(detail, ":")+1:], "M")
			if !search && !strings.HasPrefix(detail, "CO-ROUTINE") && !strings.HasPrefix(detail, "SCAN (subquery") {
				t.Errorf("%s\n%s", detail, text)
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	err := i.use(t.Context(), func(s *store) error {
		var p position
		if err := p.load(t.Context(), s.read); err != nil {
			return err
		}
		for range 300 {
			f := someFilter(r, 3000)
			q, err := f.compile(t.Context(), s.read)
			if err != nil {
				continue
			}
			spans, err := q.spans(t.Context(), s.read, &p)
			if err != nil {
				return err
			}
			for _, span := range spans {
				for _, order := range []string{" ORDER BY " + q.id() + " DESC LIMIT 100", " ORDER BY " + q.id() + " LIMIT 100"} {
					text, args := q.sql("c.id, c.lines", true, q.match, q.took, span)
					explain(s, text+order, args)
				}
				text, args := q.sql("1", false, q.match, q.took, span)
				explain(s, fmt.Sprintf("SELECT count(*) FROM (%s LIMIT %d)", text, maxCount+1), args)
			}
		}
		explain(s, "SELECT step, cells FROM steps WHERE width = 1 AND step >= 1 AND step < 5", nil)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(plans)
}
