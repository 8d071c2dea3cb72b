package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/status"
	"sigs.k8s.io/yaml"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/flow"
	"github.com/crdeval/crdeval/server/registry"
)

const toDiff = toRegister + ":diff"

// diff compares over gRPC.
func (w *wire) diff(r *crdevalv1.DiffCrdRequest) (*crdevalv1.DiffCrdResponse, error) {
	w.t.Helper()
	r.Catalog = "default"
	return w.registry.DiffCrd(w.t.Context(), r)
}

var stricter = strings.NewReplacer("minimum: 1,", "minimum: 5,", "default: busybox", "default: alpine").Replace(crontabManifest)

// TestDiff: a comparison with what is registered, or with a manifest, has its changes and what becomes of objects.
func TestDiff(t *testing.T) {
	w := start(t, nil).withCronTab()
	for name, r := range map[string]*crdevalv1.DiffCrdRequest{
		"registered": {Manifest: yamlDocument(stricter)},
		"by name":    {Manifest: yamlDocument(stricter), Crd: "crontabs.stable.example.com"},
		"a manifest": {Manifest: yamlDocument(stricter), Base: yamlDocument(crontabManifest)},
	} {
		r.Objects = []*crdevalv1.Document{jsonDocument(cronTab(`{"replicas": 3}`)), yamlDocument(cronTab(`{"replicas": 9, "image": "x"}`)), yamlDocument("a: ["), jsonDocument(`{"apiVersion":"v1","kind":"Pod"}`)}
		got, err := w.diff(r)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got.GetChangeClass() != crdevalv1.ChangeClass_CHANGE_CLASS_BREAKING || !got.GetAccepted() || got.GetIdentical() || len(got.GetChanges()) != 2 || (got.GetBase() == nil) != (name == "a manifest") {
			t.Errorf("%s: %v", name, got)
		}
		for _, c := range got.GetChanges() {
			if c.GetKind() == "" || c.GetMessage() == "" || c.GetVersion() != "v1" || c.GetChangeClass() == 0 || c.GetSide() == 0 || c.GetStored() == 0 || c.GetWriters() == 0 || c.GetReaders() == 0 ||
				c.GetOldValue() == nil || c.GetNewValue() == nil || c.GetNewPosition() == nil {
				t.Errorf("%s: %v", name, c)
			}
		}
		if len(got.GetReplayResults()) != 4 {
			t.Fatalf("%s: %d objects replayed", name, len(got.GetReplayResults()))
		}
		var outcomes []string
		for _, o := range got.GetReplayResults()[0].GetOutcomes() {
			outcomes = append(outcomes, strings.TrimPrefix(o.String(), "REPLAY_OUTCOME_"))
		}
		if text := strings.Join(outcomes, " "); text != "NEWLY_REJECTED KEPT_BY_RATCHETING DEFAULTED_DIFFERENTLY" {
			t.Errorf("%s: the first object is %s", name, text)
		}
		if second := got.GetReplayResults()[1]; len(second.GetOutcomes()) != 1 || second.GetOutcomes()[0] != crdevalv1.ReplayOutcome_REPLAY_OUTCOME_SAME || second.GetError() != nil {
			t.Errorf("%s: the second object: %v", name, second)
		}
		for i, o := range got.GetReplayResults()[2:] {
			if o.GetError() == nil && len(o.GetOutcomes()) == 0 {
				t.Errorf("%s: object %d: no outcome", name, i+2)
			}
		}
	}
	same, err := w.diff(&crdevalv1.DiffCrdRequest{Manifest: yamlDocument(crontabManifest)})
	if err != nil || !same.GetIdentical() || same.GetChangeClass() != crdevalv1.ChangeClass_CHANGE_CLASS_COMPATIBLE || len(same.GetChanges()) != 0 {
		t.Errorf("the same: %v, %v", same, err)
	}
	rejected, err := w.diff(&crdevalv1.DiffCrdRequest{Manifest: yamlDocument(strings.Replace(crontabManifest, "Namespaced", "Cluster", 1))})
	if err != nil || rejected.GetAccepted() || rejected.GetChangeClass() != crdevalv1.ChangeClass_CHANGE_CLASS_BREAKING || !rejected.GetReport().GetUpdate() {
		t.Errorf("rejected: %v, %v", rejected, err)
	}
}

// TestDiffPositions: over REST everything points into the body.
func TestDiffPositions(t *testing.T) {
	w := start(t, nil).withCronTab()
	minimum := func(text string) string {
		return asJSONText(t, strings.Replace(crontabManifest, "minimum: 1,", "minimum: "+text+",", 1))
	}
	body := "{\"objects\":[" + cronTab(`{"replicas": 3}`) + "],\n\"base\":" + minimum("1") + ",\n\"manifest\":" + minimum("50") + "}"
	var got crdevalv1.DiffCrdResponse
	w.do("POST", toDiff, body).into(t, &got)
	if len(got.GetChanges()) != 1 || len(got.GetReplayResults()) != 1 || len(got.GetReplayResults()[0].GetNewViolations()) != 1 {
		t.Fatalf("%v", &got)
	}
	points := func(p *crdevalv1.Position, want string, line int32) {
		t.Helper()
		if p == nil || p.GetLine() != line || !strings.HasPrefix(body[p.GetOffset():], want) {
			t.Errorf("%v does not point to %q: %.20q", p, want, body[p.GetOffset():])
		}
	}
	points(got.GetChanges()[0].GetOldPosition(), "1", 2)
	points(got.GetChanges()[0].GetNewPosition(), "50", 3)
	points(got.GetReplayResults()[0].GetNewViolations()[0].GetPosition(), "3}", 1)

	body = "base:\n" + indent(crontabManifest) + "manifest:\n" + indent(strings.Replace(crontabManifest, "minimum: 1,", "minimum: 50,", 1)) +
		"objects:\n- {apiVersion: stable.example.com/v1, kind: CronTab, metadata: {name: a, namespace: b}, spec: {replicas: 3}}\n"
	got.Reset()
	w.do("POST", toDiff, body, "Content-Type", asYAML).into(t, &got)
	lines := func(text string) int32 {
		before, _, _ := strings.Cut(body, text)
		return int32(strings.Count(before, "\n") + 1)
	}
	points(got.GetChanges()[0].GetOldPosition(), "1,", lines("minimum: 1,"))
	points(got.GetChanges()[0].GetNewPosition(), "50,", lines("minimum: 50"))
	points(got.GetReplayResults()[0].GetNewViolations()[0].GetPosition(), "3}", lines("- {apiVersion"))
}

// asJSONText is a YAML text as JSON.
func asJSONText(t *testing.T, text string) string {
	t.Helper()
	converted, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return string(converted)
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ") + "\n"
}

// TestDiffRejections: what cannot be compared is an error that says why.
func TestDiffRejections(t *testing.T) {
	w := start(t, nil).withCronTab()
	manifest := asJSONText(t, crontabManifest)
	for name, c := range map[string]struct {
		body   string
		code   int
		reason string
	}{
		"no manifest":             {`{}`, http.StatusBadRequest, "INVALID_ARGUMENT"},
		"not a CRD":               {`{"manifest":{}}`, http.StatusBadRequest, "MANIFEST_UNREADABLE"},
		"not a CRD to compare":    {`{"manifest":` + manifest + `,"base":{}}`, http.StatusBadRequest, "MANIFEST_UNREADABLE"},
		"base and revision":       {`{"manifest":` + manifest + `,"base":` + manifest + `,"revision":"x"}`, http.StatusBadRequest, "INVALID_ARGUMENT"},
		"base and name":           {`{"manifest":` + manifest + `,"base":` + manifest + `,"crd":"x"}`, http.StatusBadRequest, "INVALID_ARGUMENT"},
		"not registered":          {`{"manifest":` + asJSONManifest("apples", "Cluster") + `}`, http.StatusNotFound, "CRD_NOT_FOUND"},
		"another name":            {`{"manifest":` + manifest + `,"crd":"apples.example.com"}`, http.StatusNotFound, "CRD_NOT_FOUND"},
		"no such revision":        {`{"manifest":` + manifest + `,"revision":"sha256:0"}`, http.StatusNotFound, "REVISION_NOT_FOUND"},
		"a token of others":       {`{"manifest":` + manifest + `,"atLeast":"x"}`, http.StatusBadRequest, "TOKEN_INVALID"},
		"too many objects":        {`{"manifest":` + manifest + `,"objects":[` + strings.TrimSuffix(strings.Repeat("{},", 1001), ",") + `]}`, http.StatusRequestEntityTooLarge, "LIMIT_EXCEEDED"},
		"a base that is rejected": {`{"manifest":` + manifest + `,"objects":[{}],"base":` + strings.Replace(manifest, `"^[a-z-]+$"`, `"["`, 1) + `}`, http.StatusUnprocessableEntity, "CRD_REJECTED"},
	} {
		if a := w.do("POST", toDiff, c.body); a.code != c.code || reason(t, a.status(t)) != c.reason {
			t.Errorf("%s: %d %s", name, a.code, a.text)
		}
	}
	_, err := w.diff(&crdevalv1.DiffCrdRequest{Manifest: yamlDocument(crontabManifest), Base: &crdevalv1.Document{}})
	if reason(t, status.Convert(err)) != "INVALID_ARGUMENT" {
		t.Errorf("an empty base: %v", err)
	}
	_, err = w.diff(&crdevalv1.DiffCrdRequest{Manifest: yamlDocument(crontabManifest), Objects: []*crdevalv1.Document{{}}})
	if reason(t, status.Convert(err)) != "INVALID_ARGUMENT" {
		t.Errorf("an empty object: %v", err)
	}
}

// TestDiffIncomplete: if the CPU time of the search is over, the response has what was found until then.
func TestDiffIncomplete(t *testing.T) {
	w := start(t, func(r api.Registry) api.Registry {
		r.(*registry.Registry).Scheduler = flow.New(flow.Options{MaxItemTime: 100 * time.Millisecond, CPUTime: flow.ProcessTime})
		return r
	})
	crd := func(maximum, rules string) *crdevalv1.Document {
		fields := "a: {type: integer, maximum: " + maximum + "}"
		for i := range 100 {
			fields += fmt.Sprintf(", f%d: {type: integer, minimum: 0%s}", i, rules)
		}
		return yamlDocument("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\n" +
			"spec: {group: example.com, scope: Cluster, names: {plural: things, kind: Thing}, versions: [{name: v1, served: true, storage: true, " +
			"schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {" + fields + "}}}}}}]}\n")
	}
	got, err := w.diff(&crdevalv1.DiffCrdRequest{Base: crd("9", ""), Manifest: crd("5", ", x-kubernetes-validations: [{rule: self > -1}]"),
		CounterexampleTries: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	changes := got.GetChanges()
	if len(changes) != 101 || !got.GetSearchIncomplete() || changes[0].GetCounterexample().GetObject() == nil ||
		changes[100].GetCounterexample().GetTries() != 0 || changes[100].GetCounterexample().GetObject() != nil {
		t.Errorf("%d changes, incomplete: %t, %v, %v", len(changes), got.GetSearchIncomplete(), changes[0], changes[len(changes)-1])
	}
}
