package loopback_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"

	"github.com/toolhost/toolhost/internal/loopback"
)

func TestIs(t *testing.T) {
	for host, want := range map[string]bool{"localhost": true, "127.0.0.1": true, "127.9.8.7": true, "::1": true,
		"::ffff:127.0.0.1": true, "": false, "0.0.0.0": false, "::": false, "10.0.0.1": false, "::ffff:10.0.0.1": false,
		"localhost.example.org": false, "127.0.0.1.example.org": false, "LOCALHOST": false, "127.0.0.1:80": false,
		"[::1]": false, "127.1": false, "2130706433": false} {
		if got := loopback.Is(host); got != want {
			t.Errorf("%q: %v, want %v", host, got, want)
		}
	}
}

func TestIsOwn(t *testing.T) {
	names := map[string][]string{"loop.test": {"203.0.113.7", "127.0.0.2"}, "far.test": {"203.0.113.7", "2001:db8::1"}}
	hosts := map[string]bool{"localhost": true, "127.0.0.1": true, "::1": true, "0.0.0.0": true, "::": true,
		"loop.test": true, "far.test": false, "none.test": false, "": false, "203.0.113.7": false}
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range own {
		ip := netip.MustParsePrefix(a.String()).Addr()
		hosts[ip.String()], hosts["own.test"], names["own.test"] = true, true, []string{ip.String()}
		if ip.Is4() {
			hosts["::ffff:"+ip.String()] = true
		} else if ip.IsLinkLocalUnicast() {
			hosts[ip.String()+"%1"] = true
		}
	}
	lookup := func(_ context.Context, _, host string) (out []netip.Addr, err error) {
		all, known := names[host]
		if _, err := netip.ParseAddr(host); err == nil {
			all, known = []string{host}, true
		}
		if !known {
			return nil, errors.New("no such host")
		}
		for _, text := range all {
			out = append(out, netip.MustParseAddr(text))
		}
		return out, nil
	}
	for host, want := range hosts {
		if got := loopback.IsOwn(t.Context(), host, lookup); got != want {
			t.Errorf("%q: %v, want %v", host, got, want)
		}
	}
}
