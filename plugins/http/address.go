package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/toolhost/toolhost/sdk"
)

// A network is a block of addresses that is not the public Internet.
type network struct {
	prefix netip.Prefix
	kind   string // to be before the word "address"
}

// special are the blocks of IPv4 and of IPv6's global unicast space that are not for public hosts, after the registries
// at https://www.iana.org/assignments/iana-ipv4-special-registry and
// https://www.iana.org/assignments/iana-ipv6-special-registry.
var special = []network{
	{netip.MustParsePrefix("0.0.0.0/8"), "an unspecified"},
	{netip.MustParsePrefix("10.0.0.0/8"), "a private"},
	{netip.MustParsePrefix("100.64.0.0/10"), "a carrier-grade NAT"},
	{netip.MustParsePrefix("127.0.0.0/8"), "a loopback"},
	{netip.MustParsePrefix("169.254.0.0/16"), "a link-local"},
	{netip.MustParsePrefix("172.16.0.0/12"), "a private"},
	{netip.MustParsePrefix("192.0.0.0/24"), "a reserved"},
	{netip.MustParsePrefix("192.0.2.0/24"), "a documentation"},
	{netip.MustParsePrefix("192.88.99.0/24"), "a reserved"},
	{netip.MustParsePrefix("192.168.0.0/16"), "a private"},
	{netip.MustParsePrefix("198.18.0.0/15"), "a benchmark"},
	{netip.MustParsePrefix("198.51.100.0/24"), "a documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "a documentation"},
	{netip.MustParsePrefix("224.0.0.0/4"), "a multicast"},
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved"},
	{netip.MustParsePrefix("::/128"), "an unspecified"},
	{netip.MustParsePrefix("::1/128"), "a loopback"},
	{netip.MustParsePrefix("fc00::/7"), "a unique-local"},
	{netip.MustParsePrefix("fe80::/10"), "a link-local"},
	{netip.MustParsePrefix("ff00::/8"), "a multicast"},
	{netip.MustParsePrefix("2001::/23"), "a reserved"}, // Teredo among them, which has an IPv4 address inside
	{netip.MustParsePrefix("2001:db8::/32"), "a documentation"},
	{netip.MustParsePrefix("3fff::/20"), "a documentation"},
}

// global is all of IPv6 that public hosts can have addresses of.
var global = netip.MustParsePrefix("2000::/3")

var (
	nat64   = netip.MustParsePrefix("64:ff9b::/96")
	sixToIV = netip.MustParsePrefix("2002::/16")
)

// metadata are the addresses at which clouds return credentials to any client inside. Some of them are public.
var metadata = []netip.Addr{
	netip.MustParseAddr("169.254.169.254"),    // nearly all clouds
	netip.MustParseAddr("169.254.170.2"),      // credentials of AWS containers
	netip.MustParseAddr("169.254.170.23"),     // and of EKS pods
	netip.MustParseAddr("100.100.100.200"),    // Alibaba Cloud
	netip.MustParseAddr("168.63.129.16"),      // Azure
	netip.MustParseAddr("192.0.0.192"),        // Oracle Cloud
	netip.MustParseAddr("fd00:ec2::254"),      // AWS
	netip.MustParseAddr("fd00:ec2::23"),       // EKS pods
	netip.MustParseAddr("fd20:ce::254"),       // Google Cloud
	netip.MustParseAddr("169.254.0.23"),       // Tencent Cloud
	netip.MustParseAddr("169.254.42.42"),      // Scaleway
	netip.MustParseAddr("fd00:42::42"),        // Scaleway
	netip.MustParseAddr("fd00:c1::a9fe:a9fe"), // Oracle Cloud
	netip.MustParseAddr("fd00:a9fe:a9fe::1"),  // Akamai
	netip.MustParseAddr("fd00:100::100:200"),  // Alibaba Cloud
	netip.MustParseAddr("fe80::a9fe:a9fe"),    // OpenStack
}

// plain is the address that is really meant: the IPv4 address inside an IPv6 one, without a zone.
func plain(a netip.Addr) netip.Addr {
	a = a.WithZone("").Unmap()
	bytes := a.As16()
	switch {
	case nat64.Contains(a):
		return netip.AddrFrom4([4]byte(bytes[12:]))
	case sixToIV.Contains(a):
		return netip.AddrFrom4([4]byte(bytes[2:6]))
	}
	return a
}

// kindOf says in words why a plain address is not public, or "".
func kindOf(a netip.Addr) string {
	for _, n := range special {
		if n.prefix.Contains(a) {
			return n.kind
		}
	}
	if a.Is4() || global.Contains(a) {
		return ""
	}
	return "a reserved"
}

// names makes every spelling of a host name one: lower case, and the ASCII form of other letters. Underscores are in
// use.
var names = idna.New(idna.MapForLookup(), idna.StrictDomainName(false))

// canonicalHost returns the one spelling of a host, without brackets and without the dot that may end a name.
func canonicalHost(host string) (string, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		if a.Zone() != "" {
			return "", fmt.Errorf("it has a zone (%%%s), and such addresses belong to this machine's own links", a.Zone())
		}
		return a.Unmap().String(), nil
	}
	name, err := names.ToASCII(host)
	if err != nil {
		return "", fmt.Errorf("%q is not a host name", host)
	}
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	return name, checkName(name)
}

func checkName(name string) error {
	labels := strings.Split(name, ".")
	switch {
	case name == "":
		return errors.New("it names no host")
	case len(name) > 253 || slices.ContainsFunc(labels, func(l string) bool { return l == "" || len(l) > 63 }):
		return fmt.Errorf("%.300q is not a host name", name)
	case strings.ContainsFunc(name, notInHostName):
		return fmt.Errorf("%q is not a host name", name)
	case numeric(labels[len(labels)-1]):
		return fmt.Errorf("%q is a number that programs read differently; an IPv4 address has four decimal parts, without "+
			"leading zeros", name)
	}
	return nil
}

func notInHostName(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.", r)
}

// numeric reports whether a name that ends in this label is taken for an IPv4 address by browsers and by C libraries.
func numeric(label string) bool {
	hex, isHex := strings.CutPrefix(label, "0x")
	if isHex {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// A pattern stands for hosts: a name, "*.name" for all names below it, an address, or "*"; with a port or for any.
type pattern struct {
	name string
	port uint16 // 0 for any
}

func (p pattern) match(host string, port uint16) bool {
	if p.port != 0 && p.port != port {
		return false
	}
	if tail, wild := strings.CutPrefix(p.name, "*"); wild {
		_, err := netip.ParseAddr(host)
		return tail == "" || err != nil && strings.HasSuffix(host, tail)
	}
	return p.name == host
}

type patterns []pattern

func (p patterns) match(host string, port uint16) bool {
	return slices.ContainsFunc(p, func(one pattern) bool { return one.match(host, port) })
}

func parsePattern(text string) (pattern, error) {
	host, port, err := splitPort(text)
	if err != nil {
		return pattern{}, err
	}
	if host == "*" {
		return pattern{name: "*", port: port}, nil
	}
	rest, wild := strings.CutPrefix(host, "*.")
	name, err := canonicalHost(rest)
	if err == nil && wild {
		if _, notName := netip.ParseAddr(name); notName == nil {
			return pattern{}, errors.New("an address has no names below it")
		}
		name = "*." + name
	}
	return pattern{name: name, port: port}, err
}

// splitPort takes "host", "host:port", an IPv6 address with or without brackets, and "[address]:port".
func splitPort(text string) (host string, port uint16, err error) {
	bare := strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
	if _, err := netip.ParseAddr(bare); err == nil || !strings.Contains(text, ":") {
		return bare, 0, nil
	}
	host, digits, err := net.SplitHostPort(text)
	if err != nil || strings.Contains(text, "/") {
		return "", 0, errors.New("it must be a host, or a host and a port such as example.org:8080, without https:// and " +
			"path")
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || n == 0 {
		return "", 0, fmt.Errorf("%q is not a port", digits)
	}
	return host, uint16(n), nil
}

// badPorts are ports of services that may take a HTTP request for orders of their own, such as mail; browsers refuse
// them as well: https://fetch.spec.whatwg.org/#port-blocking. Sorted.
var badPorts = []uint16{0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
	102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514,
	515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659,
	4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080}

// maxURL is the longest URL, in bytes as it is sent; servers take no longer ones.
const maxURL = 8 << 10

// parseURL reads an absolute URL of http or https. Its host is in canonical form afterwards, with a port only if that
// is not the usual one, it has no fragment, which servers never see, and its path and query are percent-encoded.
func parseURL(text string) (*url.URL, *sdk.Error) {
	text = strings.TrimSpace(text)
	if e := checkText(text); e != nil {
		return nil, e
	}
	encoded := encodeURL(text)
	if len(encoded) > maxURL {
		return nil, badURL("the URL has %d bytes when it is percent-encoded, at most %d are allowed", len(encoded), maxURL)
	}
	u, err := url.Parse(encoded)
	if err != nil {
		return nil, unparsable(text, err)
	}
	if e := checkParts(text, u); e != nil {
		return nil, e
	}
	host, err := canonicalHost(u.Hostname())
	if err != nil {
		return nil, badURL("the host of %q cannot be used: %v", maskedURL(text), err)
	}
	port, err := portNumber(u)
	if err != nil {
		return nil, badURL("%q: %v", maskedURL(text), err)
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
	case !utf8.ValidString(text):
		e := badURL("%q is not UTF-8", maskedURL(text))
		e.Suggestion = "Write bytes that are not UTF-8 percent-encoded, such as %E9."
		return e
	}
	if i := strings.IndexFunc(text, unicode.IsControl); i >= 0 {
		r, size := utf8.DecodeRuneInString(text[i:])
		e := badURL("%q has a control character (%U)", maskedURL(text), r)
		e.Suggestion = "Take it out if it is not meant. If it belongs to a value, write it percent-encoded, as " +
			url.PathEscape(text[i:i+size]) + "."
		return e
	}
	return nil
}

// encodeURL percent-encodes what follows the host of a URL where it has characters that no URL has, as browsers do, and
// a % that begins no escape. What is encoded stays as it is.
func encodeURL(text string) string {
	from := len(text) - len(afterHost(text))
	out := []byte(text[:from])
	for i := from; i < len(text); i++ {
		c := text[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0 || c == '%' &&
			(len(text) < i+3 || !isHex(text[i+1]) || !isHex(text[i+2])) {
			out = fmt.Appendf(out, "%%%02X", c)
			continue
		}
		out = append(out, c)
	}
	return string(out)
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f' }

// afterHost is the path, the query and the fragment of a URL, which may be relative.
func afterHost(text string) string {
	rest := text
	if scheme, after, ok := strings.Cut(text, ":"); ok && !strings.ContainsAny(scheme, "/?#") {
		rest = after
	}
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		return after[len(authority(after)):]
	}
	return rest
}

// authority is a text up to the end of its host.
func authority(text string) string {
	if i := strings.IndexAny(text, "/?#"); i >= 0 {
		return text[:i]
	}
	return text
}

// unparsable words the error of url.Parse, whose text may have a part of a password.
func unparsable(text string, err error) *sdk.Error {
	if _, rest, ok := strings.Cut(text, "//"); ok && strings.Contains(authority(rest), "@") {
		return credentialsInURL()
	}
	if host, ok := errors.AsType[url.InvalidHostError](err); ok {
		e := badURL("the host of %q cannot be used: no host has the character %q", maskedURL(text), string(host))
		e.Suggestion += " The path begins with a /."
		return e
	}
	return badURL("%q cannot be read as a URL", maskedURL(text))
}

func checkParts(text string, u *url.URL) *sdk.Error {
	switch {
	case u.User != nil:
		return credentialsInURL()
	case u.Scheme == "" || strings.Contains(u.Scheme, ".") || u.Scheme == "localhost":
		// example.org:8080 has a scheme by its looks
		return badURL("%q does not begin with http:// or https://", maskedURL(text))
	case u.Scheme != "http" && u.Scheme != "https":
		return &sdk.Error{Code: sdk.CodeInvalidArgs, Name: "UnsupportedScheme",
			Message:    fmt.Sprintf("%q is a URL of %s; only http and https can be used", maskedURL(text), u.Scheme),
			Suggestion: "For a file of the workspace use a tool that reads files."}
	case u.Opaque != "" || u.Host == "":
		return badURL("%q names no host", maskedURL(text))
	}
	return nil
}

// credentialsInURL does not quote the URL, since it may hold a password.
func credentialsInURL() *sdk.Error {
	return &sdk.Error{Code: sdk.CodeInvalidArgs, Name: "CredentialsInURL",
		Message:    "the URL has a user name or a password in front of its host, which is not allowed",
		Suggestion: "Leave out everything up to the @."}
}

// maskedURL is the text of a bad URL without what may be secret in it: a password, and what it asks with.
func maskedURL(text string) string {
	shown := text
	if i := strings.IndexAny(text, "?#"); i >= 0 {
		shown = text[:i] + clipped
	}
	if i := strings.LastIndexByte(text, '@'); i >= len(shown) { // a password may have a ? or a #
		scheme, _, _ := strings.Cut(shown, "//")
		return clip(scheme, 20) + "//" + clipped
	} else if i >= 0 {
		shown = clipped + shown[i:]
	}
	return clip(shown, 300)
}

func badURL(format string, a ...any) *sdk.Error {
	return &sdk.Error{Code: sdk.CodeInvalidArgs, Name: "BadURL", Message: fmt.Sprintf(format, a...),
		Suggestion: "Give an absolute URL, such as https://example.org/page."}
}

// fragmentNote warns of a fragment that looks as if it were meant to be sent, "" if there is none.
func fragmentNote(text string) string {
	_, fragment, ok := strings.Cut(strings.TrimSpace(text), "#")
	if !ok || fragment != "" && !strings.ContainsAny(fragment, " &=+#") {
		return ""
	}
	return "what follows the # in the URL was not sent; if it belongs to a value or a name, write the # as %23"
}

func portNumber(u *url.URL) (uint16, error) {
	if u.Port() == "" {
		return defaultPort(u.Scheme), nil
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q is not a port", u.Port())
	}
	return uint16(n), nil
}

func defaultPort(scheme string) uint16 {
	if scheme == "http" {
		return 80
	}
	return 443
}

func joined(scheme, host string, port uint16) string {
	if port != defaultPort(scheme) {
		return net.JoinHostPort(host, strconv.Itoa(int(port)))
	}
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

func hostAndPort(u *url.URL) (string, uint16) {
	port, _ := portNumber(u) // parseURL has seen it
	return u.Hostname(), port
}
