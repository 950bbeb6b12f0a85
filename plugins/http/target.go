package main

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolhost/toolhost/sdk"
)

// maxURL is the longest URL, in bytes; servers take no longer ones.
const maxURL = 8 << 10

// parseURL reads an absolute URL of http or https. Its host is in canonical form afterwards, with a port only if that is
// not the usual one, and it has no fragment, which servers never see.
func parseURL(text string) (*url.URL, *sdk.Error) {
	text = strings.TrimSpace(text)
	if e := checkText(text); e != nil {
		return nil, e
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, badURL("%q cannot be read as a URL", legible(text))
	}
	if e := checkParts(text, u); e != nil {
		return nil, e
	}
	host, err := canonicalHost(u.Hostname())
	if err != nil {
		return nil, badURL("the host of %q cannot be used: %v", legible(text), err)
	}
	port, err := portNumber(u)
	if err != nil {
		return nil, badURL("%q: %v", legible(text), err)
	}
	u.Host = joined(u.Scheme, host, port)
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

func checkText(text string) *sdk.Error {
	switch {
	case text == "":
		return badURL("the URL is empty")
	case len(text) > maxURL:
		return badURL("the URL has %d bytes, at most %d are allowed", len(text), maxURL)
	case !utf8.ValidString(text), strings.ContainsFunc(text, unicode.IsControl):
		return badURL("%q has control characters, or is not UTF-8", legible(text))
	}
	return nil
}

func checkParts(text string, u *url.URL) *sdk.Error {
	switch {
	case u.User != nil: // not quoted, since it may hold a password
		return &sdk.Error{Code: sdk.CodeInvalidArgs, Name: "CredentialsInURL", Message: "the URL has a user name or a password in front of its host, which is not allowed",
			Suggestion: "Leave out everything up to the @."}
	case u.Scheme == "" || strings.Contains(u.Scheme, ".") || u.Scheme == "localhost": // example.org:8080 has a scheme by its looks
		return badURL("%q does not begin with http:// or https://", legible(text))
	case u.Scheme != "http" && u.Scheme != "https":
		return &sdk.Error{Code: sdk.CodeInvalidArgs, Name: "UnsupportedScheme", Message: fmt.Sprintf("%q is a URL of %s; only http and https can be used", legible(text), u.Scheme),
			Suggestion: "For a file of the workspace use a tool that reads files."}
	case u.Opaque != "" || u.Host == "":
		return badURL("%q names no host", legible(text))
	}
	return nil
}

// legible is the text of a bad URL without what may be secret in it: a password, and what it asks with.
func legible(text string) string {
	if i := strings.IndexAny(text, "?#"); i >= 0 {
		text = text[:i] + clipped
	}
	if i := strings.LastIndexByte(text, '@'); i >= 0 {
		text = clipped + text[i:]
	}
	return clip(text, 300)
}

func badURL(format string, a ...any) *sdk.Error {
	return &sdk.Error{Code: sdk.CodeInvalidArgs, Name: "BadURL", Message: fmt.Sprintf(format, a...),
		Suggestion: "Give an absolute URL, such as https://example.org/page."}
}

func portNumber(u *url.URL) (uint16, error) {
	if u.Port() == "" {
		return usualPort(u.Scheme), nil
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q is no port", u.Port())
	}
	return uint16(n), nil
}

func usualPort(scheme string) uint16 {
	if scheme == "http" {
		return 80
	}
	return 443
}

func joined(scheme, host string, port uint16) string {
	if port != usualPort(scheme) {
		return net.JoinHostPort(host, strconv.Itoa(int(port)))
	}
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

// hostAndPort are those of a URL that parseURL gave.
func hostAndPort(u *url.URL) (string, uint16) {
	port, _ := portNumber(u) // parseURL has seen it
	return u.Hostname(), port
}

// sameOrigin says whether two URLs that parseURL gave are of the same server.
func sameOrigin(a, b *url.URL) bool { return a.Scheme == b.Scheme && a.Host == b.Host }
