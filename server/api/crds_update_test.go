package api_test

import (
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/status"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// TestCrdUpdates: what is registered already is judged as its update, and an answer says what it did.
func TestCrdUpdates(t *testing.T) {
	w := start(t, nil)
	register := func(manifest string) *crdevalv1.RegisterCrdResponse {
		t.Helper()
		var got crdevalv1.RegisterCrdResponse
		w.do("POST", toRegister, manifest, "Content-Type", asYAML).into(t, &got)
		return &got
	}
	for i, c := range []struct {
		manifest string
		outcome  crdevalv1.RegistrationOutcome
		update   bool
		field    string
	}{
		{crontabManifest, crdevalv1.RegistrationOutcome_REGISTRATION_OUTCOME_CREATED, false, ""},
		{crontabManifest, crdevalv1.RegistrationOutcome_REGISTRATION_OUTCOME_UNCHANGED, true, ""},
		{strings.Replace(crontabManifest, "default: busybox", "default: alpine", 1), crdevalv1.RegistrationOutcome_REGISTRATION_OUTCOME_UPDATED, true, ""},
		{strings.Replace(crontabManifest, "scope: Namespaced", "scope: Cluster", 1), crdevalv1.RegistrationOutcome_REGISTRATION_OUTCOME_REJECTED, true, "spec.scope"},
	} {
		var checked crdevalv1.CheckCrdResponse
		w.do("POST", toRegister+":check", c.manifest, "Content-Type", asYAML).into(t, &checked)
		if checked.GetOutcome() != c.outcome {
			t.Errorf("%d: check foretells %v", i, checked.GetOutcome())
		}
		got := register(c.manifest)
		if got.GetOutcome() != c.outcome || got.GetReport().GetUpdate() != c.update || got.GetAccepted() != (c.field == "") {
			t.Errorf("%d: %v, update %v, accepted %v", i, got.GetOutcome(), got.GetReport().GetUpdate(), got.GetAccepted())
		}
		if found := got.GetReport().GetViolations(); c.field != "" && (len(found) == 0 || found[0].GetField() != c.field) {
			t.Errorf("%d: %v", i, found)
		}
	}
}

// TestCrdStatus: GetCrd and ListCrds in full have the status, other views its fields alone.
func TestCrdStatus(t *testing.T) {
	w := start(t, nil).withCronTab()
	var full, basic crdevalv1.GetCrdResponse
	w.do("GET", toCronTab, "").into(t, &full)
	w.do("GET", toCronTab+"?view=CRD_VIEW_BASIC", "").into(t, &basic)
	if text := string(full.GetCrd().GetStatus().GetJson().GetJson()); !strings.Contains(text, `"storedVersions":["v1"]`) || !strings.Contains(text, `"acceptedNames":{"plural":"crontabs"`) {
		t.Errorf("status %s", text)
	}
	for _, c := range []*crdevalv1.Crd{full.GetCrd(), basic.GetCrd()} {
		if n := c.GetStatus().GetAcceptedNames(); n.GetPlural() != "crontabs" || n.GetKind() != "CronTab" || n.GetShortNames()[0] != "ct" || n.GetListKind() != "CronTabList" {
			t.Errorf("names %v", n)
		}
		if !c.GetStatus().GetEstablished() || len(c.GetStatus().GetConditions()) != 2 || c.GetStatus().GetConditions()[0].GetLastTransitionTime() == nil {
			t.Errorf("conditions %v", c.GetStatus().GetConditions())
		}
	}
	if basic.GetCrd().GetStatus().GetJson() != nil || basic.GetCrd().GetManifest() != nil {
		t.Error("the basic view has documents")
	}
	var list crdevalv1.ListCrdsResponse
	w.do("GET", toRegister+"?view=CRD_VIEW_FULL", "").into(t, &list)
	if len(list.GetCrds()) != 1 || list.GetCrds()[0].GetStatus().GetJson() == nil || list.GetCrds()[0].GetManifest() == nil {
		t.Errorf("list: %v", &list)
	}
}

const toCronTab = toRegister + "/crontabs.stable.example.com"

// TestSetStoredVersions: the versions that objects may be stored in shrink after a migration, and then a version can go.
func TestSetStoredVersions(t *testing.T) {
	w := start(t, nil).withCronTab()
	next := strings.Replace(crontabManifest, "    storage: true", "    storage: false", 1)
	next += `  - name: v2
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`
	before, rest, _ := strings.Cut(next, "  - name: v1\n")
	_, after, _ := strings.Cut(rest, "  - name: v1alpha1\n")
	without := before + "  - name: v1alpha1\n" + after
	register := func(manifest string) *crdevalv1.RegisterCrdResponse {
		t.Helper()
		var got crdevalv1.RegisterCrdResponse
		w.do("POST", toRegister, manifest, "Content-Type", asYAML).into(t, &got)
		return &got
	}
	moved := register(next)
	if got := strings.Join(moved.GetCrd().GetStatus().GetStoredVersions(), " "); got != "v1 v2" {
		t.Fatalf("stored versions %q: %v", got, moved.GetReport())
	}
	if got := register(without); got.GetAccepted() {
		t.Fatal("a stored version may go")
	}
	set := func(body string) answer { return w.do("POST", toCronTab+":setStoredVersions", body) }
	for body, want := range map[string]struct {
		code   int
		reason string
	}{
		`{"storedVersions":["v2"],"etag":"other"}`:                       {http.StatusConflict, "ETAG_MISMATCH"},
		`{"storedVersions":[` + strings.Repeat(`"v2",`, 1000) + `"v2"]}`: {http.StatusRequestEntityTooLarge, "LIMIT_EXCEEDED"},
	} {
		if a := set(body); a.code != want.code || reason(t, a.status(t)) != want.reason {
			t.Errorf("%.60s: %d %s", body, a.code, a.text)
		}
	}
	if a := w.do("POST", toRegister+"/no.such:setStoredVersions", `{"storedVersions":["v2"]}`); a.code != http.StatusNotFound || reason(t, a.status(t)) != "CRD_NOT_FOUND" {
		t.Errorf("no such CRD: %d %s", a.code, a.text)
	}
	_, err := w.registry.SetStoredVersions(t.Context(), &crdevalv1.SetStoredVersionsRequest{Catalog: "default", Crd: "crontabs.stable.example.com", StoredVersions: make([]string, 2000)})
	if reason(t, status.Convert(err)) != "LIMIT_EXCEEDED" {
		t.Errorf("gRPC, too many: %v", err)
	}
	var done crdevalv1.SetStoredVersionsResponse
	set(`{"storedVersions":["v2","v3"]}`).into(t, &done)
	if got := strings.Join(done.GetCrd().GetStatus().GetStoredVersions(), " "); got != "v2 v3" || register(next).GetAccepted() {
		t.Errorf("stored versions %q, with one that does not exist: an update is accepted", got)
	}
	set(`{"storedVersions":["v1"]}`).into(t, &done)
	again := register(next).GetCrd() // an update appends the storage version
	if got := strings.Join(again.GetStatus().GetStoredVersions(), " "); got != "v1 v2" {
		t.Errorf("stored versions %q after registering the same manifest again", got)
	}
	set(`{"storedVersions":["v2"],"etag":"`+again.GetEtag()+`"}`).into(t, &done)
	c := done.GetCrd()
	if strings.Join(c.GetStatus().GetStoredVersions(), " ") != "v2" || c.GetEtag() == moved.GetCrd().GetEtag() || c.GetRevision() != moved.GetCrd().GetRevision() || done.GetToken() == "" {
		t.Errorf("%v", &done)
	}
	if got := register(without); !got.GetAccepted() {
		t.Errorf("afterwards: %v", got.GetReport())
	}
}
