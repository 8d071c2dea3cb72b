package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	"github.com/crdeval/crdeval/cache"
	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/server/access"
	"github.com/crdeval/crdeval/server/access/audit"
	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/call"
	"github.com/crdeval/crdeval/server/conversion"
	"github.com/crdeval/crdeval/server/flow"
	"github.com/crdeval/crdeval/server/logfile"
	"github.com/crdeval/crdeval/server/memory"
	"github.com/crdeval/crdeval/server/registry"
	"github.com/crdeval/crdeval/server/telemetry"
	"github.com/crdeval/crdeval/server/transport"
	"github.com/crdeval/crdeval/server/transport/inprocess"
	"github.com/crdeval/crdeval/server/webhook"
)

// All registered CRDs together may use one part in registryPart of --memory.
const registryPart = 8

// sweepInterval is how often old revisions are removed.
const sweepInterval = time.Hour

// Build is the version and the commit of the binary.
type Build struct{ Version, Commit string }

// App is a server. Start makes it listen, Run makes it serve.
type App struct {
	config Config
	build  Build
	log    *slog.Logger

	telemetry *telemetry.Telemetry
	programs  *cache.Cache[string, *engine.Definition]
	scheduler *flow.Scheduler
	registry  *registry.Registry
	tls       *transport.TLS // nil: no TLS
	access    *access.Control
	audit     *audit.Log // nil: none
	guard     *transport.Guard
	gate      *transport.Gate
	rejected  func(reason string) // counts a call rejected with OVERLOADED
	health    *health.Server
	grpc      *grpc.Server
	inProcess *inprocess.Conn     // calls the same services for the REST gateway
	entry     transport.Entry     // of REST requests
	convert   webhook.ConvertFunc // answers ConversionReviews
	web       []web

	memory      *call.Memory // of the calls
	connections *transport.Connections

	grpcListeners []net.Listener
	loaded        chan struct{}   // closed when the directories of --crds are loaded
	draining      context.Context // ends when watches have to end
	drain         func()
	background    context.Context // ends when closing starts
	tasks         sync.WaitGroup  // running in background
	endTasks      func(context.Context) error
	closing       closing
	sleep         func(time.Duration) // for DrainDelay
}

// web is an HTTP server with its listeners.
type web struct {
	server    *http.Server
	listeners []net.Listener
}

// Start starts all parts in order and listens. After an error it closes what it started. ctx only bounds the start.
func Start(ctx context.Context, c Config, b Build, log *slog.Logger) (*App, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	a := &App{config: c.withMemory(), build: b, log: log, loaded: make(chan struct{}), sleep: time.Sleep}
	a.draining, a.drain = context.WithCancel(context.WithoutCancel(ctx))
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	a.background = background
	a.endTasks = func(context.Context) error {
		stop()
		a.tasks.Wait()
		return nil
	}
	a.closing.then("background tasks", a.endTasks)
	for _, step := range []func(context.Context) error{
		a.startTelemetry, a.startPrograms, a.startSecurity, a.startRegistry, a.startGRPC, a.startWeb, a.startDirectories,
	} {
		if err := step(ctx); err != nil {
			stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.DrainTimeout)
			defer cancel()
			return nil, errors.Join(err, a.closing.all(stopping))
		}
	}
	return a, nil
}

func (a *App) startTelemetry(ctx context.Context) (err error) {
	if a.telemetry, err = telemetry.New(ctx, a.build.Version, a.log); err != nil {
		return err
	}
	a.closing.then("telemetry", a.telemetry.Close)
	return nil
}

func (a *App) startPrograms(context.Context) error {
	a.scheduler = flow.New(flow.Options{MaxItemTime: a.config.MaxItemTime, CPUTime: flow.ProcessTime})
	a.telemetry.ObserveScheduler(a.scheduler.Stats)
	a.programs = cache.New(cache.Options[string, *engine.Definition]{
		MaxBytes: int64(a.config.CacheBytes), Weigh: (*engine.Definition).Size, OnBuild: a.telemetry.StartBuild,
		Run: a.scheduler.Do,
	})
	a.closing.then("the cache", a.programs.Close)
	a.telemetry.ObserveCache(a.programs.Stats)
	return nil
}

func (a *App) startRegistry(ctx context.Context) error {
	store, err := a.openStore(ctx)
	if err != nil {
		return err
	}
	a.closing.then("the store", func(context.Context) error { return store.Close() })
	converter, err := a.converter()
	if err != nil {
		return err
	}
	a.registry, err = registry.New(ctx, store, registry.Options{
		Programs: a.programs, Scheduler: a.scheduler, MaxWait: a.config.MaxWait, Log: a.log, Registered: a.telemetry.CountRegistrations(),
		MaxBytes: int64(a.config.Memory) / registryPart,
		Quota:    func(catalog string) registry.Quota { return registry.Quota(a.access.Quota(catalog)) },
		Engine: engine.Options{
			Observer: a.telemetry.NewEngine(), Limits: a.config.documents(), Converter: converter,
		},
	})
	if err != nil {
		return err
	}
	a.closing.then("the registry", a.registry.Close)
	a.closing.then("background tasks", a.endTasks) // before the registry, which they use
	a.task(func(ctx context.Context) { a.registry.RunSweeps(ctx, sweepInterval) })
	a.telemetry.ObserveRegistry(a.registry.Counts)
	a.telemetry.ObserveReplica(a.registry)
	return nil
}

// converter returns the client of conversion webhooks. Closing the App closes it.
func (a *App) converter() (*conversion.Client, error) {
	hosts, err := conversion.ParseHosts(a.config.ConversionWebhooks)
	if err != nil {
		return nil, err
	}
	c, err := conversion.New(conversion.Options{
		Hosts: hosts, Services: a.config.ConversionServices, Timeout: a.config.ConversionTimeout,
		Certificate: a.config.ConversionCert, Key: a.config.ConversionKey,
		MaxResponseBytes: int64(a.config.MaxMessageBytes), MaxCalls: a.config.maxConversions(), Transport: a.telemetry.Propagate,
		Observe: a.telemetry.ObserveConversions(),
	})
	if err == nil {
		a.closing.then("conversion webhooks", func(context.Context) error {
			c.Close()
			return nil
		})
	}
	return c, err
}

func (a *App) startSecurity(ctx context.Context) (err error) {
	if files := a.config.tlsFiles(); files.Enabled() {
		if a.tls, err = transport.NewTLS(files); err != nil {
			return err
		}
		a.task(func(ctx context.Context) { a.tls.Run(ctx, a.log) })
		a.telemetry.ObserveCertificate(a.tls.Expires)
	}
	if a.access, err = access.New(ctx, a.config.access(a.log)); err != nil {
		return err
	}
	a.task(a.access.Run)
	if a.config.AuditLog != "" {
		if a.audit, err = audit.Open(a.config.AuditLog, a.log); err != nil {
			return fmt.Errorf("audit log: %w", err)
		}
		a.closing.then("the audit log", a.audit.Close)
		if a.config.AuditLog != audit.Stdout {
			stop := logfile.Notify(a.audit.Reopen)
			a.closing.then("the handler of SIGHUP", func(context.Context) error { stop(); return nil })
		}
		a.telemetry.ObserveAudit(a.audit.Stats)
	}
	a.guard = transport.NewGuard(a.access, a.recordDenial)
	return nil
}

// recordDenial writes a denied call to the audit log.
func (a *App) recordDenial(ctx context.Context, d transport.Denial) {
	if a.audit != nil {
		a.audit.Denied(ctx, d.Method, d.Catalog, d.Err)
	}
}

// task runs f in the background until closing starts.
func (a *App) task(f func(context.Context)) { a.tasks.Go(func() { f(a.background) }) }

// Reasons of rejections for metrics, besides those of the gate.
const rejectedOther = "other" // such as streams and watches of one caller

func (a *App) startGRPC(ctx context.Context) error {
	limit := limitMemory(int64(a.config.Memory))
	a.task(func(ctx context.Context) {
		memory.Pace(ctx, heapFloor(limit), memory.ServerGrowth, memory.ServerPercent)
	})
	pressure := memory.NewPressure(limit)
	methods := map[string]bool{webhook.ConvertLabel: true} // complete before the first call
	a.rejected = a.telemetry.CountRejectedCalls(
		string(call.ReasonConcurrency), string(call.ReasonDelay), string(call.ReasonMaxInFlight),
		transport.RejectedMemory, transport.RejectedIncomplete, transport.RejectedAuxiliary, rejectedOther)
	limiter := call.NewLimiter(call.LimiterOptions{Max: a.config.MaxInFlight})
	a.gate = transport.NewGate(transport.GateOptions{
		Limiter: limiter, UnderPressure: pressure.Short, Rejected: a.rejected, Log: a.log, Authenticated: a.access.Enabled() || a.config.TLSClientCA != "",
	})
	a.telemetry.ObserveInFlight(limiter.State)
	a.memory = call.NewMemory(a.config.callBytes())
	a.connections = transport.NewConnections(transport.ConnectionOptions{
		Max: a.config.maxConnections(), Memory: a.memory, Log: a.log,
	})
	a.connections.Closed = a.telemetry.ObserveConnections(a.connections.Len,
		transport.ClosedFull, transport.ClosedUnread, transport.ClosedNoMemory)
	a.telemetry.ObserveMemory(a.memory.Stats)
	options := transport.ServerOptions{
		Memory: a.memory,
		TLS:    a.tls, Guard: a.guard, Gate: a.gate, MaxMessageBytes: int(a.config.MaxMessageBytes),
		Stats: a.telemetry.ServerHandler(func(m string) bool { return methods[m] }), Log: a.log,
		Codec: api.Codec(a.config.limits()), MaxAuxiliaryStreams: a.config.maxConnections(),
	}
	a.grpc, a.inProcess, a.entry = transport.NewServer(options), transport.NewInProcess(options), transport.NewEntry(options)
	a.closing.then("gRPC", func(context.Context) error {
		a.grpc.Stop() // also without Run: it has workers
		a.inProcess.Stop()
		return nil
	})
	services := inprocess.Registrar{api.Decoding{ServiceRegistrar: a.grpc}, a.inProcess}
	a.health = health.NewServer()
	a.setHealth(healthv1.HealthCheckResponse_NOT_SERVING) // until Run
	healthv1.RegisterHealthServer(services, a.health)
	reflection.Register(a.grpc)
	o := api.Options{
		Registry: audit.Watch(a.registry, a.audit), Scheduler: a.scheduler, Limits: a.config.limits(), UnderPressure: pressure.Short, Version: a.build.Version, Commit: a.build.Commit,
		Draining: a.draining.Done(), ItemFailed: a.telemetry.CountFailedItems(), Rejected: func() { a.rejected(rejectedOther) },
		Visible: a.access.Sees, Log: a.log,
		Converted: a.telemetry.ObserveReviewedObjects(),
	}
	api.Register(services, o)
	a.convert = api.ConversionWebhook(o)
	for service, info := range a.grpc.GetServiceInfo() {
		for _, m := range info.Methods {
			methods["/"+service+"/"+m.Name] = true
		}
	}
	var err error
	a.grpcListeners, err = a.listen(ctx, a.config.GRPCAddress)
	return err
}

// listen listens on all addresses. Closing the App closes the listeners.
func (a *App) listen(ctx context.Context, addresses []string) ([]net.Listener, error) {
	var all []net.Listener
	for _, address := range addresses {
		l, err := transport.Listen(ctx, address)
		if err != nil {
			return nil, err
		}
		a.closing.then(address, func(context.Context) error {
			if err := l.Close(); !errors.Is(err, net.ErrClosed) {
				return err
			}
			return nil
		})
		all = append(all, a.connections.Listener(l))
	}
	return all, nil
}
