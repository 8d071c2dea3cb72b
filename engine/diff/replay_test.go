package diff_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/diff"
)

func compileYAML(t *testing.T, manifest []byte) *engine.Definition {
	t.Helper()
	d, report, err := engine.Compile(t.Context(), engine.YAML(manifest), engine.Options{})
	if err != nil || d == nil {
		t.Fatalf("%v %+v\n%s", err, report, manifest)
	}
	return d
}

const replayedCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: things, kind: Thing}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              i: {type: integer, maximum: 10}
              s: {type: string, default: a}
              o: {type: object, properties: {x: {type: string}, w: {type: string}}}
              z: {type: string, nullable: true}
          status:
            type: object
            properties:
              phase: {type: string}
`

func TestReplay(t *testing.T) {
	const object = `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"t"},%s}`
	for _, tc := range []struct {
		name        string
		change      []string // of the CRD
		object      string
		outcomes    []diff.Outcome
		violations  []string // of the new one
		differences []string
	}{
		{"the same", nil, `"spec":{"i":7}`, []diff.Outcome{diff.Same}, nil, nil},
		{"rejected, but kept", []string{"maximum: 10", "maximum: 5"}, `"spec":{"i":7}`, []diff.Outcome{diff.NewlyRejected, diff.KeptByRatcheting},
			[]string{"1:83 spec.i"}, nil},
		{"rejected at the root", []string{"        type: object\n        properties:\n          spec", "        type: object\n        required: [data]\n        properties:\n          data: {type: object}\n          spec"},
			`"spec":{"i":7}`, []diff.Outcome{diff.NewlyRejected}, []string{"1:1 data"}, nil},
		{"rejected before", []string{"maximum: 10", "maximum: 5"}, `"spec":{"i":11}`, []diff.Outcome{diff.Same}, []string{"1:83 spec.i"}, nil},
		{"accepted", []string{"maximum: 10", "maximum: 20"}, `"spec":{"i":11}`, []diff.Outcome{diff.NewlyAccepted}, nil, nil},
		{"pruned", []string{"x: {type: string}, ", ""}, `"spec":{"o":{"x":"1","w":"2"}}`, []diff.Outcome{diff.PrunedOtherwise}, nil, []string{`PrunedOtherwise spec.o.x: "1" -> `}},
		{"no longer pruned", []string{"x: {type: string}, ", "x: {type: string}, v: {type: integer}, "}, `"spec":{"o":{"v":1}}`, []diff.Outcome{diff.PrunedOtherwise}, nil, []string{`PrunedOtherwise spec.o.v:  -> 1`}},
		{"a null that is dropped", []string{", nullable: true", ""}, `"spec":{"z":null}`, []diff.Outcome{diff.PrunedOtherwise}, nil, []string{`PrunedOtherwise spec.z: null -> `}},
		{"defaulted", []string{"default: a", "default: b"}, `"spec":{}`, []diff.Outcome{diff.DefaultedOtherwise}, nil, []string{`DefaultedOtherwise spec.s: "a" -> "b"`}},
		{"the default that is stored", []string{"default: a", "default: b"}, `"spec":{"s":"a"}`, []diff.Outcome{diff.Same}, nil, nil},
		{"a status", []string{"phase: {type: string}", "phase: {type: string, enum: [Ready]}"}, `"spec":{},"status":{"phase":"Lost"}`,
			[]diff.Outcome{diff.NewlyRejected, diff.KeptByRatcheting}, []string{"1:99 status.phase"}, nil},
		{"another kind", nil, `"kind":"Other"`, []diff.Outcome{diff.Same}, []string{"1:78 kind"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			changed := strings.NewReplacer(tc.change...).Replace(replayedCRD)
			if tc.change != nil && changed == replayedCRD {
				t.Fatal("nothing changed")
			}
			all, err := diff.Replay(t.Context(), compileYAML(t, []byte(replayedCRD)), compileYAML(t, []byte(changed)),
				[]engine.ObjectWrite{engine.Create{Object: engine.JSON(fmt.Appendf(nil, object, tc.object))}}, engine.FieldValidationWarn)
			if err != nil || len(all) != 1 || all[0].Err != nil {
				t.Fatalf("%+v %v", all, err)
			}
			r := all[0]
			var violations, differences []string
			for _, v := range r.NewViolations {
				violations = append(violations, fmt.Sprintf("%d:%d %s", v.Position.Line, v.Position.Column, v.Field))
			}
			for _, d := range r.Differences {
				differences = append(differences, fmt.Sprintf("%s %s%s: %s -> %s", d.Outcome, d.Version, d.Path, d.Old, d.New))
			}
			if !slices.Equal(r.Outcomes, tc.outcomes) || !slices.Equal(violations, tc.violations) || !slices.Equal(differences, tc.differences) {
				t.Errorf("%v, found %q, differences %q", r.Outcomes, violations, differences)
			}
			if rejected := slices.Contains(r.Outcomes, diff.NewlyRejected); rejected != (r.NewRejection != nil) || rejected && r.NewRejection.Code != 422 {
				t.Errorf("rejection: %+v", r.NewRejection)
			}
		})
	}
}

// TestReplayVersions: what happens at other versions, and on the way through storage.
func TestReplayVersions(t *testing.T) {
	const next = "  - name: v2\n    served: true\n    storage: %s\n    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {i: {type: integer}%s}}}}}\n"
	two := replayedCRD + fmt.Sprintf(next, "false", ", s: {type: string}")
	old := compileYAML(t, []byte(two))
	item := []engine.ObjectWrite{engine.Create{Object: engine.YAML([]byte("apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: t}\nspec: {i: 1, s: b}\n"))}}
	replay := func(new string) diff.ReplayResult {
		t.Helper()
		all, err := diff.Replay(t.Context(), old, compileYAML(t, []byte(new)), item, engine.FieldValidationWarn)
		if err != nil {
			t.Fatal(err)
		}
		return all[0]
	}
	r := replay(replayedCRD + fmt.Sprintf(next, "false", ""))
	if len(r.Outcomes) != 1 || r.Outcomes[0] != diff.ConvertedOtherwise || len(r.Differences) != 1 || r.Differences[0].Version != "v2" || r.Differences[0].Path != "spec.s" || r.Differences[0].New != nil {
		t.Errorf("at v2: %+v", r)
	}
	r = replay(strings.Replace(replayedCRD, "storage: true", "storage: false", 1) + fmt.Sprintf(next, "true", ""))
	if len(r.Differences) != 2 || r.Differences[1].Version != "v1" || string(r.Differences[1].Old) != `"b"` || r.Err != nil {
		t.Errorf("stored at v2: %+v", r)
	}
	r = replay(strings.NewReplacer("name: v1\n", "name: v3\n", "things.example.com", "things.example.com").Replace(replayedCRD))
	if engine.ReasonOf(r.Err) != engine.ReasonVersionNotFound || !slices.Equal(r.Outcomes, []diff.Outcome{diff.NewlyRejected}) || !r.OldAllowed {
		t.Errorf("v1 is gone: %+v", r)
	}
	webhook := "  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: 'https://example.com'}}}\n"
	r = replay(two + webhook)
	if engine.ReasonOf(r.Err) != engine.ReasonConversionUnavailable || !r.NewAllowed {
		t.Errorf("without a converter: %+v", r)
	}
}

func TestReplayWhatCannotBe(t *testing.T) {
	d := compileYAML(t, []byte(replayedCRD))
	all, err := diff.Replay(t.Context(), d, d, []engine.ObjectWrite{
		engine.Create{}, engine.Create{Object: engine.JSON([]byte(`{`))}, engine.Create{Object: engine.JSON([]byte(`{"apiVersion":"example.com/v9","kind":"Thing","metadata":{"name":"t"}}`))},
		engine.Create{Object: engine.JSON([]byte(`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"t"}}`))},
	}, engine.FieldValidationWarn)
	if err != nil {
		t.Fatal(err)
	}
	for i, reason := range []engine.Reason{engine.ReasonInvalidArgument, "", engine.ReasonVersionNotFound, ""} {
		if engine.ReasonOf(all[i].Err) != reason {
			t.Errorf("item %d: %+v", i, all[i])
		}
	}
	if r := all[1]; r.OldAllowed || r.NewAllowed || !slices.Equal(r.Outcomes, []diff.Outcome{diff.Same}) {
		t.Errorf("no JSON, to both: %+v", r)
	}
	if _, err := diff.Replay(t.Context(), d, nil, nil, engine.FieldValidationWarn); engine.ReasonOf(err) != engine.ReasonInvalidArgument {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := diff.Replay(ended, d, d, []engine.ObjectWrite{engine.Create{}}, engine.FieldValidationWarn); engine.ReasonOf(err) != engine.ReasonItemDeadline {
		t.Error(err)
	}
}

// Differences are reported within a bound of bytes, the first one whatever its size. The others are counted.
func TestReplayBytes(t *testing.T) {
	compile := func(schema string) *engine.Definition {
		t.Helper()
		d, report, err := engine.Compile(t.Context(), engine.YAML([]byte(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: goods.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {plural: goods, kind: Good}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: `+schema+`}}]
`)), engine.Options{})
		if err != nil || d == nil {
			t.Fatalf("%v %+v", err, report)
		}
		return d
	}
	open, closed := compile("{type: object, x-kubernetes-preserve-unknown-fields: true}"), compile("{type: object}")
	for _, tc := range []struct {
		sizes             []int
		reported, omitted int
	}{
		{[]int{diff.MaxDifferenceBytes + 1, 1, 2}, 1, 2},
		{[]int{diff.MaxDifferenceBytes / 4, diff.MaxDifferenceBytes / 4, diff.MaxDifferenceBytes / 4}, 3, 0},
	} {
		object := `{"apiVersion":"example.com/v1","kind":"Good","metadata":{"name":"a"}`
		for i, size := range tc.sizes {
			object += fmt.Sprintf(`,"u%d":%q`, i, strings.Repeat("x", size))
		}
		out, err := diff.Replay(t.Context(), open, closed, []engine.ObjectWrite{engine.Create{Object: engine.JSON([]byte(object + "}"))}}, engine.FieldValidationWarn)
		if err != nil || out[0].Err != nil || len(out[0].Differences) != tc.reported || out[0].OmittedDifferences != tc.omitted || out[0].Differences[0].Pointer != "/u0" {
			t.Errorf("%v: %v %v, %d differences, %d omitted", tc.sizes, err, out[0].Err, len(out[0].Differences), out[0].OmittedDifferences)
		}
	}
}
