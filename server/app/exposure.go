package app

import (
	"context"
	"net"

	"github.com/crdeval/crdeval/server/transport"
)

// warnOfExposure logs what a network can do that the configuration may not have meant: it is allowed, and said once.
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
		a.log.WarnContext(ctx, "whoever reaches these addresses may register and delete CRDs: --auth-token-file or --tls-client-ca says who may", "addresses", open)
	case a.tokens != nil && a.tls == nil:
		a.log.WarnContext(ctx, "tokens cross the network in plain text on their way to these addresses: --tls-cert and --tls-key encrypt it", "addresses", open)
	}
}

// loopback says whether host:port is reached from this host alone.
func loopback(target string) bool {
	host, _, err := net.SplitHostPort(target)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
