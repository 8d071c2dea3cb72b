package bench

import (
	"encoding/json"
	"runtime"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/definition"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// compileVersion is compile for the object's version only, so that versions share nothing.
func compileVersion(o Options, name string, obj *object) (string, error) {
	one, err := obj.alone()
	if err != nil {
		return "", err
	}
	return compile(o, name, one)
}

// compile compares the preparation of a stored CRD for objects, from YAML bytes, including rules: all served versions,
// on one core.
func compile(o Options, name string, obj *object) (string, error) {
	crd, err := stored(obj)
	if err != nil {
		return "", err
	}
	crd.Spec.Versions = served(crd.Spec.Versions)
	text, err := json.Marshal(crd)
	if err == nil {
		text, err = kubectlYAML(text)
	}
	if err != nil {
		return "", err
	}
	a, b, err := compare(o, func() error { return readAndCompile(text) }, func() error {
		text, err := yaml.YAMLToJSONStrict(text)
		if err != nil {
			return err
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := kjson.Unmarshal(text, &crd); err != nil {
			return err
		}
		for i := range crd.Spec.Versions {
			if _, _, _, err := compileUpstream(&crd.Spec.Versions[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return timeLine(name, a, b, runtime.GOMAXPROCS(0)), err
}

// readAndCompile is our side of compile.
func readAndCompile(text []byte) error {
	d := tree.Acquire()
	defer d.Release()
	text, _, root, err := d.ConvertYAML(text, tree.Request, nil, tree.Limits{})
	if err != nil {
		return err
	}
	m, err := definition.DecodeTree(text, d, root)
	if err != nil {
		return err
	}
	return compileOurs(m.CRD, admission.Describe(m.CRD, nil))
}

func served(versions []apiextensionsv1.CustomResourceDefinitionVersion) (kept []apiextensionsv1.CustomResourceDefinitionVersion) {
	for _, v := range versions {
		if v.Served {
			kept = append(kept, v)
		}
	}
	return kept
}
