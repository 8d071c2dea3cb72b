package upstreamtests

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/conformance/jsontree"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
)

// Groups reads the tables. It returns a group for each CRD that a row creates or replaces, and for each schema, path,
// warning or list of versions that a row adds to a CRD.
func Groups() ([]generate.Group, error) {
	rows, err := Read(Definitions)
	if err != nil {
		return nil, err
	}
	var groups []generate.Group
	for _, r := range rows {
		made, err := groupsOf(r)
		if err != nil {
			return nil, fmt.Errorf("%s, %q: %w", r.Table, r.Name, err)
		}
		for i := range made {
			made[i].Name = r.Table + ": " + r.Name + made[i].Name
		}
		groups = append(groups, made...)
	}
	return groups, nil
}

func groupsOf(r Row) ([]generate.Group, error) {
	switch r.Table {
	case "TestValidateCustomResourceDefinition", "TestSelectableFields":
		return created(r.Obj)
	case "TestValidateCustomResourceDefinitionUpdate":
		return replaced(r.Obj, r.Old)
	case "TestValidateCustomResourceDefinitionValidationRuleCompatibility":
		return compatible(r)
	case "TestValidateCustomResourceDefinitionStoredVersions":
		return stored(r)
	}
	schema, err := jsontree.Parse(r.Schema)
	switch {
	case r.Table == "Test_validateDeprecationWarning":
		ver := version(jsontree.Obj("type", "object")).Set("deprecated", r.Root)
		var text *string
		if err := json.Unmarshal(r.Obj, &text); err != nil {
			return nil, err
		}
		if text != nil {
			ver.Set("deprecationWarning", *text)
		}
		return created(manifest(ver).JSON())
	case err != nil:
		return nil, err
	case r.Table == "TestValidateFieldPath":
		s := schema.Get("openAPIV3Schema").Clone()
		return created(manifest(version(s.Set("x-kubernetes-validations", jsontree.Arr(jsontree.Obj("rule", "true", "fieldPath", r.Rule))))).JSON())
	case r.Table == "TestValidateCustomResourceDefinitionValidation":
		ver := version(nil).Set("schema", schema)
		if r.Root {
			ver.Set("subresources", jsontree.Obj("status", jsontree.Obj()))
		}
		return created(manifest(ver).JSON())
	}
	return nil, fmt.Errorf("no such table")
}

// version returns a version of a CRD with a schema.
func version(schema *jsontree.Node) *jsontree.Node {
	return jsontree.Obj("name", "version", "served", true, "storage", true, "schema", jsontree.Obj("openAPIV3Schema", schema))
}

// manifest returns a CRD with the versions.
func manifest(versions ...*jsontree.Node) *jsontree.Node {
	return jsontree.Obj("apiVersion", "apiextensions.k8s.io/v1", "kind", "CustomResourceDefinition", "metadata", jsontree.Obj("name", "plural.group.com"), "spec", jsontree.Obj("group", "group.com", "scope", "Cluster",
		"names", jsontree.Obj("plural", "plural", "singular", "singular", "kind", "Plural", "listKind", "PluralList"), "versions", jsontree.Arr(versions...)))
}

// created returns the groups of a created CRD: as in the row, and at v1.
func created(doc []byte) ([]generate.Group, error) {
	return bothWays(doc, nil)
}

// replaced returns the groups of a CRD that replaces another one in the state that the row specifies. The old CRD is
// also created.
func replaced(doc, old []byte) ([]generate.Group, error) {
	before, err := created(old)
	if err != nil {
		return nil, err
	}
	for i := range before {
		before[i].Name = " (the old one" + before[i].Name + ")"
	}
	previous, err := oracle.PreviousOf(old)
	if err != nil {
		return nil, err
	}
	after, err := bothWays(doc, previous)
	return append(before, after...), err
}

// bothWays returns the groups of a v1beta1 manifest: at v1beta1 and at v1. A v1 manifest has one group.
func bothWays(doc []byte, previous *oracle.Previous) ([]generate.Group, error) {
	groups := []generate.Group{{CRD: doc, Previous: previous}}
	v1, err := oracle.AtV1(doc)
	if err != nil {
		return nil, err
	}
	if strings.Contains(string(doc), `"apiextensions.k8s.io/v1beta1"`) {
		groups = append(groups, generate.Group{Name: ", at v1", CRD: v1, Previous: previous})
	}
	return groups, nil
}

// compatible returns the groups of rules that only a stored CRD may have. The table uses a function of its own that
// only the environment of stored rules knows. Here it is a function that today's environment of stored rules knows and
// that of new rules does not.
func compatible(r Row) ([]generate.Group, error) {
	if len(r.Rules) != 4 {
		return nil, fmt.Errorf("%d expressions", len(r.Rules))
	}
	crd := func(rule, message string) []byte {
		known := func(text string) string { return strings.ReplaceAll(text, "test()", "[1].includes(1)") }
		rules := func(s *jsontree.Node) *jsontree.Node {
			return s.Set("x-kubernetes-validations", jsontree.Arr(jsontree.Obj("rule", known(rule), "messageExpression", known(message))))
		}
		text := func() *jsontree.Node { return rules(jsontree.Obj("type", "string", "maxLength", 9)) }
		return manifest(version(jsontree.Obj("type", "object", "properties", jsontree.Obj(
			"x", text(),
			"obj", rules(jsontree.Obj("type", "object", "properties", jsontree.Obj("a", text()))),
			"array", rules(jsontree.Obj("type", "array", "maxItems", 1, "items", text())),
			"map", rules(jsontree.Obj("type", "object", "maxProperties", 1, "additionalProperties", text())),
		)))).JSON()
	}
	return replaced(crd(r.Rules[1], r.Rules[3]), crd(r.Rules[0], r.Rules[2]))
}

// stored returns the groups of a CRD with stored versions.
func stored(r Row) ([]generate.Group, error) {
	var row struct {
		Versions, Stored []string
		Storage          string
	}
	if err := json.Unmarshal(r.Obj, &row); err != nil {
		return nil, err
	}
	var versions []*jsontree.Node
	for _, name := range row.Versions {
		versions = append(versions, version(jsontree.Obj("type", "object")).Set("name", name).Set("storage", name == row.Storage))
	}
	doc := manifest(versions...).JSON()
	groups, err := created(doc)
	return append(groups, generate.Group{CRD: doc, Previous: &oracle.Previous{Manifest: doc, Established: true, StoredVersions: append([]string{}, row.Stored...)}}), err
}
