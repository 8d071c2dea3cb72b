package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
)

type healthcheckCommand struct {
	GRPCAddress []string      `name:"grpc-address" default:"localhost:9090" help:"Address of the service. If the value is a comma-separated list, the first address is used."`
	Timeout     time.Duration `default:"3s" help:"Maximum time to wait for an answer."`
	tlsFlags
}

// newHealthcheck declares crdeval healthcheck.
func newHealthcheck(i *invocation) *cobra.Command {
	return i.declare(&cobra.Command{
		Use: "healthcheck", GroupID: groupServe,
		Short:   "Report whether a service is serving.",
		Long:    "Exit code 0: the service is serving. Exit code 1: it is not, or cannot be reached. Exit code 2: wrong usage.",
		Example: `  crdeval healthcheck --grpc-address localhost:9090`,
	}, &healthcheckCommand{})
}

// Validate rejects an empty list of addresses.
func (c *healthcheckCommand) Validate() error {
	if len(c.GRPCAddress) == 0 {
		return errors.New("--grpc-address: an address is required")
	}
	return nil
}

// Run calls grpc.health.v1.
func (c *healthcheckCommand) Run(ctx context.Context, env environment) error {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	config, err := c.config()
	if err != nil {
		return err
	}
	creds := insecure.NewCredentials()
	if config != nil {
		creds = credentials.NewTLS(config)
	}
	conn, err := grpc.NewClient(dialTarget(c.GRPCAddress[0]), grpc.WithTransportCredentials(creds))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	answer, err := healthv1.NewHealthClient(conn).Check(ctx, &healthv1.HealthCheckRequest{}, grpc.WaitForReady(true))
	if err != nil {
		fmt.Fprintln(env.stderr, callError(c.GRPCAddress[0], "", err))
		return errRejected
	}
	fmt.Fprintln(env.stdout, answer.GetStatus())
	if answer.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		return errRejected
	}
	return nil
}
