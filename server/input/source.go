// Package input reads the inputs of commands: the files of directories, stdin, URLs and clusters (reader.go), files
// with one JSON object per line (lines.go), and the manifests in them (source.go).
package input

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/value"
	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/terminal"
)

// Location identifies a manifest of a file.
type Location struct {
	File   string `json:"file"`
	Number int    `json:"document"`       // of the document, from 1; 0 for the whole file
	Item   int    `json:"item,omitempty"` // of a list, from 1; 0 for another document
}

// Source is a manifest of a file.
type Source struct {
	*workspace.Manifest
	Location
	several bool // the file has other manifests

	CRDFields *CRDFields
}

// CRDFields are fields of a CRD. They are empty if they cannot be read, and for other kinds.
type CRDFields struct {
	Group, Kind string
	Versions    []CRDVersion
	status      engine.Status
}

// CRDVersion is a version of a CRD.
type CRDVersion struct {
	Name    string
	Storage bool
}

var noCRDFields CRDFields // of other kinds

// readCRD reads the fields of a CRD. It does not decode the schemas, which are most of the text.
func readCRD(m *workspace.Manifest) *CRDFields {
	f, d, l := &CRDFields{}, value.Acquire(), value.Limits{MaxBytes: maxFileBytes}
	var root uint32
	var err error
	if m.Document.YAML != nil {
		_, _, root, err = d.ConvertYAML(m.Document.YAML, value.Request, m.Document.Origin, l)
	} else {
		root, err = d.ParseJSON(m.Document.JSON, l)
	}
	read := func(node uint32, into any) { _ = json.Unmarshal(d.Raw(node), into) } // invalid fields stay empty
	if err == nil {
		spec := d.Field(root, "spec")
		read(d.Field(spec, "group"), &f.Group)
		read(d.Field(d.Field(spec, "names"), "kind"), &f.Kind)
		read(d.Field(root, "status"), &f.status)
		versions := d.Field(spec, "versions")
		f.Versions = make([]CRDVersion, d.Len(versions))
		for i := range f.Versions {
			version := d.Index(versions, i)
			read(d.Field(version, "name"), &f.Versions[i].Name)
			read(d.Field(version, "storage"), &f.Versions[i].Storage)
		}
	}
	d.Release()
	return f
}

// IsCRD reports whether the manifest has the kind of a CRD.
func (s *Source) IsCRD() bool { return s.Kind == workspace.CRDKind }

// Versions returns the names of the versions of a CRD.
func (s *Source) Versions() (names []string) {
	for _, v := range s.CRDFields.Versions {
		names = append(names, v.Name)
	}
	return names
}

// GroupOf returns the group of an apiVersion, "" for the core group.
func GroupOf(apiVersion string) string { return apiVersion[:max(0, strings.Index(apiVersion, "/"))] }

// VersionOf returns the version of an apiVersion.
func VersionOf(apiVersion string) string { return apiVersion[strings.Index(apiVersion, "/")+1:] }

// Established reports whether the manifest is a CRD with the condition Established, as a CRD of a cluster.
func (s *Source) Established() bool {
	return slices.ContainsFunc(s.CRDFields.status.Conditions, func(c engine.Condition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	})
}

// Where identifies the manifest in messages.
func (s *Source) Where() string {
	where := terminal.OneLine(s.File)
	if s.several {
		where = fmt.Sprintf("%s[%d]", where, s.Location.Number)
	}
	if s.Location.Item > 0 {
		where += fmt.Sprintf(".items[%d]", s.Location.Item-1)
	}
	return where
}

// Title identifies the object in messages.
func (s *Source) Title() string { return s.TitleAs(s.Kind) }

// TitleAs is Title for a Scale of an object of a kind.
func (s *Source) TitleAs(kind string) string {
	if s.Err != nil {
		return "unreadable document"
	}
	name := s.Name
	if prefix := s.GenerateName; name == "" && prefix != "" {
		name = prefix + "…" // a server generates the rest
	}
	if s.Namespace != "" {
		name = s.Namespace + "/" + name
	}
	return cmp.Or(terminal.OneLine(strings.TrimSpace(kind+" "+name)), "a document without a kind")
}

// ErrorAt returns the position of an error in the file, or else identifies the manifest.
func (s *Source) ErrorAt(line int) string {
	if line > 0 {
		return fmt.Sprintf("%s:%d", terminal.OneLine(s.File), line)
	}
	return s.Where()
}

// SourcesOf returns the manifests of a file.
func SourcesOf(name string, manifests []*workspace.Manifest) (all []*Source) {
	for _, m := range manifests {
		all = append(all, NewSource(m, Location{File: name, Number: m.Number, Item: m.Item}))
	}
	for _, s := range all {
		s.several = len(all) > 1
	}
	return all
}

// NewSource returns a manifest of a file. It reads the fields of a CRD.
func NewSource(m *workspace.Manifest, at Location) *Source {
	s := &Source{Manifest: m, Location: at, CRDFields: &noCRDFields}
	if s.IsCRD() || s.Kind == "" && !s.Conversion {
		s.CRDFields = readCRD(m)
	}
	return s
}
