package workspace

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"context"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// File is a source that was read.
type File struct {
	Source
	// Manifests are the documents and the items of lists, in their order.
	Manifests []*Manifest
	// CRDs are those of Manifests that are CRDs.
	CRDs []*CRD
	// Skip says why the file is not read as manifests. Its Kind is "" if the file is read.
	Skip Skip
	// Err says why the file cannot be read.
	Err error
}

// Load reads a source and the manifests in it. skip recognises files that are not manifests. It may be nil.
func Load(ctx context.Context, s Source, skip *Filter) *File {
	f := &File{Source: s}
	if f.Skip = skip.Recognise(s); f.Skip.Kind != "" {
		return f
	}
	text, err := s.Read(ctx)
	if err != nil {
		f.Err = err
		return f
	}
	f.parse(text, 0)
	if f.Skip = skip.template(f, text); f.Skip.Kind != "" {
		f.Manifests, f.CRDs = nil, nil
	}
	return f
}

// Parse returns a file with the manifests of a text that is in memory. If the text is a part of a file, before is the
// number of lines before it. Parse then adds before to the Number of each manifest.
func Parse(s Source, text []byte, before int) *File {
	f := &File{Source: s}
	f.parse(text, before)
	return f
}

// parse splits a text into manifests.
func (f *File) parse(text []byte, before int) {
	f.Manifests = ReadText(tree.NewText(text, tree.Position{Line: 1 + before}))
	for _, m := range f.Manifests {
		m.In, m.File = f, f.Name
		m.Number += before
		if m.Err == nil && m.IsCRD() {
			m.crd = newCRD(m)
			f.CRDs = append(f.CRDs, m.crd)
		}
	}
}

// AsCRD returns the CRD in the manifest, nil for another kind.
func (m *Manifest) AsCRD() *CRD { return m.crd }

// IsCRD reports whether the manifest has the apiVersion and the kind of a CRD.
func (m *Manifest) IsCRD() bool {
	return m.Kind == CRDKind && (m.APIVersion == "" || GroupOf(m.APIVersion) == apiextensionsv1.GroupName)
}

// Path returns the Source.Path of the manifest's file, "" for a document that is not part of a file.
func (m *Manifest) Path() string {
	if m.In == nil {
		return ""
	}
	return m.In.Path
}
