package main

import (
	"context"
	"errors"

	crdeval "github.com/crdeval/crdeval/clients/go"
)

// serviceFlags name a service that answers instead of this process.
type serviceFlags struct {
	Server  string `help:"Ask this service, HOST:PORT or unix:///PATH of its gRPC listener, about what is registered there." placeholder:"ADDRESS"`
	Catalog string `default:"default" help:"With --server: the catalog." placeholder:"NAME"`
	Token   string `help:"With --server: the bearer token to present. Better in the environment." placeholder:"TOKEN"`
	tlsFlags
}

// validate checks the usage; minor is --kubernetes-minor.
func (f *serviceFlags) validate(minor int) error {
	switch {
	case f.Server == "" && (f.Token != "" || f.set()):
		return errors.New("--token and the TLS options are for --server")
	case f.Server != "" && minor != 0:
		return errors.New("--kubernetes-minor is the catalog's: leave it out with --server")
	}
	return nil
}

// instead checks the usage of a command that is about the CRDs of files, or about those that a service has; missing is what is said where there is neither.
func (f *serviceFlags) instead(files []string, minor int, missing string) error {
	switch {
	case f.Server == "" && len(files) == 0:
		return errors.New(missing)
	case f.Server != "" && len(files) > 0:
		return errors.New("--server asks about what is registered there: leave the files out, or register them there")
	}
	return f.validate(minor)
}

// ask calls a service. The error is worded.
func (f *serviceFlags) ask(ctx context.Context, call func(context.Context, *crdeval.Client) error) error {
	client, err := dial(f.Server, f.Catalog, f.Token, &f.tlsFlags)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	if err := call(ctx, client); err != nil {
		return told(f.Server, "", err)
	}
	return nil
}
