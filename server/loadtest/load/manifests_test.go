package load

import (
	"fmt"
	"strings"

	crdeval "github.com/crdeval/crdeval/clients/go"
)

// schemaCRD returns a CRD of the group a.dev, version v1, with a kind and a schema in YAML.
func schemaCRD(kind, schema string) []byte {
	plural := strings.ToLower(kind) + "s"
	return fmt.Appendf(nil, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %s.a.dev}
spec:
  group: a.dev
  scope: Cluster
  names: {plural: %s, kind: %s}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: %s}}]
`, plural, plural, kind, schema)
}

// object returns an object of a CRD of schemaCRD with a spec in JSON.
func object(kind, spec string) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"a.dev/v1","kind":%q,"metadata":{"name":"a"},"spec":%s}`, kind, spec)
}

// register registers a CRD.
func (l *load) register(s *server, catalog string, manifest []byte) {
	l.Helper()
	c, err := crdeval.Dial(s.grpc, crdeval.WithCatalog(catalog), crdeval.WithToken(s.token))
	if err != nil {
		l.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.RegisterCRD(l.Context(), manifest); err != nil {
		l.Fatal(err)
	}
}
