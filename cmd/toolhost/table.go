package main

import (
	"io"
	"strings"
)

// writeTable writes rows of cells in columns. The last column gives way, so that no line is longer than room.
func writeTable(w io.Writer, rows [][]string, room int) {
	widths := map[int]int{}
	for _, row := range rows {
		for i, cell := range row[:len(row)-1] {
			widths[i] = max(widths[i], textColumns(cell)+2)
		}
	}
	var out strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(cell + strings.Repeat(" ", max(0, widths[i]-textColumns(cell))))
		}
		out.WriteString(fit(strings.TrimRight(line.String(), " "), room) + "\n")
	}
	_, _ = io.WriteString(w, out.String()) // an answer remembers what went wrong
}
