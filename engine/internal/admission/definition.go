package admission

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/crdeval/crdeval/engine/internal/lens"
	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/selector"
	"github.com/crdeval/crdeval/engine/internal/table"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// Definition is what the pipelines need of a CRD. It is immutable and safe for concurrent use.
type Definition struct {
	// Name is the name of the CRD: crontabs.stable.example.com.
	Name                string
	Group, Kind, Plural string
	Namespaced          bool
	PreserveUnknown     bool
	// Terminating says that the CRD is being deleted, so that creations are forbidden.
	Terminating bool
	// Conversion is spec.conversion. Nil means None.
	Conversion *apiextensionsv1.CustomResourceConversion
	// Converter calls the CRD's webhook. If it is nil, conversions by a webhook fail.
	Converter Converter
	// Declared says that there are declared conversion rules, Lenses are the compiled ones, nil if they do not fit.
	Declared bool
	Lenses   *lens.Set
	// Unservable is why API servers answer every request for objects of the CRD with 500, nil if they do not.
	Unservable error
	// Versions are in the order of spec.versions.
	Versions []*Version
	// Storage is the storage version.
	Storage *Version
	// Paths are set for every request.
	Paths Paths
}

// Paths choose the slower of two paths with equal results, to compare them.
type Paths struct {
	// Exact skips the fast path.
	Exact bool
	// NoClosures evaluates every rule with cel-go.
	NoClosures bool
}

// Version is one version of a CRD.
type Version struct {
	Name string
	// APIVersion is group/version.
	APIVersion string
	Served     bool
	// Plan is the compiled schema.
	Plan *plan.Plan
	// HasStatus says that the version has a status subresource.
	HasStatus bool
	// Scale holds the paths of the scale subresource, or nil.
	Scale *Scale
	// Selectable are the fields that field selectors may use.
	Selectable *selector.Fields
	// Columns are the columns of tables.
	Columns *table.Columns
	// Warnings are part of every answer: the deprecation warning.
	Warnings []violation.Warning
}

// Find returns the version with the name, or nil.
func (d *Definition) Find(version string) *Version {
	for _, v := range d.Versions {
		if v.Name == version {
			return v
		}
	}
	return nil
}

// Endpoint returns the version with the name if API servers serve it. The error is a *Fault.
func (d *Definition) Endpoint(version string) (*Version, error) {
	v, err := d.endpoint("version", version)
	if err == nil {
		err = d.served()
	}
	return v, err
}

// Describe returns a Definition of a CRD. The caller adds the plans. survey may be nil.
func Describe(crd *apiextensionsv1.CustomResourceDefinition, survey schema.Survey) *Definition {
	d := &Definition{
		Name: crd.Name, Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind, Plural: crd.Spec.Names.Plural,
		Namespaced: crd.Spec.Scope == apiextensionsv1.NamespaceScoped, PreserveUnknown: crd.Spec.PreserveUnknownFields,
		Conversion: crd.Spec.Conversion, Unservable: unservable(crd, survey),
	}
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		version := &Version{Name: v.Name, APIVersion: crd.Spec.Group + "/" + v.Name, Served: v.Served,
			HasStatus: schema.HasStatus(v)}
		version.Selectable = selector.CompileFields(v, d.Namespaced)
		version.Columns = table.CompileColumns(v.AdditionalPrinterColumns)
		if v.Subresources != nil {
			version.Scale = newScale(v.Subresources.Scale)
		}
		if text := schema.Deprecation(crd, v); text != "" {
			version.Warnings = append(version.Warnings, violation.Warning{Type: violation.TypeDeprecated, Text: text})
		}
		d.Versions = append(d.Versions, version)
		if v.Storage {
			d.Storage = version
		}
	}
	return d
}

// unservable returns why an API server cannot prepare to serve the objects of an accepted CRD, nil if it can. It then
// answers every request for them, at every served version, with 500.
//
// Upstream: customresource_handler.go, getOrCreateServingInfoFor.
func unservable(crd *apiextensionsv1.CustomResourceDefinition, survey schema.Survey) error {
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		if err := unservableSchema(schema.Of(v), survey); err != nil && !crd.Spec.PreserveUnknownFields {
			return fmt.Errorf("version %s: %w", v.Name, err)
		}
	}
	c := crd.Spec.Conversion
	if c != nil && c.Strategy == apiextensionsv1.WebhookConverter && c.Webhook != nil && c.Webhook.ClientConfig != nil {
		if err := unusableClient(c.Webhook.ClientConfig); err != nil {
			return fmt.Errorf("conversion webhook: %w", err)
		}
	}
	return nil
}

// unservableSchema returns why upstream cannot prune the defaults of a schema. It prunes each within an object that
// holds nothing else, and there is no such object for a default below the items of the root.
//
// Upstream: apiserver/schema/defaulting/prune.go, PruneDefaults, and surroundingobject.go, NewRootObjectFunc.
func unservableSchema(s *schema.Props, survey schema.Survey) error {
	if s == nil {
		return nil
	}
	if err := survey.Unsupported(s); err != nil {
		return err
	}
	if schema.HasValue(s.Default) && s.Default.Raw[0] != '{' {
		return errors.New("the default of the root schema is not an object")
	}
	if schema.Any(schema.Items(s), func(s *schema.Props) bool { return schema.HasValue(s.Default) }) {
		return errors.New("the root schema has items with a default, and the root cannot be an array")
	}
	return nil
}

// unusableClient returns why no HTTP client can be made for a conversion webhook.
//
// Upstream: apiserver/conversion/webhook_converter.go, webhookClientConfigForCRD; apiserver, util/webhook/client.go,
// hookClientConfig; client-go, rest/url_utils.go, DefaultServerURL.
func unusableClient(c *apiextensionsv1.WebhookClientConfig) error {
	host := ""
	switch {
	case c.Service == nil && c.URL == nil:
		return nil // registration rejects it
	case c.Service != nil:
		port := int32(443)
		if c.Service.Port != nil {
			port = *c.Service.Port
		}
		host = "https://" + net.JoinHostPort(c.Service.Name+"."+c.Service.Namespace+".svc", strconv.Itoa(int(port)))
	case c.URL != nil:
		u, err := url.Parse(*c.URL)
		if err != nil {
			return err
		}
		host = u.Scheme + "://" + u.Host // decoded: a host with percent-encoded characters does not parse again
	}
	if u, err := url.Parse(host); err != nil || u.Host == "" {
		return fmt.Errorf("%q is not the URL of a host", host)
	}
	if bundle := bytes.TrimSpace(c.CABundle); len(bundle) > 0 && !x509.NewCertPool().AppendCertsFromPEM(c.CABundle) {
		return errors.New("caBundle holds no certificate")
	}
	return nil
}

// unserved rejects a request for objects that cannot be served, and warns of the cause.
func (p *pass) unserved() bool {
	cause := p.def.Unservable
	if cause == nil {
		return false
	}
	text := "API servers cannot serve the objects of this CRD: " + cause.Error()
	p.reject(errUnserved(), violation.Reason(violation.Request, violation.TypeRejected, "", text, nil))
	p.note(text)
	return true
}

func errUnserved() *Rejection {
	return rejectionOf(apierrors.NewInternalError(errors.New("error resolving resource")))
}

// served returns a Fault if the objects of the definition cannot be served.
func (d *Definition) served() error {
	if d.Unservable == nil {
		return nil
	}
	r := errUnserved()
	reason := violation.Reason(violation.Request, violation.TypeRejected, "",
		"API servers cannot serve the objects of this CRD: "+d.Unservable.Error(), nil)
	return &Fault{
		Code: ObjectRejected, Text: r.Message + ": " + d.Unservable.Error(), Rejection: r, Cause: d.Unservable,
		Violations: []violation.Violation{reason},
	}
}
