package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/crdeval/crdeval/clients/apiserver"
	"github.com/crdeval/crdeval/clients/apiserver/sidecar"
	"github.com/crdeval/crdeval/clients/apiserver/standalone"
	"github.com/crdeval/crdeval/server/memory"
	"github.com/crdeval/crdeval/server/reload"
)

// readyInterval is the time between two checks whether the server is ready.
const readyInterval = 20 * time.Millisecond

// heapFloor is the size to which the heap may grow before each garbage collection, or a quarter of the memory if that is
// less. The live heap of a server with a few CRDs is 60 to 90 MiB.
const heapFloor = 256 << 20

// Run serves until the context ends.
func (c *serveCommand) Run(ctx context.Context, stderr io.Writer) error {
	log := c.setLogger(stderr)
	go memory.Pace(ctx, min(heapFloor, memory.Available()/4), memory.ServerGrowth, memory.ServerPercent)
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return fmt.Errorf("--data-dir=%s: create the directory: %w", c.DataDir, err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", c.Address)
	if err != nil {
		return fmt.Errorf("--address=%s: %w; choose another address, or stop the process that uses it", c.Address, err)
	}
	defer func() { _ = listener.Close() }() // the server closes it too
	etcd, stop, err := c.startEtcd()
	if err != nil {
		return err
	}
	defer stop()
	evaluator, stopEvaluator, err := c.newEvaluator()
	if err != nil {
		return err
	}
	defer stopEvaluator()
	if remote, ok := evaluator.(*sidecar.Evaluator); ok {
		go c.checkSidecar(ctx, remote, log)
	}
	var tokens authenticator.Token
	if c.TokenAuthFile != "" {
		file, err := standalone.NewTokenFile(c.TokenAuthFile)
		if err != nil {
			return fmt.Errorf("--token-auth-file=%s: %w", c.TokenAuthFile, err)
		}
		go reload.Run(ctx, reload.Interval, func() { file.Poll(ctx, log) })
		tokens = file
	}
	s, err := c.build(listener, etcd, evaluator, tokens, log)
	if err != nil {
		return err
	}
	go func() {
		if err := waitReady(ctx, s.LoopbackClientConfig); err == nil {
			log.Info("the API server is ready", "address", c.url(listener), "kubeconfig", c.kubeconfig())
		}
	}()
	if err := s.PrepareRun().RunWithContext(ctx); err != nil {
		return err
	}
	log.Info("the API server has stopped")
	return nil
}

// checkSidecar logs a warning if the sidecar cannot be reached. The server starts nevertheless.
func (c *serveCommand) checkSidecar(ctx context.Context, e *sidecar.Evaluator, log *slog.Logger) {
	if err := e.Check(ctx); err != nil && ctx.Err() == nil {
		log.Warn("the sidecar cannot be reached; until it can, most requests for custom resources end with 503", "sidecar", c.Sidecar, "error", err)
	}
}

// setUpstreamLogger sets the logger of upstream's code once, because goroutines of a server that has stopped use it too.
var setUpstreamLogger sync.Once

// setLogger returns the logger of the command. Upstream's code logs from level warn on, and with --log-level=debug from
// debug on.
func (c *serveCommand) setLogger(stderr io.Writer) *slog.Logger {
	level := max(c.LogLevel, slog.LevelWarn)
	if c.LogLevel < slog.LevelInfo {
		level = c.LogLevel
	}
	setUpstreamLogger.Do(func() {
		klog.SetSlogLogger(slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level})))
	})
	return slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: c.LogLevel}))
}

// startEtcd starts the embedded etcd, unless the flags name another one.
func (c *serveCommand) startEtcd() (t storagebackend.TransportConfig, stop func(), err error) {
	if len(c.EtcdServers) > 0 {
		t = storagebackend.TransportConfig{ServerList: c.EtcdServers, TrustedCAFile: c.EtcdCAFile, CertFile: c.EtcdCertFile, KeyFile: c.EtcdKeyFile}
		return t, func() {}, nil
	}
	etcd, err := standalone.StartEtcd(filepath.Join(c.DataDir, "etcd"), true)
	if err != nil {
		return t, nil, fmt.Errorf("--data-dir=%s: %w", c.DataDir, err)
	}
	return etcd.Transport(), etcd.Close, nil
}

// build builds the server, and writes the kubeconfig.
func (c *serveCommand) build(listener net.Listener, etcd storagebackend.TransportConfig, e apiserver.Evaluator,
	tokens authenticator.Token, log *slog.Logger) (*apiserver.Server, error) {
	address := listener.Addr().(*net.TCPAddr)
	config := standalone.Config{Evaluator: e, Etcd: etcd, Prefix: c.EtcdPrefix, Core: true, Kinds: c.Kinds, RBAC: c.usesRoles(address)}
	config.Serving = options.NewSecureServingOptions().WithLoopback()
	config.Serving.Listener, config.Serving.BindPort, config.Serving.BindAddress = listener, address.Port, address.IP
	if err := c.setCertificate(config.Serving); err != nil {
		return nil, err
	}
	token, err := standalone.AdminToken(filepath.Join(c.DataDir, "admin-token"))
	if err != nil {
		return nil, err
	}
	if c.ClientCAFile != "" {
		ca, err := dynamiccertificates.NewDynamicCAContentFromFile("client-ca-file", c.ClientCAFile)
		if err != nil {
			return nil, fmt.Errorf("--client-ca-file=%s: %w", c.ClientCAFile, err)
		}
		config.ClientCA = ca
	}
	config.Authenticator = standalone.NewAuthenticator(token, tokens, config.ClientCA)
	if !config.RBAC && !address.IP.IsLoopback() {
		log.Warn("every authenticated caller may do everything; set --authorization-mode=RBAC to use roles")
	}
	s, err := standalone.New(config)
	switch {
	case err != nil && len(c.EtcdServers) > 0:
		return nil, fmt.Errorf("build the API server with --etcd-servers=%s: %w", strings.Join(c.EtcdServers, ","), err)
	case err != nil:
		return nil, fmt.Errorf("build the API server: %w", err)
	}
	ca, err := os.ReadFile(config.Serving.ServerCert.CertKey.CertFile)
	if err != nil {
		return nil, err
	}
	if err := standalone.WriteKubeconfig(c.kubeconfig(), c.url(listener), token, ca); err != nil {
		return nil, fmt.Errorf("--kubeconfig=%s: %w", c.kubeconfig(), err)
	}
	return s, nil
}

func (c *serveCommand) kubeconfig() string {
	if c.Kubeconfig != "" {
		return c.Kubeconfig
	}
	return filepath.Join(c.DataDir, "kubeconfig")
}

// url returns the URL of the server for clients.
func (c *serveCommand) url(listener net.Listener) string {
	address := listener.Addr().(*net.TCPAddr)
	host := address.IP.String()
	if address.IP.IsUnspecified() {
		host = "localhost"
	}
	if len(c.Hostname) > 0 {
		host = c.Hostname[0]
	}
	return "https://" + net.JoinHostPort(host, strconv.Itoa(address.Port))
}

// waitReady waits until the server is ready.
func waitReady(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	return wait.PollUntilContextCancel(ctx, readyInterval, true, func(ctx context.Context) (bool, error) {
		return client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() == nil, nil
	})
}
