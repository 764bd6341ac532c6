//go:build unix

package http1

import (
	"net"
	"syscall"
)

// quiet reports whether an idle connection is open and has nothing to read. What a server sends
// unasked is a farewell, or the body of a response that should have had none. Connections that
// are no sockets are believed.
func quiet(c net.Conn) bool {
	socket, ok := c.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	nothing := false
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		_, _, rerr := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		nothing = rerr == syscall.EAGAIN || rerr == syscall.EWOULDBLOCK
	})
	return err == nil && nothing
}
