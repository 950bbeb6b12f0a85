package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

const (
	maxRefused  = 64 << 10 // how much of an answer is read that says no
	shownRefuse = 8 << 10  // and given as content
	inMessage   = 400      // and in the message
)

// statusError makes the error for a status of 400 and more; the result holds what the server said about it.
func (w *web) statusError(ctx context.Context, r *http.Response, hops []hop) (*sdk.Result, error) {
	a := newAnswer(r, hops)
	said, charset, title := w.complaint(ctx, a, r)
	e := &sdk.Error{Name: "HTTPStatus", Message: fmt.Sprintf("%s answered %s", shownURL(a.url), a.statusLine()), Suggestion: advice(a.status)}
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

// retry fills in what tells whether, and when, the call may be made again.
func (a *answer) retry(e *sdk.Error, details map[string]any) {
	e.Retryable = a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable
	if wait, ok := retryAfter(a.header.Get("Retry-After"), time.Now()); ok {
		details["retry_after_seconds"] = wait
		if e.Retryable {
			e.Suggestion = fmt.Sprintf("Try again in %d seconds.", wait)
		}
	}
	e.Details = sdk.Details(details)
}

// complaint is what the server says of its refusal, as far as it can be read.
func (w *web) complaint(ctx context.Context, a *answer, r *http.Response) (text, charset, title string) {
	said := told(a.mediaType)
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
