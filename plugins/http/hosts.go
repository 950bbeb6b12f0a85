package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// names makes every spelling of a host name one: lower case, and the ASCII form of other letters. Underscores are in use.
var names = idna.New(idna.MapForLookup(), idna.StrictDomainName(false))

// canonicalHost gives the one spelling of a host, without brackets and without the dot that may end a name.
func canonicalHost(host string) (string, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		if a.Zone() != "" {
			return "", fmt.Errorf("it has a zone (%%%s), and such addresses belong to this machine's own links", a.Zone())
		}
		return a.Unmap().String(), nil
	}
	name, err := names.ToASCII(host)
	if err != nil {
		return "", fmt.Errorf("%q is no host name", host)
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
		return fmt.Errorf("%.300q is no host name", name)
	case strings.ContainsFunc(name, misfit):
		return fmt.Errorf("%q is no host name", name)
	case numeric(labels[len(labels)-1]):
		return fmt.Errorf("%q is a number that programs read differently; an IPv4 address has four decimal parts, without leading zeros", name)
	}
	return nil
}

func misfit(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.", r)
}

// numeric says whether a name that ends in this label is taken for an IPv4 address by browsers and by C libraries.
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
		return "", 0, errors.New("it must be a host, or a host and a port such as example.org:8080, without https:// and path")
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || n == 0 {
		return "", 0, fmt.Errorf("%q is no port", digits)
	}
	return host, uint16(n), nil
}
