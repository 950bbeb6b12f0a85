package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/sdk/workspace"
)

const analysis = `{
 "cells": [
  {"cell_type": "markdown", "metadata": {}, "source": ["# Sales\n", "by month"]},
  {"cell_type": "code", "execution_count": 3, "metadata": {}, "source": "import pandas\nprint('loaded')\n", "outputs": [
    {"output_type": "stream", "name": "stdout", "text": ["loaded\n", "12 rows\n"]},
    {"output_type": "execute_result", "execution_count": 3, "metadata": {}, "data": {"text/html": ["<table>", "</table>"], "text/plain": ["   month\n", "0  May"]}}]},
  {"cell_type": "code", "execution_count": null, "metadata": {}, "source": [], "outputs": []},
  {"cell_type": "code", "execution_count": 4, "metadata": {}, "source": "plot()", "outputs": [
    {"output_type": "display_data", "metadata": {}, "data": {"image/png": "iVBORw0KGgoAAAAN"}},
    {"output_type": "error", "ename": "ValueError", "evalue": "no data", "traceback": ["\u001b[0;31mValueError\u001b[0m", "no data"]},
    {"output_type": "error", "ename": "KeyError", "evalue": "'x'", "traceback": []}]},
  {"cell_type": "raw", "metadata": {}, "source": "left as it is"}
 ],
 "metadata": {"kernelspec": {"name": "python3"}}, "nbformat": 4, "nbformat_minor": 5
}
`

const analysisView = `=== cell 1, markdown ===
# Sales
by month

=== cell 2, code, run 3 ===
import pandas
print('loaded')

--- stdout of cell 2 ---
loaded
12 rows

--- output of cell 2 ---
   month
0  May

--- output of cell 2: text/html of 21 bytes, not shown ---

=== cell 3, code, not run ===

=== cell 4, code, run 4 ===
plot()

--- output of cell 4: image/png of 12 bytes, not shown ---

--- error of cell 4 ---
ValueError
no data

--- error of cell 4 ---
KeyError: 'x'

=== cell 5, raw ===
left as it is

`

const notebookNote = "[a notebook of 5 cells; lines are counted as shown here; to edit it, read it with raw=true first]"

func TestNotebook(t *testing.T) {
	f := start(t, "a.ipynb", analysis, "b.IPYNB", "\xEF\xBB\xBF"+analysis)
	etag := "[etag " + workspace.Etag([]byte(analysis)) + "]"
	r := f.run(t, "read", `{"path":"a.ipynb"}`)
	if diff := cmp.Diff(analysisView+notebookNote+"\n"+etag, text(r)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if out := structured[readOutput](t, r); out.Cells != 5 || out.Etag != workspace.Etag([]byte(analysis)) ||
		out.Truncated {
		t.Errorf("structured as %s", r.Structured)
	}
	if got := f.run(t, "read", `{"path":"b.IPYNB"}`); got.Content[0].Text != analysisView {
		t.Errorf("with a byte order mark: %s", text(got))
	}
	if got, want := text(f.run(t, "read", `{"path":"a.ipynb","raw":true}`)), analysis+etag; got != want {
		t.Errorf("raw: %s", got)
	}
	tests := []struct{ arguments, want string }{
		{`"start_line":5,"end_line":6`,
			"=== cell 2, code, run 3 ===\nimport pandas\n[lines 5-6 of 35; continue with start_line=7]\n" + notebookNote},
		{`"tail":2`, "left as it is\n\n[lines 34-35 of 35; for those before use start_line and end_line=33]\n" +
			notebookNote},
		{`"max_bytes":30,"line_numbers":true`, "     1\t=== cell 1, markdown ="},
	}
	for _, test := range tests {
		if got := text(f.run(t, "read", `{"path":"a.ipynb",%s}`, test.arguments)); !strings.HasPrefix(got, test.want) {
			t.Errorf("%s gives %s", test.arguments, got)
		}
	}
	f.fails(t, "LineOutOfRange", "read", `{"path":"a.ipynb","start_line":40}`)
}

func TestBrokenNotebooks(t *testing.T) {
	tests := []struct{ name, content, note string }{
		{"nothing", "", "its JSON ends too early"},
		{"cut off", analysis[:300], "its JSON ends too early"},
		{"no JSON", "print(1)", "its JSON is broken near byte"},
		{"no object", "[1]", "it is no JSON object"},
		{"no cells", `{"nbformat":4}`, "it has no list of cells"},
		{"older cells", `{"worksheets":[{"cells":[]}],"nbformat":3}`, "it has no list of cells"},
		{"cells of another kind", `{"cells":{}}`, "it has no list of cells"},
		{"a cell of another kind", `{"cells":[1]}`, "cannot unmarshal number"},
		{"a source of another kind", `{"cells":[{"source":7}]}`, "cannot unmarshal number"},
		{"a list of another kind", `{"cells":[{"source":[7]}]}`, "cannot unmarshal number"},
		{"outputs of another kind", `{"cells":[{"outputs":{}}]}`, "a cell's outputs are not a list"},
		{"a form of another kind", `{"cells":[{"outputs":[{"data":{"text/plain":{}}}]}]}`, "cannot unmarshal object"},
		{"deep", `{"cells":` + strings.Repeat("[", 20_000), "max depth"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := start(t, "a.ipynb", test.content)
			r := f.run(t, "read", `{"path":"a.ipynb"}`)
			contains(t, text(r), "[shown as text, not as a notebook: ", test.note, "[etag "+workspace.Etag([]byte(test.content))+
				"]")
			if test.content != "" && !strings.HasPrefix(test.content, strings.TrimSuffix(r.Content[0].Text, "\n")) {
				t.Errorf("read %q", r.Content[0].Text)
			}
		})
	}
	f := start(t, "large.ipynb", analysis+strings.Repeat(" ", maxNotebook+1-len(analysis)))
	f.fails(t, "LineOutOfRange", "read", `{"path":"large.ipynb","start_line":100}`)
	contains(t, text(f.run(t, "read", `{"path":"large.ipynb","end_line":1}`)),
		"{\n[shown as text, not as a notebook: it has 16777217 bytes, at most 16777216 are taken apart]")
}

// What would be too much of a notebook is left out, and said.
func TestNotebookIsBounded(t *testing.T) {
	out := func(outputs ...string) string {
		return `{"cells":[{"cell_type":"code","outputs":[` + strings.Join(outputs, ",") + `]}]}`
	}
	stream := `{"output_type":"stream","name":"stdout","text":"` + strings.Repeat("é", maxOutput) + `"}`
	tests := []struct{ name, content, want string }{
		{"cells", `{"cells":[` + strings.Repeat(`{},`, maxCells+1) + `{}]}`,
			"=== only the first 5000 cells are shown; raw=true reads all ===\n"},
		{"outputs", out(strings.Split(strings.Repeat("{} ", maxOutputs+1)+"{}", " ")...),
			"--- only the first 100 outputs of cell 1 are shown; raw=true reads all ---\n"},
		{"an output", out(stream), "é\n--- 8192 more bytes of it are not shown; raw=true reads all ---\n"},
		{"forms", out(`{"data":{` + strings.Repeat(`"a":1,`, 2*maxOutputs) + `"b":2}}`), ": a of 0 bytes, not shown"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			n := notebook{ctx: t.Context()}
			check(t, n.read([]byte(test.content)))
			if got := n.out.String(); strings.Count(got, test.want) != max(1, strings.Count(test.want, ": a of 0")*maxOutputs) ||
				len(got) > 400<<10 {
				t.Errorf("%d bytes, with %q %d times", len(got), test.want, strings.Count(got, test.want))
			}
		})
	}
}

func TestNotebookEndsWithTheCall(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	n := notebook{ctx: ctx}
	if err := n.read([]byte(analysis)); err != context.Canceled || n.cells != 0 {
		t.Errorf("read %d cells after the end of the call: %v", n.cells, err)
	}
}

// Whatever the bytes, a notebook is shown or refused; what is shown is no longer than what it is of, but for the
// headings.
func FuzzNotebook(f *testing.F) {
	f.Add([]byte(analysis))
	f.Add([]byte(`{"cells":[{"source":null,"outputs":null},{"outputs":[{"data":null}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		n := notebook{ctx: t.Context()}
		if err := n.read(data); err != nil {
			if reason(err) == "" {
				t.Error("no reason")
			}
			return
		}
		if !json.Valid(data[:len(data)-len(after(data))]) {
			t.Errorf("showed %q", n.out.String())
		}
		if n.out.Len() > 100*len(data) {
			t.Errorf("%d bytes of %d", n.out.Len(), len(data))
		}
	})
}

// after is what comes behind the first JSON value.
func after(data []byte) []byte {
	dec := json.NewDecoder(strings.NewReader(string(data)))
	var v json.RawMessage
	if dec.Decode(&v) != nil {
		return nil
	}
	return data[dec.InputOffset():]
}
