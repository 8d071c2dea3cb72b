package tests

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// TestKubernetesClients: Kubernetes clients can use a catalog like an API server for discovery and OpenAPI.
func TestKubernetesClients(t *testing.T) {
	s := startServer(t)
	ctx := context.Background()
	manifest := `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"crontabs.stable.example.com"},"spec":{
		"group":"stable.example.com","scope":"Namespaced","names":{"plural":"crontabs","singular":"crontab","kind":"CronTab","shortNames":["ct"],"categories":["all"]},
		"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object","description":"Runs now and then."}}}]}}`
	registered, err := s.registry.RegisterCrd(ctx, &crdevalv1.RegisterCrdRequest{Catalog: "default", Manifest: &crdevalv1.Document{Content: &crdevalv1.Document_Json{Json: []byte(manifest)}}})
	if err != nil || !registered.GetAccepted() {
		t.Fatal(registered, err)
	}
	client, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: s.rest.URL + "/v1/catalogs/default"})
	if err != nil {
		t.Fatal(err)
	}
	for name, client := range map[string]discovery.DiscoveryInterface{"aggregated": client, "a document for each": client.WithLegacy()} {
		groups, lists, err := client.ServerGroupsAndResources()
		if err != nil || len(groups) != 1 || groups[0].Name != "stable.example.com" || groups[0].PreferredVersion.Version != "v1" || len(lists) != 1 {
			t.Fatalf("%s: %v %v %v", name, groups, lists, err)
		}
		found := lists[0].APIResources
		if len(found) != 2 || found[0].Name != "crontabs" || found[0].Kind != "CronTab" || found[0].ShortNames[0] != "ct" || found[0].Categories[0] != "all" || found[1].Name != "crontabs/status" {
			t.Errorf("%s: %v", name, found)
		}
	}
	paths, err := client.OpenAPIV3().Paths()
	if err != nil || paths["apis/stable.example.com/v1"] == nil {
		t.Fatalf("%v %v", paths, err)
	}
	schema, err := paths["apis/stable.example.com/v1"].Schema("application/json")
	if err != nil || !json.Valid(schema) || !strings.Contains(string(schema), "Runs now and then.") {
		t.Errorf("%.300s %v", schema, err)
	}
}
