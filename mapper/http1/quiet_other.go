//go:build !unix

package http1

import "net"

// quiet cannot tell here; a dead connection then shows as CodeStale.
func quiet(net.Conn) bool { return true }
