package bench

import (
	"runtime"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/admission"
)

// compileVersion is compile for the object's version only, so that versions share nothing.
func compileVersion(o Options, name string, obj *object) (string, error) {
	one, err := obj.alone()
	if err != nil {
		return "", err
	}
	return compile(o, name, one)
}

// compile compares the preparation of a decoded CRD for objects, including rules: all served versions, on one core.
func compile(o Options, name string, obj *object) (string, error) {
	crd, err := stored(obj)
	if err != nil {
		return "", err
	}
	crd.Spec.Versions = served(crd.Spec.Versions)
	theirs := served(obj.crd.Spec.Versions)
	a, b, err := compare(o, func() error {
		return compileOurs(crd, admission.Describe(crd))
	}, func() error {
		for i := range theirs {
			if _, _, _, err := compileUpstream(&theirs[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return timeLine(name, a, b, runtime.GOMAXPROCS(0)), err
}

func served(versions []apiextensionsv1.CustomResourceDefinitionVersion) (kept []apiextensionsv1.CustomResourceDefinitionVersion) {
	for _, v := range versions {
		if v.Served {
			kept = append(kept, v)
		}
	}
	return kept
}
