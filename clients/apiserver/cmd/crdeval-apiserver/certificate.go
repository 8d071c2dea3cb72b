package main

import (
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apiserver/pkg/server/options"
)

// renewBefore is the time before the end of a self-signed certificate at which a start replaces it.
const renewBefore = 30 * 24 * time.Hour

const certificateName = "server" // of the files in --data-dir

// setCertificate sets the certificate of the server, and creates a self-signed one if none is given.
func (c *serveCommand) setCertificate(s *options.SecureServingOptionsWithLoopback) error {
	if c.TLSCertFile != "" {
		if _, err := tls.LoadX509KeyPair(c.TLSCertFile, c.TLSPrivateKeyFile); err != nil {
			return fmt.Errorf("--tls-cert-file=%s --tls-private-key-file=%s: %w", c.TLSCertFile, c.TLSPrivateKeyFile, err)
		}
		s.ServerCert.CertKey = options.CertKey{CertFile: c.TLSCertFile, KeyFile: c.TLSPrivateKeyFile}
		return nil
	}
	ips, names := []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}, []string{"localhost"}
	for _, name := range c.Hostname {
		if ip := net.ParseIP(name); ip != nil {
			ips = append(ips, ip)
		} else {
			names = append(names, name)
		}
	}
	if host, _, _ := net.SplitHostPort(c.Address); net.ParseIP(host) != nil { // Validate has checked the address
		ips = append(ips, net.ParseIP(host))
	}
	s.ServerCert.CertDirectory, s.ServerCert.PairName = c.DataDir, certificateName
	file, key := filepath.Join(c.DataDir, certificateName+".crt"), filepath.Join(c.DataDir, certificateName+".key")
	if !isUsable(file, key, ips, names) {
		for _, old := range []string{file, key} {
			if err := os.Remove(old); err != nil && !os.IsNotExist(err) {
				return fmt.Errorf("replace the certificate: %w", err)
			}
		}
	}
	if err := s.MaybeDefaultWithSelfSignedCerts("localhost", names, ips); err != nil {
		return fmt.Errorf("create the certificate: %w", err)
	}
	return nil
}

// isUsable reports whether a certificate has its key, and is valid for some time, for all addresses and names.
func isUsable(file, key string, ips []net.IP, names []string) bool {
	pair, err := tls.LoadX509KeyPair(file, key)
	if err != nil || time.Until(pair.Leaf.NotAfter) < renewBefore {
		return false
	}
	for _, ip := range ips {
		if pair.Leaf.VerifyHostname(ip.String()) != nil {
			return false
		}
	}
	for _, name := range names {
		if pair.Leaf.VerifyHostname(name) != nil {
			return false
		}
	}
	return true
}
