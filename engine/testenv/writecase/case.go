// Package writecase is the table of write semantics: what an API server answers to creations, updates, patches, and to
// the calls that prune, default, read and convert. The same cases run through each surface: the engine, gRPC, REST,
// streams, the command and the webhooks. Each must report the same. Only tests import it.
//
// A file testdata/NAME.yaml has cases for a CRD of testdata/crds, and testdata/NAME.txt has the results. To add a case,
// add an item, run the tests of package engine with -update-writes, and compare the new result with Kubernetes.
package writecase

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// Case is one call with one object.
type Case struct {
	// File is the name of the case file, and Name that of the case in it.
	File string `json:"-"`
	Name string `json:"name"`
	// CRD is the name of a file in testdata/crds. The default is that of the case file.
	CRD string `json:"crd"`
	// Call is Validate, Admit, Decode, Finish, Prune, Default, Read or Convert. The default is Admit. Surfaces also compare
	// the verdict of Validate with that of Admit.
	Call string `json:"call"`
	// One of these is the document. The other calls than writes have Create. JSONPatch is a list of operations.
	Create     *string `json:"create"`
	Update     *string `json:"update"`
	MergePatch *string `json:"mergePatch"`
	JSONPatch  *string `json:"jsonPatch"`
	// Old is the old object of an update or a patch. The default is that of the case file, and "" means no old object.
	Old *string `json:"old"`
	// YAML and OldYAML say that the document or the old object is YAML, not JSON.
	YAML    bool `json:"yaml"`
	OldYAML bool `json:"oldYAML"`
	// The other parameters of the call are as in package engine.
	OldDecoded       bool   `json:"oldDecoded"`
	Subresource      string `json:"subresource"`
	Version          string `json:"version"`
	Namespace        string `json:"namespace"`
	ObjectName       string `json:"objectName"`
	GeneratedName    string `json:"generatedName"`
	TargetVersion    string `json:"targetVersion"`
	FieldValidation  string `json:"fieldValidation"`
	CompleteMetadata bool   `json:"completeMetadata"`
	AsGiven          bool   `json:"asGiven"`
	WithStatus       bool   `json:"withStatus"`
	KeepNulls        bool   `json:"keepNulls"`
	// Except has the reason why a surface does not run the case, by the name of the surface.
	Except map[string]string `json:"except"`

	want Result
}

// Operation returns which document the case has, and the document.
func (c *Case) Operation() (name, document string) {
	for _, d := range []struct {
		name     string
		document *string
	}{{"create", c.Create}, {"update", c.Update}, {"mergePatch", c.MergePatch}, {"jsonPatch", c.JSONPatch}} {
		if d.document != nil {
			return d.name, *d.document
		}
	}
	return "", ""
}

// IsWrite reports whether the call is Validate, Admit, Decode or Finish.
func (c *Case) IsWrite() bool {
	switch c.Call {
	case "Validate", "Admit", "Decode", "Finish":
		return true
	}
	return false
}

// Manifest returns the CRD in a file of testdata/crds, as YAML. Other tests use them too.
func Manifest(name string) string {
	text, err := os.ReadFile(filepath.Join(folder(), "crds", name+".yaml"))
	if err != nil {
		panic(err)
	}
	return string(text)
}

// CRDName returns metadata.name of the CRD of the case.
func (c *Case) CRDName(t *testing.T) string {
	t.Helper()
	var crd struct{ Metadata struct{ Name string } }
	if err := yaml.Unmarshal([]byte(Manifest(c.CRD)), &crd); err != nil {
		t.Fatal(err)
	}
	return crd.Metadata.Name
}

// CRDs returns the names of the files of all CRDs.
func CRDs(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder(), "crds", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".yaml"))
	}
	return names
}

// folder returns the folder of the cases: tests run in the folder of their package, which is in this repository.
func folder() string {
	const name = "engine/testenv/writecase/testdata"
	dir, err := os.Getwd()
	for ; err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if path := filepath.Join(dir, name); isFolder(path) {
			return path
		}
	}
	panic("no folder above the working directory has " + name)
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// load returns the cases of a file.
func load(path string) ([]*Case, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file struct {
		CRD   string  `json:"crd"`
		Old   *string `json:"old"`
		Cases []*Case `json:"cases"`
	}
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	names := map[string]bool{}
	for _, c := range file.Cases {
		c.File = strings.TrimSuffix(filepath.Base(path), ".yaml")
		if c.CRD == "" {
			c.CRD = file.CRD
		}
		if c.Old == nil && c.Create == nil {
			c.Old = file.Old
		}
		if c.Old != nil && *c.Old == "" {
			c.Old = nil
		}
		if c.Call == "" {
			c.Call = "Admit"
		}
		if name, _ := c.Operation(); name == "" || c.Name == "" || names[c.Name] {
			return nil, fmt.Errorf("%s: the case %q has no document, no name, or the name of another", path, c.Name)
		}
		names[c.Name] = true
	}
	return file.Cases, nil
}
