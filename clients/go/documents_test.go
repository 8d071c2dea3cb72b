package crdeval_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	crdeval "github.com/crdeval/crdeval/clients/go"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// TestDocuments checks each document of a catalog, its etag, and that it changes with the CRD.
func TestDocuments(t *testing.T) {
	c, _ := dial(t, serve(t))
	ctx := t.Context()
	if _, err := c.RegisterCRD(ctx, []byte(buoys)); err != nil {
		t.Fatal(err)
	}
	const name = "buoys.sea.example.com"
	openAPI := func(o crdeval.OpenAPIOptions) func(string) (crdeval.Fetched, error) {
		return func(etag string) (crdeval.Fetched, error) {
			o.IfNoneMatch = etag
			return c.GetOpenAPI(ctx, o)
		}
	}
	discovery := func(o crdeval.DiscoveryOptions) func(string) (crdeval.Fetched, error) {
		return func(etag string) (crdeval.Fetched, error) {
			o.IfNoneMatch = etag
			return c.GetDiscovery(ctx, o)
		}
	}
	gets := map[string]func(etag string) (crdeval.Fetched, error){
		`"swagger":"2.0"`:           openAPI(crdeval.OpenAPIOptions{V2: true}),
		`"apis/sea.example.com/v1"`: openAPI(crdeval.OpenAPIOptions{}),
		`"Floats."`:                 openAPI(crdeval.OpenAPIOptions{Group: "sea.example.com", Version: "v1"}),
		`"kind":"APIGroupList"`:     discovery(crdeval.DiscoveryOptions{}),
		`"kind":"APIGroup"`:         discovery(crdeval.DiscoveryOptions{Group: "sea.example.com"}),
		`"kind":"APIResourceList"`:  discovery(crdeval.DiscoveryOptions{Group: "sea.example.com", Version: "v1", CRD: name}),
		`"APIGroupDiscoveryList"`:   discovery(crdeval.DiscoveryOptions{Aggregated: true}),
		`"storedVersions":["v1"]`:   func(etag string) (crdeval.Fetched, error) { return c.GetCRDObject(ctx, name, etag) },
	}
	if text, err := c.OpenAPIModels(ctx, name); err != nil || !strings.Contains(string(text), `"com.example.sea.v1beta1.Buoy`) {
		t.Errorf("models: %.300s, %v", text, err)
	}
	etags := map[string]string{}
	for part, get := range gets {
		got, err := get("")
		if err != nil || !strings.Contains(string(got.JSON), part) || got.ETag == "" || got.NotModified() {
			t.Errorf("%s: %.300s, %q, %v", part, got.JSON, got.ETag, err)
		}
		again, err := get(got.ETag)
		if err != nil || !again.NotModified() || again.ETag != got.ETag {
			t.Errorf("%s with its etag: %.300s, %q, %v", part, again.JSON, again.ETag, err)
		}
		etags[part] = got.ETag
	}
	other := strings.NewReplacer("buoys", "ships", "buoy", "ship", "Buoy", "Ship", "Floats", "Sails").Replace(buoys)
	if _, err := c.RegisterCRD(ctx, []byte(other)); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"swagger":"2.0"`, `"Floats."`, `"APIGroupDiscoveryList"`} {
		if got, err := gets[part](etags[part]); err != nil || got.NotModified() || got.ETag == etags[part] {
			t.Errorf("%s of another CRD: %q, %v", part, got.ETag, err)
		}
	}
	groups, err := c.DiscoverGroups(ctx)
	if err != nil || !strings.Contains(string(groups), `"sea.example.com"`) {
		t.Errorf("%s, %v", groups, err)
	}
	resources, err := c.DiscoverResources(ctx, "sea.example.com", "v1")
	if err != nil || !strings.Contains(string(resources), `"ships"`) {
		t.Errorf("%s, %v", resources, err)
	}
	if reason, md := crdeval.ReasonOf(second(c.GetCRDObject(ctx, "a.b", ""))); reason != crdevalv1.ErrorReason_ERROR_REASON_CRD_NOT_FOUND || md["crd"] != "a.b" {
		t.Errorf("%v, %v", reason, md)
	}
}

func second[A any](_ A, err error) error { return err }

// TestReasons checks the reasons of calls, of items, and of errors that have none.
func TestReasons(t *testing.T) {
	c, _ := dial(t, serve(t))
	results, err := c.Validate(t.Context(), object(1))
	if err != nil {
		t.Fatal(err)
	}
	if reason, _ := crdeval.ReasonOf(results[0].Err); reason != crdevalv1.ErrorReason_ERROR_REASON_CRD_NOT_FOUND {
		t.Errorf("of an item: %v", reason)
	}
	missing, _ := dial(t, serve(t), crdeval.WithCatalog("none"))
	_, err = missing.RegisterCRD(t.Context(), manifest(1))
	if reason, md := crdeval.ReasonOf(fmt.Errorf("wrapped: %w", err)); reason != crdevalv1.ErrorReason_ERROR_REASON_CATALOG_NOT_FOUND || md["catalog"] != "none" {
		t.Errorf("of a call: %v, %v", reason, md)
	}
	for _, err := range []error{nil, errors.New("x"), &crdeval.Rejected{}} {
		if reason, md := crdeval.ReasonOf(err); reason != crdevalv1.ErrorReason_ERROR_REASON_UNSPECIFIED || md != nil {
			t.Errorf("%v: %v, %v", err, reason, md)
		}
	}
}

// TestAccessors checks the catalog and the token of a client.
func TestAccessors(t *testing.T) {
	c, _ := dial(t, serve(t))
	if c.Catalog() != "default" || c.Token() != "" {
		t.Errorf("%q, %q", c.Catalog(), c.Token())
	}
	r, err := c.RegisterCRD(t.Context(), manifest(1))
	if err != nil || c.Token() != r.GetToken() || c.With([]byte(buoys)).Token() != r.GetToken() {
		t.Errorf("%q, not %q (%v)", c.Token(), r.GetToken(), err)
	}
	if c.AtLeast("x"); c.Token() != "x" {
		t.Errorf("%q", c.Token())
	}
}

// TestTableOptions checks each option of a table, and a revision that is not current.
func TestTableOptions(t *testing.T) {
	c, _ := dial(t, serve(t))
	ctx := t.Context()
	first, err := c.RegisterCRD(ctx, []byte(buoys))
	if err != nil {
		t.Fatal(err)
	}
	later := strings.Replace(buoys, "{name: Color, type: string, jsonPath: .spec.color}",
		"{name: Lamps, type: integer, jsonPath: .spec.lamps}, {name: Made, type: date, jsonPath: .metadata.creationTimestamp}", 1)
	if _, err := c.RegisterCRD(ctx, []byte(later)); err != nil {
		t.Fatal(err)
	}
	red := []byte(strings.Replace(string(buoy("v1", `{"color":"red","lamps":1}`)), `"generation":1`, `"creationTimestamp":"2026-01-01T00:00:00Z"`, 1))
	for _, test := range []struct {
		subject crdeval.Subject
		options crdeval.TableOptions
		want    string
	}{
		{options: crdeval.TableOptions{Now: time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC)}, want: `"cells":["b",1,"2d"]`},
		{subject: crdeval.Subject{Revision: first.GetCrd().GetRevision()}, want: `"cells":["b","red"]`},
		{want: `"kind":"PartialObjectMetadata"`},
		{options: crdeval.TableOptions{RowObject: crdevalv1.RowObject_ROW_OBJECT_NONE}, want: `"object":null`},
		{options: crdeval.TableOptions{RowObject: crdevalv1.RowObject_ROW_OBJECT_OBJECT}, want: `"lamps":1`},
		{options: crdeval.TableOptions{WithoutColumns: true}, want: `"columnDefinitions":null`},
		{options: crdeval.TableOptions{Decoded: true}, want: `"cells":["b",1,`},
		{options: crdeval.TableOptions{ResourceVersion: "9", ContinueToken: "more", RemainingItemCount: 3},
			want: `"metadata":{"resourceVersion":"9","continue":"more","remainingItemCount":3}`},
		{options: crdeval.TableOptions{Subresource: "scale", WithoutColumns: true, Now: time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC)},
			want: `"metadata":{"resourceVersion":"1"},"columnDefinitions":null,"rows":[{"cells":["b",1,0,"2d"]`},
	} {
		got, err := c.TableWithOptions(ctx, test.subject, test.options, red)
		if err != nil || !strings.Contains(string(got), test.want) {
			t.Errorf("%+v: %s, %v", test.options, got, err)
		}
	}
	for _, objects := range [][][]byte{nil, {red, red}} {
		_, err := c.TableWithOptions(ctx, crdeval.Subject{CRD: "buoys.sea.example.com"}, crdeval.TableOptions{Subresource: "scale"}, objects...)
		if reason, _ := crdeval.ReasonOf(err); reason != crdevalv1.ErrorReason_ERROR_REASON_INVALID_ARGUMENT {
			t.Errorf("a scale of %d objects: %v", len(objects), err)
		}
	}
	_, err = c.TableWithOptions(ctx, crdeval.Subject{}, crdeval.TableOptions{Subresource: "status"}, red)
	if reason, _ := crdeval.ReasonOf(err); reason != crdevalv1.ErrorReason_ERROR_REASON_INVALID_ARGUMENT {
		t.Errorf("a table of the status: %v", err)
	}
	var rejected *crdeval.Rejected
	_, err = c.TableWithOptions(ctx, crdeval.Subject{}, crdeval.TableOptions{Subresource: "scale"}, buoy("v1beta1", `{}`))
	if !errors.As(err, &rejected) || rejected.GetCode() != 404 {
		t.Errorf("a version without a scale: %v", err)
	}
}
