package history

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host/audit"
)

func exported(t *testing.T, i *Index, f Filter, format string, limit int64) string {
	t.Helper()
	var out bytes.Buffer
	if err := i.Export(t.Context(), f, format, limit, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestJSONLinesAreThoseOfTheRecord(t *testing.T) {
	record := written(t, 9, 1500)
	i, o := synced(t, record), readOracle(t, record)
	lines := map[int64]string{} // by seq
	for line := range strings.Lines(readFile(t, record)) {
		if r, ok := audit.Parse([]byte(strings.TrimSuffix(line, "\n"))); ok {
			lines[r.Seq] = line
		}
	}
	for _, f := range []Filter{{}, {Status: "error"}, {Text: "nothing has it"}, {Plugin: "shell", Caller: "bob"}} {
		var want strings.Builder
		for _, c := range slices.Backward(o.search(&f)) {
			for _, r := range o.lines[c.Number-1] {
				want.WriteString(lines[r.Seq])
			}
		}
		if diff := cmp.Diff(want.String(), exported(t, i, f, FormatJSONL, 0)); diff != "" {
			t.Fatalf("%+v (-want +got):\n%s", f, diff)
		}
	}
	for _, limit := range []int64{1, 199, 200, 201, 450} {
		rows := strings.Count(exported(t, i, Filter{}, FormatCSV, limit), "\r\n") - 1
		if int64(rows) < limit { // a text may have such a line end
			t.Errorf("limit %d: %d rows", limit, rows)
		}
	}
}

func TestCSVHasAllCallsAndNoFormulas(t *testing.T) {
	record := recordPath(t)
	l := openLog(t, record)
	texts := []string{"=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "'=1", "＝1", `a","=1`, "a\r\n=1", "plain", "a=b",
		";=1", "\x00=1", `"`, "=cmd|' /C calc'!A0"}
	for n, text := range texts {
		appendAll(t, l, audit.Record{Time: day, Kind: audit.KindCall, CallID: fmt.Sprint(n), Status: "ok", Reason: text,
			DurationMS: 1.5})
	}
	i, o := synced(t, record), readOracle(t, record)
	in := csv.NewReader(strings.NewReader(exported(t, i, Filter{}, FormatCSV, 0)))
	rows, err := in.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1+len(texts) || !slices.Equal(rows[0], csvColumns[:]) {
		t.Fatalf("%d rows, %q", len(rows), rows[0])
	}
	for n, row := range rows[1:] {
		for _, cell := range row {
			if cell != "" && (strings.ContainsAny(cell[:1], "=+-@\t\r\n\x00") || strings.HasPrefix(cell, "＝")) {
				t.Errorf("row %d has the formula %q", n, cell)
			}
		}
		want := strings.ReplaceAll(o.calls[n].Reason, "\x00", "\ufffd")
		if got := strings.TrimPrefix(row[slices.Index(rows[0], "reason")], "'"); strings.ReplaceAll(got, "\r\n", "\n") !=
			strings.ReplaceAll(want, "\r\n", "\n") { // the reader of CSV changes line ends
			t.Errorf("row %d has the reason %q, want %q", n, got, want)
		}
	}
}

func TestExportRefusals(t *testing.T) {
	i := synced(t, written(t, 1, 20))
	for _, c := range []struct {
		f      Filter
		format string
		limit  int64
	}{{Filter{}, "xml", 0}, {Filter{}, FormatCSV, -1}, {Filter{Text: "..."}, FormatCSV, 0}} {
		err := i.Export(t.Context(), c.f, c.format, c.limit, io.Discard)
		if _, is := errors.AsType[*FilterError](err); !is {
			t.Errorf("%+v: %v", c, err)
		}
	}
	full := errors.New("full")
	if err := i.Export(t.Context(), Filter{}, FormatCSV, 0, failing{full}); !errors.Is(err, full) {
		t.Error(err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
