package main

import (
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// dropped are elements that hold nothing to read.
var dropped = []string{"script", "style", "noscript", "template", "iframe", "object", "embed", "svg", "canvas", "nav", "dialog",
	"button", "input", "select", "textarea"}

// A tidier takes out of a page what nobody reads, and makes its links absolute.
type tidier struct {
	base  *url.URL
	title string
	based bool
	room  int // how many bytes more may be added
}

// tidy works on what is in n, which is in depth elements that indent their text.
func (t *tidier) tidy(n *html.Node, depth int) {
	for child := n.FirstChild; child != nil; {
		next := child.NextSibling
		if child.Type == html.CommentNode || child.Type == html.ElementNode && hidden(child) {
			n.RemoveChild(child)
		} else {
			t.room -= lines(child) * min(depth, maxIndent) * perIndent
			t.element(child)
			t.tidy(child, depth+t.indent(child, depth))
		}
		child = next
	}
}

// lines is how many lines the node by itself may end.
func lines(n *html.Node) int {
	switch {
	case n.Type == html.TextNode:
		return strings.Count(n.Data, "\n")
	case n.Data == "br":
		return 1
	}
	return 0
}

// indents are elements whose every line gets longer by the depth they are in.
var indents = []string{"blockquote", "ul", "ol", "dl", "table"}

// maxIndent bounds that depth: pages of nothing but depth would become a thousand times as long.
const maxIndent = 10

func (t *tidier) indent(n *html.Node, depth int) int {
	if n.Type != html.ElementNode || !slices.Contains(indents, n.Data) {
		return 0
	}
	if depth >= maxIndent || n.Data == "table" && ragged(n) {
		n.Data = "div"
	}
	return 1
}

// ragged says whether most of a table's cells would be those that its short rows are filled up with.
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

func hidden(n *html.Node) bool {
	if slices.Contains(dropped, n.Data) {
		return true
	}
	for _, a := range n.Attr {
		style := strings.ReplaceAll(strings.ToLower(a.Val), " ", "")
		switch {
		case a.Key == "hidden", a.Key == "role" && a.Val == "navigation",
			a.Key == "style" && (strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden")):
			return true
		}
	}
	return false
}

func (t *tidier) element(n *html.Node) {
	if n.Type != html.ElementNode {
		return
	}
	switch n.Data {
	case "title":
		if t.title == "" && n.FirstChild != nil && n.FirstChild.Type == html.TextNode {
			t.title = clip(strings.Join(strings.Fields(n.FirstChild.Data), " "), 200)
		}
	case "base":
		t.rebase(n)
	}
	n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool {
		return a.Key == "colspan" || a.Key == "rowspan" || // which may ask for a million cells
			a.Key == "start" && len(a.Val) > 3 // each line of a list is indented by the width of its numbers
	})
	for i, a := range n.Attr {
		if a.Key == "href" || a.Key == "src" {
			n.Attr[i].Val = t.absolute(a.Val)
		}
		if a.Key == "href" && n.Attr[i].Val == "" {
			n.Data = "span" // its text is all that is left of it
		}
	}
}

// rebase takes the first base element; links before it start from the page.
func (t *tidier) rebase(n *html.Node) {
	for _, a := range n.Attr {
		if a.Key != "href" || t.based || len(a.Val) > maxURL {
			continue
		}
		if u, err := t.base.Parse(strings.TrimSpace(a.Val)); err == nil {
			t.base, t.based = u, true
		}
	}
}

// absolute gives a link that can be called; what leads nowhere, such as a script or an image inside of the page, is "".
func (t *tidier) absolute(link string) string {
	link = strings.TrimSpace(link)
	if len(link) > maxURL || t.room < 0 {
		return ""
	}
	u, err := t.base.Parse(link)
	if err != nil || !slices.Contains([]string{"http", "https", "mailto", "tel", "ftp"}, u.Scheme) {
		return ""
	}
	out := u.String()
	t.room -= len(out)
	return out
}
