package etcdtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
)

// port finds a TCP port that nobody listens on. It is not one that the system gives to outgoing connections: a server that is stopped for a while
// must find it free when it starts again.
func port() (int, error) {
	for range 200 {
		n := 20000 + rand.IntN(12000)
		l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", fmt.Sprintf("127.0.0.1:%d", n))
		if err != nil {
			continue
		}
		return n, l.Close()
	}
	return 0, fmt.Errorf("no free port on 127.0.0.1 between 20000 and 32000")
}
