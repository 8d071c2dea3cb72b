package app

import (
	"fmt"
	"net"
	"testing"
)

// TestUnfinishedBodies: an incomplete body of a REST request does not delay the shutdown, which is graceful.
func TestUnfinishedBodies(t *testing.T) {
	r := start(t, "--drain-timeout=20s") // below the time limit of a body, 30 seconds
	conn, err := net.Dial("tcp", r.HTTPAddresses()[0].String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := fmt.Fprint(conn, "POST /v1/catalogs/default:admit HTTP/1.1\r\nContent-Type: application/json\r\nHost: localhost\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil { // "100 Continue" says that the body is being read
		t.Fatal(err)
	}
	if err := r.stop(); err != nil {
		t.Error(err)
	}
}
