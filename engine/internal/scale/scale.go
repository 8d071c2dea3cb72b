// Package scale makes the Scale that an API server shows of a custom resource.
package scale

import (
	"encoding/json"
	"fmt"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crdeval/crdeval/engine/value"
)

// Scale is where the scale subresource of a version finds what it shows: paths taken apart. LabelSelector is empty if there is none.
type Paths struct {
	SpecReplicas, StatusReplicas, LabelSelector []string
	// SpecReplicasPath is the first path as the CRD has it, for messages.
	SpecReplicasPath string
}

// Of is the Scale of an object. found says whether the object has replicas in its spec; if it has none they are 0 in the Scale. An error is what an API
// server would answer with a code of 500: something on a path has the wrong type. A number beyond 32 bits is cut as upstream cuts it.
//
// Upstream: registry/customresource/etcd.go, scaleFromCustomResource.
func (s *Paths) Of(d *value.Doc, root uint32) (scale *autoscalingv1.Scale, found bool, err error) {
	replicas, found, err := integerAt(d, root, s.SpecReplicas)
	if err != nil {
		return nil, false, err
	}
	observed, _, err := integerAt(d, root, s.StatusReplicas)
	if err != nil {
		return nil, false, err
	}
	selector := ""
	if len(s.LabelSelector) > 0 {
		if selector, err = stringAt(d, root, s.LabelSelector); err != nil {
			return nil, false, err
		}
	}
	meta := d.Field(root, "metadata")
	of := func(key string) string {
		if c := d.Field(meta, key); c != 0 && d.Nodes[c].Kind == value.String {
			return strings.Clone(d.Str(c))
		}
		return ""
	}
	scale = &autoscalingv1.Scale{
		TypeMeta: metav1.TypeMeta{APIVersion: "autoscaling/v1", Kind: "Scale"},
		ObjectMeta: metav1.ObjectMeta{
			Name: of("name"), Namespace: of("namespace"), UID: types.UID(of("uid")), ResourceVersion: of("resourceVersion"),
		},
		Spec:   autoscalingv1.ScaleSpec{Replicas: int32(replicas)},
		Status: autoscalingv1.ScaleStatus{Replicas: int32(observed), Selector: selector},
	}
	if created := of("creationTimestamp"); created != "" {
		_ = scale.CreationTimestamp.UnmarshalQueryParameter(created) // to upstream's accessor what is no time is none
	}
	return scale, found, nil
}

// Get is the Scale of an object as JSON, as an API server answers it to a GET. The error is an *apierrors.StatusError where the object has no replicas in its
// spec, and else as with Of.
//
// Upstream: registry/customresource/etcd.go, ScaleREST.Get.
func (s *Paths) Get(d *value.Doc, root uint32) ([]byte, error) {
	scale, found, err := s.Of(d, root)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, apierrors.NewInternalError(fmt.Errorf("the spec replicas field %q does not exist", s.SpecReplicasPath))
	}
	return json.Marshal(scale)
}

// integerAt is the integer at a path, 0 if there is none. Words about what is no integer are apimachinery's.
func integerAt(d *value.Doc, root uint32, path []string) (n int64, found bool, err error) {
	switch c, plain := Descend(d, root, path); {
	case plain && c == 0:
		return 0, false, nil
	case plain && d.Nodes[c].Kind == value.Int:
		return d.Int(c), true, nil
	}
	return unstructured.NestedInt64(materialised(d, root), path...)
}

func stringAt(d *value.Doc, root uint32, path []string) (string, error) {
	switch c, plain := Descend(d, root, path); {
	case plain && c == 0:
		return "", nil
	case plain && d.Nodes[c].Kind == value.String:
		return strings.Clone(d.Str(c)), nil
	}
	found, _, err := unstructured.NestedString(materialised(d, root), path...)
	return found, err
}

func materialised(d *value.Doc, root uint32) map[string]any {
	m, _ := d.Any(root).(map[string]any)
	return m
}

// Descend follows names through objects: 0 if one is absent, not plain if something on the way is no object.
func Descend(d *value.Doc, node uint32, names []string) (c uint32, plain bool) {
	for _, name := range names {
		if d.Nodes[node].Kind != value.Object {
			return 0, false
		}
		if node = d.Field(node, name); node == 0 {
			return 0, true
		}
	}
	return node, true
}
