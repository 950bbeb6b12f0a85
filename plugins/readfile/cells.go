package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// A notebook is written out cell by cell while it is read, so that it is never held in full.
type notebook struct {
	ctx   context.Context
	out   bytes.Buffer
	cells int
}

// A cell is what is shown of one; see https://nbformat.readthedocs.io/en/latest/format_description.html.
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
		return eachElement(dec, errNoCells, func() error { return n.readCell(dec) })
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
	return eachElement(dec, errors.New("a cell's outputs are no list"), func() error {
		if i++; i > maxOutputs {
			if i == maxOutputs+1 {
				fmt.Fprintf(&n.out, "--- only the first %d outputs of cell %d are shown; raw=true reads all ---\n", maxOutputs, n.cells)
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
