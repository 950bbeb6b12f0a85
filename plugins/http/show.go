package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/toolhost/toolhost/sdk"
)

// pageOptions are how much of a page is wanted, and in which form.
type pageOptions struct {
	raw      bool
	maxBytes int // of the body
	start    int // where in the text to begin
	window   int // how much of the text to give
	paged    bool
}

// A report is the structured result.
type report struct {
	URL         string     `json:"url"` // after redirects
	Status      int        `json:"status"`
	ContentType string     `json:"content_type"`
	Charset     string     `json:"charset,omitempty"`
	Title       string     `json:"title,omitempty"`
	Redirects   []redirect `json:"redirects"`
	BodyBytes   int        `json:"body_bytes"`
	Start       int        `json:"start"`
	End         int        `json:"end"`
	TextBytes   int        `json:"text_bytes"`
	Truncated   bool       `json:"truncated"`
}

const outputSchema = `{"type":"object","properties":{` +
	`"url":{"type":"string","description":"where the answer came from, after redirects"},"status":{"type":"integer"},` +
	`"content_type":{"type":"string"},"charset":{"type":"string"},"title":{"type":"string","description":"of a page"},` +
	`"redirects":{"type":"array","items":{"type":"object","properties":{"url":{"type":"string"},` +
	`"status":{"type":"integer"}}}},` +
	`"body_bytes":{"type":"integer","description":"how much of the body was read"},` +
	`"start":{"type":"integer","description":"where in the text the content begins, in bytes"},"end":{"type":"integer"},` +
	`"text_bytes":{"type":"integer","description":"of the whole text that was read"},"truncated":{"type":"boolean"}},` +
	`"required":["url","status","content_type","redirects","body_bytes","start","end","text_bytes","truncated"]}`

// show reads the body as far as the view wants and makes a result of it. The body is closed by the caller.
func (w *webPlugin) show(ctx context.Context, r *http.Response, hops []redirect, v pageOptions) (*sdk.Result, error) {
	a := newResponse(r, hops)
	said := kindOfMediaType(a.mediaType)
	limit := v.maxBytes
	switch {
	case said == binaryKind, said == imageKind && a.size > maxImage:
		return nil, a.binary()
	case said == imageKind:
		limit = maxImage
	}
	a.failed = a.read(ctx, r.Body, limit)
	switch kind := a.settle(said); {
	case a.failed != nil && (kind != textKind || len(a.body) == 0):
		return nil, a.failed
	case kind == binaryKind:
		return nil, a.binary()
	case kind == imageKind:
		return a.image()
	}
	result, err := w.text(ctx, a, v)
	return result, cmp.Or(a.failed, err) // a stream may have no end: what has come is all that anyone will see of it
}

func (a *response) image() (*sdk.Result, error) {
	if err := a.wholeImage(); err != nil {
		return nil, err
	}
	out := a.report()
	note := fmt.Sprintf("[%s: %s, %d bytes%s]", shownURL(a.url), a.mediaType, len(a.body), a.redirectNote())
	r := &sdk.Result{Structured: sdk.Encode(out)}
	return r.Add(sdk.TextContent(note), sdk.ImageContent(a.body, a.mediaType)), nil
}

func (a *response) report() report {
	return report{URL: a.url.String(), Status: a.status, ContentType: a.mediaType,
		Redirects: append([]redirect{}, a.hops...),
		BodyBytes: len(a.body)}
}

// readable is the text of an answer for display, with its title.
func (w *webPlugin) readable(ctx context.Context, a *response, raw bool) (text, charset, title string, err error) {
	text, charset = a.decode()
	if raw || !a.html() {
		return text, charset, "", nil
	}
	select {
	case w.converting <- struct{}{}:
		defer func() { <-w.converting }()
	case <-ctx.Done():
		return "", "", "", ended(ctx, "waiting to make Markdown of "+shownURL(a.url))
	}
	p, err := readPage(ctx, text, a.url)
	return p.markdown, charset, p.title, err
}

func (w *webPlugin) text(ctx context.Context, a *response, v pageOptions) (*sdk.Result, error) {
	text, charset, title, err := w.readable(ctx, a, v.raw)
	if err != nil {
		return nil, err
	}
	if v.start > len(text) {
		return nil, pastEnd(a, v.start, len(text))
	}
	start, end := window(text, v.start, v.window)
	out := a.report()
	out.Charset, out.Title, out.Start, out.End, out.TextBytes = charset, title, start, end, len(text)
	out.Truncated = a.cut || a.failed != nil || start > 0 || end < len(text)
	r := &sdk.Result{Structured: sdk.Encode(out), Truncated: out.Truncated}
	r.Add(sdk.TextContent(a.heading(out, a.html() && !v.raw)))
	if end > start {
		r.Add(sdk.TextContent(text[start:end]))
	}
	if notes := a.notes(out, v); notes != "" {
		r.Add(sdk.TextContent(notes))
	}
	return r, nil
}

// heading says where the text is from: the reader must know that it is a third party's.
func (a *response) heading(out report, converted bool) string {
	text := fmt.Sprintf("[%s answered %s: %s", shownURL(a.url), a.statusLine(), a.typed())
	if out.Charset != "utf-8" {
		text += " in " + out.Charset
	}
	if converted {
		text += " shown as Markdown"
	}
	if out.Title != "" {
		text += fmt.Sprintf("; title %q", out.Title)
	}
	switch {
	case len(a.body) == 0:
		text += "; the body is empty"
	case converted && out.TextBytes == 0:
		text += "; it has no text but what scripts may make (raw=true gives the HTML)"
	}
	return text + a.redirectNote() + "]"
}

func (a *response) redirectNote() string {
	if len(a.hops) == 0 {
		return ""
	}
	var from []string
	for _, h := range a.hops {
		from = append(from, h.URL)
	}
	return "; redirected from " + strings.Join(from, ", then ")
}

func (a *response) notes(out report, v pageOptions) string {
	var lines []string
	if out.Start > 0 || out.End < out.TextBytes {
		line := fmt.Sprintf("[bytes %d to %d of %d", out.Start, out.End, out.TextBytes)
		if out.End < out.TextBytes && v.paged {
			line += fmt.Sprintf("; continue with start=%d", out.End)
		}
		lines = append(lines, line+"]")
	}
	if a.cut {
		rest := "the rest cannot be read with this tool"
		if v.maxBytes < maxBytes {
			rest = fmt.Sprintf("raise max_bytes (up to %d) for more", maxBytes)
		}
		lines = append(lines, fmt.Sprintf("[only the first %d bytes of the body were read; %s]", len(a.body), rest))
	}
	return strings.Join(lines, "\n")
}

// window returns the part of a text from start that has at most size bytes, of whole characters, and of whole lines
// where that costs little.
func window(text string, start, size int) (int, int) {
	for start < len(text) && !utf8.RuneStart(text[start]) {
		start++
	}
	if len(text)-start <= size {
		return start, len(text)
	}
	end := start + size
	for end > start && !utf8.RuneStart(text[end]) {
		end--
	}
	if i := strings.LastIndexByte(text[start:end], '\n'); i >= 0 && i > (end-start)*9/10 {
		end = start + i + 1
	}
	return start, end
}

func pastEnd(a *response, start, size int) error {
	e := &sdk.Error{Name: "StartOutOfRange",
		Message: fmt.Sprintf("start %d is past the end of the text of %s, which has %d bytes", start, shownURL(a.url),
			size),
		Suggestion: fmt.Sprintf("Use a start below %d.", size), Details: sdk.Details(map[string]int{"text_bytes": size})}
	if a.cut {
		e.Suggestion += fmt.Sprintf(" Only %d bytes of the body were read; raise max_bytes (up to %d) for more.", len(a.body),
			maxBytes)
	}
	return e
}

// roots are the tags that the parser merges whenever they come again, which takes time in the square of their
// attributes.
var roots = regexp.MustCompile(`(?i)<(html|body)[\s/]+[^\s/>]`)

const (
	maxRoots = 50
	// What is added to a page, absolute links and the indentation of lines, may have leastRoom bytes, or roomTimes those
	// of the page.
	leastRoom = 1 << 20
	roomTimes = 10
	perIndent = 4 // bytes, about
)

// A page is HTML made readable.
type page struct {
	title    string
	markdown string
}

// readPage makes Markdown of a page that came from u. It ends with ctx while it parses and while it writes.
func readPage(ctx context.Context, text string, u *url.URL) (out page, err error) {
	defer func() {
		if cause := recover(); cause != nil { // pages are made by anyone, to break anything
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
	flattenTables(doc, false)
	t := &markdownCleaner{base: u, room: max(leastRoom, roomTimes*len(text))}
	if t.clean(doc, 0); t.room < 0 {
		return page{}, unreadable(u, "its links or its lists would make it many times as long")
	}
	markdown, err := newConverter(ctx).ConvertNode(doc)
	if ctx.Err() != nil {
		return page{}, ended(ctx, "making Markdown of "+shownURL(u))
	}
	if err != nil {
		return page{}, unreadable(u, err.Error())
	}
	out.title, out.markdown = t.title, string(markdown)
	for strings.Contains(out.markdown, "<br /><br />") { // between the paragraphs of a cell
		out.markdown = strings.ReplaceAll(out.markdown, "<br /><br />", "<br />")
	}
	out.markdown = showSigns.Replace(out.markdown)
	if t.next != "" { // it may be all that the page has
		out.markdown = strings.TrimSpace(fmt.Sprintf("[The page sends browsers on](%s)\n\n%s", t.next, out.markdown))
	}
	return out, nil
}

func unreadable(u *url.URL, why string) error {
	return &sdk.Error{Name: "PageUnreadable",
		Message:    fmt.Sprintf("the HTML of %s cannot be made readable: %s", shownURL(u), clip(why, 200)),
		Suggestion: "Call again with raw=true for the HTML itself."}
}

// newConverter makes a converter that writes nothing more once ctx has ended. It does not escape: that takes time in
// the square of the length, and models read the unchanged text better. Nor does it align the columns of tables: one
// long cell would make as long each row.
func newConverter(ctx context.Context) *converter.Converter {
	tables := table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal),
		table.WithNewlineBehavior(table.NewlineBehaviorPreserve))
	c := converter.NewConverter(converter.WithEscapeMode(converter.EscapeModeDisabled),
		converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(commonmark.WithListEndComment(false),
			commonmark.WithLinkEmptyHrefBehavior(commonmark.LinkBehaviorSkip),
			commonmark.WithLinkEmptyContentBehavior(commonmark.LinkBehaviorSkip)),
			strikethrough.NewStrikethroughPlugin(), tables))
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
var dropped = []string{"script", "style", "noscript", "noframes", "template", "iframe", "object", "embed", "svg",
	"canvas", "nav", "dialog", "annotation", "annotation-xml", "button", "input", "select", "textarea"}

// A markdownCleaner takes out of a page what no one reads, and makes its links absolute.
type markdownCleaner struct {
	base  *url.URL
	title string
	next  string // where browsers are sent on to
	based bool
	room  int // how many bytes more may be added
	spans int // cells that spans have added
	cells int // of tables that the node is in
	codes int // likewise, of elements of code
}

// The converter writes &lt; and &gt; for brackets of the text, which a reader cannot tell from text that has those
// letters, and a backslash over what is before a # at the end of a heading. They pass it as characters that no text
// has.
const leftBracket, rightBracket, numberSign = "\uFDD0", "\uFDD1", "\uFDD2"

var (
	hideSigns = strings.NewReplacer(leftBracket, "\uFFFD", rightBracket, "\uFFFD", numberSign, "\uFFFD", "<", leftBracket,
		">", rightBracket, "#", numberSign)
	showSigns = strings.NewReplacer(leftBracket, "<", rightBracket, ">", numberSign, "#")
)

// clean works on what is in n, which is in depth elements that indent their text.
func (t *markdownCleaner) clean(n *html.Node, depth int) {
	for child := n.FirstChild; child != nil; {
		next := child.NextSibling
		if child.Type == html.CommentNode || child.Type == html.ElementNode && hidden(child) {
			n.RemoveChild(child)
		} else {
			t.room -= lines(child) * min(depth, maxIndent) * perIndent
			t.text(child)
			t.element(child)
			t.within(child, 1)
			t.clean(child, depth+t.indent(child, depth))
			t.within(child, -1)
			if t.codes == 0 && slices.Contains(codes, child.Data) {
				var c codeCleaner
				c.clean(child)
				t.room -= c.breaks * min(depth, maxIndent) * perIndent
			}
		}
		child = next
	}
}

// within counts an element that begins, with 1, or ends, with -1.
func (t *markdownCleaner) within(n *html.Node, by int) {
	if n.Data == "td" || n.Data == "th" {
		t.cells += by
	}
	if slices.Contains(codes, n.Data) {
		t.codes += by
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

func (t *markdownCleaner) indent(n *html.Node, depth int) int {
	if n.Type != html.ElementNode || !slices.Contains(indents, n.Data) {
		return 0
	}
	if depth >= maxIndent {
		flatten(n)
	}
	return 1
}

func hidden(n *html.Node) bool {
	if slices.Contains(dropped, n.Data) {
		return true
	}
	for _, a := range n.Attr {
		style := strings.ReplaceAll(strings.ToLower(a.Val), " ", "")
		switch {
		case a.Key == "hidden", a.Key == "role" && a.Val == "navigation",
			a.Key == "class" && a.Val == "katex-html" && n.PrevSibling != nil, // its math says the same
			a.Key == "style" && (strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden")):
			return true
		}
	}
	return false
}

// text keeps the text as it is through the converter, and the bars of a cell out of its table's.
func (t *markdownCleaner) text(n *html.Node) {
	if n.Type != html.TextNode {
		return
	}
	n.Data = hideSigns.Replace(n.Data)
	if bars := strings.Count(n.Data, "|"); t.cells > 0 && bars > 0 {
		n.Data = strings.ReplaceAll(n.Data, "|", `\|`)
		t.room -= bars
	}
}

func (t *markdownCleaner) element(n *html.Node) {
	if n.Type != html.ElementNode {
		return
	}
	switch n.Data {
	case "math":
		showTeX(n)
	case "q":
		surround(n, "“", "”")
	case "sup":
		raise(n, "^")
	case "sub":
		raise(n, "_")
	case "summary", "legend":
		n.Data, n.DataAtom = "p", atom.P
	case "td", "th":
		t.limitSpans(n)
	case "title":
		if t.title == "" && n.FirstChild != nil && n.FirstChild.Type == html.TextNode {
			t.title = clip(strings.Join(strings.Fields(n.FirstChild.Data), " "), 200)
		}
	case "base":
		t.rebase(n)
	case "meta":
		if m := refreshTo.FindStringSubmatch(attribute(n, "content")); m != nil && t.next == "" &&
			strings.EqualFold(attribute(n, "http-equiv"), "refresh") {
			t.next = t.absolute(m[1])
		}
	case "frame":
		linkFrame(n)
	}
	n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool {
		return a.Key == "start" && len(a.Val) > 3 // each line of a list is indented by the width of its numbers
	})
	for i, a := range n.Attr {
		if a.Key == "href" || a.Key == "src" {
			n.Attr[i].Val = t.absolute(a.Val)
		}
	}
}

// refreshTo is a redirect that a page itself makes, as in 0; url=/new.
var refreshTo = regexp.MustCompile(`(?i)^\s*[\d.]+\s*[;,\s]\s*url\s*=\s*["']?([^"']+)`)

// linkFrame makes a link of a frame: the frames are all that a page of them has.
func linkFrame(n *html.Node) {
	if attribute(n, "src") == "" {
		return
	}
	name := cmp.Or(attribute(n, "title"), attribute(n, "name"), "frame")
	link := &html.Node{Type: html.ElementNode, Data: "a", DataAtom: atom.A,
		Attr: []html.Attribute{{Key: "href", Val: attribute(n, "src")}}}
	link.AppendChild(&html.Node{Type: html.TextNode, Data: name})
	n.Data, n.DataAtom, n.Attr = "p", atom.P, nil
	n.AppendChild(link)
}

// raise writes a sign before what Markdown cannot raise or lower, and puts more than a word in parentheses: 10 to the
// power of n+1 is not 10n+1.
func raise(n *html.Node, sign string) {
	before, after := sign, ""
	if text := n.FirstChild; text == nil {
		return
	} else if text.NextSibling != nil || text.Type != html.TextNode || !isWord(text.Data) {
		before, after = sign+"(", ")"
	}
	surround(n, before, after)
}

func surround(n *html.Node, before, after string) {
	n.InsertBefore(&html.Node{Type: html.TextNode, Data: before}, n.FirstChild)
	n.AppendChild(&html.Node{Type: html.TextNode, Data: after})
}

// showTeX shows a formula in the form that it was written in, if the page has that: its elements alone, of which those
// of a fraction are side by side, would say another thing.
func showTeX(n *html.Node) {
	tex := attribute(n, "alttext")
	for d := range n.Descendants() {
		if d.Data == "annotation" && attribute(d, "encoding") == "application/x-tex" && d.FirstChild != nil {
			tex = d.FirstChild.Data
		}
	}
	if tex == "" {
		return
	}
	for n.FirstChild != nil {
		n.RemoveChild(n.FirstChild)
	}
	n.AppendChild(&html.Node{Type: html.TextNode, Data: "$" + strings.TrimSpace(tex) + "$"})
}

func isWord(text string) bool {
	return !strings.ContainsFunc(strings.TrimSpace(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

// rebase takes the first base element; links before it start from the page.
func (t *markdownCleaner) rebase(n *html.Node) {
	for _, a := range n.Attr {
		if a.Key != "href" || t.based || len(a.Val) > maxURL {
			continue
		}
		if u, err := t.base.Parse(strings.TrimSpace(a.Val)); err == nil {
			t.base, t.based = u, true
		}
	}
}

// absolute returns a link that can be called; what leads nowhere, such as a script or an image inside of the page, is
// "".
func (t *markdownCleaner) absolute(link string) string {
	link = strings.TrimSpace(link)
	if len(link) > maxURL || t.room < 0 {
		return ""
	}
	u, err := t.base.Parse(encodeURL(link))
	if err != nil || !slices.Contains([]string{"http", "https", "mailto", "tel", "ftp"}, u.Scheme) {
		return ""
	}
	out := u.String()
	t.room -= len(out)
	return out
}
