package apiserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apiserver/pkg/util/webhook"

	"github.com/crdeval/crdeval/engine"
)

// webhookTimeout bounds a call of a conversion webhook.
const webhookTimeout = 30 * time.Second

// WebhookConverter is an engine.Converter that calls each webhook that a CRD names, as API servers do.
type WebhookConverter struct{ clients webhook.ClientManager }

// NewWebhookConverter returns a WebhookConverter for engine.Options of InProcess. services finds the address of a
// service, nil is its name in DNS. authentication changes the configuration of clients, and can be nil.
func NewWebhookConverter(services webhook.ServiceResolver, authentication webhook.AuthenticationInfoResolverWrapper) (*WebhookConverter, error) {
	clients, err := webhook.NewClientManager(
		[]schema.GroupVersion{apiextensionsv1.SchemeGroupVersion, apiextensionsv1beta1.SchemeGroupVersion},
		apiextensionsv1.AddToScheme, apiextensionsv1beta1.AddToScheme)
	if err != nil {
		return nil, err
	}
	resolver, err := webhook.NewDefaultAuthenticationInfoResolver("")
	if err != nil {
		return nil, err
	}
	if services == nil {
		services = webhook.NewDefaultServiceResolver()
	}
	clients.SetAuthenticationInfoResolver(resolver)
	clients.SetAuthenticationInfoResolverWrapper(authentication)
	clients.SetServiceResolver(services)
	return &WebhookConverter{clients}, nil
}

// Convert implements engine.Converter.
func (c *WebhookConverter) Convert(ctx context.Context, r engine.ConversionRequest) ([][]byte, error) {
	client, err := c.clients.HookClient(clientConfig(r))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, webhookTimeout)
	defer cancel()
	id := uuid.NewUUID()
	request, response := newReviews(r, id)
	if err := client.Post().Body(request).Do(ctx).Into(response); err != nil {
		return nil, err
	}
	return convertedObjects(response, id)
}

// clientConfig returns the address and the certificates of the webhook of a CRD.
func clientConfig(r engine.ConversionRequest) webhook.ClientConfig {
	from := r.Webhook.ClientConfig
	c := webhook.ClientConfig{Name: "conversion_webhook_for_" + r.CRD}
	if len(bytes.TrimSpace(from.CABundle)) > 0 {
		c.CABundle = from.CABundle
	}
	if from.URL != nil {
		c.URL = *from.URL
	}
	if s := from.Service; s != nil {
		c.Service = &webhook.ClientConfigService{Name: s.Name, Namespace: s.Namespace}
		if s.Port != nil {
			c.Service.Port = *s.Port
		}
		if s.Path != nil {
			c.Service.Path = *s.Path
		}
	}
	return c
}

// newReviews returns a request and an empty response, in the first version that API servers know. The engine does not
// convert with a webhook that accepts none of them.
func newReviews(r engine.ConversionRequest, id types.UID) (request, response runtime.Object) {
	objects := make([]runtime.RawExtension, len(r.Objects))
	for i, o := range r.Objects {
		objects[i].Raw = o
	}
	for _, version := range r.Webhook.ConversionReviewVersions {
		switch version {
		case apiextensionsv1.SchemeGroupVersion.Version:
			return &apiextensionsv1.ConversionReview{
				Request: &apiextensionsv1.ConversionRequest{UID: id, DesiredAPIVersion: r.DesiredAPIVersion, Objects: objects},
			}, &apiextensionsv1.ConversionReview{}
		case apiextensionsv1beta1.SchemeGroupVersion.Version:
			return &apiextensionsv1beta1.ConversionReview{
				Request: &apiextensionsv1beta1.ConversionRequest{UID: id, DesiredAPIVersion: r.DesiredAPIVersion, Objects: objects},
			}, &apiextensionsv1beta1.ConversionReview{}
		}
	}
	return nil, nil
}

// convertedObjects returns the objects of a response. Kind and uid of a v1beta1 response are not checked, as upstream.
func convertedObjects(response runtime.Object, id types.UID) ([][]byte, error) {
	var result metav1.Status
	var objects []runtime.RawExtension
	missing := true
	switch review := response.(type) {
	case *apiextensionsv1.ConversionReview:
		want := apiextensionsv1.SchemeGroupVersion.WithKind("ConversionReview")
		if got := review.GroupVersionKind(); got != want {
			return nil, fmt.Errorf("expected webhook response of %v, got %v", want.String(), got.String())
		}
		if r := review.Response; r != nil {
			if r.UID != id {
				return nil, fmt.Errorf("expected response.uid=%q, got %q", id, r.UID)
			}
			missing, result, objects = false, r.Result, r.ConvertedObjects
		}
	case *apiextensionsv1beta1.ConversionReview:
		if r := review.Response; r != nil {
			missing, result, objects = false, r.Result, r.ConvertedObjects
		}
	}
	switch {
	case missing:
		return nil, errors.New("no response provided")
	case result.Status == metav1.StatusSuccess:
	case result.Message != "":
		return nil, conversionError(result.Message)
	default:
		return nil, conversionError(fmt.Sprintf("response.result.status was '%s', not 'Success'", result.Status))
	}
	texts := make([][]byte, len(objects))
	for i := range objects {
		texts[i] = objects[i].Raw
	}
	return texts, nil
}

// conversionError is the text of a webhook that cannot convert an object.
type conversionError string

func (e conversionError) Error() string { return string(e) }

// Is makes conversionError an engine.ErrConversionFailed.
func (e conversionError) Is(target error) bool { return target == engine.ErrConversionFailed }
