package api_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// TestFaultsOfYAMLObjectsAreTheirItems: a body in YAML whose objects have keys twice, or keys that no JSON has, answers for each item what the
// same object gets over gRPC.
func TestFaultsOfYAMLObjectsAreTheirItems(t *testing.T) {
	w := start(t, nil).withCronTab()
	good := "{apiVersion: stable.example.com/v1, kind: CronTab, metadata: {name: a, namespace: b}, spec: {}}"
	twice := "apiVersion: stable.example.com/v1\nkind: CronTab\nmetadata: {name: a, namespace: b}\nspec:\n  replicas: 1\n  replicas: many\n"
	null := "apiVersion: stable.example.com/v1\nkind: CronTab\nmetadata:\n  name: a\n  null: 4\n  namespace: b\n"
	indented := func(text string) string {
		return "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ") + "\n"
	}
	flow := "{apiVersion: stable.example.com/v1, kind: CronTab, metadata: {name: a, namespace: b, annotations: {x: é}}, spec: {replicas: 1, replicas: many}}"
	body := "items: # of all kinds\n- object: " + good + "\n- crd: crontabs.stable.example.com\n  object:\n" + indented(twice) + "  # in between\n  version: v1\n-\n  object:\n" +
		indented(null) + "- {object: " + flow + "}\n- object: " + good + "\n"
	for mode, refused := range map[string]bool{"": false, "options: {fieldValidation: FIELD_VALIDATION_STRICT}\n": true} {
		var answer crdevalv1.ValidateResponse
		w.do("POST", "/v1/catalogs/default:validate", body+mode, "Content-Type", "application/yaml").into(t, &answer)
		direct := &crdevalv1.ValidateRequest{Catalog: "default", Items: []*crdevalv1.EvaluationItem{
			{Object: yamlDocument(good)}, {Crd: "crontabs.stable.example.com", Version: "v1", Object: yamlDocument(twice)}, {Object: yamlDocument(null)},
			{Object: yamlDocument(flow)}, {Object: yamlDocument(good)},
		}}
		if refused {
			direct.Options = &crdevalv1.EvaluationOptions{FieldValidation: crdevalv1.FieldValidation_FIELD_VALIDATION_STRICT}
		}
		want, err := w.evaluation.Validate(context.Background(), direct)
		if err != nil {
			t.Fatal(err)
		}
		for i, result := range answer.GetResults() {
			got, want := result, want.GetResults()[i]
			if got.GetVerdict().GetAllowed() != want.GetVerdict().GetAllowed() || got.GetVerdict().GetRejection().GetCode() != want.GetVerdict().GetRejection().GetCode() ||
				len(got.GetVerdict().GetWarnings()) != len(want.GetVerdict().GetWarnings()) || len(got.GetVerdict().GetViolations()) != len(want.GetVerdict().GetViolations()) ||
				got.GetError().GetCode() != want.GetError().GetCode() {
				t.Errorf("item %d: %v, want %v", i, got, want)
			}
		}
		if v := answer.GetResults()[1].GetVerdict(); !strings.Contains(strings.Join(append(v.GetWarnings(), v.GetRejection().GetMessage()), "\n"), `line 10: key "replicas" already set in map`) {
			t.Errorf("item 1 does not tell the line in the body: %v", v)
		}
		for _, i := range []int{1, 3} {
			for _, v := range answer.GetResults()[i].GetVerdict().GetViolations() {
				p := v.GetPosition()
				if !strings.HasPrefix(body[p.GetOffset():], "many") || !strings.Contains(strings.Split(body, "\n")[p.GetLine()-1], "many") {
					t.Errorf("item %d: %v is not where it points", i, v)
				}
			}
		}
	}
}

// TestFaultsOfYAMLBodies: what is wrong outside of objects, or cannot be told apart, rejects the body and says where.
func TestFaultsOfYAMLBodies(t *testing.T) {
	w := start(t, nil).withCronTab()
	for body, want := range map[string]string{
		"items:\n- crd: a\n  crd: b\n  object: {}\n":                                        `the body gives keys twice: line 3: key \"crd\" already set in map`,
		"items: []\nitems: []\n":                                                            `the body gives keys twice: line 2: key \"items\" already set in map`,
		"items:\n- object: &a {x: 1, x: 2}\n- object: *a\n":                                 `the body gives keys twice: line 2: key \"x\" already set in map`,
		"items: []\nnull: 1\n":                                                              "a key is null",
		"items:\n- object: {a: 1\n":                                                         "line",
		"items: [{object: {a: 1, a: 2}}]\noptions: 5\n":                                     "options",
		"items:\n- object: {a: 1, a: 2}\n- crd: x\n  crd: y\n":                              `line 4: key \"crd\" already set in map`,
		"items:\n- object: {a: 1, a: 2}\n- nonsense: true\n":                                "nonsense",
		"\ufeffitems:\n- object: {a: 1, a: 2}\n":                                            "gives keys twice",
		"items:\n- object: {a: 1, a: 2}\n  patch: {type: PATCH_TYPE_MERGE, patch: 1}\r\r\n": "line",
	} {
		a := w.do("POST", "/v1/catalogs/default:validate", body, "Content-Type", "application/yaml")
		if a.code != http.StatusBadRequest || !strings.Contains(a.text, want) || strings.Contains(a.text, "%!") {
			t.Errorf("%q: %d %s", body, a.code, a.text)
		}
	}
}
