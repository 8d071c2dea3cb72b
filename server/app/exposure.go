package app

import (
	"context"
	"net"

	"github.com/crdeval/crdeval/server/transport"
)

// warnOfExposure logs a warning if a network can reach the server without authentication or encryption.
func (a *App) warnOfExposure(ctx context.Context) {
	var open []string
	for _, address := range append(a.config.httpAddresses(), a.config.GRPCAddress...) {
		if network, target, err := transport.ParseAddress(address); err == nil && network == "tcp" && !loopback(target) {
			open = append(open, address)
		}
	}
	switch {
	case len(open) == 0:
	case a.tokens == nil && a.config.TLSClientCA == "":
		a.log.WarnContext(ctx,
			"every client that can reach these addresses can register and delete CRDs: consider --auth-token-file or --tls-client-ca", "addresses", open)
	case a.tokens != nil && a.tls == nil:
		a.log.WarnContext(ctx, "tokens are sent to these addresses in plain text: consider --tls-cert and --tls-key",
			"addresses", open)
	}
}

// loopback reports whether only this host can reach host:port.
func loopback(target string) bool {
	host, _, err := net.SplitHostPort(target)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
