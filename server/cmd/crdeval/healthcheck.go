package main

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
)

type healthcheckCommand struct {
	GRPCAddress []string      `name:"grpc-address" default:"localhost:9090" sep:"," help:"Where the service listens; of several the first, as the service itself takes them." placeholder:"ADDRESS"`
	Timeout     time.Duration `default:"3s" help:"How long to wait for the answer."`
	tlsFlags
}

// Run asks grpc.health.v1.
func (c *healthcheckCommand) Run(ctx context.Context, env environment) error {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	creds, err := c.credentials()
	if err != nil {
		return err
	}
	conn, err := grpc.NewClient(dialTarget(c.GRPCAddress[0]), grpc.WithTransportCredentials(creds))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	answer, err := healthv1.NewHealthClient(conn).Check(ctx, &healthv1.HealthCheckRequest{}, grpc.WaitForReady(true))
	if err != nil {
		fmt.Fprintln(env.stderr, told(c.GRPCAddress[0], "", err))
		return errRefused
	}
	fmt.Fprintln(env.stdout, answer.GetStatus())
	if answer.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		return errRefused
	}
	return nil
}

// dialTarget makes a target of what the service listens on: ":9090" is all interfaces for it and this host for us.
func dialTarget(address string) string {
	if strings.HasPrefix(address, "unix:") {
		return address
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}

func (c *healthcheckCommand) credentials() (credentials.TransportCredentials, error) {
	config, err := c.config()
	if err != nil {
		return nil, err
	}
	if config == nil {
		return insecure.NewCredentials(), nil
	}
	return credentials.NewTLS(config), nil
}
