package workspace

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/kubeserver"
)

// CRD is a CRD of a file. Workspace.Compile compiles it. It is safe for concurrent use.
type CRD struct {
	*Manifest
	Group string
	// ObjectKind is the kind of the CRD's objects. Kind is CustomResourceDefinition.
	ObjectKind string
	// Versions have a Name, Served and Storage only.
	Versions []engine.VersionInfo
	// Established reports whether the manifest has the condition Established, as a CRD of a cluster.
	Established bool

	mu       sync.Mutex
	compiled *Compiled // nil: not yet
}

// Compiled is the result of compiling a CRD.
type Compiled struct {
	// Accepted reports whether the CRD can be used for objects.
	Accepted bool
	// Definition is nil if the CRD is not accepted, or if a service evaluates its objects instead of this process.
	Definition *engine.Definition
	// Report is nil if the CRD cannot be read, and for an Established CRD, which is not validated. Its positions are
	// those in the file at the time of the compilation.
	Report *engine.Report
	// Err says why the CRD cannot be read.
	Err error
}

// newCRD returns the CRD in a manifest. Fields of the wrong type are empty. It does not decode the schemas, which are
// most of the text.
func newCRD(m *Manifest) *CRD {
	c, d := &CRD{Manifest: m}, tree.Acquire()
	var root uint32
	var err error
	if m.Document.YAML != nil {
		root, err = d.ParseYAML(m.Document.YAML, tree.Request, limits)
	} else {
		root, err = d.ParseJSON(m.Document.JSON, limits)
	}
	read := func(node uint32, into any) { _ = json.Unmarshal(d.Raw(node), into) } // invalid fields stay empty
	if err == nil {
		spec := d.Field(root, "spec")
		read(d.Field(spec, "group"), &c.Group)
		read(d.Field(d.Field(spec, "names"), "kind"), &c.ObjectKind)
		var status apiextensionsv1.CustomResourceDefinitionStatus
		read(d.Field(root, "status"), &status)
		c.Established = slices.ContainsFunc(status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
			return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
		})
		versions := d.Field(spec, "versions")
		c.Versions = make([]engine.VersionInfo, d.Len(versions))
		for i := range c.Versions {
			version, of := d.Index(versions, i), &c.Versions[i]
			read(d.Field(version, "name"), &of.Name)
			read(d.Field(version, "served"), &of.Served)
			read(d.Field(version, "storage"), &of.Storage)
		}
		var version string // of v1beta1
		if read(d.Field(spec, "version"), &version); version != "" && len(c.Versions) == 0 {
			c.Versions = []engine.VersionInfo{{Name: version, Served: true, Storage: true}}
		}
	}
	d.Release()
	return c
}

// IsFragment reports whether the manifest is not a whole CRD: it has no group, no kind or no versions. Patches of
// kustomize are such fragments. They define no kind.
func (c *CRD) IsFragment() bool { return c.Group == "" || c.ObjectKind == "" || len(c.Versions) == 0 }

// VersionNames returns the names of the versions.
func (c *CRD) VersionNames() (names []string) {
	for _, v := range c.Versions {
		names = append(names, v.Name)
	}
	return names
}

// Compile compiles the CRD, without keeping the result. It does not validate an Established CRD, which a cluster has
// accepted.
func (c *CRD) Compile(ctx context.Context, o engine.Options) *Compiled {
	done := new(Compiled)
	if c.Established {
		done.Definition, _, done.Err = kubeserver.CompileAsStored(ctx, c.Document, o)
	} else {
		done.Definition, done.Report, done.Err = engine.Compile(ctx, c.Document, o)
	}
	done.Accepted = done.Definition != nil
	return done
}

// Compiled returns the result of Workspace.Compile, or nil before its first call.
func (c *CRD) Compiled() *Compiled {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.compiled
}

// Replace replaces the definition of a compiled CRD, for example with one that has conversion rules.
func (c *CRD) Replace(d *engine.Definition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	replaced := *c.compiled
	replaced.Definition = d
	c.compiled = &replaced
}

// text returns the text of the manifest.
func (m *Manifest) text() []byte {
	switch {
	case m.Document.YAML == nil:
		return m.Document.JSON
	case len(m.Document.YAML) == 0: // kubectl does not read it
		return m.Text().Bytes()[m.whole.Begin:m.whole.End]
	}
	return m.Document.YAML
}
