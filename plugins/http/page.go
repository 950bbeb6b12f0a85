package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"regexp"
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
