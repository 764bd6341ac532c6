package http1

import (
	"crypto/tls"
	"time"
)

// Settings bound an exchange. The zero value of a field means its default.
type Settings struct {
	Agent  string // User-Agent; default "seine"
	Accept string // default: HTML first, then anything

	MaxHeader int   // bytes of a response's head; default 128 KiB
	MaxBody   int64 // bytes of a body, as it came and decoded, each; default 5 MiB

	MinRate          int64         // bytes a second, over RateWindow; default 1 KiB, negative for none
	RateWindow       time.Duration // default 30 s
	ConnectTimeout   time.Duration // for the dial, and again for the TLS handshake; default 10 s
	FirstByteTimeout time.Duration // for sending the request, and again for the wait; default 30 s
	ExchangeTimeout  time.Duration // from the call of Do to the body's last byte; default 120 s

	// TLS is the base of each connection's configuration: roots (nil: the system's and those of the
	// build), client's clock. Server name,
	// protocols, lowest version (1.2) and verification are not its to choose.
	TLS *tls.Config

	// SpillBytes of a body stay in memory, four times as much of a decoded one; the rest goes to a
	// scratch file; default 64 KiB.
	SpillBytes int
	SpillDir   string // where scratch files are; "" keeps whole bodies in memory

	IdleTimeout time.Duration // of a kept connection; default 60 s
	MaxIdle     int           // kept connections in all; default 4096
}

const defaultAccept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

// withDefaults fills what was left zero. The numbers are the design's, §12.
func (s Settings) withDefaults() Settings {
	def(&s.Agent, "seine")
	def(&s.Accept, defaultAccept)
	def(&s.MaxHeader, 128<<10)
	def(&s.MaxBody, 5<<20)
	def(&s.MinRate, 1<<10)
	def(&s.RateWindow, 30*time.Second)
	def(&s.ConnectTimeout, 10*time.Second)
	def(&s.FirstByteTimeout, 30*time.Second)
	def(&s.ExchangeTimeout, 120*time.Second)
	def(&s.SpillBytes, 64<<10)
	def(&s.IdleTimeout, 60*time.Second)
	def(&s.MaxIdle, 4096)
	return s
}

func def[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
