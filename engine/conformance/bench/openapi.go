package bench

import (
	"bytes"
	"context"
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"runtime"

	"github.com/crdeval/crdeval/engine/publish"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/suites/openapi"
)

// openAPIV3 compares the v3 documents of all served versions and their ETags, on one core: ours from the stored
// manifest, upstream's from the decoded CRD that its controller has.
func openAPIV3(o Options, name string, obj *object) (string, error) {
	return documents(o, name, obj, func(ctx context.Context, crd publish.CRD) (out [][]byte, err error) {
		for _, v := range crd.Versions {
			doc, err := publish.OpenAPI{}.V3(ctx, crd.Group, v.Name, crd)
			if err != nil {
				return nil, err
			}
			out = append(out, doc.JSON)
		}
		return out, nil
	}, func(crd []*apiextensionsv1.CustomResourceDefinition) (out [][]byte, err error) {
		for _, v := range crd[0].Spec.Versions {
			doc, err := openapi.UpstreamV3(crd, v.Name)
			if err != nil {
				return nil, err
			}
			_ = sha512.Sum512(doc)
			out = append(out, doc)
		}
		return out, nil
	})
}

// openAPIV2 compares the v2 documents.
func openAPIV2(o Options, name string, obj *object) (string, error) {
	return documents(o, name, obj, func(ctx context.Context, crd publish.CRD) ([][]byte, error) {
		doc, err := publish.OpenAPI{}.V2(ctx, crd)
		if err != nil {
			return nil, err
		}
		return [][]byte{doc.JSON}, nil
	}, func(crd []*apiextensionsv1.CustomResourceDefinition) ([][]byte, error) {
		doc, err := openapi.UpstreamV2(crd)
		_ = sha512.Sum512(doc)
		return [][]byte{doc}, err
	})
}

func documents(o Options, name string, obj *object, ours func(context.Context, publish.CRD) ([][]byte, error),
	upstream func([]*apiextensionsv1.CustomResourceDefinition) ([][]byte, error)) (string, error) {
	crd, err := stored(obj)
	if err != nil {
		return "", err
	}
	crd.Spec.Versions = served(crd.Spec.Versions)
	manifest, err := json.Marshal(crd)
	if err != nil {
		return "", err
	}
	published := publish.CRD{Name: crd.Name, Group: crd.Spec.Group, Manifest: func(context.Context) ([]byte, error) { return manifest, nil }}
	for _, v := range crd.Spec.Versions {
		published.Versions = append(published.Versions, engine.VersionInfo{Name: v.Name, Served: true})
	}
	made := 0
	anew := func() ([][]byte, error) {
		made++ // another revision has another document
		published.Revision = fmt.Sprintf("%s %d", name, made)
		return ours(context.Background(), published)
	}
	theirs := []*apiextensionsv1.CustomResourceDefinition{crd}
	got, err := anew()
	if err != nil {
		return "", err
	}
	want, err := upstream(theirs)
	if err != nil {
		return "", err
	}
	for i := range want {
		if !bytes.Equal(got[i], want[i]) {
			return "", fmt.Errorf("document %d is not upstream's", i)
		}
	}
	a, b, err := compare(o, func() error {
		_, err := anew()
		return err
	}, func() error {
		_, err := upstream(theirs)
		return err
	})
	return timeLine(name, a, b, runtime.GOMAXPROCS(0)), err
}
