package samplefiles

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine/kubeserver"
	"github.com/crdeval/crdeval/engine/suite"
)

// suiteFile is a suite for crdeval test.
type suiteFile struct {
	CRDs  []string    `json:"crds"`
	Tests []suiteTest `json:"tests"`
}

type suiteTest struct {
	Name        string          `json:"name"`
	Old         json.RawMessage `json:"old,omitempty"`
	Subresource string          `json:"subresource,omitempty"`
	Object      json.RawMessage `json:"object"`
	Expect      string          `json:"expect,omitempty"`
	Error       string          `json:"error,omitempty"`
	Causes      []suiteCause    `json:"causes,omitempty"`
}

type suiteCause struct {
	Field   string `json:"field"`
	Type    string `json:"type"`
	Message string `json:"message"`
}

// Suite writes a suite with a test for each object of a CRD. crds are the files of the CRDs that the suite names.
func (w *Writer) Suite(crd string, s *suite.Samples, crds []string) error {
	var f suiteFile
	for _, name := range crds {
		path, err := relativeTo(w.Directory, name)
		if err != nil {
			return err
		}
		f.CRDs = append(f.CRDs, path)
	}
	for i, x := range s.Valid {
		f.Tests = append(f.Tests, suiteTest{Name: fmt.Sprintf("valid %d", i+1), Object: x.Object, Expect: "allowed"})
	}
	for i, x := range s.Invalid {
		test := suiteTest{Name: fmt.Sprintf("invalid %d: %s", i+1, x.Constraint), Old: x.OldObject, Object: x.Object,
			Subresource: x.Subresource, Expect: "rejected"}
		for _, v := range x.Verdict.Violations {
			if kubeserver.IsCause(v.Type) {
				test.Causes = append(test.Causes, suiteCause{v.Field, v.Type, v.Message})
			}
		}
		if len(test.Causes) == 0 {
			test.Error = x.Verdict.Rejection.Cause
		}
		f.Tests = append(f.Tests, test)
	}
	text, err := yaml.Marshal(f)
	if err != nil {
		return err
	}
	text = append(fmt.Appendf(nil, "%s --seed %d. %s %s.\n", head, w.Seed, crd, s.Version), text...)
	return w.write([]file{{crd + ".yaml", text}})
}

// relativeTo returns a path relative to a directory.
func relativeTo(directory, path string) (string, error) {
	if directory == "" || filepath.IsAbs(path) {
		return path, nil
	}
	from, err := filepath.Abs(directory)
	if err != nil {
		return "", err
	}
	to, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.Rel(from, to)
}
