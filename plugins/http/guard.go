package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// A guard decides which addresses may be connected to. It is asked about the very address of every connection, so it does
// not matter what a name meant a moment before.
type guard struct {
	allow []allowance
	deny  patterns
	// strict is that of a redirect to another host than the one that was asked for: what the operator has allowed besides
	// public addresses is for calls that name it.
	strict bool
}

// An allowance is one word of the operator for addresses that are not public: a block of them, or hosts by name.
type allowance struct {
	prefix netip.Prefix // not valid when it is about hosts
	hosts  pattern
	port   uint16 // 0 for any
}

func parseAllowance(text string) (allowance, error) {
	if p, err := netip.ParsePrefix(text); err == nil {
		if p.Addr().Is4In6() {
			return allowance{}, errors.New("write the IPv4 block itself, not one of IPv6")
		}
		return allowance{prefix: p.Masked()}, nil
	}
	if address, _, ok := strings.Cut(text, "/"); ok {
		if _, err := netip.ParseAddr(address); err == nil {
			return allowance{}, errors.New("it is no block of addresses, such as 10.0.0.0/8")
		}
	}
	hosts, err := parsePattern(text)
	if err != nil {
		return allowance{}, err
	}
	if a, err := netip.ParseAddr(hosts.name); err == nil {
		a = plain(a)
		return allowance{prefix: netip.PrefixFrom(a, a.BitLen()), port: hosts.port}, nil
	}
	return allowance{hosts: hosts, port: hosts.port}, nil
}

func (a allowance) match(host string, address netip.Addr, port uint16) bool {
	switch {
	case a.port != 0 && a.port != port:
		return false
	case a.prefix.IsValid():
		return a.prefix.Contains(address)
	}
	return a.hosts.match(host, port)
}

// A refusal is an address, or a port, that may not be connected to.
type refusal struct {
	host, address string
	why           string
	always        bool // no configuration can allow it
	port          bool // it is the port that is wrong
	denied        bool // by deny_hosts
	strict        bool // a call that names it could go there, a redirect cannot
}

func (r *refusal) Error() string {
	if r.port {
		return fmt.Sprintf("port %s of %s is %s", r.address, r.host, r.why)
	}
	if r.host == r.address || r.host == "" {
		return fmt.Sprintf("%s is %s", r.address, r.why)
	}
	return fmt.Sprintf("%s has the address %s, which is %s", r.host, r.address, r.why)
}

// check gives nil for an address that may be connected to for host.
func (g *guard) check(host string, to netip.AddrPort) *refusal {
	a := plain(to.Addr())
	r := &refusal{host: host, address: to.Addr().String()}
	if slices.Contains(metadata, a) {
		r.why, r.always = "where clouds hand out credentials", true
		return r
	}
	if g.deny.match(a.String(), to.Port()) { // whatever the name that leads there
		r.why, r.denied = "an address that the operator has denied", true
		return r
	}
	kind, allowed := kindOf(a), g.allows(host, a, to.Port())
	if kind == "" || allowed && !g.strict {
		return nil
	}
	r.why, r.strict = kind+" address, not a public one", allowed
	return r
}

func (g *guard) allows(host string, a netip.Addr, port uint16) bool {
	return slices.ContainsFunc(g.allow, func(one allowance) bool { return one.match(host, a, port) })
}

// checkURL finds what can be told without a look at the network: bad ports, and addresses written out.
func (g *guard) checkURL(host string, port uint16) *refusal {
	a, err := netip.ParseAddr(host)
	if err == nil {
		if r := g.check(host, netip.AddrPortFrom(a, port)); r != nil {
			return r
		}
	}
	named := slices.ContainsFunc(g.allow, func(one allowance) bool { return one.port == port && one.match(host, plain(a), port) })
	if badPort(port) && (g.strict || !named) {
		return &refusal{host: host, address: strconv.Itoa(int(port)), why: "that of a service that does not speak HTTP", port: true, strict: named}
	}
	return nil
}

// dialled is the key under which the context of a dial holds the host that is dialled.
type dialled struct{}

// control runs for each address, when the socket is there and before it connects.
func (g *guard) control(ctx context.Context, _, address string, _ syscall.RawConn) error {
	host, _ := ctx.Value(dialled{}).(string)
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return &refusal{host: host, address: address, why: "no address that can be judged", always: true}
	}
	if r := g.check(host, to); r != nil {
		return r
	}
	return nil
}

// dialing gives a context that tells control which host is dialled.
func dialing(ctx context.Context, address string) context.Context {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return ctx
	}
	if name, err := canonicalHost(host); err == nil {
		host = name
	}
	return context.WithValue(ctx, dialled{}, host)
}
