package publish_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/publish"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/testenv"
)

func TestExplain(t *testing.T) {
	crds := published(boats(t, "Boat"), boats(t, "Buoy"))
	for _, request := range []string{"boats", "boat", "BOAT", "bt", "boats.", "boats.sea.example.com", "boats.sea.example.com."} {
		text, err := publish.Explain(t.Context(), request, publish.ExplainOptions{}, crds...)
		if err != nil || !strings.HasPrefix(text, "GROUP:      sea.example.com\nKIND:       Boat\nVERSION:    v1\n\nDESCRIPTION:\n    A boat.\n") {
			t.Errorf("%s: %v\n%s", request, err, text)
		}
	}
	for _, request := range []string{"boats.spec.length", "boats.sea.example.com.spec.length", "bt.spec['length']"} {
		text, err := publish.Explain(t.Context(), request, publish.ExplainOptions{}, crds...)
		if err != nil || !strings.Contains(text, "\nFIELD: length <integer>\n") {
			t.Errorf("%s: %v\n%s", request, err, text)
		}
	}
	if text, err := publish.Explain(t.Context(), `boats.spec.a\.b`, publish.ExplainOptions{}, crds...); err != nil || !strings.Contains(text, "\nFIELD: a.b <string>\n") {
		t.Errorf("a name with a dot: %v\n%s", err, text)
	}
	if text, err := publish.Explain(t.Context(), "boats", publish.ExplainOptions{APIVersion: "sea.example.com/v1beta1", Levels: 1}, crds...); err != nil ||
		!strings.Contains(text, "VERSION:    v1beta1") || strings.Contains(text, "spec") {
		t.Errorf("another version: %v\n%s", err, text)
	}
	for _, tc := range []struct {
		request string
		o       publish.ExplainOptions
		reason  engine.Reason
		text    string
	}{
		{"ships", publish.ExplainOptions{}, engine.ReasonInvalidArgument, `no CRD has a resource type "ships"`},
		{"boats.spec.width", publish.ExplainOptions{}, engine.ReasonInvalidArgument, `field "width" does not exist`},
		{"boats[0]", publish.ExplainOptions{}, engine.ReasonInvalidArgument, "names of fields"},
		{"boats}{.x", publish.ExplainOptions{}, engine.ReasonInvalidArgument, "more than one path"},
		{"", publish.ExplainOptions{}, engine.ReasonInvalidArgument, "resource"},
		{"boats.[", publish.ExplainOptions{}, engine.ReasonInvalidArgument, "TYPE.FIELDNAME"},
		{strings.Repeat("a", 1<<17), publish.ExplainOptions{}, engine.ReasonLimitExceeded, "limit of 65536"},
		{"boats", publish.ExplainOptions{APIVersion: "sea.example.com/v9"}, engine.ReasonVersionNotFound, `couldn't find resource for "sea.example.com/v9, Resource=boats"`},
		{"boats", publish.ExplainOptions{APIVersion: "v1"}, engine.ReasonVersionNotFound, "couldn't find"},
		{"boats", publish.ExplainOptions{APIVersion: "sea.example.com/v1alpha1"}, engine.ReasonVersionNotServed, "does not serve"},
	} {
		text, err := publish.Explain(t.Context(), tc.request, tc.o, crds...)
		if text != "" || err == nil || engine.ReasonOf(err) != tc.reason || !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%.40s: %v %.80s", tc.request, err, text)
		}
	}
}

// TestExplainHostile explains schemas that are as deep and as wide as a CRD can have them: in bounded time, and never
// more than 64 MiB.
func TestExplainHostile(t *testing.T) {
	testenv.SingleGoroutine(t)
	const before = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"boats.sea.example.com"},"spec":{"group":"sea.example.com","scope":"Cluster",
		"names":{"plural":"boats","singular":"boat","kind":"Boat","listKind":"BoatList"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":`
	deep := func(n int, open, close string) string {
		return `{"type":"object","properties":{"a":` + strings.Repeat(open, n) + `{"type":"string"}` + strings.Repeat(close, n) + `}}`
	}
	for _, tc := range []struct{ name, schema string }{
		{"properties", deep(1500, `{"type":"object","properties":{"a":`, `}}`)},
		{"items", deep(3000, `{"type":"array","items":`, `}`)},
		{"clauses", deep(1500, `{"type":"string","allOf":[`, `]}`)},
		{"words", `{"type":"object","description":"` + strings.Repeat("word ", 200_000) + `"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			crd := publish.CRD{
				Name: "boats.sea.example.com", Revision: t.Name(), Versions: []engine.VersionInfo{{Name: "v1", Served: true}},
				Group: "sea.example.com", Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "boats", Kind: "Boat"},
				Manifest: func(context.Context) ([]byte, error) { return []byte(before + tc.schema + `}}]}}`), nil },
			}
			start := testenv.CPUTime()
			text, err := publish.Explain(t.Context(), "boats", publish.ExplainOptions{Levels: publish.AllLevels}, crd)
			if took := testenv.CPUTime() - start; took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
			if err != nil && engine.ReasonOf(err) != engine.ReasonLimitExceeded && engine.ReasonOf(err) != engine.ReasonInternal || len(text) > 64<<20 {
				t.Errorf("%d bytes, %v", len(text), err)
			}
			t.Logf("%d bytes, %v", len(text), err)
		})
	}
}

// FuzzExplain: whatever is asked for, it is answered or rejected, and never with a panic.
func FuzzExplain(f *testing.F) {
	crds := published(boats(f, "Boat"))
	for _, request := range []string{"boats", "boats.spec.length", `boats.spec.a\.b`, "boats['spec'].length", "bt..x", "boats[?(@.a)]", "{", "boats.sea.example.com.spec", "", ".", `\`} {
		f.Add(request, "sea.example.com/v1", uint(2))
	}
	reasons := []engine.Reason{engine.ReasonInvalidArgument, engine.ReasonVersionNotFound, engine.ReasonVersionNotServed, engine.ReasonLimitExceeded}
	f.Fuzz(func(t *testing.T, request, apiVersion string, levels uint) {
		text, err := publish.Explain(t.Context(), request, publish.ExplainOptions{APIVersion: apiVersion, Levels: levels}, crds...)
		switch {
		case err == nil && !strings.HasPrefix(text, "GROUP:      sea.example.com\nKIND:       Boat\n"):
			t.Errorf("%q: %s", request, text)
		case err != nil && (text != "" || !slices.Contains(reasons, engine.ReasonOf(err))):
			t.Errorf("%q: %v", request, err)
		}
	})
}
