// Command echo is a gRPC server that reads a message and sends a message of the requested size. The cases unary of
// cmd/bench compare the server of crdeval with it.
//
//	echo localhost:9090 unix:///tmp/echo
package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func main() {
	if err := serve(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve serves on all addresses until one fails.
func serve(addresses []string) error {
	s := grpc.NewServer()
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: "bench.Echo", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{
			MethodName: "Echo",
			// The first four bytes of a request are the size of the response.
			Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				var in wrapperspb.BytesValue
				if err := decode(&in); err != nil {
					return nil, err
				}
				return wrapperspb.Bytes(make([]byte, binary.BigEndian.Uint32(in.GetValue()))), nil
			},
		}},
	}, nil)
	failed := make(chan error)
	for _, address := range addresses {
		network := "tcp"
		if path, is := strings.CutPrefix(address, "unix://"); is {
			network, address = "unix", path
		}
		l, err := new(net.ListenConfig).Listen(context.Background(), network, address)
		if err != nil {
			return err
		}
		go func() { failed <- s.Serve(l) }()
	}
	return <-failed
}
