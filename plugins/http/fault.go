package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

// slowTransferError is why the context of a request ended that took longer than its timeout_seconds.
type slowTransferError struct{ limit time.Duration }

func (t slowTransferError) Error() string { return fmt.Sprintf("not done after %v", t.limit) }

// limited returns the context of one request with all its redirects and its answer.
func limited(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, slowTransferError{limit})
}

func failure(ctx context.Context, u *url.URL, err error) error {
	if r, ok := errors.AsType[*refusal](err); ok {
		return refused(r)
	}
	if ctx.Err() != nil {
		return ended(ctx, fmt.Sprintf("waiting for %s", shownURL(u)))
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		if dns.IsNotFound {
			return &sdk.Error{Name: "HostNotFound", Message: fmt.Sprintf("there is no host %s", u.Hostname()),
				Suggestion: "Check the spelling of the host."}
		}
		return &sdk.Error{Name: "HostNotFound",
			Message:   fmt.Sprintf("the name of the host %s could not be looked up: %s", u.Hostname(), clip(dns.Err, 200)),
			Retryable: true, Suggestion: "Try again. If it keeps failing, DNS does not work on this machine."}
	}
	op, ok := errors.AsType[*net.OpError](err)
	switch {
	case ok && op.Op == "dial":
		return &sdk.Error{Name: "ConnectFailed", Message: fmt.Sprintf("%s cannot be reached: %v", u.Host, err),
			Retryable:  true,
			Suggestion: "Check the host and the port; the server may be down."}
	case tlsError(err):
		return &sdk.Error{Name: "TLSFailed",
			Message: fmt.Sprintf("no secure connection to %s: %s", u.Host, clip(err.Error(), 300)),
			Suggestion: "The site's TLS certificate or configuration is invalid; toolhost does not ignore that. Use " +
				"another source."}
	}
	return &sdk.Error{Name: "BadReply",
		Message:    fmt.Sprintf("%s did not send a valid HTTP response: %s", u.Host, clip(err.Error(), 300)),
		Retryable:  errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET),
		Suggestion: "Check that the port is that of a web server and the scheme is right; else use another source."}
}

func tlsError(err error) bool {
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	_, record := errors.AsType[tls.RecordHeaderError](err)
	_, host := errors.AsType[x509.HostnameError](err)
	return certificate || alert || record || host
}

func refused(r *refusal) *sdk.Error {
	e := &sdk.Error{Name: "AddressRefused", Message: r.Error() + "; nothing was sent there",
		Suggestion: "Only public addresses may be used. The operator can add others to allow_private in the plugin's config.",
		Details:    sdk.Details(map[string]string{"host": r.host, "address": r.address})}
	if r.port {
		e.Name, e.Details = "PortRefused", sdk.Details(map[string]string{"host": r.host, "port": r.address})
		e.Suggestion = "Use the port of a web server. The operator can add the host with this port to allow_private in the " +
			"plugin's config."
	}
	switch {
	case r.strict:
		e.Suggestion = "Redirects of other hosts do not lead there. Call again with that URL if it is the right one, so " +
			"that it can be decided about."
	case r.denied:
		e.Name, e.Suggestion = "HostDenied", "Use another source."
	case r.always:
		e.Suggestion = "Such addresses are never used, whatever the configuration says."
	}
	return e
}

// ended describes the end of a request before its answer arrived, whatever the cause. Doing says what was in
// progress.
func ended(ctx context.Context, doing string) error {
	slow, ok := errors.AsType[slowTransferError](context.Cause(ctx))
	if !ok {
		e := sdk.EndedError(ctx)
		e.Message += ", while " + doing
		return e
	}
	return &sdk.Error{Code: sdk.CodeTimeout, Name: "Timeout", Message: fmt.Sprintf("%v, while %s", slow, doing),
		Retryable:  true,
		Suggestion: fmt.Sprintf("Give it more time with timeout_seconds (at most %d), or ask for less.", maxSeconds)}
}

// sent words the failure of a request that changes something and may have reached its server: calling again could do it
// twice.
func sent(err error) error {
	e, ok := errors.AsType[*sdk.Error](err)
	if !ok || !slices.Contains([]string{"Timeout", "BadReply", "IncompleteBody"}, e.Name) {
		return err
	}
	out := *e
	out.Retryable, out.Outcome = false, sdk.OutcomeUnknown
	out.Suggestion = "The server may have done what it was asked for. Look for that before sending it again."
	return &out
}

func invalid(format string, a ...any) error {
	return &sdk.Error{Code: sdk.CodeInvalidArgs, Name: "InvalidArguments", Message: fmt.Sprintf(format, a...) +
		"; nothing was sent"}
}

// shownURL is a URL as errors and notes have it.
func shownURL(u *url.URL) string { return clip(u.String(), 300) }

// clipped stands for what clip has left out.
const clipped = "..."

// clip cuts a text to some bytes, between characters.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return string(textutil.TrimPartialEnd([]byte(text[:most]))) + clipped
}
