package access

import (
	"cmp"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
)

// CertificateIdentity returns the identity of a verified client certificate: the common name, and the organizations as
// groups, as in Kubernetes. Without a common name, the name is the subject, or the digest of the certificate.
func CertificateIdentity(c *x509.Certificate) Identity {
	name := cmp.Or(c.Subject.CommonName, c.Subject.String())
	if name == "" {
		digest := sha256.Sum256(c.Raw)
		name = "certificate:" + shortDigest(digest)
	}
	return authenticated(name, c.Subject.Organization, FromCertificate)
}

// shortDigest names a token or certificate in logs and access files.
func shortDigest(digest [sha256.Size]byte) string { return hex.EncodeToString(digest[:6]) }
