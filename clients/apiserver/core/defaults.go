package core

import (
	"maps"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// webhookTimeout is the default time limit of an admission webhook, in seconds.
const webhookTimeout = 10

// registerDefaults adds the defaults without which clients or admission webhooks do not work. Other fields have none.
func registerDefaults(s *runtime.Scheme) {
	s.AddTypeDefaultingFunc(&corev1.Secret{}, func(obj any) {
		secret := obj.(*corev1.Secret)
		setDefault(&secret.Type, corev1.SecretTypeOpaque)
		if len(secret.StringData) == 0 {
			return
		}
		secret.Data = maps.Clone(secret.Data)
		if secret.Data == nil {
			secret.Data = map[string][]byte{}
		}
		for key, value := range secret.StringData {
			secret.Data[key] = []byte(value)
		}
		secret.StringData = nil
	})
	s.AddTypeDefaultingFunc(&admissionregistrationv1.MutatingWebhookConfiguration{}, func(obj any) {
		hooks := obj.(*admissionregistrationv1.MutatingWebhookConfiguration).Webhooks
		for i := range hooks {
			h := &hooks[i]
			setHookDefaults(&h.FailurePolicy, &h.MatchPolicy, &h.TimeoutSeconds, &h.NamespaceSelector, &h.ObjectSelector)
			setCallDefaults(&h.ClientConfig, h.Rules)
			setPointer(&h.ReinvocationPolicy, admissionregistrationv1.NeverReinvocationPolicy)
		}
	})
	s.AddTypeDefaultingFunc(&admissionregistrationv1.ValidatingWebhookConfiguration{}, func(obj any) {
		hooks := obj.(*admissionregistrationv1.ValidatingWebhookConfiguration).Webhooks
		for i := range hooks {
			h := &hooks[i]
			setHookDefaults(&h.FailurePolicy, &h.MatchPolicy, &h.TimeoutSeconds, &h.NamespaceSelector, &h.ObjectSelector)
			setCallDefaults(&h.ClientConfig, h.Rules)
		}
	})
}

func setHookDefaults(failure **admissionregistrationv1.FailurePolicyType, match **admissionregistrationv1.MatchPolicyType,
	timeout **int32, namespaces, objects **metav1.LabelSelector) {
	setPointer(failure, admissionregistrationv1.Fail)
	setPointer(match, admissionregistrationv1.Equivalent)
	setPointer(namespaces, metav1.LabelSelector{})
	setPointer(objects, metav1.LabelSelector{})
	setPointer(timeout, webhookTimeout)
}

func setCallDefaults(client *admissionregistrationv1.WebhookClientConfig, rules []admissionregistrationv1.RuleWithOperations) {
	if client.Service != nil {
		setPointer(&client.Service.Port, 443)
	}
	for i := range rules {
		setPointer(&rules[i].Scope, admissionregistrationv1.AllScopes)
	}
}

func setPointer[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

func setDefault[T comparable](field *T, value T) {
	if *field == *new(T) {
		*field = value
	}
}

// completeNew sets what an API server sets in a new object: the phase, and the taint of a node whose kubelet is not
// ready.
func completeNew(obj runtime.Object) {
	switch o := obj.(type) {
	case *corev1.Node:
		notReady := corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}
		if !slices.ContainsFunc(o.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&notReady) }) {
			o.Spec.Taints = append(o.Spec.Taints, notReady)
		}
	case *corev1.Pod:
		o.Status.Phase = corev1.PodPending
	case *corev1.PersistentVolume:
		o.Status.Phase = corev1.VolumePending
	case *corev1.PersistentVolumeClaim:
		o.Status.Phase = corev1.ClaimPending
	}
}
