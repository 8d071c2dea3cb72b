package api_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// TestWalk goes through the calls as the README does, over REST.
func TestWalk(t *testing.T) {
	w := start(t, nil)
	var registered crdevalv1.RegisterCrdResponse
	w.do("POST", "/v1/catalogs/default/crds", crontabManifest, "Content-Type", "application/yaml").into(t, &registered)
	if !registered.GetAccepted() || registered.GetCrd().GetName() != "crontabs.stable.example.com" || registered.GetToken() == "" {
		t.Fatalf("registered: %v", &registered)
	}
	var verdicts crdevalv1.ValidateResponse
	w.do("POST", "/v1/catalogs/default:validate", `{"context": {"at_least": "`+registered.GetToken()+`"}, "items": [{"create": {"object": `+cronTab(`{"replicas": 0}`)+`}}, {"create": {"object": `+cronTab(`{"replicas": 1}`)+`}}]}`).into(t, &verdicts)
	if len(verdicts.GetResults()) != 2 {
		t.Fatalf("%v", &verdicts)
	}
	rejected, allowed := verdicts.GetResults()[0].GetVerdict(), verdicts.GetResults()[1].GetVerdict()
	if rejected.GetAllowed() || len(rejected.GetViolations()) != 1 || rejected.GetRejection().GetCode() != http.StatusUnprocessableEntity {
		t.Errorf("rejected: %v", rejected)
	}
	if v := rejected.GetViolations()[0]; v.GetType() != "FieldValueInvalid" || v.GetField() != "spec.replicas" || string(v.GetBadValue().GetJson()) != "0" ||
		v.GetPointer() != "/spec/replicas" || v.GetPosition().GetLine() != 1 || v.GetStep() != crdevalv1.PipelineStep_PIPELINE_STEP_SCHEMA {
		t.Errorf("violation: %v", v)
	}
	if !allowed.GetAllowed() || allowed.GetRevision() != registered.GetCrd().GetRevision() {
		t.Errorf("allowed: %v", allowed)
	}
	var got crdevalv1.GetCrdResponse
	w.do("GET", "/v1/catalogs/default/crds/crontabs.stable.example.com", "").into(t, &got)
	if !strings.Contains(string(got.GetCrd().GetManifest().GetJson()), `"minimum":1`) || !got.GetCrd().GetStatus().GetEstablished() {
		t.Errorf("got: %v", &got)
	}
	var listed crdevalv1.ListCrdsResponse
	w.do("GET", "/v1/catalogs/default/crds?pageSize=1&view=CRD_VIEW_BASIC", "").into(t, &listed)
	if len(listed.GetCrds()) != 1 || listed.GetCrds()[0].GetManifest() != nil {
		t.Errorf("listed: %v", &listed)
	}
	var checked crdevalv1.CheckCrdResponse
	w.do("POST", "/v1/catalogs/default/crds:check", strings.Replace(crontabManifest, "type: integer", "type: integre", 1), "Content-Type", "application/yaml").into(t, &checked)
	if checked.GetAccepted() || len(checked.GetReport().GetViolations()) == 0 || checked.GetReport().GetViolations()[0].GetPosition().GetLine() == 0 {
		t.Errorf("checked: %v", &checked)
	}
	var catalog crdevalv1.CreateCatalogResponse
	w.do("POST", "/v1/catalogs", `{"catalog":"team-a"}`).into(t, &catalog)
	var catalogs crdevalv1.ListCatalogsResponse
	w.do("GET", "/v1/catalogs", "").into(t, &catalogs)
	if len(catalogs.GetCatalogs()) != 2 || catalogs.GetCatalogs()[0].GetCrdCount() != 1 {
		t.Errorf("catalogs: %v", &catalogs)
	}
	w.do("DELETE", "/v1/catalogs/team-a", "").into(t, &crdevalv1.DeleteCatalogResponse{})
	w.do("DELETE", "/v1/catalogs/default/crds/crontabs.stable.example.com", "").into(t, &crdevalv1.DeleteCrdResponse{})
	if a := w.do("GET", "/v1/catalogs/default/crds/crontabs.stable.example.com", ""); a.code != http.StatusNotFound || reason(t, a.status(t)) != "CRD_NOT_FOUND" {
		t.Errorf("after the deletion: %d %s", a.code, a.text)
	}
}

func TestHealthAndOpenAPI(t *testing.T) {
	w := start(t, nil)
	w.health.SetServingStatus("", healthv1.HealthCheckResponse_NOT_SERVING)
	if a := w.do("GET", "/readyz", ""); a.code != http.StatusServiceUnavailable {
		t.Errorf("not ready: %d %s", a.code, a.text)
	}
	w.health.SetServingStatus("", healthv1.HealthCheckResponse_SERVING)
	for path, want := range map[string]string{
		"/readyz": `{"status":"SERVING"}`, "/healthz": `{"status":"SERVING"}`, "/openapi.json": `"/v1/catalogs/{catalog}:validate"`, "/v1/serverInfo": `"maxBatchItems":1000`,
	} {
		if a := w.do("GET", path, ""); a.code != http.StatusOK || !strings.Contains(a.text, want) {
			t.Errorf("%s: %d %.200s", path, a.code, a.text)
		}
	}
	info, err := w.server.GetServerInfo(context.Background(), &crdevalv1.GetServerInfoRequest{})
	if err != nil || info.GetVersion() != "v0.0.0-test" || info.GetKubernetes() != "1.37" || info.GetLimits().GetMaxMessageBytes() != maxMessage {
		t.Errorf("%v %v", info, err)
	}
	a := w.do("GET", "/v1/serverInfo", "", "X-Request-Id", "abc")
	if a.header.Get("X-Request-Id") != "abc" {
		t.Errorf("X-Request-Id %q", a.header.Get("X-Request-Id"))
	}
	if a = w.do("GET", "/v1/serverInfo", ""); a.header.Get("X-Request-Id") == "" {
		t.Error("no X-Request-Id was made")
	}
}
