package main

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/url"
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
var ofConnection = []string{"Accept-Encoding", "Connection", "Content-Length", "Expect", "Host", "Http2-Settings",
	"Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// reserved headers make one request into another that no one has seen.
var reserved = []string{"Forwarded", "Proxy-Authenticate", "Proxy-Authorization", "Via", "X-Forwarded-For",
	"X-Forwarded-Host", "X-Http-Method", "X-Http-Method-Override", "X-Method-Override", "X-Original-Url",
	"X-Rewrite-Url"}

// A header carries credentials if its name has one of these words, or ends with Key, but for keys that are no secrets.
var (
	credentialWords = []string{"auth", "authorization", "authentication", "token", "cookie", "secret", "password",
		"passwd", "credential", "credentials", "apikey", "accesskey", "jwt", "assertion", "session", "sessionid"}
	plainKeys = []string{"Idempotency-Key", "X-Idempotency-Key", "Sec-Websocket-Key", "Surrogate-Key", "Cache-Key",
		"Partition-Key", "Routing-Key", "Sort-Key"}
	// of the values of Authorization
	schemes = []string{"basic ", "bearer ", "digest ", "token ", "apikey ", "negotiate ", "aws4-hmac-sha256 "}
)

// carriesCredentials reports whether a header identifies the caller, by its name or by how its value begins.
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

// headersOf makes headers from a call's arguments. Those that identify the caller pass only if trusted.
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
				Message: fmt.Sprintf("the header %s carries credentials, and this host is not in credential_hosts; nothing "+
					"was sent", name),
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
			return nil, fmt.Errorf("%.100q is not a name for a header", name)
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
		return nil, fmt.Errorf("there are %d headers of %d bytes, at most %d of %d are allowed", len(out), size, maxHeaders,
			maxHeaderBytes)
	}
	return out, nil
}

func refuseHeader(format string, a ...any) error {
	return &sdk.Error{Code: sdk.CodeInvalidArgs, Name: "HeaderRefused", Message: fmt.Sprintf(format, a...) +
		"; nothing was sent",
		Suggestion: "Call without this header."}
}

// crossOrigin are the headers that follow a redirect to another server.
func crossOrigin(h http.Header) http.Header {
	out := http.Header{}
	for _, name := range portable {
		if values := h[name]; values != nil {
			out[name] = values
		}
	}
	return out
}

const (
	hiddenText = "[hidden]"
	// leastSecret is the shortest text that is hidden; shorter ones would be found in any text.
	leastSecret = 6
)

// A redactor takes the operator's secrets out of whatever a model or a person may see: servers like to repeat what they
// were sent.
type redactor struct {
	forms    []string // the secrets in all their spellings, the longest first
	replacer *strings.Replacer
}

// newRedactor hides the values of headers that are not about the form of the data, and what the URL asks with.
func newRedactor(h http.Header, u *url.URL) redactor {
	secrets := []string{u.RawQuery}
	for name := range h {
		if !slices.Contains(portable, name) {
			secrets = append(append(secrets, h.Get(name)), parts(name, h.Get(name))...)
		}
	}
	for _, values := range u.Query() {
		secrets = append(secrets, values...)
	}
	var out redactor
	for _, s := range secrets {
		if s = strings.TrimSpace(s); len(s) >= leastSecret {
			out.forms = append(out.forms, spellings(s)...)
		}
	}
	// The replacer takes the first that fits.
	slices.SortFunc(out.forms, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	out.forms = slices.Compact(out.forms)
	var pairs []string
	for _, form := range out.forms {
		pairs = append(pairs, form, hiddenText)
	}
	out.replacer = strings.NewReplacer(pairs...)
	return out
}

// parts are the pieces of a header's value that may come back by themselves, such as a token without its scheme.
func parts(name, value string) []string {
	words := strings.Fields(value)
	if scheme, rest, ok := strings.Cut(value, " "); name == "Authorization" && ok {
		words = strings.Fields(rest)
		if user, err := base64.StdEncoding.DecodeString(strings.TrimSpace(rest)); err == nil &&
			strings.EqualFold(scheme, "basic") {
			_, password, _ := strings.Cut(string(user), ":")
			words = append(words, string(user), password)
		}
	}
	for pair := range strings.SplitSeq(value, ";") { // as in Cookie
		pair = strings.TrimSpace(pair)
		_, v, _ := strings.Cut(pair, "=")
		words = append(words, v)
	}
	return words
}

// spellings are the ways in which JSON, HTML and URLs write a text.
func spellings(s string) []string {
	plain := string(sdk.Encode(s))
	escaped, _ := json.Marshal(s)
	out := []string{s, html.EscapeString(s), url.QueryEscape(s), url.PathEscape(s)}
	for _, quoted := range []string{plain, string(escaped)} {
		inner := strings.TrimSuffix(strings.TrimPrefix(quoted, `"`), `"`)
		out = append(out, inner, strings.ReplaceAll(inner, "/", `\/`))
	}
	return out
}

func (h redactor) result(r *sdk.Result) *sdk.Result {
	if r == nil {
		return nil
	}
	for i, part := range r.Content {
		r.Content[i].Text = h.replacer.Replace(part.Text)
		if r.Truncated {
			r.Content[i].Text = h.end(r.Content[i].Text)
		}
	}
	if r.Structured != nil {
		r.Structured = validJSON(h.replacer.Replace(string(r.Structured)))
	}
	return r
}

func (h redactor) error(err error) error {
	e, ok := errors.AsType[*sdk.Error](err)
	if !ok {
		return err
	}
	out := *e
	out.Message, out.Suggestion = h.message(e.Message), h.message(e.Suggestion)
	if e.Details != nil {
		out.Details = validJSON(h.message(string(e.Details)))
	}
	return &out
}

// message hides secrets in a text that is put together of clipped ones too, where the first part of one may be left.
func (h redactor) message(text string) string {
	pieces := strings.Split(h.replacer.Replace(text), clipped)
	for i, piece := range pieces {
		pieces[i] = h.end(piece)
	}
	return strings.Join(pieces, clipped)
}

// end hides the first part of a secret that was cut off with the rest of its text.
func (h redactor) end(text string) string {
	for _, form := range h.forms {
		for n := min(len(form)-1, len(text)); n >= leastSecret; n-- {
			if rest, ok := strings.CutSuffix(text, form[:n]); ok {
				return rest + hiddenText
			}
		}
	}
	return text
}

// validJSON drops what is not JSON any more: a secret may be a number.
func validJSON(text string) json.RawMessage {
	if !json.Valid([]byte(text)) {
		return nil
	}
	return json.RawMessage(text)
}
