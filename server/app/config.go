// Package app puts the service together: one Config, everything started in order, everything closed in the reverse order within a deadline.
//
// It is the only package that knows all others, and it does nothing else: config.go is what can be set, app.go the order, run.go
// serving and draining.
package app

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/transport"
)

// The values of Config.Store.
const (
	StoreBolt   = "bolt"
	StoreMemory = "memory"
	StoreEtcd   = "etcd"
)

// Config is everything that can be set, and the one place where it has a name, a default and an explanation: flags, environment variables
// (CRDEVAL_ and the flag's name), the keys of the configuration file and docs/configuration.md all come from these tags. A flag goes before
// an environment variable, that before the file, that before the default.
//
// No field is a secret: keys and tokens are in files, of which this has the paths.
type Config struct {
	Config kong.ConfigFlag `help:"Read settings from this YAML file: the same names as the flags, without dashes in front." placeholder:"FILE" group:"General"`

	GRPCAddress    []string `name:"grpc-address" default:"localhost:9090" sep:"," help:"Listen for gRPC: host:port, :port for all interfaces, or unix:///path. Several by commas." group:"Network"`
	HTTPAddress    []string `name:"http-address" default:"localhost:8080" sep:"," help:"Listen for REST, with /healthz, /readyz and /openapi.json: as for --grpc-address. 'off' for none." group:"Network"`
	MetricsAddress string   `help:"Serve /metrics, /healthz and /readyz here, without TLS, instead of /metrics on --http-address." placeholder:"ADDRESS" group:"Network"`

	TLSCert       string `name:"tls-cert" help:"PEM file with the server's certificate and its intermediates. TCP listeners speak TLS then. It is read again when it changes." placeholder:"FILE" group:"Security"`
	TLSKey        string `name:"tls-key" help:"PEM file with the certificate's private key." placeholder:"FILE" group:"Security"`
	TLSClientCA   string `name:"tls-client-ca" help:"PEM file with the authorities of clients: they must present a certificate of one of them." placeholder:"FILE" group:"Security"`
	AuthTokenFile string `help:"File with the bearer tokens that callers may present, one a line. Without it callers need none. It is read again when it changes." placeholder:"FILE" group:"Security"`

	Store       string        `default:"bolt" help:"Where CRDs are kept: bolt (a file in --data-dir), memory (nowhere: all is gone with the process) or etcd (shared by all replicas)." group:"Registry"`
	DataDir     string        `default:"data" help:"Directory of the file of --store=bolt. One process at a time may use it." group:"Registry"`
	MaxWait     time.Duration `default:"5s" help:"How long a call waits for the write that its at_least names, if its own deadline is later." group:"Registry"`
	CRDs        []string      `name:"crds" sep:"," help:"Register the CRDs in this directory's files (*.yaml, *.yml, *.json) before being ready, and again as they change. Several by commas." placeholder:"DIR" group:"Registry"`
	CRDsCatalog string        `name:"crds-catalog" default:"default" help:"Catalog for the CRDs of --crds. It is created if there is none of that name." group:"Registry"`

	EtcdEndpoints    []string `sep:"," help:"Clients' addresses of etcd's members for --store=etcd: http://host:2379 or https://host:2379. Several by commas." placeholder:"URL" group:"etcd"`
	EtcdPrefix       string   `default:"/crdeval/" help:"What the keys in etcd begin with: replicas with one prefix share one registry." group:"etcd"`
	EtcdCA           string   `name:"etcd-ca" help:"PEM file with the authorities of etcd's certificates. Default: the system's." placeholder:"FILE" group:"etcd"`
	EtcdCert         string   `help:"PEM file with the certificate that etcd knows this server by. It is read for each connection." placeholder:"FILE" group:"etcd"`
	EtcdKey          string   `help:"PEM file with that certificate's private key." placeholder:"FILE" group:"etcd"`
	EtcdUser         string   `help:"User that etcd knows this server by." placeholder:"NAME" group:"etcd"`
	EtcdPasswordFile string   `help:"File with that user's password." placeholder:"FILE" group:"etcd"`

	CacheBytes    Bytes `default:"256MiB" help:"Memory for compiled programs. The least recently used are dropped and built again when needed." group:"Resources"`
	MaxInFlight   int   `default:"256" help:"Calls in flight, over gRPC and REST together; more are refused with OVERLOADED. A quarter of them, at most 64, may be streams. 0: no bound." group:"Resources"`
	RESTBodyBytes Bytes `name:"rest-body-bytes" default:"0" help:"Memory for the bodies of REST requests, all together; those without room are refused with OVERLOADED. 0: four times --max-message-bytes." group:"Resources"`

	MaxMessageBytes  Bytes `default:"64MiB" help:"Size of one message or REST body, either way." group:"Limits"`
	MaxBatchItems    int   `default:"1000" help:"Items in one evaluation call." group:"Limits"`
	MaxDocumentBytes Bytes `default:"3MiB" help:"Size of one document or CRD." group:"Limits"`
	MaxDocumentDepth int   `default:"10000" help:"Levels of nesting in one document." group:"Limits"`
	MaxAliasFactor   int   `default:"10" help:"Times its own size that a YAML document may have after its aliases are expanded, where that is more than --max-alias-bytes." group:"Limits"`
	MaxAliasBytes    Bytes `default:"3MiB" help:"Size that a YAML document may have in any case after its aliases are expanded." group:"Limits"`

	DrainDelay   time.Duration `default:"0s" help:"After SIGTERM: how long to be unready yet serve everything, so that load balancers notice." group:"Shutdown"`
	DrainTimeout time.Duration `default:"20s" help:"Then: how long calls in flight may take to end before they are cut off." group:"Shutdown"`

	LogLevel  slog.Level `default:"info" help:"Log from this level on: debug (every call), info, warn, error." group:"Logging"`
	LogFormat string     `default:"text" help:"How log lines look on stderr: text or json." group:"Logging"`
}

// Validate finds everything that is wrong, not the first thing only. What files hold is checked when they are read.
func (c *Config) Validate() error {
	var errs []error
	wrong := func(flag, format string, args ...any) {
		errs = append(errs, fmt.Errorf("--%s: %s", flag, fmt.Sprintf(format, args...)))
	}
	addresses := func(flag string, list []string) {
		for _, a := range list {
			if _, _, err := transport.ParseAddress(a); err != nil {
				wrong(flag, "%v", err)
			}
		}
	}
	if len(c.GRPCAddress) == 0 {
		wrong("grpc-address", "there must be one")
	}
	addresses("grpc-address", c.GRPCAddress)
	addresses("http-address", c.httpAddresses())
	if c.MetricsAddress != "" {
		addresses("metrics-address", []string{c.MetricsAddress})
	}
	if err := c.tlsFiles().Validate(); err != nil {
		wrong("tls-cert", "%v", err)
	}
	c.checkStore(wrong)
	for flag, value := range map[string]int64{
		"max-message-bytes": int64(c.MaxMessageBytes), "max-batch-items": int64(c.MaxBatchItems), "max-document-bytes": int64(c.MaxDocumentBytes),
		"max-document-depth": int64(c.MaxDocumentDepth), "max-alias-factor": int64(c.MaxAliasFactor), "max-alias-bytes": int64(c.MaxAliasBytes),
	} {
		if value < 1 || value > maxLimit {
			wrong(flag, "%d is not between 1 and %d", value, maxLimit)
		}
	}
	if c.MaxDocumentBytes > c.MaxMessageBytes {
		wrong("max-document-bytes", "%v is more than a whole message may have, --max-message-bytes=%v", c.MaxDocumentBytes, c.MaxMessageBytes)
	}
	if c.CacheBytes < 0 {
		wrong("cache-bytes", "%d is negative", c.CacheBytes)
	}
	if c.RESTBodyBytes < 0 || c.RESTBodyBytes != 0 && c.RESTBodyBytes < c.MaxMessageBytes {
		wrong("rest-body-bytes", "%v is not room for one whole message, --max-message-bytes=%v", c.RESTBodyBytes, c.MaxMessageBytes)
	}
	if c.LogFormat != "text" && c.LogFormat != "json" {
		wrong("log-format", "%q is neither text nor json", c.LogFormat)
	}
	if c.MaxInFlight < 0 {
		wrong("max-in-flight", "%d is negative", c.MaxInFlight)
	}
	for flag, value := range map[string]time.Duration{"max-wait": c.MaxWait, "drain-delay": c.DrainDelay, "drain-timeout": c.DrainTimeout} {
		if value < 0 {
			wrong(flag, "%v is negative", value)
		}
	}
	return errors.Join(errs...)
}

// maxLimit is the largest value of a limit: what fits the int32 of messages and of gRPC's own lengths.
const maxLimit = 1<<31 - 1

// bodiesAtOnce is how many of the largest REST bodies there is room for by default.
const bodiesAtOnce = 4

func (c *Config) restBodyBytes() Bytes {
	if c.RESTBodyBytes == 0 {
		return bodiesAtOnce * c.MaxMessageBytes
	}
	return c.RESTBodyBytes
}

// httpAddresses are none for "off".
func (c *Config) httpAddresses() []string {
	if len(c.HTTPAddress) == 1 && strings.EqualFold(c.HTTPAddress[0], "off") {
		return nil
	}
	return c.HTTPAddress
}

func (c *Config) tlsFiles() transport.TLSFiles {
	return transport.TLSFiles{Certificate: c.TLSCert, Key: c.TLSKey, ClientCA: c.TLSClientCA}
}

func (c *Config) documents() engine.Limits {
	return engine.Limits{
		MaxBytes: int(c.MaxDocumentBytes), MaxDepth: c.MaxDocumentDepth, MaxAliasFactor: c.MaxAliasFactor, MaxAliasBytes: int(c.MaxAliasBytes),
	}
}

func (c *Config) limits() api.Limits {
	return api.Limits{MaxBatchItems: c.MaxBatchItems, MaxMessageBytes: int(c.MaxMessageBytes), MaxStreams: c.maxStreams(), Documents: c.documents()}
}

// maxStreams leaves three quarters of the places for calls in flight to those that end soon. 0: the default.
func (c *Config) maxStreams() int {
	const share, most = 4, 64
	if c.MaxInFlight == 0 {
		return 0
	}
	return min(max(c.MaxInFlight/share, 1), most)
}
