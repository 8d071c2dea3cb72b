package definition

import (
	"fmt"
	"slices"

	"github.com/crdeval/crdeval/engine/internal/format"
	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/schema"
)

// warnings returns the API server's warnings for an accepted CRD: unknown formats, then sets whose items are not
// scalars.
// (k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition/strategy.go, WarningsOnCreate)
func warnings(s *spec, minor int) []string {
	var formats, sets []string
	for _, p := range s.schemas() {
		schema.Any(p, func(p *schema.Props) bool {
			if p.Format != "" && !format.Supported(p.Format, []string{p.Type}, minor) && quirk.On(quirk.UnknownFormatsIgnored) {
				formats = append(formats, fmt.Sprintf("unrecognized format %q", p.Format))
			}
			if text := setWarning(p); text != "" && !slices.Contains(sets, text) {
				sets = append(sets, text)
			}
			return false
		})
	}
	slices.Sort(sets)
	return append(formats, sets...)
}

func setWarning(p *schema.Props) string {
	if p.XListType == nil || *p.XListType != "set" || p.Items == nil || p.Items.Schema == nil || !quirk.On(quirk.ListKeyErrorsRepeated) {
		return ""
	}
	switch p.Items.Schema.Type {
	case "object", "array":
		return fmt.Sprintf("x-kubernetes-list-type: set for items of type %q is not supported by server-side apply or CEL validation rules", p.Items.Schema.Type)
	}
	return ""
}

// fresh returns the warnings that the stored CRD does not have.
// (k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition/strategy.go, WarningsOnUpdate)
func fresh(texts, stored []string) []string {
	return slices.DeleteFunc(texts, func(text string) bool { return slices.Contains(stored, text) })
}
