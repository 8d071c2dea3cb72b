package workspace

import (
	"context"
	"fmt"
	"strings"

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

// Location identifies a manifest.
type Location struct {
	File   string `json:"file"`
	Number int    `json:"document"`       // of the document in the file, from 1; 0 for the whole file
	Item   int    `json:"item,omitempty"` // of a list, from 1; 0 for a document
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
// number of lines before it. Parse then adds before to the Location.Number of each manifest.
func Parse(s Source, text []byte, before int) *File {
	f := &File{Source: s}
	f.parse(text, before)
	return f
}

// parse splits a text into manifests.
func (f *File) parse(text []byte, before int) {
	f.Manifests = ReadText(tree.NewTextAt(text, tree.Position{Line: 1 + before}))
	for _, m := range f.Manifests {
		m.In, m.File, m.several = f, f.Name, before > 0 || len(f.Manifests) > 1
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
	return m.Kind == CRDKind && (m.APIVersion == "" || GroupOf(m.APIVersion) == CRDGroup)
}

// CRDGroup is the API group of CRDs.
const CRDGroup = "apiextensions.k8s.io"

// Where identifies the manifest in messages: crds.yaml[2].items[0].
func (m *Manifest) Where() string {
	where := OneLine(m.File)
	if m.several {
		where = fmt.Sprintf("%s[%d]", where, m.Number)
	}
	if m.Item > 0 {
		where += fmt.Sprintf(".items[%d]", m.Item-1)
	}
	return where
}

// Title identifies the object in messages: CronTab default/hasty.
func (m *Manifest) Title() string { return m.TitleAs(m.Kind) }

// TitleAs is Title with another kind than that of the manifest, for example for a manifest that is a Scale.
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
		return OneLine(title)
	}
	return "a document without a kind"
}

// Path returns the Source.Path of the manifest's file, "" for a document that is not part of a file.
func (m *Manifest) Path() string {
	if m.In == nil {
		return ""
	}
	return m.In.Path
}

// ErrorAt returns FILE:LINE:COLUMN for an error in the file. It is FILE:LINE if column is 0, and Where if line is 0.
func (m *Manifest) ErrorAt(line, column int) string {
	switch {
	case line > 0 && column > 0:
		return fmt.Sprintf("%s:%d:%d", OneLine(m.File), line, column)
	case line > 0:
		return fmt.Sprintf("%s:%d", OneLine(m.File), line)
	}
	return m.Where()
}
