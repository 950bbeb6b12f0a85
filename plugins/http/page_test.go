package main

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/toolhost/toolhost/sdk"
)

var somewhere = &url.URL{Scheme: "https", Host: "example.org", Path: "/dir/page"}

// repeated is a text of about size bytes.
func repeated(piece string, size int) string { return strings.Repeat(piece, size/len(piece)+1) }

// bombs are pages made to take long, or to become long.
func bombs(size int) map[string]string {
	return map[string]string{
		"brackets":            repeated("[", size),
		"links":               repeated("[a](", size),
		"open elements":       repeated("<b>", size),
		"wrongly nested":      repeated("<a><b><i>x</a></b></i>", size),
		"nested quotes":       strings.Repeat("<blockquote>", 400) + repeated("x<br>", size),
		"nested lists":        strings.Repeat("<ul><li>", 200) + repeated("x<br>", size),
		"nested tables":       strings.Repeat("<table><tr><td>", 160) + repeated("x<br>", size),
		"out of a table":      "<table>" + repeated("<b>x</b>", size),
		"a row of cells":      "<table><tr>" + repeated("<td>x", size),
		"a span of cells":     "<table><tr><td colspan=1000000 rowspan=1000000>x</table>" + repeated("x ", size),
		"backticks":           "<pre>" + repeated("`\n", size) + "</pre>",
		"one attribute":       "<p " + repeated("a=b ", size) + ">x",
		"a wide cell":         "<table><tr><td>" + strings.Repeat("x", size/2) + repeated("<tr><td>x", size/2),
		"a wide row":          "<table><tr>" + repeated("<td>x", size/2) + repeated("<tr><td>x", size/2),
		"wide numbers":        strings.Repeat("<ol start=9999999999999999999><li>", 9) + "<pre>" + repeated("\n", size),
		"many lines in lists": strings.Repeat("<ul><li>", 9) + "<pre>" + repeated("\n", size),
		"a long base":         "<base href=//x/" + repeated("a/", size/2) + ">" + repeated("<a href=b>x</a>", size/2),
		"a base of a URL":     "<base href=//x/" + repeated("a/", maxURL/2) + ">" + repeated("<a href=b>x</a>", size),
		"lines of code":       "<ul><li><ul><li><pre>" + repeated("<p>x", size),
		"nested code":         strings.Repeat("<code>", 400) + repeated("<p>x", size),
		"many beginnings":     repeated("<BODY a=b c>", size),
		"breaks in a link":    "<a href=x>" + repeated("x<br><br>", size) + "</a>",
	}
}

func TestBombs(t *testing.T) {
	const size = 100_000
	for name, text := range bombs(size) {
		t.Run(name, func(t *testing.T) {
			p, err := readPage(t.Context(), text, somewhere)
			if e, ok := errors.AsType[*sdk.Error](err); err != nil && (!ok || e.Name != "PageUnreadable") {
				t.Fatal(err)
			}
			if len(p.markdown) > 30*size {
				t.Errorf("%d bytes became %d", len(text), len(p.markdown))
			}
		})
	}
}

// What would take too long, or become too long, is refused before it does.
func TestPagesThatAreRefused(t *testing.T) {
	for name, why := range map[string]string{"many beginnings": "begins more than 50 times",
		"a base of a URL": "many times as long", "many lines in lists": "many times as long"} {
		_, err := readPage(t.Context(), bombs(500_000)[name], somewhere)
		if e, ok := errors.AsType[*sdk.Error](err); !ok || e.Name != "PageUnreadable" || !strings.Contains(e.Message, why) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

// No two cells of a table run together, whatever the table holds.
func TestTables(t *testing.T) {
	for name, c := range map[string]struct{ source, want string }{
		"short rows":  {"<tr><th>a<th>b<tr><td>c<tr><td>longer<td>d", "| a | b |\n|---|---|\n| c |  |\n| longer | d |"},
		"line breaks": {"<tr><th>a<th>b<tr><td>1<br>2<td>3", "| a | b |\n|---|---|\n| 1  <br />2 | 3 |"},
		"paragraphs":  {"<tr><th>a<th>b<tr><td><p>1<p>2<td>3", "| a | b |\n|---|---|\n| 1<br />2 | 3 |"},
		"spans":       {"<tr><th>a<th>b<tr><td rowspan=2>1<td>2<tr><td>3", "| a | b |\n|---|---|\n| 1 | 2 |\n|  | 3 |"},
		"bars":        {"<tr><th>a<th>b<tr><td>1|2<td>3", "| a | b |\n|---|---|\n| 1\\|2 | 3 |"},
		"a list": {"<tr><th>a<th>b<tr><td>x<ul><li>1<li><b>2</b><ol><li>3<li>4</ol></ul>y<td>2",
			"| a | b |\n|---|---|\n| x<br />- 1<br />- **2**<br />1. 3<br />2. 4<br />y | 2 |"},
		"a long list": {"<tr><th>a<th>b<tr><td><ul><li>" + strings.Repeat("x", 2001) + "</ul><td>2",
			"a\n\nb\n\n- " + strings.Repeat("x", 2001) + "\n\n2"},
		"a list with code": {"<tr><td><ul><li><pre>1</pre></ul><td>2", "- ```\n  1\n  ```\n\n2"},
		"many lists":       {"<tr><td>" + strings.Repeat("<ul><li>1</ul>", 200) + "<td>2", strings.Repeat("- 1\n\n", 200) + "2"},
		"lines of code": {"<tr><td><pre>1\n2</pre><td><pre>a|b\n\tc</pre>",
			"```\n1\n2\n```\n\n```\na|b\n\tc\n```"},
		"a line of code": {"<tr><td><pre>1\n</pre><td>2", "|  |  |\n|---|---|\n| ```<br />1<br />``` | 2 |"},
		"a word of code": {"<tr><td><pre>br</pre><td>2", "|  |  |\n|---|---|\n| ```<br />br<br />``` | 2 |"},
		"a heading":      {"<tr><td><h2>1</h2><td>2<tr><td>3<td>4", "## 1\n\n2\n\n3\n\n4"},
		"a table":        {"<tr><td><table><tr><td>1<td>2</table><td>3", "|  |  |\n|---|---|\n| 1 | 2 |\n\n3"},
		"for layout":     {`<tbody role=presentation><tr><td>1<td>2`, "|  |  |\n|---|---|\n| 1 | 2 |"},
		"a thick text":   {"</table><b><table><tr><td>1<td>2</table></b><table>", "**1**\n\n**2**"},
	} {
		p, err := readPage(t.Context(), "<table>"+c.source+"</table>", somewhere)
		if err != nil || p.markdown != c.want {
			t.Errorf("%s: got %q, error %v; want %q", name, p.markdown, err, c.want)
		}
	}
	p, err := readPage(t.Context(), "<table role=presentation><tr><td>1<td>2</table>", somewhere)
	if want := "1\n\n2"; err != nil || p.markdown != want {
		t.Errorf("for layout: got %q, error %v; want %q", p.markdown, err, want)
	}
}

// Marks that change what a text means are kept, and so are the characters of the text.
func TestMeaningOfText(t *testing.T) {
	for source, want := range map[string]string{
		"2<sup>10</sup>":                                      "2^10",
		"<h2><a name=x>h</a></h2><a id=y>t</a>":               "## h\n\nt",
		"<a href='?a b&c=é%'>x</a>":                           "[x](https://example.org/dir/page?a%20b&c=%C3%A9%25)",
		"<a href=/y></a>z":                                    "z",
		"<meta http-equiv=Refresh content='0; URL=\"/new\"'>": "[The page sends browsers on](https://example.org/new)",
		"<meta http-equiv=refresh content='5,url=b?c d '>x":   "[The page sends browsers on](https://example.org/dir/b?c%20d)\n\nx",
		"<meta http-equiv=refresh content=300>x":              "x",
		"<meta http-equiv=refresh content='0;url=javascript:x'>y<meta name=refresh content='0;url=/a'>": "y",
		"<noscript><meta http-equiv=refresh content='0;url=/n'></noscript>z":                            "z",
		"<ul><li>a</ul><ol><li>b</ol>": "- a\n\n1. b",
		"<frameset><frame src=/m title=Menu><frame name=n src=b><frame src=c><frame><noframes>x</frameset>": "" +
			"[Menu](https://example.org/m)\n\n[n](https://example.org/dir/b)\n\n[frame](https://example.org/dir/c)",
		"<h2>C#</h2><h3>#</h3><h4> ## </h4><h5>a \\#</h5><h6><a href=#b>#</a></h6>": "" +
			"## C#\n\n### #\n\n#### ##\n\n##### a \\#\n\n###### [#](https://example.org/dir/page#b)",
		"he <q>said <q>so</q></q>": "he “said “so””",
		"<math alttext='\\frac{1}{2}'><mfrac><mn>1</mn><mn>2</mn></mfrac></math>": `$\frac{1}{2}$`,
		"<math><mi>x</mi></math>": "x",
		"<span class=katex><math><semantics><mi>c</mi><annotation encoding=application/x-tex>c &lt; 1</annotation></semantics>" +
			"</math><span class=katex-html>c1</span></span>": "$c < 1$",
		"a <span class=katex><span class=katex-html>c &lt; 1</span></span>": "a c < 1",
		"2<sup>n+1</sup> H<sub>2</sub>O":                                    "2^(n+1) H_2O",
		"<del>$100</del><ins>$80</ins>":                                     "~~$100~~$80",
		"List&lt;T&gt; a < b":                                               "List<T> a < b",
		"&amp;lt; &amp;":                                                    "&lt; &",
		"<code>a &lt; b</code>":                                             "`a < b`",
		"<details><summary>s</summary>b":                                    "s\n\nb",
		"a\uFDD0b":                                                          "a\uFFFDb",
		"<fieldset><legend>l</legend>f":                                     "l\n\nf",
		"x<sup></sup>y":                                                     "xy",
		"<p>1 &lt; 2</p><table><td>&lt;</table>":                            "1 < 2\n\n|  |\n|---|\n| < |",
	} {
		p, err := readPage(t.Context(), source, somewhere)
		if err != nil || p.markdown != want {
			t.Errorf("%s: got %q, error %v; want %q", source, p.markdown, err, want)
		}
	}
}

// A page without text says so, and a page whose text was not asked for does not.
func TestPageOfScripts(t *testing.T) {
	url := serve(t, answers("text/html", "<body><script>app()</script><div id=root></div>"))
	const note = "it has no text but what scripts may make"
	p := start(t, testHooks{}, open)
	if text := fetch(t, p, url).Content[0].Text; !strings.Contains(text, note) {
		t.Errorf("the heading is %q", text)
	}
	raw := p.Run(t, "get", args(t, map[string]any{"url": url, "raw": true}))
	if text := raw.Content[0].Text; strings.Contains(text, note) {
		t.Errorf("the heading is %q", text)
	}
}

func TestPageThatIsTooDeep(t *testing.T) {
	_, err := readPage(t.Context(), strings.Repeat("<div>", 600), somewhere)
	if e, ok := errors.AsType[*sdk.Error](err); !ok || e.Name != "PageUnreadable" ||
		!strings.Contains(e.Suggestion, "raw=true") {
		t.Errorf("error is %v", err)
	}
}

// overdue is a context that ends after it has been asked some times, so that a test can end work in its middle.
type overdue struct {
	context.Context
	left int
}

func (o *overdue) Err() error {
	if o.left--; o.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestPageObeysItsContext(t *testing.T) {
	text := repeated("<p>some <b>text</b> ", 200_000)
	for _, left := range []int{0, 1, 10, 60, 1000} {
		start := &overdue{t.Context(), left}
		_, err := readPage(start, text, somewhere)
		if e, ok := errors.AsType[*sdk.Error](err); !ok || e.Code != sdk.CodeCanceled && e.Code != sdk.CodeTimeout {
			t.Errorf("after %d looks: %v", left, err)
		}
	}
}

func TestOnlySomePagesAtOnce(t *testing.T) {
	w := newWeb()
	for range maxConverting {
		w.converting <- struct{}{}
	}
	ctx, cancel := limited(t.Context(), time.Millisecond)
	defer cancel()
	a := &response{url: somewhere, mediaType: "text/html", body: []byte("<p>x")}
	if _, _, _, err := w.readable(ctx, a, false); err == nil ||
		!strings.Contains(err.Error(), "waiting to make Markdown") {
		t.Errorf("error is %v", err)
	}
	if text, _, _, err := w.readable(ctx, a, true); text != "<p>x" || err != nil {
		t.Errorf("raw needs no turn: %q, %v", text, err)
	}
}

// Code has the lines that a browser shows, whatever the elements that a highlighter makes of them.
func TestLinesOfCode(t *testing.T) {
	const want = "```\na = 1\n\n  b\n```"
	for _, source := range []string{
		"a = 1\n\n  b\n",
		"a = 1<br><br>  b",
		"<div>a = 1</div><div>\n</div><div>  b</div>",
		"<div><div>a = 1</div></div><div><div>\n</div></div><div><div>  <i>b</i></div></div>",
		"<div>a = 1</div>\n<div><br></div><div>  b</div>",
		"<ol><li>a = 1<li><br><li>  b</ol>",
		"<p>a = 1</p><p>\n</p><p>  b</p>",
		"<span style='display: block'>a = 1</span><span style='display:block'>\n</span><span style=DISPLAY:Block>  b</span>",
		"<span style='display:block'>a = 1\n</span><span style='display:block'>\n</span><span style='display:block'>  b\n</span>",
		"<table><tr><td>a = 1<tr><td>\n<tr><td>  b</table>",
		"a = 1<div>\n</div>  b",
	} {
		for _, source := range []string{"<pre>" + source + "</pre>", "<pre><code>" + source + "</code></pre>"} {
			p, err := readPage(t.Context(), source, somewhere)
			if err != nil || p.markdown != want {
				t.Errorf("%s: got %q, error %v", source, p.markdown, err)
			}
		}
	}
	for source, want := range map[string]string{
		"<code><div>a</div><div>b</div></code>":                              "`a b`",
		"<kbd><kbd>Ctrl</kbd>+<kbd>C</kbd></kbd>":                            "`Ctrl+C`",
		"<pre class=lang-go><table><tr><td>1<td>a<tr><td>2<td>b</table>":     "```go\n1\ta\n2\tb\n```",
		"<ul><li><pre><div>a</div><script>x</script><div>b</div></pre></ul>": "- ```\n  a\n  b\n  ```",
	} {
		p, err := readPage(t.Context(), source, somewhere)
		if err != nil || p.markdown != want {
			t.Errorf("%s: got %q, error %v; want %q", source, p.markdown, err, want)
		}
	}
}

func FuzzPage(f *testing.F) {
	for _, text := range []string{"<p>x<a href=//y>z</a>", "<table><tr><td><ul><li>x</table>",
		"<title>&amp;</title><base href=x>", "<svg><p>", "<h1>#", "<pre><div>a<p>b", "<a href='java\nscript:x'>y", "<pre><code>`` ` ```"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := readPage(t.Context(), text, somewhere)
		if e, ok := errors.AsType[*sdk.Error](err); err != nil && (!ok || e.Name != "PageUnreadable" ||
			strings.Contains(e.Message, "runtime error")) {
			t.Fatal(err)
		}
		if utf8.ValidString(text) && (!utf8.ValidString(p.markdown) || !utf8.ValidString(p.title)) {
			t.Fatalf("%q became invalid: %q", text, p.markdown)
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add("text/html", "euc-kr", []byte("<meta charset=shift_jis>\x82\xb1"), true)
	f.Add("text/plain", "", []byte("\xff\xfea"), false)
	f.Add("application/json", "utf-7", []byte("\xe3\x81"), true)
	f.Fuzz(func(t *testing.T, mediaType, charset string, body []byte, cut bool) {
		a := &response{url: somewhere, mediaType: mediaType, charset: charset, body: body, cut: cut}
		if text, name := a.decode(); !utf8.ValidString(text) || name == "" {
			t.Fatalf("%q in %q", text, name)
		}
	})
}

// A page ten times as long takes about ten times as long.
func BenchmarkPage(b *testing.B) {
	for _, size := range []int{20_000, 200_000} {
		for name, text := range map[string]string{"prose": repeated("<p>some <b>bold</b> text with a <a href=x>link</a></p>\n", size), "brackets": repeated("[", size),
			"nested quotes": strings.Repeat("<blockquote>", 400) + repeated("x<br>", size)} {
			b.Run(name+"/"+strconv.Itoa(size), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					if _, err := readPage(b.Context(), text, somewhere); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
