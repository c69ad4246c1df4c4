package kafka

import (
	"net"
	"net/netip"
	"strconv"
)

// address is the host and port at which this client shall find the broker: the configured one, or the one that it has
// connected to.
func (c *conn) address() (host string, port int32) {
	addr := c.s.o.Advertised
	if addr == "" {
		addr = c.nc.LocalAddr().String()
		if ap, err := netip.ParseAddrPort(addr); err == nil {
			return ap.Addr().Unmap().WithZone("").String(), int32(ap.Port())
		}
	}
	host, p, err := net.SplitHostPort(addr)
	if err != nil {
		return addr, 0
	}
	n, _ := strconv.ParseUint(p, 10, 16)
	return host, int32(n)
}
