package main

import (
	"fmt"
	"strings"

	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/cmd/crdeval/terminal"
)

// documentID identifies a manifest in JSON output.
type documentID struct {
	File   string `json:"file"`
	Number int    `json:"document"`       // of the document in the file, from 1; 0 for the whole file
	Item   int    `json:"item,omitempty"` // of a list, from 1; 0 for a document
}

func documentIDOf(m *workspace.Manifest) documentID { return documentID{m.File, m.Number, m.Item} }

// where identifies a manifest in messages: crds.yaml[2].items[0].
func where(m *workspace.Manifest) string {
	name := terminal.OneLine(m.File)
	if m.Number > 1 || m.In != nil && len(m.In.Manifests) > 1 {
		name = fmt.Sprintf("%s[%d]", name, m.Number)
	}
	if m.Item > 0 {
		name += fmt.Sprintf(".items[%d]", m.Item-1)
	}
	return name
}

// errorPlace returns FILE:LINE:COLUMN for an error in the file of a manifest. It is FILE:LINE if column is 0, and the
// result of where if line is 0.
func errorPlace(m *workspace.Manifest, line, column int) string {
	switch {
	case line > 0 && column > 0:
		return fmt.Sprintf("%s:%d:%d", terminal.OneLine(m.File), line, column)
	case line > 0:
		return fmt.Sprintf("%s:%d", terminal.OneLine(m.File), line)
	}
	return where(m)
}

// failurePlace is errorPlace for the position of an error, which is that of the manifest if it is not known.
func failurePlace(m *workspace.Manifest, err error) string {
	line, column := placeOf(err, m)
	return errorPlace(m, line, column)
}

// titleOf identifies the object of a manifest in messages: CronTab default/hasty.
func titleOf(m *workspace.Manifest) string { return titleAs(m, m.Kind) }

// titleAs is titleOf with another kind than that of the manifest, for example for a manifest that is a Scale.
func titleAs(m *workspace.Manifest, kind string) string {
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
		return terminal.OneLine(title)
	}
	return "a document without a kind"
}
