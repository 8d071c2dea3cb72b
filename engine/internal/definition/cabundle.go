package definition

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// caBundle checks that a webhook's CA bundle contains certificates. An empty bundle means the system's roots.
// (k8s.io/apiserver/pkg/util/webhook/validation.go, ValidateCABundle; k8s.io/client-go/transport, TLSConfigFor)
func caBundle(bundle []byte, path *field.Path) field.ErrorList {
	if len(bundle) == 0 || x509.NewCertPool().AppendCertsFromPEM(bundle) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, bundle, fmt.Sprintf("unable to load root certificates: %v", noCertificate(bundle)))}
}

// noCertificate returns the reason why a bundle contains no usable certificate.
func noCertificate(bundle []byte) error {
	for rest := bundle; len(rest) > 0; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return errors.New("unable to parse bytes as PEM block")
		}
		if block.Type != "CERTIFICATE" || len(block.Headers) != 0 {
			continue
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return fmt.Errorf("failed to parse certificate: %w", err)
		}
	}
	return errors.New("no valid certificate authority data seen")
}

// InvalidCABundle reports whether the CA bundle of the conversion webhook prevents the CRD from being established.
// (k8s.io/apiextensions-apiserver/pkg/controller/establish)
func InvalidCABundle(crd *apiextensionsv1.CustomResourceDefinition) bool {
	c := crd.Spec.Conversion
	return c != nil && c.Webhook != nil && c.Webhook.ClientConfig != nil && len(caBundle(c.Webhook.ClientConfig.CABundle, nil)) > 0
}
