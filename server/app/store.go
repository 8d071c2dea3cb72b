package app

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crdeval/crdeval/server/registry"
	"github.com/crdeval/crdeval/server/registry/bolt"
	"github.com/crdeval/crdeval/server/registry/etcd"
)

// checkStore reports the errors in the settings of the registry.
func (c *Config) checkStore(wrong func(flag, format string, args ...any)) {
	switch c.Store {
	case StoreBolt:
		if c.DataDir == "" {
			wrong("data-dir", "--store=bolt needs a directory")
		}
	case StoreMemory:
	case StoreEtcd:
		c.checkEtcd(wrong)
	}
	if c.Store != StoreEtcd {
		for flag, set := range map[string]bool{
			"etcd-endpoints": len(c.EtcdEndpoints) > 0, "etcd-ca": c.EtcdCA != "", "etcd-cert": c.EtcdCert != "", "etcd-key": c.EtcdKey != "",
			"etcd-user": c.EtcdUser != "", "etcd-password-file": c.EtcdPasswordFile != "",
		} {
			if set {
				wrong(flag, "needs --store=etcd, but the store is %s", c.Store)
			}
		}
	}
	if problems := validation.IsDNS1123Label(c.CRDsCatalog); len(problems) > 0 {
		wrong("crds-catalog", "%q is not a DNS-1123 label: %s", c.CRDsCatalog, problems[0])
	}
}

func (c *Config) checkEtcd(wrong func(flag, format string, args ...any)) {
	if len(c.EtcdEndpoints) == 0 {
		wrong("etcd-endpoints", "--store=etcd needs at least one URL, such as http://localhost:2379")
	}
	schemes := map[string]bool{}
	for _, endpoint := range c.EtcdEndpoints {
		u, err := url.Parse(endpoint)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Port() == "" || strings.Trim(u.Path, "/")+u.RawQuery+u.Fragment != "" || u.User != nil {
			wrong("etcd-endpoints", "%q is not a URL like http://host:2379 or https://host:2379", endpoint)
			continue
		}
		schemes[u.Scheme] = true
	}
	if len(schemes) > 1 {
		wrong("etcd-endpoints", "http and https cannot be mixed")
	}
	if schemes["http"] {
		for flag, file := range map[string]string{"etcd-ca": c.EtcdCA, "etcd-cert": c.EtcdCert, "etcd-key": c.EtcdKey} {
			if file != "" {
				wrong(flag, "needs https in --etcd-endpoints")
			}
		}
	}
	if !strings.HasPrefix(c.EtcdPrefix, "/") || strings.Trim(c.EtcdPrefix, "/") == "" {
		wrong("etcd-prefix", "%q does not start with a slash and a name, such as /crdeval/", c.EtcdPrefix)
	}
	if (c.EtcdCert == "") != (c.EtcdKey == "") {
		wrong("etcd-cert", "--etcd-cert and --etcd-key must be used together")
	}
	if (c.EtcdUser == "") != (c.EtcdPasswordFile == "") {
		wrong("etcd-user", "--etcd-user and --etcd-password-file must be used together")
	}
}

// openStore opens the configured store.
func (a *App) openStore(ctx context.Context) (registry.Store, error) {
	switch a.config.Store {
	case StoreMemory:
		return registry.NewMemoryStore(), nil
	case StoreBolt:
		path := filepath.Join(a.config.DataDir, bolt.FileName)
		if info, err := os.Stat(path); err == nil && info.Size() == 0 {
			// A process was killed while it created the file, or the file was truncated.
			a.log.WarnContext(ctx,
				"the file of the registry is empty: the server creates a new registry; if it had content, restore a backup", "file", path)
		}
		store, err := bolt.Open(a.config.DataDir)
		if err != nil {
			return nil, err
		}
		if damaged := store.Damaged(); damaged != "" {
			a.log.WarnContext(ctx, "the file of the registry lost a meta page: the last write before the server stopped can be missing; "+
				"compare the CRDs with your manifests, and check the disk", "error", damaged)
		}
		return store, nil
	case StoreEtcd:
		o, err := a.config.etcd()
		if err != nil {
			return nil, err
		}
		o.Log = a.log
		return etcd.Open(ctx, o)
	}
	return nil, fmt.Errorf("--store: unknown store %q", a.config.Store)
}

// etcd returns the options of the etcd store, with the content of the files.
func (c *Config) etcd() (etcd.Options, error) {
	o := etcd.Options{Endpoints: c.EtcdEndpoints, Prefix: c.EtcdPrefix, Username: c.EtcdUser}
	var errs []error
	if c.EtcdPasswordFile != "" {
		password, err := os.ReadFile(c.EtcdPasswordFile)
		o.Password = strings.TrimRight(string(password), "\r\n")
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("--etcd-password-file: %w", err))
		case o.Password == "":
			errs = append(errs, fmt.Errorf("--etcd-password-file: %s has no password", c.EtcdPasswordFile))
		}
	}
	if c.EtcdCA != "" || c.EtcdCert != "" {
		o.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if c.EtcdCA != "" {
		authorities, err := os.ReadFile(c.EtcdCA)
		o.TLS.RootCAs = x509.NewCertPool()
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("--etcd-ca: %w", err))
		case !o.TLS.RootCAs.AppendCertsFromPEM(authorities):
			errs = append(errs, fmt.Errorf("--etcd-ca: %s has no PEM certificate", c.EtcdCA))
		}
	}
	if c.EtcdCert != "" {
		if _, err := tls.LoadX509KeyPair(c.EtcdCert, c.EtcdKey); err != nil {
			errs = append(errs, fmt.Errorf("--etcd-cert, --etcd-key: %w", err))
		}
		// Read for each connection, because certificates are rotated.
		o.TLS.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(c.EtcdCert, c.EtcdKey)
			return &pair, err
		}
	}
	return o, errors.Join(errs...)
}
