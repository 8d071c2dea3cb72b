package main

import (
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apiserver/pkg/server/options"
	certutil "k8s.io/client-go/util/cert"
)

// renewBefore is the time before the end of a self-signed certificate at which a start replaces it.
const renewBefore = 30 * 24 * time.Hour

const certificateName = "server" // of the files in --data-dir

// setCertificate sets the certificate of the server, and creates a self-signed one if none is given.
func (c *serveCommand) setCertificate(s *options.SecureServingOptionsWithLoopback) error {
	if c.TLSCertFile != "" {
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
	file := filepath.Join(c.DataDir, certificateName+".crt")
	if !isUsable(file, ips, names) {
		for _, old := range []string{file, filepath.Join(c.DataDir, certificateName+".key")} {
			if err := os.Remove(old); err != nil && !os.IsNotExist(err) {
				return err
			}
		}
	}
	return s.MaybeDefaultWithSelfSignedCerts("localhost", names, ips)
}

// isUsable reports whether a certificate is valid for some time, for all addresses and names.
func isUsable(file string, ips []net.IP, names []string) bool {
	certificates, err := certutil.CertsFromFile(file)
	if err != nil {
		return false
	}
	leaf := certificates[0]
	if time.Until(leaf.NotAfter) < renewBefore {
		return false
	}
	for _, ip := range ips {
		if leaf.VerifyHostname(ip.String()) != nil {
			return false
		}
	}
	for _, name := range names {
		if leaf.VerifyHostname(name) != nil {
			return false
		}
	}
	return true
}
