package httptransport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/internal/redact"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/plugins/mcp/internal/client"
	"github.com/toolhost/toolhost/sdk"
)

// failure words why there is no answer to a request. The parent context is the caller's.
func (t *Transport) failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return mayHaveRun(context.Cause(ctx))
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // the URL may hold secrets
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return notRun(t.dnsError(dns))
	}
	why := t.clean(err.Error())
	if op, ok := errors.AsType[*net.OpError](err); ok && (op.Op == "dial" || op.Op == "proxyconnect") {
		if errors.Is(err, syscall.ECONNREFUSED) {
			why = "the connection is refused"
		}
		return notRun(&sdk.Error{Name: "ConnectFailed", Retryable: true,
			Message:    fmt.Sprintf("the MCP server at %s cannot be reached: %s", t.shown(), why),
			Suggestion: "Check that the server runs, and the host and port of its url."})
	}
	if isTLSError(err) {
		return notRun(&sdk.Error{Name: "TLSFailed",
			Message: fmt.Sprintf("no secure connection to the MCP server at %s: %s", t.shown(), why),
			Suggestion: "The server's certificate or its TLS is wrong, or the url should begin with http://. The operator " +
				"adds the certificate of a private authority to the system's."})
	}
	e := &sdk.Error{Name: "BadReply",
		Message:    fmt.Sprintf("the MCP server at %s did not answer: %s", t.shown(), why),
		Suggestion: "Check that the url is that of an MCP endpoint, and the server's log."}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) {
		e.Message = fmt.Sprintf("the MCP server at %s closed the connection before it answered", t.shown())
	}
	return mayHaveRun(e)
}

func (t *Transport) dnsError(err *net.DNSError) error {
	if err.IsNotFound {
		return &sdk.Error{Name: "HostNotFound", Message: fmt.Sprintf("there is no host %s", visible(t.base.Hostname(), 300)),
			Suggestion: "Check the spelling of the host in the server's url."}
	}
	return &sdk.Error{Name: "HostNotFound", Retryable: true,
		Message: fmt.Sprintf("the name of the host %s cannot be looked up: %s", visible(t.base.Hostname(), 300),
			visible(err.Err, 200)),
		Suggestion: "Try again. If it keeps failing, DNS does not work on this machine."}
}

func isTLSError(err error) bool {
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	_, record := errors.AsType[tls.RecordHeaderError](err)
	_, host := errors.AsType[x509.HostnameError](err)
	return certificate || alert || record || host || strings.Contains(err.Error(), "tls: ") ||
		strings.Contains(err.Error(), "server gave HTTP response to HTTPS client")
}

// notRun is the error of a request that the server did not run.
func notRun(err error) error { return &client.CallError{Err: err} }

// mayHaveRun is the error of a request that the server may have run, unless err says that it did not.
func mayHaveRun(err error) error {
	if _, ok := errors.AsType[*client.CallError](err); ok {
		return err
	}
	return &client.CallError{Delivered: true, Err: err}
}

func (t *Transport) slowError(what string) error {
	return &sdk.Error{Name: "TooSlow",
		Message: fmt.Sprintf("the MCP server at %s sends %s too slowly: it was not complete after %v", t.shown(), what,
			t.o.grace.Round(time.Millisecond))}
}

// broken words the end of an answer's stream before the answer.
func (t *Transport) broken(err error) error {
	if _, ok := errors.AsType[*sdk.Error](err); ok {
		return mayHaveRun(err)
	}
	if large, ok := errors.AsType[*tooLargeError](err); ok {
		return mayHaveRun(&sdk.Error{Code: sdk.CodeResultTooLarge, Name: "AnswerTooLarge",
			Message:    fmt.Sprintf("the MCP server at %s was cut off: %s", t.shown(), large),
			Suggestion: "Ask for less."})
	}
	if !lost(err) {
		return mayHaveRun(err)
	}
	return mayHaveRun(&sdk.Error{Name: "StreamEnded",
		Message: fmt.Sprintf("the MCP server at %s ended its answer before it was complete", t.shown())})
}

// statusError words an answer that is an HTTP error.
func (t *Transport) statusError(a *response, text []byte) error {
	why := t.quoted(a, text)
	e := &sdk.Error{Name: "HTTPStatus", Details: sdk.Details(map[string]int{"status": a.StatusCode}),
		Message: fmt.Sprintf("the MCP server at %s answered with HTTP status %d %s%s", t.shown(), a.StatusCode,
			http.StatusText(a.StatusCode), why)}
	switch a.StatusCode {
	case http.StatusUnauthorized:
		e.Name = "CredentialsRefused"
		e.Suggestion = "The operator checks the headers of the server in the plugin's configuration."
	case http.StatusForbidden:
		if why == "" {
			e.Suggestion = "The operator checks the url in the plugin's configuration, and what the credentials there permit."
		}
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		e.Suggestion = "Check that the url is that of an MCP endpoint; many end in /mcp or /sse."
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		e.Retryable = true
		e.Suggestion = "Try again later."
		if after := a.Header.Get("Retry-After"); after != "" {
			e.Suggestion = fmt.Sprintf("Try again later; the server says: after %s.", visible(after, 40))
		}
	case http.StatusRequestEntityTooLarge:
		e.Suggestion = "Send less at once."
	}
	if a.StatusCode >= http.StatusInternalServerError {
		return mayHaveRun(e)
	}
	return notRun(e)
}

// quoted is the text of an error page, if it is one for people and says more than the status.
func (t *Transport) quoted(a *response, text []byte) string {
	if len(text) == 0 || strings.Contains(a.Header.Get("Content-Type"), "html") {
		return ""
	}
	shown := string(text)
	if sent := a.Request.Header.Get("Authorization"); sent != "" {
		_, credentials, _ := strings.Cut(sent, " ")
		shown = redact.New(sent, credentials).Text(shown)
	}
	if shown = t.clean(shown); shown == "" || strings.EqualFold(shown, http.StatusText(a.StatusCode)) {
		return ""
	}
	return ": " + shown
}

// clean makes the text of a server fit for an error.
func (t *Transport) clean(text string) string {
	return visible(strings.Join(strings.Fields(t.redactor.Text(text)), " "), 300)
}

// redactedError takes secrets out of an error that another package has worded.
func (t *Transport) redactedError(err error) error {
	if e, ok := errors.AsType[*sdk.Error](err); ok {
		out := *e
		out.Message = t.redactor.Text(out.Message)
		return &out
	}
	return err
}

func visible(text string, most int) string {
	text, _ = textutil.Visible(text, '\ufffd')
	return textutil.CutRunes(text, most, "...")
}
