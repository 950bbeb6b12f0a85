package schema

import (
	"encoding/base64"
	"net/mail"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/textutil"
)

// A format is a rule of the keyword format.
type format struct {
	name  string
	words string // what the text must be
	holds func(string) bool
}

var formats = sync.OnceValue(func() map[string]*format {
	out := map[string]*format{}
	for _, f := range []format{
		{"date", "a date such as 2026-11-22", isDate},
		{"time", "a time with its zone such as 09:30:00Z", func(s string) bool { return isTime(s, true) }},
		{"date-time", "a date and time with its zone such as 2026-11-22T09:30:00Z",
			func(s string) bool { return isDateTime(s, true) }},
		{"iso-time", "a time such as 09:30:00", func(s string) bool { return isTime(s, false) }},
		{"iso-date-time", "a date and time such as 2026-11-22T09:30:00",
			func(s string) bool { return isDateTime(s, false) }},
		{"duration", "a duration such as P3DT4H", isDuration},
		{"email", "an address such as ada@example.org", isEmail},
		{"hostname", "a host name such as example.org", isHostname},
		{"ipv4", "an IPv4 address such as 192.0.2.1",
			func(s string) bool { a, err := netip.ParseAddr(s); return err == nil && a.Is4() }},
		{"ipv6", "an IPv6 address such as 2001:db8::1",
			func(s string) bool { a, err := netip.ParseAddr(s); return err == nil && a.Is6() && a.Zone() == "" }},
		{"uri", "a whole URI such as https://example.org/x", isURI},
		{"uri-reference", "a URI or a part of one such as ../x", isURIReference},
		{"uri-template", "a URI template such as /users/{id}", isURITemplate},
		{"url", "a URL such as https://example.org/x", isURL},
		{"uuid", "a UUID", uuid().MatchString},
		{"json-pointer", "a JSON pointer such as /a/0", jsonPointer().MatchString},
		{"json-pointer-uri-fragment", "a JSON pointer such as #/a/0",
			func(s string) bool { return strings.HasPrefix(s, "#") && jsonPointer().MatchString(s[1:]) }},
		{"relative-json-pointer", "a relative JSON pointer such as 1/a", relativePointer().MatchString},
		{"byte", "base64", isBase64},
	} {
		out[f.name] = &f
	}
	return out
})

var (
	timeText        = lazy.Regexp(`^(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:([zZ])|([+-])(\d\d)(?::?(\d\d))?)?$`)
	durationText    = lazy.Regexp(`^P(?:\d+W|(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?:\d+H)?(?:\d+M)?(?:\d+S)?)?)$`)
	label           = lazy.Regexp(`^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$`)
	uuid            = lazy.Regexp(`^(?i:urn:uuid:)?[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}$`)
	jsonPointer     = lazy.Regexp(`^(?:/(?:[^~/]|~[01])*)*$`)
	relativePointer = lazy.Regexp(`^(?:0|[1-9][0-9]*)(?:#|(?:/(?:[^~/]|~[01])*)*)$`)
	uriChars        = lazy.Regexp(`^(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*$`)
	percents        = lazy.Regexp(`^(?:[^%]|%[0-9A-Fa-f]{2})*$`)
	templateVar     = lazy.Regexp(`^[+#./;?&=,!@|]?(?:[A-Za-z0-9_.]|%[0-9A-Fa-f]{2})+(?:\*|:[1-9][0-9]{0,3})?(?:,` +
		`(?:[A-Za-z0-9_.]|%[0-9A-Fa-f]{2})+(?:\*|:[1-9][0-9]{0,3})?)*$`)
)

func isDate(s string) bool {
	if len(s) != len(time.DateOnly) {
		return false
	}
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

// isTime takes a leap second where the time is one in UTC.
func isTime(s string, zoned bool) bool {
	m := timeText().FindStringSubmatch(s)
	if m == nil || zoned && m[4] == "" && m[5] == "" {
		return false
	}
	n := func(i int) int { v, _ := strconv.Atoi(m[i]); return v } // two digits, or absent
	hour, minute, second, zoneHour, zoneMinute := n(1), n(2), n(3), n(6), n(7)
	if zoneHour > 23 || zoneMinute > 59 {
		return false
	}
	if hour <= 23 && minute <= 59 && second <= 59 {
		return true
	}
	if m[5] == "-" {
		zoneHour, zoneMinute = -zoneHour, -zoneMinute
	}
	utc := hour*60 + minute - zoneHour*60 - zoneMinute
	return second == 60 && (utc+2*24*60)%(24*60) == 23*60+59
}

func isDateTime(s string, zoned bool) bool {
	const at = len(time.DateOnly)
	return len(s) > at && strings.ContainsRune("Tt \t", rune(s[at])) && isDate(s[:at]) && isTime(s[at+1:], zoned)
}

func isDuration(s string) bool {
	return durationText().MatchString(s) && !strings.HasSuffix(s, "T") && s != "P"
}

func isEmail(s string) bool {
	local, host, ok := strings.Cut(s, "@")
	if !ok || strings.Contains(host, "@") || strings.HasPrefix(s, `"`) {
		return false
	}
	a, err := mail.ParseAddress(s)
	return err == nil && a.Address == s && local != "" && textutil.IsASCII(local) && isHostname(host) &&
		strings.Contains(host, ".")
}

func isHostname(s string) bool {
	s = strings.TrimSuffix(s, ".")
	if s == "" || len(s) > 253 {
		return false
	}
	for part := range strings.SplitSeq(s, ".") {
		if !label().MatchString(part) {
			return false
		}
	}
	return true
}

func isURI(s string) bool {
	u, err := url.Parse(s)
	return err == nil && isURIReference(s) && u.Scheme != "" && len(s) > len(u.Scheme)+len(":")
}

func isURIReference(s string) bool { return uriChars().MatchString(s) && strings.Count(s, "#") <= 1 }

// isURL takes what is on the public network only, as clients that check this format do.
func isURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "ftp" || strings.ContainsAny(s, " \t\r\n") {
		return false
	}
	if a, err := netip.ParseAddr(u.Hostname()); err == nil {
		return a.Is4() && !a.IsPrivate() && !a.IsLoopback() && !a.IsLinkLocalUnicast()
	}
	return strings.Contains(strings.Trim(u.Hostname(), "."), ".")
}

func isURITemplate(s string) bool {
	for s != "" {
		before, rest, open := strings.Cut(s, "{")
		if strings.ContainsAny(before, "} \t\r\n\"'<>\\^`|") || !percents().MatchString(before) {
			return false
		}
		if !open {
			return true
		}
		var inside string
		if inside, s, open = strings.Cut(rest, "}"); !open || !templateVar().MatchString(inside) {
			return false
		}
	}
	return true
}

func isBase64(s string) bool {
	_, err := base64.StdEncoding.Strict().DecodeString(s)
	return err == nil && !strings.ContainsAny(s, "\r\n")
}
