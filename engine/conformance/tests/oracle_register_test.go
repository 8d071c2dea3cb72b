package tests

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/conformance/oracle"
)

// crontabManifest returns a CRD with the given spec.scope and versions.
func crontabManifest(apiVersion, more, scope string, versions ...string) []byte {
	var list []string
	for i, v := range versions {
		list = append(list, fmt.Sprintf(`{"name":%q,"served":true,"storage":%v,"schema":{"openAPIV3Schema":{"type":"object","properties":{"a%d":{"type":"string"}}}}}`, v, i == 0, i))
	}
	return []byte(fmt.Sprintf(`{"apiVersion":%q,"kind":"CustomResourceDefinition","metadata":{"name":"crontabs.example.com","annotations":{"a":"b"}},
"spec":{"group":"example.com","scope":%q,"names":{"plural":"crontabs","kind":"CronTab"},%s"versions":[%s]}}`, apiVersion, scope, more, strings.Join(list, ",")))
}

// betaManifest returns a typical v1beta1 CRD with one schema for all versions.
func betaManifest(more string) []byte {
	return []byte(fmt.Sprintf(`{"apiVersion":%q,"kind":"CustomResourceDefinition","metadata":{"name":"crontabs.example.com","annotations":{"a":"b"}},
"spec":{"group":"example.com","names":{"plural":"crontabs","kind":"CronTab"},%s"version":"v1","validation":{"openAPIV3Schema":{"type":"object","properties":{"a0":{"type":"string"}}}}}}`, v1beta1API, more))
}

const v1API, v1beta1API = "apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"

func TestOracleRegisterUpdate(t *testing.T) {
	created, answer := oracle.Register(crontabManifest(v1API, "", "Namespaced", "v1"), false)
	if !answer.Accepted() || answer.Generation != 1 || !slices.Equal(answer.StoredVersions, []string{"v1"}) {
		t.Fatalf("%+v", answer)
	}
	for name, c := range map[string]struct {
		established bool
		manifest    []byte
		generation  int64    // 0 for a rejection
		stored      []string // when accepted
		field       string   // when rejected
	}{
		"the same":               {true, crontabManifest(v1API, "", "Namespaced", "v1"), 3, []string{"v1"}, ""},
		"another storage":        {true, crontabManifest(v1API, "", "Namespaced", "v2", "v1"), 4, []string{"v1", "v2"}, ""},
		"a version lost":         {true, crontabManifest(v1API, "", "Namespaced", "v2"), 0, nil, "status.storedVersions[0]"},
		"scope":                  {true, crontabManifest(v1API, "", "Cluster", "v1"), 0, nil, "spec.scope"},
		"scope, not established": {false, crontabManifest(v1API, "", "Cluster", "v1"), 4, []string{"v1"}, ""},
		"at v1beta1":             {true, betaManifest(`"preserveUnknownFields":false,`), 3, []string{"v1"}, ""},
		"v1beta1's default":      {true, betaManifest(""), 0, nil, "spec.preserveUnknownFields"},
	} {
		state := created.Fresh(c.established)
		state.Generation = 3
		old, err := created.Keep(state)
		if err != nil {
			t.Fatal(err)
		}
		updated, answer := oracle.RegisterUpdate(old, c.manifest, false)
		switch {
		case updated == nil:
			t.Errorf("%s: %+v", name, answer)
		case c.generation == 0:
			if len(answer.Errors) != 1 || answer.Errors[0].Field != c.field || answer.Object != nil {
				t.Errorf("%s: %+v", name, answer)
			}
		case !answer.Accepted() || answer.Generation != c.generation || !slices.Equal(answer.StoredVersions, c.stored) || answer.Object == nil:
			t.Errorf("%s: %+v", name, answer)
		}
	}
}

// TestOracleRegisterOld: what only an older server can have stored is evaluated as stored.
func TestOracleRegisterOld(t *testing.T) {
	nonStructural := strings.Replace(string(betaManifest("")), `{"type":"string"}`, `{}`, 1)
	r, answer := oracle.Register([]byte(nonStructural), false)
	if !answer.Accepted() || !r.V1.Spec.PreserveUnknownFields || answer.Generation != 1 {
		t.Errorf("%+v", answer)
	}
	if _, answer := oracle.Register([]byte(strings.Replace(nonStructural, `"version"`, `"preserveUnknownFields":false,"version"`, 1)), false); answer.Accepted() {
		t.Errorf("a schema that is not structural was accepted: %+v", answer)
	}
	if _, answer := oracle.Register(crontabManifest(v1API, `"preserveUnknownFields":true,`, "Namespaced", "v1"), false); answer.Accepted() {
		t.Errorf("preserveUnknownFields was accepted at v1: %+v", answer)
	}
	if _, answer := oracle.Register(betaManifest(`"scope":"bogus",`), false); answer.Accepted() {
		t.Errorf("%+v", answer)
	}
}
