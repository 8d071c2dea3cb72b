package deploy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// The fields of custom resources that our manifests set.
type (
	certificate struct {
		metav1.TypeMeta
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			IsCA       bool              `json:"isCA"`
			CommonName string            `json:"commonName"`
			SecretName string            `json:"secretName"`
			Duration   metav1.Duration   `json:"duration"`
			DNSNames   []string          `json:"dnsNames"`
			Usages     []string          `json:"usages"`
			PrivateKey map[string]any    `json:"privateKey"`
			IssuerRef  map[string]string `json:"issuerRef"`
		} `json:"spec"`
	}
	issuer struct {
		metav1.TypeMeta
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			SelfSigned *struct{} `json:"selfSigned"`
			CA         *struct {
				SecretName string `json:"secretName"`
			} `json:"ca"`
		} `json:"spec"`
	}
	podMonitor struct {
		metav1.TypeMeta
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			Selector            metav1.LabelSelector `json:"selector"`
			PodMetricsEndpoints []struct {
				Port, Path, Interval string
			} `json:"podMetricsEndpoints"`
		} `json:"spec"`
	}
	prometheusRule struct {
		metav1.TypeMeta
		metav1.ObjectMeta `json:"metadata"`
		Spec              map[string]any `json:"spec"`
	}
)

// kinds are the Go types of all objects in deploy.
var kinds = map[string]func() metav1.Object{
	"v1 ConfigMap":                            func() metav1.Object { return new(corev1.ConfigMap) },
	"v1 PersistentVolumeClaim":                func() metav1.Object { return new(corev1.PersistentVolumeClaim) },
	"v1 Pod":                                  func() metav1.Object { return new(corev1.Pod) },
	"v1 Service":                              func() metav1.Object { return new(corev1.Service) },
	"v1 ServiceAccount":                       func() metav1.Object { return new(corev1.ServiceAccount) },
	"apps/v1 Deployment":                      func() metav1.Object { return new(appsv1.Deployment) },
	"apps/v1 StatefulSet":                     func() metav1.Object { return new(appsv1.StatefulSet) },
	"policy/v1 PodDisruptionBudget":           func() metav1.Object { return new(policyv1.PodDisruptionBudget) },
	"networking.k8s.io/v1 NetworkPolicy":      func() metav1.Object { return new(networkingv1.NetworkPolicy) },
	"autoscaling/v2 HorizontalPodAutoscaler":  func() metav1.Object { return new(autoscalingv2.HorizontalPodAutoscaler) },
	"cert-manager.io/v1 Certificate":          func() metav1.Object { return new(certificate) },
	"cert-manager.io/v1 Issuer":               func() metav1.Object { return new(issuer) },
	"monitoring.coreos.com/v1 PodMonitor":     func() metav1.Object { return new(podMonitor) },
	"monitoring.coreos.com/v1 PrometheusRule": func() metav1.Object { return new(prometheusRule) },
	"admissionregistration.k8s.io/v1 MutatingWebhookConfiguration": func() metav1.Object {
		return new(admissionregistrationv1.MutatingWebhookConfiguration)
	},
	"admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration": func() metav1.Object {
		return new(admissionregistrationv1.ValidatingWebhookConfiguration)
	},
}

// objects are the objects of one manifest.
type objects []metav1.Object

// decodeObjects decodes a manifest. Unknown kinds and fields are errors.
func decodeObjects(t *testing.T, manifest []byte) (all objects) {
	t.Helper()
	seen := map[string]bool{}
	for document := range bytes.SplitSeq(append([]byte("\n"), manifest...), []byte("\n---")) {
		var about metav1.TypeMeta
		if err := yaml.Unmarshal(document, &about); err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		if about.Kind == "" {
			continue
		}
		create := kinds[about.APIVersion+" "+about.Kind]
		if create == nil {
			t.Errorf("%s %s is not a kind that the test knows", about.APIVersion, about.Kind)
			continue
		}
		o := create()
		if err := unmarshalStrict(document, o); err != nil {
			t.Errorf("%s: %v\n%s", about.Kind, err, document)
		}
		id := fmt.Sprintf("%s %s/%s", about.Kind, o.GetNamespace(), o.GetName())
		if o.GetName() == "" || seen[id] {
			t.Errorf("%s has no name, or appears twice", id)
		}
		seen[id] = true
		all = append(all, o)
	}
	return all
}

// unmarshalStrict decodes an object like Helm and an API server. Unlike yaml.UnmarshalStrict, it does not convert numbers
// to texts.
func unmarshalStrict(document []byte, into any) error {
	text, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// of returns the objects of one type.
func of[T metav1.Object](all objects) (out []T) {
	for _, o := range all {
		if typed, ok := o.(T); ok {
			out = append(out, typed)
		}
	}
	return out
}

// named returns the object of a type with a name, and reports an error if it does not exist.
func named[T metav1.Object](t *testing.T, all objects, name string) (found T) {
	t.Helper()
	for _, o := range of[T](all) {
		if o.GetName() == name {
			return o
		}
	}
	t.Errorf("there is no %T %s", found, name)
	return found
}

// pod is a pod, or the template of one.
type pod struct {
	name   string
	labels labels.Set
	spec   corev1.PodSpec
}

func (all objects) pods(t *testing.T) (out []pod) {
	t.Helper()
	for _, p := range of[*corev1.Pod](all) {
		out = append(out, pod{p.Name, p.Labels, p.Spec})
	}
	for _, d := range of[*appsv1.Deployment](all) {
		template := d.Spec.Template
		if !selects(t, d.Spec.Selector, template.Labels) {
			t.Errorf("deployment %s does not select its own pods", d.Name)
		}
		out = append(out, pod{d.Name, template.Labels, template.Spec})
	}
	for _, s := range of[*appsv1.StatefulSet](all) {
		template := s.Spec.Template.DeepCopy()
		if !selects(t, s.Spec.Selector, template.Labels) {
			t.Errorf("stateful set %s does not select its own pods", s.Name)
		}
		named[*corev1.Service](t, all, s.Spec.ServiceName)
		for _, claim := range s.Spec.VolumeClaimTemplates {
			template.Spec.Volumes = append(template.Spec.Volumes, corev1.Volume{Name: claim.Name})
		}
		out = append(out, pod{s.Name, template.Labels, template.Spec})
	}
	return out
}

func selects(t *testing.T, selector *metav1.LabelSelector, of map[string]string) bool {
	t.Helper()
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	return !s.Empty() && s.Matches(labels.Set(of))
}

// check checks that the objects refer to each other correctly. external are the names of objects that users create.
func (all objects) check(t *testing.T, external ...string) {
	t.Helper()
	pods := all.pods(t)
	for _, p := range pods {
		p.check(t, all, external)
	}
	selected := func(kind, name string, selector *metav1.LabelSelector) {
		t.Helper()
		if !slices.ContainsFunc(pods, func(p pod) bool { return selects(t, selector, p.labels) }) {
			t.Errorf("%s %s selects no pod", kind, name)
		}
	}
	for _, s := range of[*corev1.Service](all) {
		selected("service", s.Name, &metav1.LabelSelector{MatchLabels: s.Spec.Selector})
		for _, port := range s.Spec.Ports {
			if !slices.ContainsFunc(pods, func(p pod) bool { return p.port(port.TargetPort.String()) != 0 }) {
				t.Errorf("service %s: no container has the port %s", s.Name, &port.TargetPort)
			}
		}
	}
	for _, b := range of[*policyv1.PodDisruptionBudget](all) {
		selected("budget", b.Name, b.Spec.Selector)
	}
	for _, p := range of[*networkingv1.NetworkPolicy](all) {
		selected("policy", p.Name, &p.Spec.PodSelector)
	}
	for _, m := range of[*podMonitor](all) {
		selected("monitor", m.Name, &m.Spec.Selector)
		for _, endpoint := range m.Spec.PodMetricsEndpoints {
			if !slices.ContainsFunc(pods, func(p pod) bool { return p.port(endpoint.Port) != 0 }) {
				t.Errorf("monitor %s: no container has the port %s", m.Name, endpoint.Port)
			}
		}
	}
	for _, h := range of[*autoscalingv2.HorizontalPodAutoscaler](all) {
		if named[*appsv1.Deployment](t, all, h.Spec.ScaleTargetRef.Name).Spec.Replicas != nil {
			t.Errorf("autoscaler %s and its deployment both set replicas", h.Name)
		}
	}
	all.checkWebhooks(t)
	all.checkCertificates(t)
}

func (all objects) checkWebhooks(t *testing.T) {
	t.Helper()
	var clients []admissionregistrationv1.WebhookClientConfig
	var annotations []map[string]string
	for _, c := range of[*admissionregistrationv1.MutatingWebhookConfiguration](all) {
		for _, w := range c.Webhooks {
			clients, annotations = append(clients, w.ClientConfig), append(annotations, c.Annotations)
		}
	}
	for _, c := range of[*admissionregistrationv1.ValidatingWebhookConfiguration](all) {
		for _, w := range c.Webhooks {
			clients, annotations = append(clients, w.ClientConfig), append(annotations, c.Annotations)
		}
	}
	for i, c := range clients {
		service := named[*corev1.Service](t, all, c.Service.Name)
		if service == nil {
			continue
		}
		if !slices.ContainsFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == *c.Service.Port }) {
			t.Errorf("the service has no port %d", *c.Service.Port)
		}
		host := c.Service.Name + "." + c.Service.Namespace + ".svc"
		if from := annotations[i]["cert-manager.io/inject-ca-from"]; from != "" {
			namespace, name, _ := strings.Cut(from, "/")
			issued := named[*certificate](t, all, name)
			if issued != nil && (namespace != c.Service.Namespace || !slices.Contains(issued.Spec.DNSNames, host)) {
				t.Errorf("the certificate %s is not valid for %s", from, host)
			}
		} else if len(c.CABundle) == 0 {
			t.Errorf("the webhook %s has no CA", host)
		}
	}
}

func (all objects) checkCertificates(t *testing.T) {
	t.Helper()
	for _, c := range of[*certificate](all) {
		i := named[*issuer](t, all, c.Spec.IssuerRef["name"])
		if i == nil || i.Spec.CA == nil {
			continue
		}
		if !slices.ContainsFunc(of[*certificate](all), func(ca *certificate) bool {
			return ca.Spec.IsCA && ca.Spec.SecretName == i.Spec.CA.SecretName
		}) {
			t.Errorf("the CA of the issuer %s does not exist", i.Name)
		}
	}
}
