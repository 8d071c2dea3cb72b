// Package app configures, starts and stops the service: config.go has the settings, app.go the order of the start,
// run.go serving and draining, health.go the health. It is the only package that imports all others of the server.
package app

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/server/access"
	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/conversion"
	"github.com/crdeval/crdeval/server/settings"
	"github.com/crdeval/crdeval/server/transport"
)

// The values of Config.Store.
const (
	StoreBolt   = "bolt"
	StoreMemory = "memory"
	StoreEtcd   = "etcd"
)

// Config has all settings. Its tags define the flags, the environment variables (CRDEVAL_ and the name of the flag),
// the keys of the configuration file, and docs/configuration.md. Precedence: flag, environment variable, file, default.
// No setting is a secret: keys and tokens are in files.
type Config struct {
	Config string `help:"YAML file with settings. The keys are the names of the flags." placeholder:"FILE" ext:"yaml,yml" file:"-" group:"General"`

	GRPCAddress    []string `name:"grpc-address" default:"localhost:9090" help:"Comma-separated gRPC addresses: host:port, :port (all interfaces) or unix:///path." group:"Network"`
	HTTPAddress    []string `name:"http-address" default:"localhost:8080" help:"Comma-separated addresses of REST, /healthz, /readyz and /openapi.json, as for --grpc-address. 'off' disables them." group:"Network"`
	MetricsAddress string   `help:"Address of /metrics, /healthz and /readyz, without TLS. Default: /metrics is served at --http-address." placeholder:"ADDRESS" group:"Network"`
	PprofAddress   string   `help:"Address of the profiles of Go (/debug/pprof/), without TLS and without tokens: localhost:port or unix:///path. Default: off." placeholder:"ADDRESS" group:"Network"`

	Playground bool `help:"Serve the playground at /playground of --http-address: a page that evaluates CRDs and objects while you type. It does not read or change the registry. Anyone can load the page. Its calls need the same credentials as other calls." group:"Network"`

	AllowedHosts []string `help:"Comma-separated names that the header Host may have, besides localhost and loopback addresses. Applies to plaintext HTTP on loopback addresses. '*': any name." placeholder:"NAME" group:"Network"`

	TLSCert       string `name:"tls-cert" help:"PEM file with the certificate of the server and its intermediates. Enables TLS on TCP. Reloaded when it changes." placeholder:"FILE" group:"Security"`
	TLSKey        string `name:"tls-key" help:"PEM file with the private key of the certificate." placeholder:"FILE" group:"Security"`
	TLSClientCA   string `name:"tls-client-ca" help:"PEM file with CAs of client certificates. Clients must present a certificate, unless --tls-client-auth=optional." placeholder:"FILE" group:"Security"`
	TLSClientAuth string `name:"tls-client-auth" default:"required" enum:"required,optional" help:"Client certificates of --tls-client-ca: required, or optional. If optional, clients can authenticate with a bearer token instead. Then --auth-token-file, --oidc-issuer or --access-file must be set." group:"Security"`
	AuthTokenFile string `help:"File with accepted bearer tokens. A line is a token, or token,user,uid,\"group1,group2\". An empty file rejects all tokens. Default: no token is needed. Reloaded when it changes." placeholder:"FILE" group:"Security"`
	AccessFile    string `help:"YAML file with the roles of users and groups in catalogs, and with quotas. Default: every authenticated caller may do everything. Reloaded when it changes." placeholder:"FILE" ext:"yaml,yml" group:"Security"`

	AuditLog string `help:"File to which a line of JSON is appended for each change of the registry and each denied call. '-': stdout. Default: no log. To rotate the file, rename it and send SIGHUP: the server then creates a new one." placeholder:"FILE" group:"Security"`

	OIDCIssuer         string   `name:"oidc-issuer" help:"URL of an OpenID Connect issuer whose JWTs are accepted as bearer tokens. Must begin with https://." placeholder:"URL" group:"Security"`
	OIDCAudience       []string `name:"oidc-audience" help:"Comma-separated audiences. The claim aud of a JWT must include one of them." placeholder:"NAME" group:"Security"`
	OIDCUsernameClaim  string   `name:"oidc-username-claim" default:"sub" help:"Claim with the name of the user." group:"Security"`
	OIDCUsernamePrefix string   `name:"oidc-username-prefix" help:"Prefix of the names of users. '-': no prefix. Default: the URL of the issuer and '#', but no prefix if the claim is email." placeholder:"TEXT" group:"Security"`
	OIDCGroupsClaim    string   `name:"oidc-groups-claim" help:"Claim with the groups of the user: a string or a list of strings. Default: users have no groups." placeholder:"NAME" group:"Security"`
	OIDCGroupsPrefix   string   `name:"oidc-groups-prefix" help:"Prefix of the names of groups." placeholder:"TEXT" group:"Security"`
	OIDCJWKSFile       string   `name:"oidc-jwks-file" help:"JSON file with the public keys of the issuer (JWKS). Default: the keys are read from the issuer. Reloaded when it changes." placeholder:"FILE" ext:"json" group:"Security"`
	OIDCCA             string   `name:"oidc-ca" help:"PEM file with the CAs of the issuer. Default: the CAs of the system." placeholder:"FILE" group:"Security"`

	Store       string        `default:"bolt" enum:"bolt,memory,etcd" help:"Store of the CRDs: bolt (a file in --data-dir), memory (lost when the process ends), etcd (shared by replicas)." group:"Registry"`
	DataDir     string        `default:"data" help:"Directory of the bolt store. Only one process can use it. Other stores ignore it." placeholder:"DIR" group:"Registry"`
	MaxWait     time.Duration `default:"5s" help:"Maximum time that a call with at_least waits for the write of that token." group:"Registry"`
	CRDs        []string      `name:"crds" help:"Comma-separated directories. The server registers the CRDs in their files (*.yaml, *.yml, *.json), and sets conversion rules, at start and when the files change." placeholder:"DIR" group:"Registry"`
	CRDsCatalog string        `name:"crds-catalog" default:"default" help:"Catalog for the CRDs of --crds. It is created if it does not exist." group:"Registry"`

	EtcdEndpoints    []string `help:"Comma-separated client URLs of etcd, such as https://host:2379." placeholder:"URL" group:"etcd"`
	EtcdPrefix       string   `default:"/crdeval/" help:"Prefix of the keys in etcd. Replicas with the same prefix share a registry." group:"etcd"`
	EtcdCA           string   `name:"etcd-ca" help:"PEM file with the CAs of etcd. Default: the CAs of the system." placeholder:"FILE" group:"etcd"`
	EtcdCert         string   `help:"PEM file with the client certificate for etcd. Read for each connection." placeholder:"FILE" group:"etcd"`
	EtcdKey          string   `help:"PEM file with the private key of the client certificate." placeholder:"FILE" group:"etcd"`
	EtcdUser         string   `help:"User name for etcd." placeholder:"NAME" group:"etcd"`
	EtcdPasswordFile string   `help:"File with the password of the user." placeholder:"FILE" group:"etcd"`

	ConversionWebhooks []string          `help:"Comma-separated hosts that may be called as conversion webhooks: names, names with ports, IP addresses, CIDR prefixes, 'in-cluster' for the services of the cluster. Default: none." placeholder:"HOST[:PORT]" group:"Conversion"`
	ConversionServices map[string]string `help:"Comma-separated addresses of services, such as NAMESPACE/NAME=HOST:PORT or NAMESPACE/NAME:PORT=HOST:PORT. Default: NAME.NAMESPACE.svc." placeholder:"SERVICE=ADDRESS" group:"Conversion"`
	ConversionCert     string            `help:"PEM file with the client certificate for conversion webhooks. Read for each connection." placeholder:"FILE" group:"Conversion"`
	ConversionKey      string            `help:"PEM file with the private key of the client certificate." placeholder:"FILE" group:"Conversion"`
	ConversionTimeout  time.Duration     `default:"30s" help:"Maximum time for a call of a conversion webhook." group:"Conversion"`

	Memory      settings.Bytes `default:"0" help:"Memory limit of the process, at least 64MiB. The defaults of other limits derive from it (docs/operations.md). 0: five quarters of GOMEMLIMIT if that is set, else the limit of the container, else the memory of the machine." group:"Resources"`
	CacheBytes  settings.Bytes `default:"0" help:"Memory limit for compiled CRDs. The least recently used ones are evicted and compiled again when needed. At most three quarters of --memory. 0: a quarter of --memory, at most 256MiB." group:"Resources"`
	MaxInFlight int            `default:"1024" help:"Maximum number of calls in flight over gRPC and REST, including calls that wait for clients, webhooks or the store. Further calls are rejected with OVERLOADED. A quarter of them, at most 64, can be streams. Calls that use CPU have an additional limit, which adapts to the load. 0: unlimited, with at most 64 streams." group:"Resources"`
	MaxItemTime time.Duration  `default:"5s" help:"Maximum time for which an item, table, explanation or Scale uses a CPU. Compilations of CRDs and OpenAPI documents may take 12 times as long. Time in which the work waits for other work or for a webhook does not count. 0: unlimited." group:"Resources"`

	MaxMessageBytes  settings.Bytes `default:"0" help:"Maximum size of a request or response. 0: a sixteenth of --memory, at most 64MiB, and at least --max-document-bytes." group:"Limits"`
	MaxBatchItems    int            `default:"1000" help:"Maximum number of items of an evaluation call." group:"Limits"`
	MaxDocumentBytes settings.Bytes `default:"3MiB" help:"Maximum size of a document or CRD." group:"Limits"`
	MaxDocumentDepth int            `default:"10000" help:"Maximum nesting depth of a document." group:"Limits"`
	MaxAliasFactor   int            `default:"10" help:"Maximum size of a YAML document with expanded aliases, as a multiple of its own size. Applies above --max-alias-bytes." group:"Limits"`
	MaxAliasBytes    settings.Bytes `default:"3MiB" help:"Size of a YAML document with expanded aliases up to which --max-alias-factor does not apply." group:"Limits"`

	DrainDelay   time.Duration `default:"0s" help:"Time after SIGTERM in which the server reports that it is not ready, but still accepts calls, so that load balancers can react." group:"Shutdown"`
	DrainTimeout time.Duration `default:"20s" help:"Maximum time to wait for calls in flight after --drain-delay. Calls that still run are aborted." group:"Shutdown"`

	LogLevel  slog.Level `default:"info" enum:"debug,info,warn,error" help:"Lowest level to log: debug (every call), info, warn, error." group:"Logging"`
	LogFormat string     `default:"text" enum:"text,json" help:"Format of log lines on stderr: text or json." group:"Logging"`
}

// Validate returns all errors in the settings. The content of files is checked when they are read.
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
		wrong("grpc-address", "an address is required")
	}
	if len(c.HTTPAddress) == 0 {
		wrong("http-address", "an address is required, or 'off'")
	}
	addresses("grpc-address", c.GRPCAddress)
	addresses("http-address", c.httpAddresses())
	if c.MetricsAddress != "" {
		addresses("metrics-address", []string{c.MetricsAddress})
	}
	if c.PprofAddress != "" {
		if err := checkLocal(c.PprofAddress); err != nil {
			wrong("pprof-address", "%v", err)
		}
	}
	if err := c.tlsFiles().Validate(); err != nil {
		wrong("tls-cert", "%v", err)
	}
	c.checkClientAuth(wrong)
	issuer := c.issuer()
	if err := issuer.Validate(); err != nil {
		wrong("oidc-issuer", "%v", err)
	}
	c.checkStore(wrong)
	if _, err := conversion.ParseHosts(c.ConversionWebhooks); err != nil {
		wrong("conversion-webhooks", "%v", err)
	}
	for service, address := range c.ConversionServices {
		if err := conversion.CheckService(service, address); err != nil {
			wrong("conversion-services", "%v", err)
		}
	}
	if (c.ConversionCert == "") != (c.ConversionKey == "") {
		wrong("conversion-cert", "a certificate and its key are needed together")
	}
	if c.ConversionTimeout <= 0 {
		wrong("conversion-timeout", "%v is not positive", c.ConversionTimeout)
	}
	for flag, value := range map[string]int64{
		"max-batch-items": int64(c.MaxBatchItems), "max-document-bytes": int64(c.MaxDocumentBytes),
		"max-document-depth": int64(c.MaxDocumentDepth), "max-alias-factor": int64(c.MaxAliasFactor), "max-alias-bytes": int64(c.MaxAliasBytes),
	} {
		if value < 1 || value > maxLimit {
			wrong(flag, "%d is not between 1 and %d", value, maxLimit)
		}
	}
	if c.MaxMessageBytes < 0 || c.MaxMessageBytes > maxLimit {
		wrong("max-message-bytes", "%d is not between 0 and %d", c.MaxMessageBytes, maxLimit)
	}
	if c.MaxMessageBytes != 0 && c.MaxDocumentBytes > c.MaxMessageBytes {
		wrong("max-document-bytes", "%v exceeds --max-message-bytes=%v", c.MaxDocumentBytes, c.MaxMessageBytes)
	}
	c.checkMemory(wrong)
	if c.Playground && len(c.httpAddresses()) == 0 {
		wrong("playground", "the playground is served at --http-address, which is off")
	}
	if c.MaxInFlight < 0 {
		wrong("max-in-flight", "%d is negative", c.MaxInFlight)
	}
	for flag, value := range map[string]time.Duration{"max-item-time": c.MaxItemTime, "max-wait": c.MaxWait, "drain-delay": c.DrainDelay,
		"drain-timeout": c.DrainTimeout} {
		if value < 0 {
			wrong(flag, "%v is negative", value)
		}
	}
	return errors.Join(errs...)
}

// clientAuthOptional is a value of Config.TLSClientAuth. The other one is required.
const clientAuthOptional = "optional"

func (c *Config) checkClientAuth(wrong func(flag, format string, args ...any)) {
	const flag = "tls-client-auth"
	switch {
	case c.TLSClientAuth != clientAuthOptional:
	case c.TLSClientCA == "":
		wrong(flag, "optional requires --tls-client-ca")
	case c.AuthTokenFile == "" && c.OIDCIssuer == "" && c.AccessFile == "":
		wrong(flag, "clients without a certificate could do everything: also set --auth-token-file, --oidc-issuer or --access-file")
	}
}

// maxLimit is the largest limit. Messages and gRPC have int32 lengths.
const maxLimit = 1<<31 - 1

// httpAddresses returns nil for "off".
func (c *Config) httpAddresses() []string {
	if len(c.HTTPAddress) == 1 && strings.EqualFold(c.HTTPAddress[0], "off") {
		return nil
	}
	return c.HTTPAddress
}

func (c *Config) tlsFiles() transport.TLSFiles {
	return transport.TLSFiles{Certificate: c.TLSCert, Key: c.TLSKey, ClientCA: c.TLSClientCA,
		OptionalClient: c.TLSClientAuth == clientAuthOptional}
}

func (c *Config) issuer() access.Issuer {
	return access.Issuer{
		URL: c.OIDCIssuer, Audiences: c.OIDCAudience, UsernameClaim: c.OIDCUsernameClaim, UsernamePrefix: c.OIDCUsernamePrefix,
		GroupsClaim: c.OIDCGroupsClaim, GroupsPrefix: c.OIDCGroupsPrefix, JWKSFile: c.OIDCJWKSFile, CA: c.OIDCCA,
	}
}

func (c *Config) access(log *slog.Logger) access.Options {
	return access.Options{TokenFile: c.AuthTokenFile, File: c.AccessFile, Issuer: c.issuer(), Log: log,
		OptionalCertificates: c.TLSClientAuth == clientAuthOptional}
}

func (c *Config) documents() engine.Limits {
	return engine.Limits{
		MaxBytes: int(c.MaxDocumentBytes), MaxDepth: c.MaxDocumentDepth, MaxAliasFactor: c.MaxAliasFactor, MaxAliasBytes: int(c.MaxAliasBytes),
	}
}

func (c *Config) limits() api.Limits {
	return api.Limits{
		MaxBatchItems: c.MaxBatchItems, MaxMessageBytes: int(c.MaxMessageBytes),
		MaxStreams: c.maxStreams(), MaxWatches: c.maxWatches(), MaxItemTime: c.MaxItemTime, Documents: c.documents(),
	}
}

// maxStreams returns the limit of streams, 0 for the default. It leaves most slots to other calls.
func (c *Config) maxStreams() int {
	const share, most = 4, 64
	if c.MaxInFlight == 0 {
		return 0
	}
	return min(max(c.MaxInFlight/share, 1), most)
}

// maxConversions returns the limit of calls of conversion webhooks, 0 for the default. Each of them can occupy a call in
// flight for --conversion-timeout, so it leaves most slots to other calls.
func (c *Config) maxConversions() int {
	if c.MaxInFlight == 0 {
		return 0
	}
	return min(max(c.MaxInFlight/2, 1), conversion.DefaultMaxCalls)
}
