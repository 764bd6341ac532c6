package weburl

import (
	"crypto/md5"
	"encoding/binary"
)

// Partition returns the partition of a registered domain, 0 to 1023: the low 10 bits of the
// first 8 bytes, big-endian, of its MD5. Any engine's SQL can compute it.
func Partition(domain string) uint16 {
	sum := md5.Sum([]byte(domain))
	return uint16(binary.BigEndian.Uint64(sum[:8]) & 1023)
}

// ID returns the url_id of a URL in normal form: its MD5.
func ID(url string) [16]byte { return md5.Sum([]byte(url)) }
