package node

import (
	"net"
	"net/netip"
)

// Loopback says whether an address, with or without a port, can only be reached
// from this machine. A name other than localhost is taken for one that can.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
