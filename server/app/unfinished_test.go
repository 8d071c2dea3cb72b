package app

import (
	"fmt"
	"net"
	"testing"
	"time"
)

// TestUnfinishedBodies: a client that leaves the body of a REST request unfinished does not hold up the end, which is graceful all the same.
func TestUnfinishedBodies(t *testing.T) {
	r := start(t)
	conn, err := net.Dial("tcp", r.HTTPAddresses()[0].String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := fmt.Fprint(conn, "POST /v1/catalogs/default:admit HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil { // "100 Continue" says that the body is being read
		t.Fatal(err)
	}
	begin := time.Now()
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took > 20*time.Second { // without more ado a body has 30
		t.Errorf("the end took %v", took)
	}
}
