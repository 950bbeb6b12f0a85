package history

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/audit"
)

// Formats of an export.
const (
	FormatJSONL = "jsonl"
	FormatCSV   = "csv"
)

const exportPage = 200 // calls that are read at once; between two pages the index is not held

// Export writes the calls that match, oldest first, limit of them at most, 0 for all. It begins with a Sync.
// FormatJSONL writes the lines of the record byte for byte, those of one call together; FormatCSV writes a heading and
// a row for each call, without arguments and results. Each Write has whole lines. Calls that are recorded meanwhile may
// be left out.
//
// A program for tables takes a cell that begins with = + - @ or a control character for a formula. Such a text gets a '
// before it, and so does one that begins with a ', so that removing one ' gives the text back. All cells are quoted.
func (i *Index) Export(ctx context.Context, f Filter, format string, limit int64, w io.Writer) error {
	if format != FormatJSONL && format != FormatCSV {
		return &FilterError{fmt.Sprintf("%q is not a format of exports; there are %s and %s", format, FormatJSONL, FormatCSV)}
	}
	if limit < 0 {
		return &FilterError{"the number of calls to export is below zero"}
	}
	if err := i.Sync(ctx); err != nil { // an export is kept, so that calls that are not indexed yet would be missed
		return err
	}
	if format == FormatCSV {
		if _, err := io.WriteString(w, csvLine(csvColumns[:])); err != nil {
			return err
		}
	}
	page := Page{Size: exportPage, OldestFirst: true}
	for left := limit; ; {
		if limit > 0 {
			page.Size = int(min(left, exportPage))
		}
		next, n, err := i.exportPage(ctx, f, page, format, w)
		if left -= n; err != nil || next == "" || limit > 0 && left <= 0 {
			return err
		}
		page.Cursor = next
	}
}

// exportPage writes one page. What is slow to be written does not keep the index busy: the page is in memory by then,
// or as much of it as maxExported.
func (i *Index) exportPage(ctx context.Context, f Filter, page Page, format string, w io.Writer) (next string, n int64,
	err error) {
	var text bytes.Buffer
	err = i.onSnapshot(ctx, func(v *view) error {
		text.Reset()
		n = 0
		rows, after, _, err := v.page(ctx, &f, page)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if text.Len() > maxExported {
				after = v.cursor(r.number - 1)
				break
			}
			c, err := v.call(r, func(line []byte, _ *audit.Record) {
				if format == FormatJSONL {
					text.Write(line)
					text.WriteByte('\n')
				}
			})
			if err != nil {
				return err
			}
			if format == FormatCSV {
				text.WriteString(csvLine(c.csv()))
			}
			n++
		}
		next = after
		return nil
	})
	if err != nil || n == 0 {
		return "", 0, err
	}
	_, err = w.Write(text.Bytes())
	return next, n, err
}

const maxExported = 4 << 20 // how many bytes of a page are written at once, but for the last call

var csvColumns = [...]string{"number", "time", "decided", "ended", "call_id", "tool", "plugin", "caller", "session_id",
	"workdir", "via_tool", "via_call_id", "effect", "rule", "layer", "source", "reason", "approval_answer", "approval_by",
	"approval_scope", "status", "code", "name", "outcome", "error_reason", "duration_ms", "attempts", "generation",
	"arguments_bytes", "result_bytes", "arguments_sha256", "result_sha256"}

func (c *Call) csv() []string {
	approval := c.Approval
	if approval == nil {
		approval = &audit.Approval{}
	}
	return []string{strconv.FormatInt(c.Number, 10), csvTime(c.Time()), csvTime(c.Decided), csvTime(c.Ended), c.CallID,
		c.Tool, c.Plugin, c.Caller, c.SessionID, c.Workdir, c.ViaTool, c.ViaCallID, c.Effect, c.Rule, c.Layer, c.Source,
		c.Reason, approval.Answer, approval.By, approval.Scope, c.Status, c.Code, c.Name, c.Outcome, c.ErrorReason,
		strconv.FormatFloat(float64(c.Duration.Microseconds())/1000, 'f', -1, 64), strconv.Itoa(c.Attempts),
		strconv.Itoa(c.Generation), strconv.FormatInt(c.ArgumentsBytes, 10), strconv.FormatInt(c.ResultBytes, 10),
		c.ArgumentsSHA256, c.ResultSHA256}
}

func csvTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// csvLine quotes each cell: a program may take another character than the comma for the border of cells.
func csvLine(cells []string) string {
	var out strings.Builder
	for i, cell := range cells {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteByte('"')
		out.WriteString(strings.ReplaceAll(csvSafe(cell), `"`, `""`))
		out.WriteByte('"')
	}
	out.WriteString("\r\n")
	return out.String()
}

// csvSafe makes a cell a text to programs for tables.
func csvSafe(cell string) string {
	cell = strings.ReplaceAll(cell, "\x00", "\ufffd") // ends the file for some
	if cell != "" && (strings.ContainsRune("=+-@'", rune(cell[0])) || cell[0] < ' ' || cell[0] == 0x7f ||
		strings.HasPrefix(cell, "＝") || strings.HasPrefix(cell, "＋") || strings.HasPrefix(cell, "－") ||
		strings.HasPrefix(cell, "＠")) {
		return "'" + cell
	}
	return cell
}
