package engine

import (
	"context"
	"strings"
	"testing"
)

// An object of an older schema is compared with itself by ==. Upstream reports that a member does not have any of its
// type, whichever its map begins with; here it is the first of the document, each time.
func TestComparedMembersAreInOrder(t *testing.T) {
	d := mustCompile(t, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"frozen.order.example.com"},
		"spec":{"group":"order.example.com","scope":"Cluster","names":{"plural":"frozen","kind":"Frozen"},"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},
		"schema":{"openAPIV3Schema":{"type":"object","properties":{"status":{"type":"object"},"spec":{"type":"object","x-kubernetes-validations":[{"rule":"self == oldSelf","message":"frozen"}],
			"properties":{"text":{"type":"string"},"list":{"type":"array","items":{"type":"object","properties":{"n":{"type":"integer"},"b":{"type":"boolean"}}}}}}}}}}]}}`)
	for _, c := range []struct{ name, spec, want string }{
		{"the text first", `{"text":false,"list":[{"n":"x","b":1}]}`, "expected string, got bool"},
		{"the list first, and in it the number", `{"list":[{"n":"x","b":1}],"text":false}`, "expected int, got string"},
		{"the list first, and in it the boolean", `{"list":[{"b":"x","n":true}],"text":false}`, "expected bool, got string"},
	} {
		t.Run(c.name, func(t *testing.T) {
			old := `{"apiVersion":"order.example.com/v1","kind":"Frozen","metadata":{"name":"x","uid":"u","resourceVersion":"1","generation":1,"creationTimestamp":"2024-01-01T00:00:00Z"},"spec":` + c.spec + `}`
			for range 60 {
				v, err := d.Admit(context.Background(), Update{Subresource: "status", Object: JSON([]byte(old)), Old: JSON([]byte(old))}, AdmitOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if v.Allowed || !strings.Contains(v.Rejection.Message, c.want) {
					t.Fatalf("%+v, want %s", v.Rejection, c.want)
				}
			}
		})
	}
}
