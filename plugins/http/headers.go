package main

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/toolhost/toolhost/sdk"
)

const (
	maxHeaders     = 50
	maxHeaderBytes = 8 << 10 // of all of them
)

// ofConnection are headers that are made, or would be passed over, when a request is sent.
var ofConnection = []string{"Accept-Encoding", "Connection", "Content-Length", "Expect", "Host", "Http2-Settings", "Keep-Alive",
	"Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// reserved headers make one request into another that nobody has seen.
var reserved = []string{"Forwarded", "Proxy-Authenticate", "Proxy-Authorization", "Via", "X-Forwarded-For", "X-Forwarded-Host",
	"X-Http-Method", "X-Http-Method-Override", "X-Method-Override", "X-Original-Url", "X-Rewrite-Url"}

// A header carries credentials if its name has one of these words, or ends with Key, but for keys that are no secrets.
var (
	credentialWords = []string{"auth", "authorization", "authentication", "token", "cookie", "secret", "password", "passwd", "credential",
		"credentials", "apikey", "accesskey", "jwt", "assertion", "session", "sessionid"}
	plainKeys = []string{"Idempotency-Key", "X-Idempotency-Key", "Sec-Websocket-Key", "Surrogate-Key", "Cache-Key", "Partition-Key", "Routing-Key", "Sort-Key"}
	schemes   = []string{"basic ", "bearer ", "digest ", "token ", "apikey ", "negotiate ", "aws4-hmac-sha256 "} // of the values of Authorization
)

// carriesCredentials says whether a header says who asks, by its name or by how its value begins.
func carriesCredentials(name, value string) bool {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '-' || r == '_' || r == '.' })
	if slices.ContainsFunc(words, func(w string) bool { return slices.Contains(credentialWords, w) }) {
		return name != "Mcp-Session-Id"
	}
	if len(words) > 0 && strings.HasSuffix(words[len(words)-1], "key") && !slices.Contains(plainKeys, name) {
		return true
	}
	value = strings.ToLower(strings.TrimSpace(value))
	return slices.ContainsFunc(schemes, func(s string) bool { return strings.HasPrefix(value, s) })
}

// portable headers may follow a redirect to another server; whatever else a caller gives was meant for the first one.
var portable = []string{"Accept", "Accept-Language", "Content-Type", "User-Agent"}

// headersOf makes headers of what a call gives. Those that say who asks pass only if trusted.
func headersOf(given map[string]string, trusted bool) (http.Header, error) {
	out, err := plainHeaders(given)
	if err != nil {
		return nil, refuseHeader("%v", err)
	}
	for _, name := range slices.Sorted(maps.Keys(out)) {
		switch {
		case slices.Contains(reserved, name):
			return nil, refuseHeader("the header %s may not be given", name)
		case carriesCredentials(name, out.Get(name)) && !trusted:
			return nil, &sdk.Error{Code: sdk.CodeInvalidArgs, Name: "CredentialsRefused",
				Message:    fmt.Sprintf("the header %s carries credentials, which may not be sent to this host; nothing was sent", name),
				Suggestion: "Call without it. The operator can name the host in credential_hosts of the plugin's config."}
		}
	}
	return out, nil
}

// plainHeaders takes any headers that can be sent as they are.
func plainHeaders(given map[string]string) (http.Header, error) {
	out, size := http.Header{}, 0
	for _, name := range slices.Sorted(maps.Keys(given)) {
		value := given[name]
		size += len(name) + len(value)
		switch canonical := http.CanonicalHeaderKey(name); {
		case !httpguts.ValidHeaderFieldName(name):
			return nil, fmt.Errorf("%.100q is no name for a header", name)
		case !httpguts.ValidHeaderFieldValue(value):
			return nil, fmt.Errorf("the value of the header %s has control characters", canonical)
		case slices.Contains(ofConnection, canonical):
			return nil, fmt.Errorf("the header %s may not be given", canonical)
		case out[canonical] != nil:
			return nil, fmt.Errorf("the header %s is there twice", canonical)
		default:
			out.Set(canonical, value)
		}
	}
	if len(out) > maxHeaders || size > maxHeaderBytes {
		return nil, fmt.Errorf("there are %d headers of %d bytes, at most %d of %d are allowed", len(out), size, maxHeaders, maxHeaderBytes)
	}
	return out, nil
}

func refuseHeader(format string, a ...any) error {
	return &sdk.Error{Code: sdk.CodeInvalidArgs, Name: "HeaderRefused", Message: fmt.Sprintf(format, a...) + "; nothing was sent",
		Suggestion: "Call without this header."}
}

// abroad are the headers that follow a redirect to another server.
func abroad(h http.Header) http.Header {
	out := http.Header{}
	for _, name := range portable {
		if values := h[name]; values != nil {
			out[name] = values
		}
	}
	return out
}
