package main

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

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
