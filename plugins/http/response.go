package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"

	"github.com/toolhost/toolhost/internal/charsetdetect"
	"github.com/toolhost/toolhost/internal/imagefile"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

// A response is a server's answer, read up to a limit.
type response struct {
	url       *url.URL
	status    int
	header    http.Header
	hops      []redirect
	mediaType string // lower case, without parameters; "" when unknown
	charset   string // as the header has it
	size      int64  // what the server says the body has, -1 when it does not
	body      []byte
	cut       bool  // the body is longer than what was read
	failed    error // why less than the limit was read
}

func newResponse(r *http.Response, hops []redirect) *response {
	a := &response{url: r.Request.URL, status: r.StatusCode, header: r.Header, hops: hops, size: r.ContentLength}
	mediaType, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err == nil || errors.Is(err, mime.ErrInvalidMediaParameter) {
		a.mediaType, a.charset = mediaType, params["charset"]
	}
	return a
}

// packings are the content codings of https://www.iana.org/assignments/http-parameters that pack a body. Servers also
// send what is none, such as aws-chunked, utf-8 or none, with a body that is as it is.
var packings = []string{"aes128gcm", "br", "compress", "dcb", "dcz", "deflate", "exi", "gzip", "pack200-gzip",
	"x-compress", "x-gzip", "zstd"}

// packed is how the body is still packed, "" when it is not: the transport has unpacked what it asked for.
func (a *response) packed() string {
	all := strings.Join(a.header.Values("Content-Encoding"), ",")
	for coding := range strings.SplitSeq(all, ",") {
		if slices.Contains(packings, strings.ToLower(strings.TrimSpace(coding))) {
			return all
		}
	}
	return ""
}

// read takes the body up to limit bytes, unpacked: a small body may unpack to any size.
func (a *response) read(ctx context.Context, body io.Reader, limit int) error {
	if coding := a.packed(); coding != "" {
		return &sdk.Error{Name: "UnknownEncoding",
			Message: fmt.Sprintf("%s sent its answer packed as %q, which was not asked for and cannot be read", a.url.Host,
				clip(coding, 40)),
			Suggestion: "Use another source."}
	}
	data, err := io.ReadAll(io.LimitReader(body, int64(limit)+1))
	a.body = data
	if len(data) > limit {
		a.body, a.cut = data[:limit], true
		return nil
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ended(ctx, fmt.Sprintf("reading the answer of %s, %d bytes of which had come", a.url.Host, len(data)))
	}
	return &sdk.Error{Name: "IncompleteBody",
		Message: fmt.Sprintf("the answer of %s broke off after %d bytes: %s", a.url.Host, len(data),
			clip(err.Error(), 200)),
		Retryable: true, Suggestion: "Try again."}
}

func (a *response) statusLine() string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)))
}

// typed is the type of the answer for people.
func (a *response) typed() string { return cmp.Or(a.mediaType, "no type given") }

// decode returns a body as UTF-8, and the name of the encoding that it was in.
func (a *response) decode() (text, name string) {
	e, name := a.encoding()
	if e != nil {
		if out, err := e.NewDecoder().Bytes(a.body); err == nil {
			return strings.TrimPrefix(string(out), "\uFEFF"), name
		}
	}
	return strings.ToValidUTF8(strings.TrimPrefix(string(a.whole()), "\uFEFF"), "\uFFFD"), "utf-8"
}

// xmlEncoding is what an XML document says at its start.
var xmlEncoding = regexp.MustCompile(`^\s*<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z0-9._:-]+)["']`)

// encoding finds out which one it is: by a byte order mark, what the header or the page says, or by the looks of it.
// Nil is UTF-8.
func (a *response) encoding() (encoding.Encoding, string) {
	if e, name, sure := charset.DetermineEncoding(a.body, ""); sure {
		return known(e, name) // a byte order mark
	}
	if e, name := charset.Lookup(a.charset); e != nil && name != "replacement" {
		return known(e, name)
	}
	if m := xmlEncoding.FindSubmatch(a.body[:min(len(a.body), 1<<10)]); m != nil && a.xml() {
		if e, name := charset.Lookup(string(m[1])); e != nil && name != "replacement" && !strings.HasPrefix(name, "utf-") {
			return e, name
		}
	}
	if a.html() {
		if e, name, _ := charset.DetermineEncoding(a.body, ""); name != "windows-1252" { // which stands for not known as well
			return known(e, name)
		}
	}
	sound, broken := textutil.CountUTF8(a.whole())
	if broken == 0 || sound > broken || strings.HasSuffix(a.mediaType, "json") {
		return nil, "utf-8"
	}
	return guess(a.body)
}

func known(e encoding.Encoding, name string) (encoding.Encoding, string) {
	if name == "utf-8" {
		return nil, name // replacing what is not valid is the same for all of UTF-8
	}
	return e, name
}

// whole is the body without a last UTF-8 character that was cut off with the rest.
func (a *response) whole() []byte {
	if a.cut || a.failed != nil {
		return textutil.TrimPartialEnd(a.body)
	}
	return a.body
}

// guess determines an encoding by the letters of the body. Windows-1252 is the last resort: every byte is a character
// there.
func guess(body []byte) (encoding.Encoding, string) {
	return charset.Lookup(cmp.Or(charsetdetect.Detect(body), "windows-1252"))
}

// A kind is a way to present a body.
type kind int

const (
	textKind   kind = iota
	imageKind       // an image of a type that models can see
	opaqueKind      // unknown: the body's content decides
	binaryKind
)

const maxImage = 3 << 20

var images = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// textual are types of text that are not named text/*, nor end in +json or +xml.
var textual = []string{"application/json", "application/xml", "application/javascript", "application/ecmascript",
	"application/x-javascript", "application/x-ndjson", "application/jsonl", "application/json-seq", "application/yaml",
	"application/x-yaml", "application/toml", "application/sql", "application/graphql", "application/x-sh",
	"application/x-www-form-urlencoded", "application/pgp-signature", "application/x-pem-file",
	"application/x-httpd-php", "application/rtf", "application/xhtml+xml", "message/rfc822"}

func kindOfMediaType(mediaType string) kind {
	switch {
	case slices.Contains(images, mediaType):
		return imageKind
	case strings.HasPrefix(mediaType, "text/"), slices.Contains(textual, mediaType),
		strings.HasSuffix(mediaType, "+json"), strings.HasSuffix(mediaType, "+xml"), strings.HasSuffix(mediaType, "+yaml"):
		return textKind
	case slices.Contains([]string{"", "application/octet-stream", "binary/octet-stream", "application/unknown"},
		mediaType):
		return opaqueKind
	}
	return binaryKind
}

// settle decides by the looks of the body, where the type does not or is wrong.
func (a *response) settle(said kind) kind {
	looks := http.DetectContentType(a.body)
	switch {
	case len(a.body) == 0:
		return textKind
	case slices.Contains(images, looks):
		a.mediaType = looks
		return imageKind
	case said == imageKind, said == binaryKind:
		return binaryKind
	case said == opaqueKind && !strings.HasPrefix(looks, "text/"):
		a.mediaType = looks
		return binaryKind
	case said == opaqueKind:
		a.mediaType, _, _ = strings.Cut(looks, ";")
	}
	if !a.hasZeroBytes() && bytes.IndexByte(a.body[:min(len(a.body), 8<<10)], 0) >= 0 {
		return binaryKind
	}
	return textKind
}

// hasZeroBytes reports whether the body is in an encoding that has zero bytes.
func (a *response) hasZeroBytes() bool {
	return strings.HasPrefix(strings.ToLower(a.charset), "utf-16") || bytes.HasPrefix(a.body, []byte("\xFF\xFE")) ||
		bytes.HasPrefix(a.body, []byte("\xFE\xFF"))
}

func (a *response) xml() bool {
	return strings.HasSuffix(a.mediaType, "/xml") || strings.HasSuffix(a.mediaType, "+xml")
}

func (a *response) html() bool {
	return a.mediaType == "text/html" || a.mediaType == "application/xhtml+xml"
}

// binary refuses what no model can read.
func (a *response) binary() error {
	size := a.size
	if len(a.body) > 0 && !a.cut {
		size = int64(len(a.body))
	}
	text := "an unknown size"
	if size >= 0 {
		text = fmt.Sprintf("%d bytes", size)
	}
	return &sdk.Error{Name: "BinaryBody", Message: fmt.Sprintf("%s is not text: %s, %s", shownURL(a.url), a.typed(), text),
		Suggestion: "Only text, and images (PNG, JPEG, GIF, WebP) of up to 3 MiB, can be shown. Download it with a " +
			"program, through a shell tool.",
		Details: sdk.Details(map[string]any{"content_type": a.mediaType, "size": size, "url": shownURL(a.url)})}
}

// wholeImage refuses an image that no model can be shown.
func (a *response) wholeImage() error {
	if a.cut {
		return a.binary()
	}
	err := imagefile.Check(a.body, a.mediaType)
	if err == nil {
		return nil
	}
	return &sdk.Error{Name: "BinaryBody",
		Message:    fmt.Sprintf("%s is an image (%s) that cannot be shown: %v", shownURL(a.url), a.mediaType, err),
		Suggestion: "Use another source. A program may know how to mend it, or to make it smaller, through a shell tool.",
		Details:    sdk.Details(map[string]any{"content_type": a.mediaType, "size": len(a.body), "url": shownURL(a.url)})}
}

const (
	maxRefused  = 64 << 10 // how much of an answer is read that says no
	shownRefuse = 8 << 10  // and given as content
	inMessage   = 400      // and in the message
)

// statusError makes the error for a status of 400 and more; the result holds what the server said about it.
func (w *webPlugin) statusError(ctx context.Context, r *http.Response, hops []redirect) (*sdk.Result, error) {
	a := newResponse(r, hops)
	said, charset, title := w.errorBody(ctx, a, r)
	e := &sdk.Error{Name: "HTTPStatus", Message: fmt.Sprintf("%s answered %s", shownURL(a.url), a.statusLine()),
		Suggestion: advice(a.status)}
	a.retry(e, map[string]any{"status": a.status, "url": a.url.String()})
	if said == "" {
		return nil, e
	}
	e.Message += ": " + clip(strings.Join(strings.Fields(said), " "), inMessage)
	out := a.report()
	out.Charset, out.Title, out.TextBytes = charset, title, len(said)
	_, out.End = window(said, 0, shownRefuse)
	out.Truncated = a.cut || out.End < len(said)
	result := &sdk.Result{Structured: sdk.Encode(out), Truncated: out.Truncated}
	result.Add(sdk.TextContent(a.heading(out, a.html())), sdk.TextContent(said[:out.End]))
	if out.Truncated {
		result.Add(sdk.TextContent("[the rest of what the server said is left out]"))
	}
	return result, e
}

// retry fills in what reports whether, and when, the call may be made again.
func (a *response) retry(e *sdk.Error, details map[string]any) {
	e.Retryable = a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable
	if wait, ok := retryAfter(a.header.Get("Retry-After"), time.Now()); ok {
		details["retry_after_seconds"] = wait
		if e.Retryable {
			e.Suggestion = fmt.Sprintf("Try again in %d seconds.", wait)
		}
	}
	e.Details = sdk.Details(details)
}

// errorBody returns the server's text about its refusal, as far as it can be read.
func (w *webPlugin) errorBody(ctx context.Context, a *response, r *http.Response) (text, charset, title string) {
	said := kindOfMediaType(a.mediaType)
	if said != textKind && said != opaqueKind || a.read(ctx, r.Body, maxRefused) != nil || a.settle(said) != textKind {
		return "", "", ""
	}
	text, charset, title, err := w.readable(ctx, a, false)
	if err != nil {
		return "", "", ""
	}
	return strings.TrimSpace(text), charset, title
}

func advice(status int) string {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		return "The site does not let this request in. Use another source, or ask the user."
	case http.StatusNotFound, http.StatusGone:
		return "Check the URL, or look for the page from the site's start page."
	case http.StatusMethodNotAllowed:
		return "Use the other tool: get to read, post to send."
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return "Wait a while before trying again."
	}
	return ""
}

// retryAfter reads the header of that name, seconds or a date.
func retryAfter(value string, now time.Time) (int, bool) {
	if n, err := strconv.Atoi(value); err == nil && n >= 0 {
		return n, true
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, int(at.Sub(now).Seconds()+0.5)), true
	}
	return 0, false
}
