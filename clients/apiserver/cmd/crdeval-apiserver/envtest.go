package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/etcdmain"
)

// The names under which the command acts as the programs that envtest starts.
const (
	etcdName      = "etcd"
	apiserverName = "kube-apiserver"
)

// envtestCommand writes a directory for KUBEBUILDER_ASSETS.
type envtestCommand struct {
	Dir string `arg:"" help:"Directory to which the links are written."`
}

// Run links the programs that envtest starts to this command.
func (c *envtestCommand) Run(stdout io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return err
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return err
	}
	for _, name := range []string{etcdName, apiserverName} {
		link := filepath.Join(dir, name)
		if info, err := os.Lstat(link); err == nil && info.Mode().Type() != os.ModeSymlink {
			return fmt.Errorf("%s exists and is not a link; choose another directory", link)
		} else if err == nil {
			if err := os.Remove(link); err != nil {
				return err
			}
		}
		if err := os.Symlink(self, link); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(stdout, "export KUBEBUILDER_ASSETS=%s\n", dir)
	return err
}

// runAs runs the program that the command is named after. It returns false if that is the command itself.
func runAs(ctx context.Context, name string, args []string, stderr io.Writer) (code int, ok bool) {
	switch name {
	case etcdName:
		etcdmain.Main(append([]string{name}, args...)) // ends the process
		return 0, true
	case apiserverName:
		c, err := kubeFlags(args, stderr)
		if errors.Is(err, pflag.ErrHelp) {
			return 0, true
		}
		if err == nil {
			err = c.Run(ctx, stderr)
		}
		if err != nil {
			fmt.Fprintln(stderr, "kube-apiserver:", err)
			return exitError, true
		}
		return 0, true
	}
	return 0, false
}

// kubeFlags returns the settings for flags of kube-apiserver. Flags without a counterpart are logged, and have no
// effect.
func kubeFlags(args []string, stderr io.Writer) (*serveCommand, error) {
	c := &serveCommand{Kinds: true, Evaluator: "in-process", LogLevel: slog.LevelWarn}
	var bind, port, certDir string
	var modes []string
	set := pflag.NewFlagSet(apiserverName, pflag.ContinueOnError)
	set.SetOutput(stderr)
	set.ParseErrorsAllowlist.UnknownFlags = true
	set.StringVar(&bind, "bind-address", "0.0.0.0", "IP address to listen on.")
	set.StringVar(&port, "secure-port", "6443", "Port to listen on.")
	set.StringVar(&certDir, "cert-dir", "apiserver-data",
		"Directory of apiserver.crt and apiserver.key. Without them, a self-signed certificate is created there.")
	set.StringVar(&c.TLSCertFile, "tls-cert-file", "", "PEM file with the certificate of the server.")
	set.StringVar(&c.TLSPrivateKeyFile, "tls-private-key-file", "", "PEM file with the private key of --tls-cert-file.")
	set.StringVar(&c.ClientCAFile, "client-ca-file", "", "PEM file with the CAs of client certificates.")
	set.StringVar(&c.TokenAuthFile, "token-auth-file", "", "CSV file with bearer tokens.")
	set.StringSliceVar(&modes, "authorization-mode", []string{alwaysAllow},
		"RBAC: roles decide. AlwaysAllow: every authenticated caller may do everything.")
	set.StringSliceVar(&c.EtcdServers, "etcd-servers", nil, "URLs of etcd. Default: an etcd in the process.")
	set.StringVar(&c.EtcdPrefix, "etcd-prefix", "/registry", "Prefix of the keys in etcd.")
	set.StringVar(&c.EtcdCAFile, "etcd-cafile", "", "PEM file with the CAs of etcd.")
	set.StringVar(&c.EtcdCertFile, "etcd-certfile", "", "PEM file with the client certificate for etcd.")
	set.StringVar(&c.EtcdKeyFile, "etcd-keyfile", "", "PEM file with the private key of --etcd-certfile.")
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	c.Address, c.DataDir, c.AuthorizationMode = net.JoinHostPort(bind, port), certDir, alwaysAllow
	if slices.Contains(modes, roleBased) {
		c.AuthorizationMode = roleBased
	}
	if certificate := filepath.Join(certDir, "apiserver.crt"); c.TLSCertFile == "" && exists(certificate) {
		c.TLSCertFile, c.TLSPrivateKeyFile = certificate, filepath.Join(certDir, "apiserver.key")
	}
	for _, arg := range args {
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if strings.HasPrefix(arg, "-") && set.Lookup(name) == nil {
			fmt.Fprintf(stderr, "kube-apiserver: --%s has no effect\n", name)
		}
	}
	return c, c.Validate()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
