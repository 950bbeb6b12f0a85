package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk/workspace"
)

// Limits of a notebook, beyond which it is read as the JSON that it is, or shown in part.
const (
	maxNotebook = 16 << 20
	maxCells    = 5000
	maxOutputs  = 100 // of a cell
	maxOutput   = 8 << 10
)

// notebook shows the cells of a notebook. What is not one is shown as text, with the reason.
func (r *readCall) notebook(ctx context.Context, f *os.File, p *workspace.Place) (*fileView, error) {
	if size := p.Info.Size(); size > maxNotebook {
		return r.notAsNotebook(ctx, f, p, fmt.Sprintf("it has %d bytes, at most %d are taken apart", size, maxNotebook))
	}
	data, err := io.ReadAll(io.LimitReader(newSource(ctx, f, p.Info.Size()), maxNotebook))
	if err != nil {
		return nil, workspace.Explain(p.Path, err)
	}
	n := notebook{ctx: ctx}
	if err := n.read(bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))); ctx.Err() != nil {
		return nil, ctx.Err()
	} else if err != nil {
		return r.notAsNotebook(ctx, f, p, reason(err))
	}
	return r.cells(&n, p, workspace.Etag(data))
}

func (r *readCall) notAsNotebook(ctx context.Context, f *os.File, p *workspace.Place, why string) (*fileView, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, workspace.Explain(p.Path, err)
	}
	v, err := r.text(ctx, f, p)
	if err == nil {
		v.notes = append([]string{"shown as text, not as a notebook: " + why}, v.notes...)
	}
	return v, err
}

// cells makes the view of a notebook: lines are those of what is shown, not those of the file.
func (r *readCall) cells(n *notebook, p *workspace.Place, etag string) (*fileView, error) {
	e := &excerpt{window: r.window, countRest: true}
	in := bufio.NewReader(&n.out)
	if r.tail > 0 {
		var end tailReader
		_ = end.read(in) // of memory, which never fails
		e = end.excerpt(r.window)
	} else if err := e.read(in); err != nil {
		return nil, err
	}
	if r.tail == 0 && r.first > max(e.total, 1) {
		return nil, outOfRange(p, r.first, e.total)
	}
	note := "a notebook of " + textutil.Count(n.cells, "cell") +
		"; lines are counted as shown here; to edit it, read it with raw=true first"
	v := e.view(p.Path, &decoded{textEncoding: utf8Coding, note: note}, etag)
	v.Cells = n.cells
	return v, nil
}

func reason(err error) string {
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("its JSON is broken near byte %d: %v", e.Offset, e)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return "its JSON ends too early"
	}
	return err.Error()
}

// A notebook is written out cell by cell while it is read, so that it is never held in full.
type notebook struct {
	ctx   context.Context
	out   bytes.Buffer
	cells int
}

// A cell is one of a notebook, as far as it is shown; see
// https://nbformat.readthedocs.io/en/latest/format_description.html.
type cell struct {
	Type    string          `json:"cell_type"`
	Source  lines           `json:"source"`
	Run     *int            `json:"execution_count"`
	Outputs json.RawMessage `json:"outputs"`
}

var errNoCells = errors.New("it has no list of cells")

func (n *notebook) read(data []byte) error {
	dec, found := json.NewDecoder(bytes.NewReader(data)), false
	err := eachMember(dec, func(key string) error {
		if key != "cells" || found {
			return skip(dec)
		}
		found = true
		return each(dec, '[', errNoCells, func() error { return n.readCell(dec) })
	})
	if err == nil && !found {
		return errNoCells
	}
	return err
}

func (n *notebook) readCell(dec *json.Decoder) error {
	if err := n.ctx.Err(); err != nil {
		return err
	}
	if n.cells++; n.cells > maxCells {
		if n.cells == maxCells+1 {
			fmt.Fprintf(&n.out, "=== only the first %d cells are shown; raw=true reads all ===\n", maxCells)
		}
		return skip(dec)
	}
	var c cell
	if err := dec.Decode(&c); err != nil {
		return err
	}
	fmt.Fprintf(&n.out, "=== cell %d, %s ===\n", n.cells, c.kind())
	n.put(string(c.Source))
	return n.outputs(c.Outputs)
}

// kind says what a cell is; one of code, whether and when it was run.
func (c *cell) kind() string {
	switch {
	case c.Type != "code":
		return printable(c.Type)
	case c.Run == nil:
		return "code, not run"
	}
	return fmt.Sprintf("code, run %d", *c.Run)
}

// put writes a text that ends with a newline, and a blank line.
func (n *notebook) put(text string) {
	n.out.WriteString(text)
	if text != "" && text[len(text)-1] != '\n' {
		n.out.WriteByte('\n')
	}
	n.out.WriteByte('\n')
}

// outputs writes what a cell has printed and shown when it was run.
func (n *notebook) outputs(data json.RawMessage) error {
	if len(data) == 0 || string(data) == "null" {
		return nil
	}
	dec, i := json.NewDecoder(bytes.NewReader(data)), 0
	return each(dec, '[', errors.New("a cell's outputs are not a list"), func() error {
		if i++; i > maxOutputs {
			if i == maxOutputs+1 {
				fmt.Fprintf(&n.out, "--- only the first %d outputs of cell %d are shown; raw=true reads all ---\n", maxOutputs,
					n.cells)
			}
			return skip(dec)
		}
		var o output
		if err := dec.Decode(&o); err != nil {
			return err
		}
		n.output(&o)
		return nil
	})
}

// An output is one that a cell of code has printed or shown, or its error.
type output struct {
	Type      string `json:"output_type"`
	Name      string `json:"name"` // of a stream
	Text      lines  `json:"text"`
	Data      bundle `json:"data"`
	Error     string `json:"ename"`
	Message   string `json:"evalue"`
	Traceback trace  `json:"traceback"`
}

// output writes the text of an output, and says what else there is.
func (n *notebook) output(o *output) {
	switch {
	case o.Type == "error":
		n.printed("error", cmp.Or(string(o.Traceback), o.Error+": "+o.Message))
	case o.Type == "stream":
		n.printed(o.Name, string(o.Text))
	case o.Data.hasText:
		n.printed("output", string(o.Data.text))
	}
	for _, other := range o.Data.others {
		fmt.Fprintf(&n.out, "--- output of cell %d: %s, not shown ---\n\n", n.cells, other)
	}
}

func (n *notebook) printed(what, text string) {
	text = colours.ReplaceAllString(text, "")
	fmt.Fprintf(&n.out, "--- %s of cell %d ---\n", printable(what), n.cells)
	if len(text) > maxOutput {
		short := textutil.TrimPartialEnd([]byte(text[:maxOutput]))
		text = fmt.Sprintf("%s\n--- %d more bytes of it are not shown; raw=true reads all ---\n", short, len(text)-len(short))
	}
	n.put(text)
}

// colours are the escape sequences by which tracebacks are coloured.
var colours = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)

// lines are a text that a notebook may have in one string or in several.
type lines string

// UnmarshalJSON takes a string, a list of strings, or null.
func (l *lines) UnmarshalJSON(data []byte) error {
	text, err := joined(data, "")
	*l = lines(text)
	return err
}

// A trace is a list of texts without line ends.
type trace string

// UnmarshalJSON takes what lines take.
func (t *trace) UnmarshalJSON(data []byte) error {
	text, err := joined(data, "\n")
	*t = trace(text)
	return err
}

func joined(data []byte, between string) (string, error) {
	if data[0] != '[' {
		var text string
		err := json.Unmarshal(data, &text)
		return text, err
	}
	var out strings.Builder
	dec := json.NewDecoder(bytes.NewReader(data))
	err := each(dec, '[', nil, func() error {
		var text string
		err := dec.Decode(&text)
		if out.Len() > 0 {
			out.WriteString(between)
		}
		out.WriteString(text)
		return err
	})
	return out.String(), err
}

// A bundle is one thing in several forms, by MIME type. Only plain text is taken; of the others it is known that they
// exist.
type bundle struct {
	text    lines
	hasText bool
	others  []string
}

// UnmarshalJSON takes an object of lines or JSON values, or null.
func (b *bundle) UnmarshalJSON(data []byte) error {
	if data[0] != '{' {
		return json.Unmarshal(data, &struct{}{})
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	return eachMember(dec, func(mimeType string) error {
		if mimeType == "text/plain" {
			b.hasText = true
			return dec.Decode(&b.text)
		}
		var form json.RawMessage
		if err := dec.Decode(&form); err != nil || len(b.others) == maxOutputs {
			return err
		}
		b.others = append(b.others, fmt.Sprintf("%.100s of %d bytes", printable(mimeType), sizeOf(mimeType, form)))
		return nil
	})
}

// sizeOf is the size of a form, that of an image about what it has when it is decoded.
func sizeOf(mimeType string, form json.RawMessage) int {
	size := max(len(form)-len(`""`), 0)
	if strings.HasPrefix(mimeType, "image/") && mimeType != "image/svg+xml" {
		size = size * 3 / 4
	}
	return size
}

var errNoObject = errors.New("it is no JSON object")

// eachMember calls do for every member of the object that comes next. Do takes the value from dec.
func eachMember(dec *json.Decoder, do func(key string) error) error {
	return each(dec, '{', errNoObject, func() error {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		return do(key.(string)) // the decoder lets nothing else be a key
	})
}

// each calls do for every element of the list or member of the object that comes next, and gives wrong when what
// comes does not begin so. Do takes it from dec.
func each(dec *json.Decoder, begin json.Delim, wrong error, do func() error) error {
	if t, err := dec.Token(); err != nil {
		return err
	} else if t != begin {
		return wrong
	}
	for dec.More() {
		if err := do(); err != nil {
			return err
		}
	}
	_, err := dec.Token()
	return err
}

func skip(dec *json.Decoder) error {
	var value json.RawMessage
	return dec.Decode(&value)
}
