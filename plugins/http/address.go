package main

import "net/netip"

// A network is a block of addresses that is not the public Internet.
type network struct {
	prefix netip.Prefix
	kind   string // to stand before the word "address"
}

// special are the blocks of IPv4 and of IPv6's global unicast space that are not for public hosts, after the registries
// at https://www.iana.org/assignments/iana-ipv4-special-registry and https://www.iana.org/assignments/iana-ipv6-special-registry.
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

// metadata are the addresses at which clouds hand out credentials to whoever asks from inside. Some of them are public.
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
