package main

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	maxSpan  = 50      // columns or rows of a cell; pages may ask for a million
	maxSpans = 100_000 // empty cells that spans add to a page
	// Lists of a cell become lines of it in cells of at most this much text and this many elements and texts; larger ones
	// are for layout.
	maxListText  = 2000 // bytes
	maxListNodes = 500
)

// Elements that a cell of a Markdown table cannot hold, and those that cannot hold a table.
var (
	blocksOfText = []string{"table", "hr", "ul", "ol", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6"}
	spansOfText  = []string{"a", "strong", "b", "em", "i", "del", "s", "strike"}
)

// flattenTables makes blocks of the tables in n that Markdown cannot have, and of their cells, whose texts would be
// written without a space between them. It reports whether n holds what a cell cannot.
func flattenTables(n *html.Node, inText bool) (hasBlocks bool) {
	for c := range n.ChildNodes() {
		if c.Type != html.ElementNode {
			continue
		}
		if c.Data == "td" || c.Data == "th" {
			listsToLines(c)
		}
		isTable := c.Data == "table"
		inner := flattenTables(c, inText || slices.Contains(spansOfText, c.Data))
		hasBlocks = hasBlocks || inner || slices.Contains(blocksOfText, c.Data) || severalLines(c)
		if isTable && (inner || inText || attribute(c, "role") == "presentation" || ragged(c)) {
			flatten(c)
		}
	}
	return hasBlocks
}

// listsToLines makes lines of the lists in a cell, which would make a flat text of the table: its rows say more than
// the depth of its lists.
func listsToLines(cell *html.Node) {
	size, nodes := 0, 0
	var lists []*html.Node
	for n := range cell.Descendants() {
		isList := n.Type == html.ElementNode && (n.Data == "ul" || n.Data == "ol")
		if isList {
			lists = append(lists, n)
		} else if n.Type == html.TextNode {
			size += len(n.Data)
		}
		if nodes++; nodes > maxListNodes || size > maxListText || n.Type == html.ElementNode && !isList &&
			(n.Data == "pre" || slices.Contains(blocksOfText, n.Data)) {
			return
		}
	}
	for _, list := range lists {
		number := 0
		for item := range list.ChildNodes() {
			if item.Type != html.ElementNode || item.Data != "li" {
				continue
			}
			number++
			mark := "- "
			if list.Data == "ol" {
				mark = strconv.Itoa(number) + ". "
			}
			item.Data, item.DataAtom = "p", atom.P
			item.InsertBefore(&html.Node{Type: html.TextNode, Data: mark}, item.FirstChild)
		}
		list.Data, list.DataAtom = "div", atom.Div
	}
}

// flatten makes blocks of a table and its parts down to the cells.
func flatten(n *html.Node) {
	isCell := n.Data == "td" || n.Data == "th"
	n.Data, n.DataAtom = "div", atom.Div
	if isCell {
		return
	}
	for c := range n.ChildNodes() {
		if c.Type == html.ElementNode && slices.Contains(partsOfTables, c.Data) {
			flatten(c)
		}
	}
}

var partsOfTables = []string{"caption", "thead", "tbody", "tfoot", "tr", "td", "th"}

// ragged reports whether most of a table's cells would be those that its short rows are filled up with.
func ragged(table *html.Node) bool {
	rows, cells, widest := 0, 0, 0
	for n := range table.Descendants() {
		if n.Type != html.ElementNode || n.Data != "tr" {
			continue
		}
		width := 0
		for c := range n.ChildNodes() {
			if c.Type == html.ElementNode {
				width++
			}
		}
		rows, cells, widest = rows+1, cells+width, max(widest, width)
	}
	return rows*widest > 10*cells+1000
}

// limitSpans takes spans from a cell that are over the limits.
func (t *markdownCleaner) limitSpans(cell *html.Node) {
	columns, rows := span(cell, "colspan"), span(cell, "rowspan")
	if columns*rows > 1 && columns <= maxSpan && rows <= maxSpan {
		t.spans += columns * rows
		if t.spans <= maxSpans {
			return
		}
	}
	cell.Attr = slices.DeleteFunc(cell.Attr, func(a html.Attribute) bool { return a.Key == "colspan" || a.Key == "rowspan" })
}

// span is how many columns or rows a cell takes, 1 without a number.
func span(cell *html.Node, key string) int {
	n, err := strconv.Atoi(attribute(cell, key))
	if err != nil || n < 1 {
		return 1
	}
	return min(n, maxSpan+1)
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// codes are elements whose text the converter takes alone, with a line for each div and br.
var codes = []string{"pre", "code", "kbd", "samp", "tt", "var"}

// A codeCleaner gives code the lines that browsers show: highlighters make each a div in a div, an item of a list, a
// row of a table or a span that is a block.
type codeCleaner struct {
	begun  bool // the line has text
	ended  bool // what comes next is on a line of its own
	breaks int  // lines that were added
}

func (c *codeCleaner) clean(in *html.Node) {
	for n := in.FirstChild; n != nil; n = n.NextSibling {
		switch {
		case n.Type == html.TextNode && n.Data != "":
			if c.ended && n.Data[0] != '\n' {
				c.breakBefore(n)
			}
			c.begun, c.ended = n.Data[len(n.Data)-1] != '\n', false
		case n.Data == "br":
			c.begun, c.ended = false, false
		case n.Type == html.ElementNode:
			c.element(n)
		}
	}
}

func (c *codeCleaner) element(n *html.Node) {
	isLine := isLine(n)
	if isLine && c.begun {
		c.breakBefore(n)
	}
	if (n.Data == "td" || n.Data == "th") && c.begun {
		n.Parent.InsertBefore(&html.Node{Type: html.TextNode, Data: "\t"}, n)
	}
	c.clean(n)
	if isLine {
		n.Data, n.DataAtom = "span", atom.Span // for which the converter adds nothing
		c.ended = c.begun
	}
}

func (c *codeCleaner) breakBefore(n *html.Node) {
	n.Parent.InsertBefore(&html.Node{Type: html.TextNode, Data: "\n"}, n)
	c.begun, c.ended = false, false
	c.breaks++
}

func isLine(n *html.Node) bool {
	if slices.Contains([]string{"div", "p", "li", "tr", "dt", "dd", "table"}, n.Data) {
		return true
	}
	style := strings.ReplaceAll(strings.ToLower(attribute(n, "style")), " ", "")
	return strings.Contains(style, "display:block") || strings.Contains(style, "display:table-row")
}

// severalLines reports code that a cell of a Markdown table cannot hold.
func severalLines(n *html.Node) bool {
	if n.Data != "pre" {
		return false
	}
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && (d.Data == "br" || isLine(d)) ||
			d.Type == html.TextNode && strings.Contains(strings.TrimSpace(d.Data), "\n") {
			return true
		}
	}
	return false
}
