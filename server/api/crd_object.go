package api

import (
	"bytes"
	"context"
	"encoding/json"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/registry"
)

// GetCrdObject returns a CRD as a Kubernetes object.
func (s *presentationService) GetCrdObject(
	ctx context.Context, r *crdevalv1.GetCrdObjectRequest,
) (*crdevalv1.GetCrdObjectResponse, error) {
	if err := required("crd", r.GetCrd()); err != nil {
		return nil, err
	}
	found, err := s.registry.CRD(ctx, r.GetCatalog(), r.GetCrd(), "", r.GetAtLeast())
	if err != nil {
		return nil, err
	}
	text, err := crdObject(found)
	if err == nil {
		err = s.limits.checkResponse("the CRD", len(text))
	}
	if err != nil {
		return nil, err
	}
	// Not Crd.etag: a sweep of old revisions changes only the resourceVersion.
	m := &crdevalv1.GetCrdObjectResponse{Etag: `"` + hashOf(text) + `"`}
	if !matches(r.GetIfNoneMatch(), m.GetEtag()) {
		m.Document = JSON(text)
	}
	return m, nil
}

// crdObject returns the JSON of a CRD with its manifest as an API server serves it, without managed fields.
func crdObject(c *registry.CRD) ([]byte, error) {
	var o struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        metav1.ObjectMeta `json:"metadata"`
		Spec            json.RawMessage   `json:"spec"`
		Status          json.RawMessage   `json:"status"`
	}
	if err := json.Unmarshal(c.Manifest, &o); err != nil {
		return nil, err
	}
	o.TypeMeta = metav1.TypeMeta{APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition"}
	o.Status = c.StatusJSON
	m := &o.Metadata
	m.UID, m.ResourceVersion, m.Generation = c.Metadata.UID, c.Metadata.ResourceVersion, c.Generation
	m.CreationTimestamp = metav1.NewTime(c.Created)
	m.DeletionTimestamp, m.DeletionGracePeriodSeconds = c.Metadata.DeletionTimestamp, c.Metadata.DeletionGracePeriodSeconds
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(&o); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
