package apiserver

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	listers "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	crdfeatures "k8s.io/apiextensions-apiserver/pkg/features"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kube-openapi/pkg/cached"
	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kube-openapi/pkg/spec3"
)

// documents publishes an OpenAPI v3 document for each group and version of the CRDs. A document is built when it is first
// requested: upstream's controller builds and keeps all of them.
type documents struct {
	service *handler3.OpenAPIService // nil: the server has no OpenAPI v3
	lister  listers.CustomResourceDefinitionLister
	known   map[string]string // path → what the document was built of
}

// publish publishes the documents of all established CRDs.
func (d *documents) publish(crds []*apiextensionsv1.CustomResourceDefinition) {
	if d.service == nil {
		return
	}
	crds = slices.Clone(crds)
	slices.SortFunc(crds, func(a, b *apiextensionsv1.CustomResourceDefinition) int { return strings.Compare(a.Name, b.Name) })
	names, next := map[string][]string{}, map[string]string{}
	for _, crd := range crds {
		for _, v := range crd.Spec.Versions {
			if v.Served {
				path := "apis/" + crd.Spec.Group + "/" + v.Name
				names[path] = append(names[path], crd.Name)
				next[path] += fmt.Sprintf("%s,%d;", crd.UID, crd.Generation)
			}
		}
	}
	for path, source := range next {
		if d.known[path] != source {
			d.service.UpdateGroupVersionLazy(path, cached.Once(cached.Func(func() (*spec3.OpenAPI, string, error) {
				document, err := d.build(path, names[path])
				return document, source, err
			})))
		}
	}
	for path := range d.known {
		if next[path] == "" {
			d.service.DeleteGroupVersion(path)
		}
	}
	d.known = next
}

// build builds the document of a group and version. CRDs that were deleted since are not in it.
func (d *documents) build(path string, names []string) (*spec3.OpenAPI, error) {
	o := builder.Options{IncludeSelectableFields: utilfeature.DefaultFeatureGate.Enabled(crdfeatures.CustomResourceFieldSelectors)}
	var all []*spec3.OpenAPI
	for _, name := range names {
		crd, err := d.lister.Get(name)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, v := range crd.Spec.Versions {
			if v.Served && path == "apis/"+crd.Spec.Group+"/"+v.Name {
				document, err := builder.BuildOpenAPIV3(crd, v.Name, o)
				if err != nil { // the others are in the document
					utilruntime.HandleErrorWithContext(background, err, "Build OpenAPI", "name", name, "version", v.Name)
					continue
				}
				all = append(all, document)
			}
		}
	}
	return builder.MergeSpecsV3(all...)
}
