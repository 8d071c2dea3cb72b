package crdeval

import (
	"context"
	"net"
	"strings"

	"google.golang.org/grpc/credentials"
)

// bearer is a token that implements credentials.PerRPCCredentials.
type bearer string

var _ credentials.PerRPCCredentials = bearer("")

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials. It returns false because Dial has already checked
// the transport.
func (bearer) RequireTransportSecurity() bool { return false }

// onThisHost reports whether traffic to target stays on this host.
func onThisHost(target string) bool {
	if strings.HasPrefix(target, "unix:") || strings.HasPrefix(target, "unix-abstract:") {
		return true
	}
	target = strings.TrimPrefix(strings.TrimPrefix(target, "passthrough:///"), "dns:///")
	host, _, err := net.SplitHostPort(target)
	if err != nil {
		host = target
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
