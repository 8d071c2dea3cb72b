package workspace

import (
	"context"
	"fmt"
	"strings"
)

// File is a source that was read.
type File struct {
	Source
	// Manifests are the documents and the items of lists, in their order.
	Manifests []*Manifest
	// CRDs are those of Manifests that are CRDs.
	CRDs []*CRD
	// Skip says why the file is not read as manifests. Its Kind is "" for a file that is.
	Skip Skip
	// Err says why the file cannot be read.
	Err error
}

// Location identifies a manifest.
type Location struct {
	File   string `json:"file"`
	Number int    `json:"document"`       // of the document in the file, from 1; 0 for the whole file
	Item   int    `json:"item,omitempty"` // of a list, from 1; 0 for a document
}

// Read reads a source and the manifests in it. skip, which may be nil, recognises files that are not manifests.
func Read(ctx context.Context, s Source, skip *Filter) *File {
	f := &File{Source: s}
	if f.Skip = skip.Recognise(s); f.Skip.Kind != "" {
		return f
	}
	text, err := s.Read(ctx)
	if err != nil {
		f.Err = err
		return f
	}
	f.parse(text)
	if f.Skip = skip.template(f, text); f.Skip.Kind != "" {
		f.Manifests, f.CRDs = nil, nil
	}
	return f
}

// parse splits a text into manifests.
func (f *File) parse(text []byte) {
	for i, d := range Split(text) {
		for _, m := range d.Manifests() {
			m.Location = Location{File: f.Name, Number: i + 1, Item: m.Item}
			f.Manifests = append(f.Manifests, m)
		}
	}
	for _, m := range f.Manifests {
		m.several = len(f.Manifests) > 1
		if m.Err == nil && m.IsCRD() {
			f.CRDs = append(f.CRDs, newCRD(m, f))
		}
	}
}

// IsCRD reports whether the manifest has the apiVersion and the kind of a CRD.
func (m *Manifest) IsCRD() bool {
	return m.Kind == CRDKind && (m.APIVersion == "" || GroupOf(m.APIVersion) == CRDGroup)
}

// CRDGroup is the API group of CRDs.
const CRDGroup = "apiextensions.k8s.io"

// Where identifies the manifest in messages: crds.yaml[2].items[0].
func (m *Manifest) Where() string {
	where := m.File
	if m.several {
		where = fmt.Sprintf("%s[%d]", where, m.Number)
	}
	if m.Location.Item > 0 {
		where += fmt.Sprintf(".items[%d]", m.Location.Item-1)
	}
	return where
}

// Title identifies the object in messages: CronTab default/hasty.
func (m *Manifest) Title() string { return m.TitleAs(m.Kind) }

// TitleAs is Title for an object of another kind than the manifest, which may be a Scale.
func (m *Manifest) TitleAs(kind string) string {
	if m.Err != nil {
		return "unreadable document"
	}
	name := m.Name
	if name == "" && m.GenerateName != "" {
		name = m.GenerateName + "…" // a server generates the rest
	}
	if m.Namespace != "" {
		name = m.Namespace + "/" + name
	}
	if title := strings.TrimSpace(kind + " " + name); title != "" {
		return title
	}
	return "a document without a kind"
}
