package tests

import (
	"maps"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/conformance/ours"
	"github.com/crdeval/crdeval/engine/conformance/suites/writes"
	"github.com/crdeval/crdeval/engine/conformance/upstreamtests"
)

// tableGroups is the number of groups of each table: two per CRD, at v1beta1 and at v1. The tables have 312 CRDs and
// parts of CRDs.
var tableGroups = map[string]int{
	"TestValidateCustomResourceDefinition":                            57 * 2,
	"TestSelectableFields":                                            5 * 2,
	"TestValidateCustomResourceDefinitionUpdate":                      43 * 4,
	"TestValidateCustomResourceDefinitionValidationRuleCompatibility": 3 * 2,
	"TestValidateCustomResourceDefinitionStoredVersions":              5 * 2,
	"TestValidateCustomResourceDefinitionValidation":                  120,
	"TestValidateFieldPath":                                           23,
	"Test_validateDeprecationWarning":                                 10,
}

// TestUpstreamTables runs every CRD of upstream's tables.
func TestUpstreamTables(t *testing.T) {
	groups, err := upstreamtests.Groups()
	if err != nil {
		t.Fatal(err)
	}
	n, updates := map[string]int{}, 0
	for _, g := range groups {
		table, _, _ := strings.Cut(g.Name, ":")
		n[table]++
		if g.Previous != nil {
			updates++
		}
	}
	if !maps.Equal(n, tableGroups) || len(groups) != 465 || updates != 94 {
		t.Errorf("%d groups, %d of them updates: %v", len(groups), updates, n)
	}
	r := writes.Fixed(groups, writes.Options{Ours: ours.Engine{}, Log: t.Output()})
	if r.Disagreements > 0 || r.Registered+r.Rejected != len(groups) {
		t.Errorf("%+v", r)
	}
	t.Log(r.Detail())
}
