package core

import (
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/crdeval/crdeval/clients/apiserver/internal/builtin"
)

// scope says how a kind is served.
type scope int

const (
	cluster    scope = 0
	namespaced scope = 1 << iota
	counted          // metadata.generation counts the changes of what users want
)

// kind is a type of Kubernetes whose fields are not validated. Its status has its own endpoint if the Go type has a
// status.
type kind struct {
	version schema.GroupVersion
	name    string
	plural  string
	short   string
	scope   scope
}

// kinds are the types besides namespaces and events.
var kinds = []kind{
	{corev1.SchemeGroupVersion, "ConfigMap", "configmaps", "cm", namespaced},
	{corev1.SchemeGroupVersion, "Endpoints", "endpoints", "ep", namespaced},
	{corev1.SchemeGroupVersion, "LimitRange", "limitranges", "limits", namespaced},
	{corev1.SchemeGroupVersion, "Node", "nodes", "no", cluster},
	{corev1.SchemeGroupVersion, "PersistentVolume", "persistentvolumes", "pv", cluster},
	{corev1.SchemeGroupVersion, "PersistentVolumeClaim", "persistentvolumeclaims", "pvc", namespaced},
	{corev1.SchemeGroupVersion, "Pod", "pods", "po", namespaced | counted},
	{corev1.SchemeGroupVersion, "PodTemplate", "podtemplates", "", namespaced | counted},
	{corev1.SchemeGroupVersion, "ReplicationController", "replicationcontrollers", "rc", namespaced | counted},
	{corev1.SchemeGroupVersion, "ResourceQuota", "resourcequotas", "quota", namespaced},
	{corev1.SchemeGroupVersion, "Secret", "secrets", "", namespaced},
	{corev1.SchemeGroupVersion, "Service", "services", "svc", namespaced},
	{corev1.SchemeGroupVersion, "ServiceAccount", "serviceaccounts", "sa", namespaced},
	{admissionv1.SchemeGroupVersion, "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", "", counted},
	{admissionv1.SchemeGroupVersion, "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", "", counted},
	{appsv1.SchemeGroupVersion, "ControllerRevision", "controllerrevisions", "", namespaced},
	{appsv1.SchemeGroupVersion, "DaemonSet", "daemonsets", "ds", namespaced | counted},
	{appsv1.SchemeGroupVersion, "Deployment", "deployments", "deploy", namespaced | counted},
	{appsv1.SchemeGroupVersion, "ReplicaSet", "replicasets", "rs", namespaced | counted},
	{appsv1.SchemeGroupVersion, "StatefulSet", "statefulsets", "sts", namespaced | counted},
	{autoscalingv2.SchemeGroupVersion, "HorizontalPodAutoscaler", "horizontalpodautoscalers", "hpa", namespaced},
	{batchv1.SchemeGroupVersion, "CronJob", "cronjobs", "cj", namespaced | counted},
	{batchv1.SchemeGroupVersion, "Job", "jobs", "", namespaced | counted},
	{coordinationv1.SchemeGroupVersion, "Lease", "leases", "", namespaced},
	{discoveryv1.SchemeGroupVersion, "EndpointSlice", "endpointslices", "", namespaced | counted},
	{networkingv1.SchemeGroupVersion, "Ingress", "ingresses", "ing", namespaced | counted},
	{networkingv1.SchemeGroupVersion, "IngressClass", "ingressclasses", "", counted},
	{networkingv1.SchemeGroupVersion, "NetworkPolicy", "networkpolicies", "netpol", namespaced | counted},
	{nodev1.SchemeGroupVersion, "RuntimeClass", "runtimeclasses", "", cluster},
	{policyv1.SchemeGroupVersion, "PodDisruptionBudget", "poddisruptionbudgets", "pdb", namespaced | counted},
	{schedulingv1.SchemeGroupVersion, "PriorityClass", "priorityclasses", "pc", counted},
	{storagev1.SchemeGroupVersion, "CSIDriver", "csidrivers", "", cluster},
	{storagev1.SchemeGroupVersion, "CSINode", "csinodes", "", cluster},
	{storagev1.SchemeGroupVersion, "StorageClass", "storageclasses", "sc", cluster},
	{storagev1.SchemeGroupVersion, "VolumeAttachment", "volumeattachments", "", cluster},
}

// newObject returns an empty object.
func (k kind) newObject() runtime.Object { return create(k.version.WithKind(k.name)) }

// newList returns an empty list.
func (k kind) newList() runtime.Object { return create(k.version.WithKind(k.name + "List")) }

func (k kind) singular() string { return strings.ToLower(k.name) }

func create(kind schema.GroupVersionKind) runtime.Object {
	obj, err := clientscheme.Scheme.New(kind)
	utilruntime.Must(err) // the table above has only types of the scheme
	return obj
}

func registerKinds(s *runtime.Scheme) {
	for _, k := range kinds {
		builtin.Register(s, k.version, k.newObject(), k.newList())
	}
	registerDefaults(s)
	registerSelectors(s)
}
