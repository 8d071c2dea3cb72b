package transport

import (
	"net"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// tcpOnly are credentials that shake hands over TCP alone. What comes over a unix socket, or from memory as the REST gateway's calls do, did not cross a network, and
// the socket's permissions say who may connect.
type tcpOnly struct {
	credentials.TransportCredentials // for TCP
	plain                            credentials.TransportCredentials
}

// Credentials are a gRPC server's: those of t for connections over TCP, none for the others; t may be nil for none at all.
func Credentials(t *TLS) credentials.TransportCredentials {
	plain := insecure.NewCredentials()
	if t == nil {
		return plain
	}
	return tcpOnly{TransportCredentials: credentials.NewTLS(t.Config("h2")), plain: plain}
}

// ServerHandshake implements credentials.TransportCredentials.
func (c tcpOnly) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	if conn.LocalAddr().Network() != "tcp" {
		return c.plain.ServerHandshake(conn)
	}
	return c.TransportCredentials.ServerHandshake(conn)
}

// Clone implements credentials.TransportCredentials.
func (c tcpOnly) Clone() credentials.TransportCredentials {
	return tcpOnly{TransportCredentials: c.TransportCredentials.Clone(), plain: c.plain.Clone()}
}
