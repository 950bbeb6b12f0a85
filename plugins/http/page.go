package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"

	"github.com/toolhost/toolhost/sdk"
)

// roots are the tags that the parser merges whenever they come again, which takes time in the square of their attributes.
var roots = regexp.MustCompile(`(?i)<(html|body)[\s/]+[^\s/>]`)

const (
	maxRoots = 50
	// What is added to a page, absolute links and the indentation of lines, may have leastRoom bytes, or roomTimes those of
	// the page.
	leastRoom = 1 << 20
	roomTimes = 10
	perIndent = 4 // bytes, about
)

// A page is HTML made readable.
type page struct {
	title    string
	markdown string
}

// readPage makes Markdown of a page that came from u. It obeys ctx while it parses and while it writes.
func readPage(ctx context.Context, text string, u *url.URL) (out page, err error) {
	defer func() {
		if cause := recover(); cause != nil { // pages are made by anybody, to break anything
			err = unreadable(u, fmt.Sprint(cause))
		}
	}()
	if len(roots.FindAllStringIndex(text, maxRoots+1)) > maxRoots {
		return page{}, unreadable(u, fmt.Sprintf("it begins more than %d times", maxRoots))
	}
	doc, err := html.Parse(ctxReader{ctx, strings.NewReader(text)})
	if ctx.Err() != nil {
		return page{}, ended(ctx, "making Markdown of "+shownURL(u))
	}
	if err != nil {
		return page{}, unreadable(u, err.Error())
	}
	t := &tidier{base: u, room: max(leastRoom, roomTimes*len(text))}
	if t.tidy(doc, 0); t.room < 0 {
		return page{}, unreadable(u, "its links or its lists would make it many times as long")
	}
	markdown, err := newConverter(ctx).ConvertNode(doc)
	if ctx.Err() != nil {
		return page{}, ended(ctx, "making Markdown of "+shownURL(u))
	}
	if err != nil {
		return page{}, unreadable(u, err.Error())
	}
	return page{title: t.title, markdown: string(markdown)}, nil
}

func unreadable(u *url.URL, why string) error {
	return &sdk.Error{Name: "PageUnreadable", Message: fmt.Sprintf("the HTML of %s cannot be made readable: %s", shownURL(u), clip(why, 200)),
		Suggestion: "Call again with raw=true for the HTML itself."}
}

// newConverter makes a converter that writes nothing more once ctx has ended. It does not escape: that takes time in the
// square of the length, and models read the text better as it is. Nor does it align the columns of tables: one long cell
// would make as long each row.
func newConverter(ctx context.Context) *converter.Converter {
	tables := table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal))
	c := converter.NewConverter(converter.WithEscapeMode(converter.EscapeModeDisabled), converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), tables))
	c.Register.Renderer(func(converter.Context, converter.Writer, *html.Node) converter.RenderStatus {
		if ctx.Err() != nil {
			return converter.RenderSuccess
		}
		return converter.RenderTryNext
	}, converter.PriorityEarly)
	return c
}

// A ctxReader ends with its context.
type ctxReader struct {
	ctx context.Context
	in  io.Reader
}

func (r ctxReader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.in.Read(b)
}

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
