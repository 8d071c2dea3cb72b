package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"google.golang.org/grpc"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/crdeval/crdeval/server/transport"
)

// GRPCAddresses returns the addresses of the gRPC listeners, with the actual ports.
func (a *App) GRPCAddresses() []net.Addr { return addresses(a.grpcListeners) }

// HTTPAddresses returns the addresses of REST, then those of --metrics-address and --pprof-address.
func (a *App) HTTPAddresses() []net.Addr {
	var all []net.Listener
	for _, w := range a.web {
		all = append(all, w.listeners...)
	}
	return addresses(all)
}

// Run serves until ctx ends or a listener fails, then drains and closes everything. It returns an error if a call was
// aborted.
func (a *App) Run(ctx context.Context) error {
	failed := make(chan error, 1)
	var serving int
	ended := make(chan struct{})
	serve := func(l net.Listener, f func(net.Listener) error) {
		serving++
		go func() {
			defer func() { ended <- struct{}{} }()
			err := f(l)
			if err == nil || errors.Is(err, http.ErrServerClosed) || errors.Is(err, grpc.ErrServerStopped) {
				return
			}
			select {
			case failed <- fmt.Errorf("serving %s: %w", l.Addr(), err):
			default:
			}
		}()
	}
	for _, l := range a.grpcListeners {
		serve(l, a.grpc.Serve)
	}
	for _, w := range a.web {
		for _, l := range w.listeners {
			serve(l, w.server.Serve)
		}
	}
	a.warnOfExposure(ctx)
	err := a.untilReady(ctx, failed)
	if err == nil && ctx.Err() == nil {
		a.setHealth(healthv1.HealthCheckResponse_SERVING)
		a.task(a.followHealth)
		a.notify(ctx, stateReady)
		a.log.InfoContext(ctx, "serving", "version", a.build.Version,
			"grpc", texts(a.GRPCAddresses()), "http", texts(a.HTTPAddresses()),
			"store", a.config.Store, "crds", a.registry.Counts().CRDs, "tls", a.tls != nil, "tokens", a.access.TakesTokens(),
			"access_file", a.config.AccessFile)
		select {
		case <-ctx.Done():
		case err = <-failed:
		}
	}
	if err != nil {
		a.log.ErrorContext(ctx, "shutting down", "error", err)
	}
	err = errors.Join(err, a.shutDown(context.WithoutCancel(ctx)))
	for range serving {
		<-ended
	}
	return err
}

// untilReady waits until the directories of --crds are loaded. The server accepts calls meanwhile, but is not ready.
func (a *App) untilReady(ctx context.Context, failed <-chan error) error {
	select {
	case <-a.loaded:
	case <-ctx.Done():
	case err := <-failed:
		return err
	}
	return nil
}

// minDrain is how long a server without calls may take to end its connections, also with a shorter --drain-timeout.
const minDrain = time.Second

// closeTimeout is the time for closing after draining: exporting telemetry, ending builds.
const closeTimeout = 5 * time.Second

// shutDown sets the health to not serving, drains, and closes everything.
func (a *App) shutDown(ctx context.Context) error {
	a.log.InfoContext(ctx, "draining", "delay", a.config.DrainDelay, "timeout", a.config.DrainTimeout)
	a.notify(ctx, stateStopping)
	a.health.Shutdown()
	a.sleep(a.config.DrainDelay)
	a.drain() // ends watches
	a.gate.Drain()

	draining, cancel := context.WithTimeout(ctx, max(a.config.DrainTimeout, minDrain))
	defer cancel()
	drainWeb := func(servers []web) bool {
		graceful := true
		for _, w := range servers {
			graceful = transport.DrainHTTP(draining, w.server) && graceful
		}
		return graceful
	}
	first := min(1, len(a.web)) // REST
	rest := make(chan bool, 1)
	go func() { rest <- drainWeb(a.web[:first]) }() // beside gRPC: each may need the whole time
	graceful := transport.Drain(draining, a.grpc)
	graceful = <-rest && graceful
	graceful = drainWeb(a.web[first:]) && graceful // metrics are served to the end

	closing, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	err := a.closing.all(closing)
	if !graceful {
		err = errors.Join(err, fmt.Errorf("calls in flight were aborted after --drain-timeout=%v", a.config.DrainTimeout))
	}
	a.log.InfoContext(ctx, "stopped", "graceful", graceful)
	return err
}

func texts(all []net.Addr) (out []string) {
	for _, a := range all {
		out = append(out, a.String())
	}
	return out
}

func addresses(listeners []net.Listener) (all []net.Addr) {
	for _, l := range listeners {
		all = append(all, l.Addr())
	}
	return all
}

// Serve starts the server and runs it until ctx ends. That ctx ends during the start is not an error.
func Serve(ctx context.Context, c Config, b Build, log *slog.Logger) error {
	a, err := Start(ctx, c, b, log)
	switch {
	case err == nil:
		return a.Run(ctx)
	case ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))):
		log.InfoContext(ctx, "stopped during the start", "error", err)
		return nil
	}
	return err
}

// warnOfExposure logs a warning if a network can reach the server without authentication or encryption.
func (a *App) warnOfExposure(ctx context.Context) {
	var open []string
	for _, address := range append(a.config.httpAddresses(), a.config.GRPCAddress...) {
		if network, target, err := transport.ParseAddress(address); err == nil && network == "tcp" && !loopback(target) {
			open = append(open, address)
		}
	}
	switch {
	case len(open) == 0:
	case !a.access.TakesTokens() && a.config.TLSClientCA == "" && a.config.AccessFile == "":
		a.log.WarnContext(ctx, "every client that can reach these addresses can register and delete CRDs: consider "+
			"--auth-token-file, --oidc-issuer or --tls-client-ca, with --access-file", "addresses", open)
	case a.access.TakesTokens() && a.tls == nil:
		a.log.WarnContext(ctx, "tokens are sent to these addresses in plain text: consider --tls-cert and --tls-key",
			"addresses", open)
	}
}

// loopback reports whether only this host can reach host:port.
func loopback(target string) bool {
	host, _, err := net.SplitHostPort(target)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// closing is a stack of functions that close what was started.
type closing struct{ steps []closeStep }

type closeStep struct {
	name  string
	close func(context.Context) error
}

// then pushes a step.
func (c *closing) then(name string, f func(context.Context) error) {
	c.steps = append(c.steps, closeStep{name, f})
}

// stepGrace is the time for a step after ctx has ended.
const stepGrace = 500 * time.Millisecond

// all runs and removes all steps, the last one first. After ctx has ended, it waits for each step only for stepGrace: a
// call that does not end must not keep the process alive.
func (c *closing) all(ctx context.Context) error {
	var errs []error
	for _, s := range slices.Backward(c.steps) {
		if err := s.run(ctx); err != nil {
			errs = append(errs, fmt.Errorf("closing %s: %w", s.name, err))
		}
	}
	c.steps = nil
	return errors.Join(errs...)
}

func (s closeStep) run(ctx context.Context) error {
	done := make(chan error, 1)
	go func() { done <- s.close(ctx) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(stepGrace):
		return fmt.Errorf("timeout: %w", context.Cause(ctx))
	}
}
