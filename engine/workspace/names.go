package workspace

import (
	"path/filepath"
	"slices"
	"strings"
)

// IsFileName reports whether a file with this name can contain manifests. Hidden files, which editors and kubelets
// create, cannot.
func IsFileName(name string) bool {
	return !strings.HasPrefix(name, ".") && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name))
}

// CRDKind is the kind of the manifests that crdeval registers.
const CRDKind = "CustomResourceDefinition"
