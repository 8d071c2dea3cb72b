package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strconv"

	"github.com/crdeval/crdeval/clients/apiserver"
	"github.com/crdeval/crdeval/clients/apiserver/sidecar"
	"github.com/crdeval/crdeval/engine"
)

// The values of --authorization-mode.
const (
	alwaysAllow = "AlwaysAllow"
	roleBased   = "RBAC"
)

// serveCommand has the settings of the server. Precedence: flag, environment variable, default.
type serveCommand struct {
	Address    string   `default:"localhost:6443" help:"Address to listen on: host:port, or :port for all interfaces. Port 0: a free port." group:"Network"`
	Hostname   []string `help:"Comma-separated names and IP addresses at which clients reach the server. They are in the self-signed certificate, and the first one is in the kubeconfig." placeholder:"NAME" group:"Network"`
	DataDir    string   `default:"apiserver-data" help:"Directory of the embedded etcd, of the self-signed certificate and of the admin token. Only one process can use it." placeholder:"DIR" group:"Storage"`
	Kubeconfig string   `help:"File to which a kubeconfig with the admin token is written, with mode 0600. Default: kubeconfig in --data-dir." placeholder:"FILE" group:"Storage"`

	EtcdServers  []string `help:"Comma-separated URLs of an etcd to use instead of the embedded one." placeholder:"URL" group:"Storage"`
	EtcdPrefix   string   `default:"/registry" help:"Prefix of the keys in etcd." group:"Storage"`
	EtcdCAFile   string   `name:"etcd-cafile" help:"PEM file with the CAs of --etcd-servers." placeholder:"FILE" group:"Storage"`
	EtcdCertFile string   `name:"etcd-certfile" help:"PEM file with the client certificate for --etcd-servers." placeholder:"FILE" group:"Storage"`
	EtcdKeyFile  string   `name:"etcd-keyfile" help:"PEM file with the private key of --etcd-certfile." placeholder:"FILE" group:"Storage"`

	TLSCertFile       string `name:"tls-cert-file" help:"PEM file with the certificate of the server and its intermediates. Default: a self-signed certificate in --data-dir." placeholder:"FILE" group:"Security"`
	TLSPrivateKeyFile string `name:"tls-private-key-file" help:"PEM file with the private key of --tls-cert-file." placeholder:"FILE" group:"Security"`
	ClientCAFile      string `name:"client-ca-file" help:"PEM file with the CAs of client certificates. The common name is the user, the organizations are the groups. Reloaded when it changes." placeholder:"FILE" group:"Security"`
	TokenAuthFile     string `help:"CSV file with bearer tokens. A line is token,user,uid,\"group1,group2\". Reloaded when it changes." placeholder:"FILE" group:"Security"`
	AuthorizationMode string `enum:"AlwaysAllow,RBAC" help:"AlwaysAllow: every authenticated caller may do everything. RBAC: roles and bindings decide. Default: AlwaysAllow if --address is a loopback address, else RBAC." placeholder:"MODE" group:"Security"`

	Evaluator      string `default:"in-process" enum:"in-process,sidecar" help:"Where objects are evaluated: in-process, or sidecar for a crdeval server at --sidecar." group:"Evaluation"`
	Sidecar        string `help:"Address of a crdeval server that evaluates objects, such as unix:///run/crdeval/grpc.sock. Implies --evaluator=sidecar. Writes and most reads of custom resources are rejected with 503 while it cannot be reached." placeholder:"ADDRESS" group:"Evaluation"`
	SidecarCatalog string `default:"default" help:"Catalog of the CRDs at --sidecar. API servers with other storages need other catalogs." group:"Evaluation"`

	Kinds bool `name:"kubernetes-kinds" help:"Serve the common resources of Kubernetes too, such as pods, secrets and leases, and call admission webhooks. No controller acts on the resources, and only their metadata is validated." group:"Resources"`

	LogLevel slog.Level `default:"info" enum:"debug,info,warn,error" help:"Lowest level to log: debug, info, warn, error." group:"Logging"`
}

// Validate returns all errors in the settings. The content of files is checked when they are read.
func (c *serveCommand) Validate() error {
	var errs []error
	wrong := func(flag, value, format string, args ...any) {
		errs = append(errs, fmt.Errorf("--%s=%s: %s", flag, value, fmt.Sprintf(format, args...)))
	}
	if _, port, err := net.SplitHostPort(c.Address); err != nil {
		wrong("address", c.Address, "must be host:port, such as localhost:6443")
	} else if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		wrong("address", c.Address, "the port must be a number from 0 to 65535")
	}
	for _, server := range c.EtcdServers {
		if u, err := url.Parse(server); err != nil || u.Host == "" && u.Path == "" || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "unix" {
			wrong("etcd-servers", server, "must be a URL such as https://host:2379")
		}
	}
	pair := func(flag, value, otherFlag, other string) {
		if value != "" && other == "" {
			wrong(flag, value, "set --%s too", otherFlag)
		}
	}
	pair("tls-cert-file", c.TLSCertFile, "tls-private-key-file", c.TLSPrivateKeyFile)
	pair("tls-private-key-file", c.TLSPrivateKeyFile, "tls-cert-file", c.TLSCertFile)
	pair("etcd-certfile", c.EtcdCertFile, "etcd-keyfile", c.EtcdKeyFile)
	pair("etcd-keyfile", c.EtcdKeyFile, "etcd-certfile", c.EtcdCertFile)
	for flag, path := range map[string]string{"etcd-cafile": c.EtcdCAFile, "etcd-certfile": c.EtcdCertFile} {
		if path != "" && len(c.EtcdServers) == 0 {
			wrong(flag, path, "set --etcd-servers too; the embedded etcd needs no certificates")
		}
	}
	for flag, path := range map[string]string{
		"etcd-cafile": c.EtcdCAFile, "etcd-certfile": c.EtcdCertFile, "etcd-keyfile": c.EtcdKeyFile, "tls-cert-file": c.TLSCertFile,
		"tls-private-key-file": c.TLSPrivateKeyFile, "client-ca-file": c.ClientCAFile, "token-auth-file": c.TokenAuthFile,
	} {
		if path == "" {
			continue
		}
		if f, err := os.Open(path); err != nil {
			wrong(flag, path, "cannot read the file: %v", err)
		} else {
			_ = f.Close() // it was only read
		}
	}
	if c.Evaluator == "sidecar" && c.Sidecar == "" {
		wrong("evaluator", c.Evaluator, "set --sidecar to the address of a crdeval server")
	}
	return errors.Join(errs...)
}

// usesRoles reports whether RBAC authorizes the requests at an address.
func (c *serveCommand) usesRoles(address *net.TCPAddr) bool {
	return c.AuthorizationMode == roleBased || c.AuthorizationMode == "" && !address.IP.IsLoopback()
}

// newEvaluator returns the Evaluator that the flags choose, and a function that closes it.
func (c *serveCommand) newEvaluator() (e apiserver.Evaluator, stop func(), err error) {
	if c.Sidecar == "" {
		converter, err := apiserver.NewWebhookConverter(nil, nil)
		return apiserver.InProcess{Options: engine.Options{Converter: converter}}, func() {}, err
	}
	remote, err := sidecar.Dial(c.Sidecar, sidecar.Options{Catalog: c.SidecarCatalog})
	if err != nil {
		return nil, nil, fmt.Errorf("--sidecar=%s: %w", c.Sidecar, err)
	}
	return remote, func() { _ = remote.Close() }, nil // no call is left that could miss the connection
}
