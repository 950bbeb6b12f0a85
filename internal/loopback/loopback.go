// Package loopback tells addresses of this machine and of the Internet apart, and listens on those of this machine.
package loopback

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
)

// Is reports whether host, without a port, is a loopback address or "localhost". Other names are not resolved, since
// their addresses can change.
func Is(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// IsOwn reports whether a host, without a port, is an address of this machine, or a name that lookup finds at one.
func IsOwn(ctx context.Context, host string, lookup func(ctx context.Context, network, host string) ([]netip.Addr,
	error)) bool {
	if Is(host) {
		return true
	}
	all, _ := lookup(ctx, "ip", host) // of an address the address; a host that is not found is not reached either
	own, _ := net.InterfaceAddrs()
	return slices.ContainsFunc(all, func(a netip.Addr) bool {
		a = a.Unmap().WithZone("")
		return a.IsLoopback() || a.IsUnspecified() || slices.ContainsFunc(own, func(o net.Addr) bool {
			prefix, err := netip.ParsePrefix(o.String())
			return err == nil && prefix.Addr() == a
		})
	})
}

// IsPublic reports whether an address is one of the Internet.
func IsPublic(a netip.Addr) bool {
	a = a.Unmap()
	return a.IsGlobalUnicast() && !a.IsPrivate() && !netip.MustParsePrefix("100.64.0.0/10").Contains(a)
}

// Split returns the host and the port of an address for Listen.
func Split(ctx context.Context, address string) (host, port string, err error) {
	host, port, err = net.SplitHostPort(address)
	if err != nil {
		if _, port, err = net.SplitHostPort(":" + address); err != nil {
			return "", "", fmt.Errorf("%q is not an address; use HOST:PORT, such as 127.0.0.1:8080", address)
		}
		host = "127.0.0.1"
	}
	if _, err := net.DefaultResolver.LookupPort(ctx, "tcp", port); err != nil {
		return "", "", fmt.Errorf("%q is not an address: %q is not a port; use HOST:PORT with a port up to 65535, such as "+
			"127.0.0.1:8080", address, port)
	}
	return host, port, nil
}

// Listen listens on an address for HTTP; a port alone is one of 127.0.0.1. An address that other machines can reach is
// refused unless open. The error then says risk, and what to do: remedy, or to listen on this machine only.
func Listen(ctx context.Context, address string, open bool, risk, remedy string) (net.Listener, error) {
	host, port, err := Split(ctx, address)
	if err != nil {
		return nil, err
	}
	if !open && !Is(host) {
		return nil, fmt.Errorf("%s is reachable from other machines, and %s; %s, or listen on 127.0.0.1:%s", address, risk,
			remedy, port)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is in use by another process; end that one, or choose another port, 0 for any: %w",
			address, err)
	}
	return l, err
}
