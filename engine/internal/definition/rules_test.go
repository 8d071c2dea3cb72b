package definition

import (
	"context"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// golden is one case of testdata/rules.yaml: a schema of spec and upstream's field errors.
type golden struct {
	Name   string   `json:"name"`
	Minor  int      `json:"minor,omitempty"`
	Schema any      `json:"schema"`
	Want   []string `json:"want"`
}

func TestRulesOfSchemas(t *testing.T) {
	text, err := os.ReadFile("testdata/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cases []golden
	if err := yaml.UnmarshalStrict(text, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			schema, err := yaml.Marshal(map[string]any{"type": "object", "properties": map[string]any{"spec": c.Schema}})
			if err != nil {
				t.Fatal(err)
			}
			text, err := yaml.YAMLToJSON(schema)
			if err != nil {
				t.Fatal(err)
			}
			m, err := Decode([]byte(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"as.example.com"},
"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"as","kind":"A"},"versions":[{"name":"v1","served":true,"storage":true,
"schema":{"openAPIV3Schema":` + string(text) + `}}]}}`))
			if err != nil {
				t.Fatal(err)
			}
			r := Validate(context.Background(), m, Options{KubernetesMinor: c.Minor})
			if r.Err != nil {
				t.Fatal(r.Err)
			}
			var got []string
			for _, e := range r.Errors {
				got = append(got, strings.TrimPrefix(strings.TrimPrefix(e.Field, "spec.validation.openAPIV3Schema."), "properties[spec].")+": "+string(e.Type)+": "+e.Detail)
			}
			if strings.Join(got, "\n") != strings.Join(c.Want, "\n") {
				t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.Want, "\n"))
			}
		})
	}
}

func TestOverBudget(t *testing.T) {
	const rest = " (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
	for cost, want := range map[uint64]string{
		10_000_001: "1.000000x", 14_999_999: "1.500000x", 15_000_000: "1.5x", 123_456_789: "12.3x", 1_000_000_000: "100.0x", 1_000_000_001: "more than 100x",
		1<<64 - 1: "more than 100x",
	} {
		if got := overBudget("estimated rule cost", cost, 10_000_000); got != "estimated rule cost exceeds budget by factor of "+want+rest {
			t.Errorf("%d: %s", cost, got)
		}
	}
}
