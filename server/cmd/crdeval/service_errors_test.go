package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/crdeval/crdeval/engine"
)

func TestCallError(t *testing.T) {
	own, err := status.New(codes.Unavailable, "the store is away").WithDetails(&errdetails.ErrorInfo{Reason: "STORE_UNAVAILABLE"})
	if err != nil {
		t.Fatal(err)
	}
	const dialing = `connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:1: connect: connection refused"`
	for _, tc := range []struct {
		err  error
		want string
	}{
		{status.Error(codes.Unavailable, dialing), "h:1: cannot connect: dial tcp 127.0.0.1:1: connect: connection refused"},
		{status.Error(codes.DeadlineExceeded, "latest balancer error: "+dialing), "h:1: cannot connect: dial tcp 127.0.0.1:1: connect: connection refused"},
		{status.Error(codes.Unavailable, `connection error: desc = "transport: authentication handshake failed: \"x\" is no certificate"`), `h:1: cannot connect: authentication handshake failed: "x" is no certificate`},
		{status.Error(codes.Unavailable, "name resolver error: produced zero addresses"), "h:1: cannot connect: the host name has no address"},
		{status.Error(codes.Unavailable, `connection error: desc = "cut`), `h:1: cannot connect: connection error: desc = "cut`},
		{status.Error(codes.DeadlineExceeded, "context deadline exceeded while waiting for connections to become ready"), "h:1: cannot connect: timeout"},
		{status.Error(codes.DeadlineExceeded, "context deadline exceeded"), "h:1: a CRD: timeout"},
		{status.FromContextError(context.Canceled).Err(), "h:1: a CRD: interrupted"},
		{own.Err(), "h:1: a CRD: the store is away"},
		{status.Error(codes.Unimplemented, "unknown service s"), "h:1: a CRD: unknown service s"},
		{status.Error(codes.Internal, ""), "h:1: a CRD: Internal"},
		{errors.New("something else"), "h:1: a CRD: something else"},
		{errors.New("crdeval: admit: 1 results for 2 items"), "h:1: a CRD: admit: 1 results for 2 items"},
		{fmt.Errorf("crdeval: admit: %w", status.Error(codes.Unauthenticated, "a token is required")),
			"h:1: a CRD: a token is required (use --token or CRDEVAL_TOKEN)"},
	} {
		if got := callError("h:1", "a CRD", tc.err).Error(); got != tc.want {
			t.Errorf("%v\n got %s\nwant %s", tc.err, got, tc.want)
		}
	}
	wrapped := fmt.Errorf("crdeval: admit: %w", own.Err())
	if got := (&service{}).manifestError(wrapped); got.Error() != "the store is away" || engine.ReasonOf(got) != "STORE_UNAVAILABLE" {
		t.Errorf("got %v", got)
	}
}

// TestConnectionRefused checks the error for a port without a service.
func TestConnectionRefused(t *testing.T) {
	const address = "127.0.0.1:1" // a port above 1023 could belong to another test
	want := address + ": cannot connect: dial tcp " + address + ": connect: connection refused\n"
	if code, _, stderr := invoke(t, good, "diff", "--server", address, "-"); code != exitError || stderr != "crdeval: "+want {
		t.Errorf("%d %s", code, stderr)
	}
	if code, _, stderr := invoke(t, "", "healthcheck", "--grpc-address", address, "--timeout=1s"); code != exitRejected || !strings.HasPrefix(stderr, address+": cannot connect: ") {
		t.Errorf("%d %s", code, stderr)
	}
	if code, _, stderr := invoke(t, "", "healthcheck", "--grpc-address", address, "--timeout=1ns"); code != exitRejected || strings.Contains(stderr, "rpc error") || !strings.HasPrefix(stderr, address+": ") {
		t.Errorf("%d %s", code, stderr)
	}
}
