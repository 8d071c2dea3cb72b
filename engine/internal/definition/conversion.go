package definition

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// check validates spec.conversion. The CA bundle is not checked until the CRD is established.
// (validation.go, validateCustomResourceConversion)
func (c *conversion) check(path *field.Path, r *ratchet) field.ErrorList {
	if c == nil {
		return nil
	}
	errs := oneOf(path.Child("strategy"), string(c.strategy), string(apiextensionsv1.NoneConverter), string(apiextensionsv1.WebhookConverter))
	client, reviews := path.Child("webhookClientConfig"), path.Child("conversionReviewVersions")
	if c.strategy != apiextensionsv1.WebhookConverter {
		if c.webhookClientConfig != nil {
			errs = append(errs, field.Forbidden(client, "should not be set when strategy is not set to Webhook"))
		}
		if len(c.conversionReviewVersions) > 0 {
			errs = append(errs, field.Forbidden(reviews, "should not be set when strategy is not set to Webhook"))
		}
		return errs
	}
	switch cc := c.webhookClientConfig; {
	case cc == nil:
		errs = append(errs, field.Required(client, "required when strategy is set to Webhook"))
	case (cc.URL == nil) == (cc.Service == nil):
		errs = append(errs, field.Required(client, "exactly one of url or service is required"))
	case cc.URL != nil:
		errs = append(errs, webhookURL(*cc.URL, client.Child("url"))...)
	default:
		errs = append(errs, webhookService(cc.Service, client.Child("service"))...)
	}
	if cc := c.webhookClientConfig; cc != nil && !r.anyCABundle {
		errs = append(errs, caBundle(cc.CABundle, client.Child("caBundle"))...)
	}
	return append(errs, reviewVersions(c.conversionReviewVersions, reviews, r.anyReviews)...)
}

// reviewVersions checks the ConversionReview versions of a webhook. Unless anyWillDo is set, the list must contain v1
// or v1beta1.
func reviewVersions(list []string, path *field.Path, anyWillDo bool) field.ErrorList {
	if len(list) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	var errs field.ErrorList
	for i, v := range list {
		if slices.Contains(list[:i], v) {
			errs = append(errs, field.Invalid(path.Index(i), v, "duplicate version"))
			continue
		}
		for _, text := range utilvalidation.IsDNS1035Label(v) {
			errs = append(errs, field.Invalid(path.Index(i), v, text))
		}
	}
	if !anyWillDo && !anyKnownReview(list) {
		errs = append(errs, field.Invalid(path, list, "must include at least one of v1, v1beta1"))
	}
	return errs
}

func anyKnownReview(list []string) bool {
	return slices.Contains(list, "v1") || slices.Contains(list, "v1beta1")
}

// webhookURL checks the URL of a webhook.
// (k8s.io/apiserver/pkg/util/webhook/validation.go, ValidateWebhookURL)
func webhookURL(text string, path *field.Path) field.ErrorList {
	const form = "; desired format: https://host[/path]"
	u, err := url.Parse(text)
	if err != nil {
		return field.ErrorList{field.Required(path, "url must be a valid URL: "+err.Error()+form)}
	}
	var errs field.ErrorList
	if u.Scheme != "https" {
		errs = append(errs, field.Invalid(path, u.Scheme, "'https' is the only allowed URL scheme"+form))
	}
	if u.Host == "" {
		errs = append(errs, field.Invalid(path, u.Host, "host must be specified"+form))
	}
	if u.User != nil {
		errs = append(errs, field.Invalid(path, u.User.String(), "user information is not permitted in the URL"))
	}
	if u.Fragment != "" {
		errs = append(errs, field.Invalid(path, u.Fragment, "fragments are not permitted in the URL"))
	}
	if u.RawQuery != "" {
		errs = append(errs, field.Invalid(path, u.RawQuery, "query parameters are not permitted in the URL"))
	}
	return errs
}

// webhookService checks the service of a webhook. As in upstream, it reports a missing name as a missing namespace and
// a missing namespace as a missing name.
// (k8s.io/apiserver/pkg/util/webhook/validation.go, ValidateWebhookService)
func webhookService(s *apiextensionsv1.ServiceReference, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s.Namespace == "" {
		errs = append(errs, field.Required(path.Child("name"), ""))
	}
	if s.Name == "" {
		errs = append(errs, field.Required(path.Child("namespace"), ""))
	}
	var port int32
	if s.Port != nil {
		port = *s.Port
	}
	if texts := utilvalidation.IsValidPortNum(int(port)); texts != nil {
		errs = append(errs, field.Invalid(path.Child("port"), port, "port is not valid: "+strings.Join(texts, ", ")))
	}
	if s.Path != nil {
		errs = append(errs, webhookPath(*s.Path, path.Child("path"))...)
	}
	return errs
}

func webhookPath(text string, path *field.Path) field.ErrorList {
	switch text {
	case "", "/":
		return nil
	case "//":
		return field.ErrorList{field.Invalid(path, text, "segment[0] may not be empty")}
	}
	var errs field.ErrorList
	if text[0] != '/' {
		errs = append(errs, field.Invalid(path, text, "must start with a '/'"))
	}
	// As in upstream, drop the first character even if it is not a slash.
	for i, segment := range strings.Split(strings.TrimSuffix(text[1:], "/"), "/") {
		if segment == "" {
			errs = append(errs, field.Invalid(path, text, fmt.Sprintf("segment[%d] may not be empty", i)))
			continue
		}
		for _, bad := range utilvalidation.IsDNS1123Subdomain(segment) {
			errs = append(errs, field.Invalid(path, text, fmt.Sprintf("segment[%d]: %v", i, bad)))
		}
	}
	return errs
}

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

// invalidCABundle reports whether the CA bundle of the conversion webhook prevents the CRD from being established.
// (k8s.io/apiextensions-apiserver/pkg/controller/establish)
func invalidCABundle(crd *apiextensionsv1.CustomResourceDefinition) bool {
	c := crd.Spec.Conversion
	return c != nil && c.Webhook != nil && c.Webhook.ClientConfig != nil && len(caBundle(c.Webhook.ClientConfig.CABundle, nil)) > 0
}
