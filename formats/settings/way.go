package settings

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
)

// Sources parses SourceAddrs.
func (s Settings) Sources() (all []netip.Addr, err error) {
	for _, text := range s.SourceAddrs {
		a, err := netip.ParseAddr(text)
		if err != nil {
			return nil, fmt.Errorf("source_addresses: %q is no address such as 192.0.2.7 or 2001:db8::7", text)
		}
		all = append(all, a)
	}
	return all, nil
}

// ProxyAddress is the "host:port" of Proxy; "" without one. A proxy that wants
// credentials cannot be named: the settings are no place for secrets.
func (s Settings) ProxyAddress() (string, error) {
	if s.Proxy == "" {
		return "", nil
	}
	u, err := url.Parse(s.Proxy)
	switch {
	case err != nil || u.Scheme != "http" || u.Hostname() == "" || u.Path != "" && u.Path != "/" || u.RawQuery != "":
		return "", fmt.Errorf("proxy: write it as http://HOST:PORT")
	case u.User != nil:
		return "", fmt.Errorf("proxy: no user or password: settings are kept in the store; use a proxy that knows " +
			"this machine")
	case u.Port() == "":
		return net.JoinHostPort(u.Hostname(), "8080"), nil
	}
	return u.Host, nil
}
