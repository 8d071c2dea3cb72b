package standalone

import (
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/generic"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
)

// withWebhooks returns an admission that calls mutating and validating webhooks after first. It reads their
// configurations of the informers.
func withWebhooks(first admission.Interface, client kubernetes.Interface, factory informers.SharedInformerFactory,
) (admission.Interface, error) {
	mutate, err := mutating.NewMutatingWebhook(nil)
	if err != nil {
		return nil, err
	}
	validate, err := validating.NewValidatingAdmissionWebhook(nil)
	if err != nil {
		return nil, err
	}
	for _, hooks := range []*generic.Webhook{mutate.Webhook, validate.Webhook} {
		hooks.SetExternalKubeClientSet(client)
		hooks.SetExternalKubeInformerFactory(factory)
		if err := hooks.ValidateInitialization(); err != nil {
			return nil, err
		}
	}
	return admission.NewChainHandler(first, mutate, validate), nil
}
