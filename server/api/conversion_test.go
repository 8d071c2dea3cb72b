package api_test

import (
	"context"
	"maps"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/yaml"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
)

// hostManifest is a CRD whose versions name a host differently.
const hostManifest = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: hosts.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: hosts, kind: Host}
  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: 'https://example.com/'}}}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {endpoint: {type: object, properties: {host: {type: string}}}}}}
  - name: v1beta1
    served: true
    storage: false
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {host: {type: string}}}}
`

const hostRules = `# the host moved
crd: hosts.example.com
between: [v1beta1, v1]
rules:
- move: {from: spec.host, to: spec.endpoint.host}
`

const (
	toHosts         = toRegister + "/hosts.example.com"
	toSetConversion = toHosts + ":setConversion"
)

const (
	isUpdated   = crdevalv1.RegistrationOutcome_REGISTRATION_OUTCOME_UPDATED
	isUnchanged = crdevalv1.RegistrationOutcome_REGISTRATION_OUTCOME_UNCHANGED
	isRejected  = crdevalv1.RegistrationOutcome_REGISTRATION_OUTCOME_REJECTED
)

// withHosts registers hostManifest and returns its etag.
func withHosts(t *testing.T) (*wire, string) {
	t.Helper()
	w := start(t, nil)
	var got crdevalv1.RegisterCrdResponse
	w.do("POST", toRegister, hostManifest, "Content-Type", asYAML).into(t, &got)
	if !got.GetAccepted() {
		t.Fatalf("%v", &got)
	}
	return w, got.GetCrd().GetEtag()
}

// Rules over REST: set as YAML and as JSON, read back, used, and removed.
func TestSetConversion(t *testing.T) {
	w, etag := withHosts(t)
	set := func(query, body string, headers ...string) *crdevalv1.SetConversionResponse {
		t.Helper()
		var got crdevalv1.SetConversionResponse
		w.do("POST", toSetConversion+query, body, headers...).into(t, &got)
		return &got
	}
	checked := set("?validateOnly=true&etag="+etag, hostRules, "Content-Type", asYAML)
	if !checked.GetAccepted() || checked.GetOutcome() != isUpdated || checked.GetToken() != "" || checked.GetCrd().GetEtag() != "" {
		t.Errorf("%v", checked)
	}
	first := set("?etag="+etag, hostRules, "Content-Type", asYAML)
	c := first.GetCrd()
	if !first.GetAccepted() || first.GetOutcome() != isUpdated || first.GetToken() == "" || c.GetEtag() == etag || c.GetConversion() != nil || c.GetRevision() != checked.GetCrd().GetRevision() {
		t.Errorf("%v", first)
	}
	r := first.GetReport()
	if !r.GetAccepted() || len(r.GetViolations()) > 0 || len(r.GetLaws()) == 0 || r.GetLaws()[0].GetObjects() == 0 || r.GetLaws()[0].GetFromVersion() == "" {
		t.Errorf("%v", r)
	}
	moved := false
	for _, rule := range r.GetRules() {
		moved = moved || rule.GetKind() == "move" && rule.GetChangeClass() != crdevalv1.ConversionClass_CONVERSION_CLASS_UNSPECIFIED &&
			strings.Join(rule.GetBetween(), " ") == "v1beta1 v1" && strings.Contains(rule.GetText(), "spec.endpoint.host")
	}
	if !moved {
		t.Errorf("%v", r.GetRules())
	}
	if cover := r.GetCoverage(); len(cover) != 2 || !proto.Equal(cover[1],
		&crdevalv1.ConversionCoverage{FromVersion: "v1beta1", ToVersion: "v1", Carried: 1}) {
		t.Errorf("%v", cover)
	}
	withStash := strings.Replace(hostRules, "move: {from: spec.host, to: spec.endpoint.host}", "stash: {path: spec.host, maxBytes: 3}\n- drop: {path: spec.endpoint}", 1)
	for _, law := range set("?validateOnly=true", withStash, "Content-Type", asYAML).GetReport().GetLaws() {
		f, short := law.GetFailures(), law.GetFromVersion() == "v1beta1"
		if (f != nil) != (law.GetLaw() == "validity") || f != nil && (f.GetGenerated() == 0 ||
			(f.GetUnconverted() > 0) != short || strings.Contains(f.GetExample(), "maxBytes of the rule is 3") != short) {
			t.Errorf("%v", law)
		}
	}
	withDrop := strings.Replace(hostRules, "move: {from: spec.host, to: spec.endpoint.host}", "drop: {path: spec.host}\n- drop: {path: spec.endpoint}", 1)
	if text := w.do("POST", toSetConversion+"?validateOnly=true", withDrop, "Content-Type", asYAML).text; !strings.Contains(
		strings.ReplaceAll(text, " ", ""), `{"fromVersion":"v1","toVersion":"v1beta1","carried":0,"read":0,"stashed":0,"dropped":1}`) {
		t.Errorf("REST: %s", text)
	}
	asJSON := `{"between": ["v1beta1", "v1"], "crd": "hosts.example.com", "rules": [{"move": {"from": "spec.host", "to": "spec.endpoint.host"}}]}`
	if same := set("", asJSON); same.GetOutcome() != isUnchanged || same.GetCrd().GetEtag() != c.GetEtag() {
		t.Errorf("%v", same)
	}

	var full, basic crdevalv1.GetCrdResponse
	w.do("GET", toHosts+"?atLeast="+first.GetToken(), "").into(t, &full)
	w.do("GET", toHosts+"?view=CRD_VIEW_BASIC", "").into(t, &basic)
	if got := string(full.GetCrd().GetConversion().GetJson()); !strings.Contains(got, `"from":"spec.host"`) || basic.GetCrd().GetConversion() != nil {
		t.Errorf("%s, %v", got, basic.GetCrd().GetConversion())
	}
	var list crdevalv1.ListCrdsResponse
	w.do("GET", toRegister+"?view=CRD_VIEW_FULL", "").into(t, &list)
	if list.GetCrds()[0].GetConversion() == nil {
		t.Error("the list has no rules")
	}
	convert := func() string {
		return w.do("POST", "/v1/catalogs/default:convert", `{"targetVersion": "v1", "items": [{"object":
			{"apiVersion":"example.com/v1beta1","kind":"Host","metadata":{"name":"a","namespace":"b"},"spec":{"host":"h"}}}]}`).text
	}
	if got := convert(); !strings.Contains(got, `"endpoint":{"host":"h"}`) {
		t.Error(got)
	}

	removed := set("", "null")
	if !removed.GetAccepted() || !removed.GetReport().GetAccepted() || removed.GetOutcome() != isUpdated {
		t.Errorf("%v", removed)
	}
	if again := set("", "# no rules\nnull\n", "Content-Type", asYAML); again.GetOutcome() != isUnchanged {
		t.Errorf("%v", again)
	}
	if got := convert(); !strings.Contains(got, "CONVERSION_UNAVAILABLE") {
		t.Error(got)
	}
}

// A CRD and its rules register together, over both protocols. If the rules are rejected, nothing is stored.
func TestRegisterWithConversion(t *testing.T) {
	w := start(t, nil)
	wrong, err := w.registry.RegisterCrd(context.Background(), &crdevalv1.RegisterCrdRequest{
		Catalog: "default", Manifest: yamlDocument(hostManifest), Conversion: yamlDocument(hostRules + "- drop: {path: spec.absent}\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	found := wrong.GetReport().GetConversion().GetViolations()
	if wrong.GetAccepted() || wrong.GetOutcome() != isRejected || wrong.GetReport().GetRejection() != nil || wrong.GetCrd() != nil ||
		len(found) != 1 || found[0].GetPosition().GetLine() != 6 {
		t.Errorf("%v", wrong)
	}
	manifest, rules := jsonOf(t, hostManifest), jsonOf(t, hostRules)
	entry := `{"manifest": ` + manifest + `, "conversion": ` + rules + `, "createOnly": true}`
	var got crdevalv1.RegisterCrdsResponse
	w.do("POST", toRegister+":register", `{"entries": [`+entry+`]}`).into(t, &got)
	done := got.GetResults()[0].GetRegistration()
	report := done.GetReport().GetConversion()
	if !done.GetAccepted() || !report.GetAccepted() || len(report.GetRules()) == 0 || len(report.GetLaws()) == 0 {
		t.Errorf("%v", &got)
	}
	var full crdevalv1.GetCrdResponse
	w.do("GET", toHosts, "").into(t, &full)
	if full.GetCrd().GetConversion() == nil || full.GetCrd().GetEtag() != done.GetCrd().GetEtag() {
		t.Errorf("%v", &full)
	}
}

func jsonOf(t *testing.T, text string) string {
	t.Helper()
	converted, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return string(converted)
}

// What is wrong with rules is an answer with positions in the text of the caller, over both protocols.
func TestRejectedConversion(t *testing.T) {
	w, _ := withHosts(t)
	wrong := hostRules + "- drop: {path: spec.absent}\n"
	wrongJSON := "{\"crd\": \"hosts.example.com\", \"between\": [\"v1beta1\", \"v1\"], \"rules\": [\n" +
		"{\"move\": {\"from\": \"spec.host\", \"to\": \"spec.endpoint.host\"}},\n {\"drop\": {\"path\": \"spec.absent\"}}]}"
	rest := func(body string, headers ...string) *crdevalv1.SetConversionResponse {
		t.Helper()
		var got crdevalv1.SetConversionResponse
		w.do("POST", toSetConversion, body, headers...).into(t, &got)
		return &got
	}
	grpc := func(rules *crdevalv1.Document) *crdevalv1.SetConversionResponse {
		t.Helper()
		got, err := w.registry.SetConversion(context.Background(), &crdevalv1.SetConversionRequest{Catalog: "default", Crd: "hosts.example.com", Rules: rules})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	for name, tc := range map[string]struct {
		got  *crdevalv1.SetConversionResponse
		line int32
	}{
		"REST, YAML": {rest(wrong, "Content-Type", asYAML), 6},
		"REST, JSON": {rest(wrongJSON), 3},
		"gRPC, YAML": {grpc(yamlDocument(wrong)), 6},
		"gRPC, JSON": {grpc(jsonDocument(wrongJSON)), 3},
	} {
		if tc.got.GetAccepted() || tc.got.GetOutcome() != isRejected || tc.got.GetCrd() != nil || tc.got.GetToken() != "" || tc.got.GetReport().GetAccepted() {
			t.Errorf("%s: %v", name, tc.got)
		}
		found := tc.got.GetReport().GetViolations()
		if len(found) != 1 || found[0].GetPosition().GetLine() != tc.line || !strings.HasPrefix(found[0].GetPointer(), "/rules/1") ||
			found[0].GetStep() != crdevalv1.PipelineStep_PIPELINE_STEP_CONVERT || !strings.Contains(found[0].GetMessage(), "spec.absent") {
			t.Errorf("%s: %v", name, found)
		}
	}
	lossy := grpc(yamlDocument(`
crd: hosts.example.com
between: [v1beta1, v1]
rules:
- cel: {to: spec.endpoint.host, expr: "self.spec.host"}
  back: {spec.host: "self.spec.endpoint.host + 'x'"}
`))
	counterexamples := 0
	for _, law := range lossy.GetReport().GetLaws() {
		if e := law.GetCounterexample(); e != nil && e.GetText() != "" && e.GetObject() != nil {
			counterexamples++
		}
	}
	if lossy.GetAccepted() || counterexamples == 0 {
		t.Errorf("%v", lossy)
	}

	// A manifest that the rules do not fit is registered, and its report says so. Pointers into the rules have no
	// positions in the manifest.
	rest(hostRules, "Content-Type", asYAML)
	var registered crdevalv1.RegisterCrdResponse
	more := strings.Replace(hostManifest, "properties: {endpoint:", "properties: {port: {type: integer}, endpoint:", 1)
	w.do("POST", toRegister, more, "Content-Type", asYAML).into(t, &registered)
	c := registered.GetReport().GetConversion()
	if !registered.GetAccepted() || c == nil || c.GetAccepted() || len(c.GetViolations()) == 0 || c.GetViolations()[0].GetPosition() != nil {
		t.Errorf("%v", &registered)
	}
}

func TestConversionErrors(t *testing.T) {
	w, _ := withHosts(t)
	for _, tc := range []struct {
		path, body, media, reason string
		code                      int
	}{
		{toRegister + "/none.example.com:setConversion", hostRules, asYAML, "CRD_NOT_FOUND", http.StatusNotFound},
		{strings.Replace(toSetConversion, "default", "none", 1), hostRules, asYAML, "CATALOG_NOT_FOUND", http.StatusNotFound},
		{toSetConversion + "?etag=other", hostRules, asYAML, "ETAG_MISMATCH", http.StatusConflict},
		{toSetConversion, "crd: [\n", asYAML, "MANIFEST_UNREADABLE", http.StatusBadRequest},
		{toSetConversion, "", asYAML, "MALFORMED_BODY", http.StatusBadRequest},
		{toSetConversion, "", "application/json", "MALFORMED_BODY", http.StatusBadRequest},
		{toSetConversion, "{", "application/json", "MALFORMED_BODY", http.StatusBadRequest},
		{toRegister, hostRules, asYAML, "MANIFEST_UNREADABLE", http.StatusBadRequest},
		{toSetConversion + "?other=1", hostRules, asYAML, "INVALID_ARGUMENT", http.StatusBadRequest},
	} {
		if a := w.do("POST", tc.path, tc.body, "Content-Type", tc.media); a.code != tc.code || reason(t, a.status(t)) != tc.reason {
			t.Errorf("%s %q: %d %s; want %s", tc.path, tc.body, a.code, a.text, tc.reason)
		}
	}
	_, err := w.registry.SetConversion(t.Context(), &crdevalv1.SetConversionRequest{Catalog: "default"})
	if reason(t, status.Convert(err)) != "INVALID_ARGUMENT" {
		t.Errorf("without a CRD: %v", err)
	}
	if text := w.do("POST", toRegister, hostRules, "Content-Type", asYAML).text; !strings.Contains(text, "set them with SetConversion") {
		t.Error(text)
	}
	a := w.do("POST", toSetConversion, "crd:\n- [\n", "Content-Type", asYAML)
	if text := a.status(t).Message(); !strings.Contains(text, "conversion rules: ") || !strings.Contains(a.text, `"line":"2"`) {
		t.Error(a.text)
	}
}

// Inline documents can be the rules of an inline CRD, or of a registered one.
func TestInlineConversion(t *testing.T) {
	w, _ := withHosts(t)
	convert := func(crds ...string) answer {
		return w.do("POST", "/v1/catalogs/default:convert", `{"targetVersion": "v1", "context": {"crds": [`+strings.Join(crds, ",")+`]}, "items": [{"object":
			{"apiVersion":"example.com/v1beta1","kind":"Host","metadata":{"name":"a","namespace":"b"},"spec":{"host":"h"}}}]}`)
	}
	rules := `{"crd": "hosts.example.com", "between": ["v1beta1", "v1"], "rules": [{"move": {"from": "spec.host", "to": "spec.endpoint.host"}}]}`
	for range 2 { // also from the cache
		if a := convert(rules); !strings.Contains(a.text, `"endpoint":{"host":"h"}`) {
			t.Error(a.text)
		}
	}
	if a := convert(); !strings.Contains(a.text, "CONVERSION_UNAVAILABLE") {
		t.Error(a.text)
	}
	a := convert(strings.Replace(rules, "spec.host", "spec.hast", 1))
	if st := a.status(t); reason(t, st) != "CRD_REJECTED" || !strings.Contains(st.Message(), "crds[0]: the conversion rules of hosts.example.com are rejected: rules[0]") {
		t.Error(a.text)
	}
	a = convert(strings.Replace(rules, "hosts.example.com", "none.example.com", 1))
	if st := a.status(t); reason(t, st) != "CRD_NOT_FOUND" || !strings.Contains(st.Message(), "crds[0]: ") {
		t.Error(a.text)
	}
}

// TestConversionFailed: if rules cannot convert an object, a retry cannot help. The metadata has the rule and the field.
// The text does not say that a webhook was called.
func TestConversionFailed(t *testing.T) {
	w := start(t, nil)
	short := strings.Replace(hostManifest, "{endpoint: {type: object, properties: {host: {type: string", "{endpoint: {type: object, properties: {host: {type: string, maxLength: 2", 1)
	w.do("POST", toRegister, short, "Content-Type", asYAML)
	w.do("POST", toSetConversion, hostRules, "Content-Type", asYAML)
	const object = `{"apiVersion":"example.com/v1beta1","kind":"Host","metadata":{"name":"a","namespace":"b"},"spec":{"host":"abc"}}`
	check := func(name string, st *status.Status, prefix string) {
		t.Helper()
		info := api.ErrorInfoOf(st.Proto())
		want := map[string]string{"crd": "hosts.example.com", "from": "v1beta1", "to": "v1", "rule": "rules[0] (move)", "path": "spec.host"}
		if st.Code() != codes.FailedPrecondition || info.GetReason() != "CONVERSION_FAILED" || !maps.Equal(info.GetMetadata(), want) ||
			!strings.HasPrefix(st.Message(), prefix+`Host b/a: from v1beta1 to v1: rules[0] (move): spec.host: "abc" `) {
			t.Errorf("%s: %v, metadata %v", name, st, info.GetMetadata())
		}
	}
	item := []*crdevalv1.WriteItem{{Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: jsonDocument(object)}}}}
	admitted := w.admit(&crdevalv1.AdmitRequest{Items: item})
	check("Admit", status.FromProto(admitted[0].GetError()), "")
	converted, err := w.evaluation.Convert(t.Context(), &crdevalv1.ConvertRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, TargetVersion: "v1", Items: objectsOf(item...)})
	if err != nil {
		t.Fatal(err)
	}
	check("Convert", status.FromProto(converted.GetResults()[0].GetError()), "")
	a := w.do("POST", toShow+":table", `{"crd":"hosts.example.com","version":"v1","objects":[`+object+`]}`)
	if a.code != http.StatusBadRequest {
		t.Errorf("a table: %d", a.code)
	}
	check("Table", a.status(t), "objects[0]: ")
}
