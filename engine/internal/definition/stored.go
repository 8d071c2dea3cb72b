package definition

import (
	"fmt"
	"strings"

	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
)

// CheckStored returns a *DecodeError if no API server stores such a CRD. It checks only what each release has checked.
func (m *Manifest) CheckStored() error {
	wrong := func(format string, args ...any) error {
		return &DecodeError{Reason: Unreadable, text: "no API server stores such a CRD: " + fmt.Sprintf(format, args...)}
	}
	crd := m.CRD
	if bad := utilvalidation.IsDNS1123Subdomain(crd.Name); len(bad) > 0 {
		return wrong("metadata.name is %q: %s", crd.Name, strings.Join(bad, ", "))
	}
	if crd.Spec.Group == "" || crd.Spec.Names.Plural == "" || crd.Spec.Names.Kind == "" {
		return wrong("spec.group, spec.names.plural and spec.names.kind must be set")
	}
	if want := crd.Spec.Names.Plural + "." + crd.Spec.Group; crd.Name != want {
		return wrong("metadata.name is %q, not spec.names.plural and spec.group, %q", crd.Name, want)
	}
	storage, seen := 0, map[string]bool{}
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		if v.Name == "" || seen[v.Name] {
			return wrong("spec.versions[%d].name is %q: names must be set and differ", i, v.Name)
		}
		seen[v.Name] = true
		if v.Storage {
			storage++
		}
	}
	if storage != 1 {
		return wrong("%d of %d entries of spec.versions have storage set: exactly one must", storage, len(crd.Spec.Versions))
	}
	return nil
}
