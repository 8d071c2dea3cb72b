// Package scale builds the Scale subresource of a custom resource.
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

// Paths holds the parsed paths of a version's scale subresource. LabelSelector is empty if there is none.
type Paths struct {
	SpecReplicas, StatusReplicas, LabelSelector []string
	// SpecReplicasPath is the path of SpecReplicas as written in the CRD, for messages.
	SpecReplicasPath string
}

// Of returns the Scale of an object. found reports whether the spec has replicas; without them the Scale has 0. An
// error means that a value on a path has the wrong type, which an API server returns with code 500. Numbers beyond 32
// bits are truncated as upstream does.
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
		_ = scale.CreationTimestamp.UnmarshalQueryParameter(created) // upstream's accessor also ignores an invalid time
	}
	return scale, found, nil
}

// Get returns the Scale of an object as JSON, as in the response to a GET. The error is an *apierrors.StatusError if
// the spec has no replicas, or an error of Of.
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

// integerAt returns the integer at a path, or 0 if there is none. Type errors have apimachinery's text.
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

// Descend follows names through objects. It returns 0 if a member is missing; plain is false if a value on the path is
// not an object.
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
