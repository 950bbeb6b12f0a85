package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/toolhost/toolhost/sdk"
)

// An answer is what a server sent, read as far as it is wanted.
type answer struct {
	url       *url.URL
	status    int
	header    http.Header
	hops      []hop
	mediaType string // lower case, without parameters; "" when not told
	charset   string // as the header has it
	size      int64  // what the server says the body has, -1 when it does not
	body      []byte
	cut       bool // the body is longer than what was read
}

func newAnswer(r *http.Response, hops []hop) *answer {
	a := &answer{url: r.Request.URL, status: r.StatusCode, header: r.Header, hops: hops, size: r.ContentLength}
	mediaType, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err == nil || errors.Is(err, mime.ErrInvalidMediaParameter) {
		a.mediaType, a.charset = mediaType, params["charset"]
	}
	return a
}

// read takes the body up to limit bytes, unpacked: a small body may unpack to any size.
func (a *answer) read(ctx context.Context, body io.Reader, limit int) error {
	if coding := a.header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return &sdk.Error{Name: "UnknownEncoding", Message: fmt.Sprintf("%s sent its answer packed as %q, which was not asked for and cannot be read", a.url.Host, clip(coding, 40)),
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
	return &sdk.Error{Name: "IncompleteBody", Message: fmt.Sprintf("the answer of %s broke off after %d bytes: %s", a.url.Host, len(data), clip(err.Error(), 200)),
		Retryable: true, Suggestion: "Try again."}
}

// statusLine is "404 Not Found".
func (a *answer) statusLine() string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)))
}

// typed is the type of the answer for people.
func (a *answer) typed() string {
	if a.mediaType == "" {
		return "no type told"
	}
	return a.mediaType
}
