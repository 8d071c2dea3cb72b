package apiserver

import (
	"bytes"
	"context"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apiserver/pkg/util/webhook"

	"github.com/crdeval/crdeval/engine/conversionwebhook"
	"github.com/crdeval/crdeval/server/conversion/review"
)

// webhookTimeout bounds a call of a conversion webhook.
const webhookTimeout = 30 * time.Second

// WebhookConverter is a conversionwebhook.Converter that calls each webhook that a CRD names, as API servers do.
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

// Convert implements conversionwebhook.Converter.
func (c *WebhookConverter) Convert(ctx context.Context, r conversionwebhook.Request) ([][]byte, error) {
	client, err := c.clients.HookClient(clientConfig(r))
	if err != nil {
		return nil, err
	}
	id := uuid.NewUUID()
	request, response, err := review.New(r, id)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, webhookTimeout)
	defer cancel()
	if err := client.Post().Body(request).Do(ctx).Into(response); err != nil {
		return nil, err
	}
	return review.Objects(response, id)
}

// clientConfig returns the address and the certificates of the webhook of a CRD.
func clientConfig(r conversionwebhook.Request) webhook.ClientConfig {
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
