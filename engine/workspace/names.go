package workspace

import (
	"path/filepath"
	"slices"
	"strings"
)

// IsFileName reports whether a file of a directory can contain manifests. Editors and kubelets create hidden files.
func IsFileName(name string) bool {
	return !strings.HasPrefix(name, ".") && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name))
}

// CRDKind is the kind of the manifests that crdeval registers.
const CRDKind = "CustomResourceDefinition"
