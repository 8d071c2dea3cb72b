package api_test

import (
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
)

// TestPositionsInRequests: over REST into the body, over gRPC into the document.
func TestPositionsInRequests(t *testing.T) {
	w := start(t, nil).withCronTab()
	const bad = `"many"`
	object := `{"apiVersion":"stable.example.com/v1","kind":"CronTab",` + "\n" + ` "metadata":{"name":"x","namespace":"default"},"spec":{"replicas":"many"}}`
	at := func(name, text string, found []*crdevalv1.Violation) {
		t.Helper()
		if len(found) != 1 || found[0].GetPosition() == nil {
			t.Fatalf("%s: %v", name, found)
		}
		p := found[0].GetPosition()
		before := text[:p.GetOffset()]
		line, column := 1+strings.Count(before, "\n"), 1+utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
		if !strings.HasPrefix(text[p.GetOffset():], bad) || int(p.GetLine()) != line || int(p.GetColumn()) != column {
			t.Errorf("%s: %v, which is line %d, column %d: %.20q", name, p, line, column, text[p.GetOffset():])
		}
	}
	for name, c := range map[string]struct{ media, body string }{
		"JSON":             {"application/json", "\n {\"items\":[{\"crd\":\"é\"},\n{\"create\":{\"object\":" + object + `}},` + "\n" + `{"crd":"äöü","create":{"object":` + "{}" + `}}, {"create":{"object" : ` + object + `}}]}`},
		"JSON in one line": {"application/json", `{"items":[{"crd":"é"},{"create":{"object":` + strings.ReplaceAll(object, "\n", "") + `}},{"crd":"é","create":{"object":{}}},{"create":{"object":` + strings.ReplaceAll(object, "\n", "") + `}}]}`},
		"YAML":             {"application/yaml", "items:\n- crd: é\n- create: {object: " + strings.ReplaceAll(object, "\n", "\n     ") + "}\n- {}\n- create: {object: " + strings.ReplaceAll(object, "\n", "\n     ") + "}\n"},
	} {
		var answer crdevalv1.ValidateResponse
		w.do("POST", "/v1/catalogs/default:validate", c.body, "Content-Type", c.media).into(t, &answer)
		for _, i := range []int{1, 3} {
			at(name, c.body, answer.GetResults()[i].GetVerdict().GetViolations())
		}
	}
	direct, err := w.evaluation.Validate(context.Background(), &crdevalv1.ValidateRequest{
		Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Items: []*crdevalv1.WriteItem{{}, {Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: jsonDocument(object)}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	at("gRPC", object, direct.GetResults()[1].GetVerdict().GetViolations())

	manifest := "  \n " + `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"bads.example.com"},
		"spec":{"group":"example.com","scope":"Cluster","names":{"plural":"bads","kind":"Bad"},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"many"}}}]}}`
	for _, path := range []string{"/v1/catalogs/default/crds", "/v1/catalogs/default/crds:check"} {
		for _, media := range []string{"application/json", "application/yaml"} {
			text := manifest
			if media == "application/yaml" {
				text = strings.ReplaceAll(text, "\t", "  ")
			}
			answer := w.do("POST", path, text, "Content-Type", media)
			var report *crdevalv1.CrdReport
			if strings.HasSuffix(path, ":check") {
				var checked crdevalv1.CheckCrdResponse
				answer.into(t, &checked)
				report = checked.GetReport()
			} else {
				var registered crdevalv1.RegisterCrdResponse
				answer.into(t, &registered)
				report = registered.GetReport()
			}
			at(path+" "+media, text, report.GetViolations()[:1])
		}
	}
}

// TestPublishedYAMLNodes: what GetServerInfo says of YAML bodies is what the gateway does.
func TestPublishedYAMLNodes(t *testing.T) {
	info, err := start(t, nil).server.GetServerInfo(context.Background(), &crdevalv1.GetServerInfoRequest{})
	if err != nil || info.GetLimits().GetMaxYamlNodes() != api.MaxYAMLNodes {
		t.Errorf("%d, %v", info.GetLimits().GetMaxYamlNodes(), err)
	}
}
