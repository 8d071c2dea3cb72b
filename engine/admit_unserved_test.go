package engine

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// unservedCRD is a CRD without subresources; it needs a schema and the rest of its spec.
const unservedCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: SCHEMA}}
  - {name: v1beta1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
`

// unservedCRDs are accepted by an API server, which then cannot prepare to serve their objects.
var unservedCRDs = map[string]string{
	"default below the items of the root": strings.Replace(unservedCRD, "SCHEMA",
		"{type: object, items: {type: object, properties: {a: {type: string, default: b}}}}", 1),
	"CA bundle without a certificate": withWebhook(`{url: "https://a.example/", caBundle: Y2E=}`),
	"host that does not parse again":  withWebhook(`{url: "https://[fe80::1%25en0]/"}`),
	"service that is no host":         withWebhook(`{service: {namespace: ns, name: "a b"}}`),
}

func withWebhook(clientConfig string) string {
	return strings.Replace(unservedCRD, "SCHEMA", "{type: object}", 1) +
		"  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: " + clientConfig + "}}\n"
}

// TestUnserved checks that every request for objects of a CRD that cannot be served is answered with upstream's error.
func TestUnserved(t *testing.T) {
	const read = `"name":"w","namespace":"n","uid":"u","generation":2,"resourceVersion":"7"`
	const status = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Internal error occurred: error resolving resource",` +
		`"reason":"InternalError","details":{"causes":[{"message":"error resolving resource"}]},"code":500}`
	stored := widget("v1", read, ``)
	items := map[string]Write{
		"create":                       Create{Object: widget("v1", `"name":"w","namespace":"n"`, ``)},
		"create at the other version":  Create{Object: widget("v1beta1", `"name":"w","namespace":"n"`, ``)},
		"body that cannot be read":     Create{Object: JSON([]byte(`{`))},
		"update":                       Update{Object: stored, Old: stored},
		"status":                       Update{Object: stored, Old: stored, Subresource: "status"},
		"scale":                        Update{Object: JSON([]byte(`{}`)), Old: stored, Subresource: "scale"},
		"patch":                        Patch{Type: MergePatch, Body: JSON([]byte(`{}`)), Old: stored},
		"patch of a body not readable": Patch{Type: MergePatch, Body: JSON([]byte(`{`)), Old: stored},
	}
	ctx := context.Background()
	for name, manifest := range unservedCRDs {
		d, report, err := Compile(ctx, YAML([]byte(manifest)), Options{})
		if err != nil || !report.Accepted {
			t.Errorf("%s: %v %+v", name, err, report)
			continue
		}
		for call, item := range items {
			for _, do := range []func() (*Verdict, error){
				func() (*Verdict, error) { return d.Admit(ctx, item, AdmitOptions{WithStatus: true}) },
				func() (*Verdict, error) { return d.Validate(ctx, item, ValidateOptions{WithStatus: true}) },
			} {
				v, err := do()
				if err != nil || v.Allowed || string(v.Status) != status || len(v.Warnings) != 1 {
					t.Errorf("%s: %s: %v %+v", name, call, err, v)
				}
			}
		}
		_, read := d.Read(ctx, stored, ReadOptions{})
		if e := (*Error)(nil); !errors.As(read, &e) || e.Reason != ReasonObjectRejected || e.Rejection == nil || e.Rejection.Code != 500 {
			t.Errorf("%s: read: %v", name, read)
		}
		if _, err := d.Admit(ctx, Create{Version: "v2", Object: stored}, AdmitOptions{}); ReasonOf(err) != ReasonVersionNotFound {
			t.Errorf("%s: another version: %v", name, err)
		}
	}
}
