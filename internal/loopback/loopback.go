// Package loopback recognizes the addresses of this machine, and listens on them.
package loopback

import "net/netip"

// Is reports whether host, without a port, is a loopback address or "localhost". Other names are not resolved, since
// their addresses can change.
func Is(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
