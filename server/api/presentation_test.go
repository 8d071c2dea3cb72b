package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/flow"
)

const (
	lamps    = "lamps.example.com"
	toLamps  = "/v1/catalogs/default/crds/lamps.example.com"
	toShow   = "/v1/catalogs/default"
	aLamp    = `{"apiVersion":"example.com/v1","kind":"Lamp","metadata":{"name":"x","namespace":"default","labels":{"room":"hall"}},"spec":{"color":"red","count":2}}`
	aScale   = `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"x","namespace":"default"},"spec":{"replicas":5}}`
	noCounts = `{"apiVersion":"example.com/v1","kind":"Lamp","metadata":{"name":"x","namespace":"default"},"spec":{}}`
)

// TestTable checks a Table as JSON and as text, over gRPC and REST.
func TestTable(t *testing.T) {
	w := start(t, nil).withLamp()
	ctx := context.Background()
	got, err := w.shows.Table(ctx, &crdevalv1.TableRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Objects: []*crdevalv1.Document{jsonDocument(aLamp)}, ResourceVersion: "9", ContinueToken: "more", RemainingItemCount: 3})
	if err != nil {
		t.Fatal(err)
	}
	var table struct {
		Kind              string
		Metadata          map[string]any
		ColumnDefinitions []struct{ Name string }
		Rows              []struct {
			Cells  []any
			Object struct{ Kind string }
		}
	}
	if err := json.Unmarshal(got.GetTable().GetJson(), &table); err != nil {
		t.Fatal(err)
	}
	if table.Kind != "Table" || len(table.ColumnDefinitions) != 3 || len(table.Rows) != 1 || len(table.Rows[0].Cells) != 3 || table.Rows[0].Object.Kind != "PartialObjectMetadata" ||
		table.Metadata["resourceVersion"] != "9" || table.Metadata["continue"] != "more" || table.Metadata["remainingItemCount"] != 3.0 || got.GetText() != "" || got.GetRevision() == "" {
		t.Errorf("%+v of %v", table, got)
	}
	var rest crdevalv1.TableResponse
	w.do("POST", toShow+":table", `{"objects":[`+aLamp+`],"resourceVersion":"9","continueToken":"more","remainingItemCount":3}`, "Accept", "text/plain").into(t, &rest)
	if !proto.Equal(&rest, got) {
		t.Errorf("REST: %v\ngRPC: %v", &rest, got)
	}

	for body, want := range map[string]string{
		`{"objects":[` + aLamp + `],"text":{}}`:            "NAME   COLOR\nx      red\n",
		`{"objects":[` + aLamp + `],"text":{"wide":true}}`: "NAME   COLOR   COUNT\nx      red     2\n",
		`{"objects":[` + aLamp + `],"text":{"noHeaders":true,"namespaces":true,"labelColumns":"room","showKind":true}}`: "default   lamp.example.com/x   red   hall\n",
		`{"objects":[` + aLamp + `],"text":{"labels":true}}`:                                                            "NAME   COLOR   LABELS\nx      red     room=hall\n",
		`{"crd":"lamps.example.com","text":{}}`:                                                                         "",
	} {
		var text crdevalv1.TableResponse
		w.do("POST", toShow+":table", body).into(t, &text)
		if text.GetText() != want || text.GetTable() != nil {
			t.Errorf("%s: %v, want %s", body, &text, want)
		}
	}
	overlaid, err := w.shows.Table(ctx, &crdevalv1.TableRequest{
		Context: &crdevalv1.EvaluationContext{Catalog: "default", Crds: []*crdevalv1.Document{yamlDocument(gadgetManifest)}}, Objects: []*crdevalv1.Document{jsonDocument(gadget(``))}, RowObject: crdevalv1.RowObject_ROW_OBJECT_NONE, WithoutColumns: true,
	})
	if err != nil || !strings.Contains(string(overlaid.GetTable().GetJson()), `"object":null`) || strings.Contains(string(overlaid.GetTable().GetJson()), "Name must be") {
		t.Errorf("a CRD that comes along: %v %v", overlaid, err)
	}
}

// TestItemTimeOfPresentation: the maximum CPU time of an item bounds tables.
func TestItemTimeOfPresentation(t *testing.T) {
	w := startWith(t, nil, func(o *api.Options) { o.Scheduler = flow.New(flow.Options{MaxItemTime: time.Millisecond}) }).withLamp()
	large := strings.Replace(aLamp, `"count":2`, `"list":[`+strings.Repeat("{},", 900_000)+`{}]`, 1) // takes some hundred milliseconds
	objects := slices.Repeat([]*crdevalv1.Document{jsonDocument(large)}, 2)
	_, err := w.shows.Table(t.Context(), &crdevalv1.TableRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Objects: objects})
	st := status.Convert(err)
	info := api.ErrorInfoOf(st.Proto())
	if st.Code() != codes.DeadlineExceeded || info.GetReason() != "ITEM_DEADLINE" || info.GetMetadata()["limit"] != "max_item_time" || info.GetMetadata()["maximum"] != "1ms" ||
		!strings.Contains(st.Message(), "--max-item-time") {
		t.Errorf("%v, %v", err, info)
	}
}

// TestSelectFields: fields and matches, a rejected selector, an object that cannot be looked at.
func TestSelectFields(t *testing.T) {
	w := start(t, nil).withLamp()
	request := &crdevalv1.SelectFieldsRequest{
		Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Crd: lamps, Version: "v1", Selector: "spec.color=red,metadata.name!=y",
		Objects: []*crdevalv1.Document{jsonDocument(aLamp), jsonDocument(noCounts), jsonDocument(`{"apiVersion":`), jsonDocument(gadget(``)), jsonDocument(`[]`)},
	}
	got, err := w.shows.SelectFields(context.Background(), request)
	if err != nil {
		t.Fatal(err)
	}
	if s := strings.Join(got.GetSelectable(), " "); s != "metadata.name metadata.namespace spec.color" || len(got.GetResults()) != 5 {
		t.Errorf("%v", got)
	}
	for i, matches := range []bool{true, false} {
		if s := got.GetResults()[i].GetSelected(); s.GetMatches() != matches || len(s.GetFields()) != 3 || s.GetFields()[0].GetValue() != "x" {
			t.Errorf("%d: %v", i, got.GetResults()[i])
		}
	}
	for i, want := range map[int]codes.Code{2: codes.InvalidArgument, 3: codes.InvalidArgument, 4: codes.InvalidArgument} {
		if st := got.GetResults()[i].GetError(); codes.Code(st.GetCode()) != want || st.GetMessage() == "" {
			t.Errorf("%d: %v", i, got.GetResults()[i])
		}
	}
	none, err := w.shows.SelectFields(context.Background(), &crdevalv1.SelectFieldsRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Crd: lamps})
	if err != nil || len(none.GetSelectable()) != 3 || len(none.GetResults()) != 0 {
		t.Errorf("without objects: %v %v", none, err)
	}
	for selector, message := range map[string]string{"spec.count=1": "field label not supported: spec.count", "spec.color": "invalid selector: 'spec.color'; can't understand 'spec.color'"} {
		rejected, err := w.shows.SelectFields(context.Background(), &crdevalv1.SelectFieldsRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Crd: lamps, Selector: selector})
		if err != nil || rejected.GetRejection().GetCode() != http.StatusBadRequest || !strings.Contains(rejected.GetRejection().GetMessage(), message) {
			t.Errorf("%s: %v %v", selector, rejected, err)
		}
		body, _ := json.Marshal(map[string]string{"crd": lamps, "selector": selector})
		w.do("POST", toShow+":selectFields", string(body)).isStatus(t, http.StatusBadRequest, "BadRequest", rejected.GetRejection().GetMessage())
	}
}

// isStatus holds an answer over REST against the metav1.Status of a rejection.
func (a answer) isStatus(t *testing.T, code int, reason, message string) {
	t.Helper()
	var st struct {
		Kind, APIVersion, Status, Reason, Message string
		Code                                      int
	}
	if err := json.Unmarshal([]byte(a.text), &st); err != nil || a.code != code || st.Code != code || st.Kind != "Status" || st.APIVersion != "v1" || st.Status != "Failure" ||
		st.Reason != reason || st.Message != message || a.header.Get("Content-Type") != asJSON {
		t.Errorf("HTTP %d %s, want %d %s %q", a.code, a.text, code, reason, message)
	}
}

// TestScale: the scale of an object, an object with another scale, and what an API server answers without a scale.
func TestScale(t *testing.T) {
	w := start(t, nil).withLamp()
	ctx := context.Background()
	got, err := w.shows.GetScale(ctx, &crdevalv1.GetScaleRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Object: jsonDocument(aLamp)})
	if err != nil || !strings.Contains(string(got.GetScale().GetJson()), `"spec":{"replicas":2}`) || got.GetRejection() != nil {
		t.Fatalf("%v %v", got, err)
	}
	if rest := w.do("POST", toShow+":getScale", `{"object":`+aLamp+`}`); rest.code != http.StatusOK || rest.text != string(got.GetScale().GetJson())+"\n" {
		t.Errorf("REST: %v", rest)
	}
	set, err := w.shows.SetScale(ctx, &crdevalv1.SetScaleRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Object: jsonDocument(noCounts), Scale: jsonDocument(aScale)})
	if err != nil || !strings.HasSuffix(string(set.GetObject().GetJson()), `"spec":{"count":5}}`) {
		t.Fatalf("%v %v", set, err)
	}
	if rest := w.do("POST", toShow+":setScale", `{"object":`+noCounts+`,"scale":`+aScale+`}`); rest.code != http.StatusOK || rest.text != string(set.GetObject().GetJson())+"\n" {
		t.Errorf("REST: %v", rest)
	}
	for name, r := range map[string]*crdevalv1.GetScaleRequest{
		"no replicas": {Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Object: jsonDocument(noCounts)},
		"no scale":    {Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Object: jsonDocument(strings.Replace(aLamp, "com/v1", "com/v1beta1", 1))},
	} {
		rejected, err := w.shows.GetScale(ctx, r)
		if err != nil || rejected.GetRejection().GetCode() < 400 || rejected.GetScale() != nil {
			t.Errorf("%s: %v %v", name, rejected, err)
			continue
		}
		rest := w.do("POST", toShow+":getScale", `{"object":`+string(r.GetObject().GetJson())+`}`)
		rest.isStatus(t, int(rejected.GetRejection().GetCode()), rejected.GetRejection().GetReason(), rejected.GetRejection().GetMessage())
	}
	rejected, err := w.shows.SetScale(ctx, &crdevalv1.SetScaleRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Object: jsonDocument(aLamp), Scale: jsonDocument(`{"kind":7}`)})
	if err != nil || rejected.GetRejection().GetCode() != http.StatusBadRequest {
		t.Errorf("what is no Scale: %v %v", rejected, err)
	}
	// The reason why a Scale cannot be decoded, which is not in the API server's answer, is a warning, as for Admit.
	const textual = `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"x"},"spec":{"replicas":"9"}}`
	const why = `crdeval: the Scale cannot be decoded: json: cannot unmarshal string into Go struct field ScaleSpec.spec.replicas of type int32`
	rejected, err = w.shows.SetScale(ctx, &crdevalv1.SetScaleRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Object: jsonDocument(aLamp), Scale: jsonDocument(textual)})
	if err != nil || strings.Contains(rejected.GetRejection().GetMessage(), "unmarshal") || len(rejected.GetWarnings()) != 1 || rejected.GetWarnings()[0].GetText() != why {
		t.Errorf("a Scale with a text: %v %v", rejected, err)
	}
	rest := w.do("POST", toShow+":setScale", `{"object":`+aLamp+`,"scale":`+textual+`}`)
	rest.isStatus(t, http.StatusBadRequest, "BadRequest", rejected.GetRejection().GetMessage())
	if got := rest.header.Get("Warning"); got != `299 - "`+why+`"` {
		t.Errorf("header Warning: %q", got)
	}
}

// TestPublished: discovery and OpenAPI of a catalog, with their etags.
func TestPublished(t *testing.T) {
	w := start(t, nil).withLamp()
	ctx := context.Background()
	const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	for path, c := range map[string]struct{ accept, kind, media string }{
		"/apis":                                    {"", `{"kind":"APIGroupList"`, asJSON},
		"/apis?timeout=32s":                        {aggregated + ",application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json", `{"kind":"APIGroupDiscoveryList"`, aggregated},
		"/apis?aggregated=true":                    {"", `{"kind":"APIGroupDiscoveryList"`, asJSON},
		"/apis/example.com":                        {"", `{"kind":"APIGroup"`, asJSON},
		"/apis/example.com/v1":                     {"", `{"kind":"APIResourceList"`, asJSON},
		"/apis/example.com/v1?timeout=32s":         {aggregated, `{"kind":"APIResourceList"`, asJSON},
		"/openapi/v2":                              {"", `{"swagger":"2.0"`, asJSON},
		"/openapi/v3":                              {"", `{"paths":{"apis/example.com/v1"`, asJSON},
		"/openapi/v3?timeout=32s":                  {"", `{"paths":`, asJSON},
		"/openapi/v3/apis/example.com/v1":          {"", `{"openapi":"3.0.0"`, asJSON},
		"/openapi/v3/apis/example.com/v1?hash=AB0": {"", `{"openapi":"3.0.0"`, asJSON},
	} {
		a := w.do("GET", toShow+path, "", "Accept", c.accept)
		etag := a.header.Get("ETag")
		if a.code != http.StatusOK || !strings.HasPrefix(a.text, c.kind) || a.header.Get("Content-Type") != c.media || !strings.HasPrefix(etag, `"`) {
			t.Errorf("%s: HTTP %d %v %.200s", path, a.code, a.header, a.text)
			continue
		}
		for _, tags := range []string{etag, "W/" + etag, `"other", ` + etag, "*"} {
			if again := w.do("GET", toShow+path, "", "Accept", c.accept, "If-None-Match", tags); again.code != http.StatusNotModified || again.text != "" || again.header.Get("ETag") != etag {
				t.Errorf("%s, which is known by %s: HTTP %d %s", path, tags, again.code, again.text)
			}
		}
		if again := w.do("GET", toShow+path, "", "Accept", c.accept, "If-None-Match", `"other"`); again.text != a.text {
			t.Errorf("%s, which is known by another etag: HTTP %d %.200s", path, again.code, again.text)
		}
	}
	first, err := w.shows.GetOpenApi(ctx, &crdevalv1.GetOpenApiRequest{Catalog: "default", Spec: "v3", Group: "example.com", Version: "v1"})
	if err != nil || first.GetDocument() == nil {
		t.Fatalf("%v %v", first, err)
	}
	known, err := w.shows.GetOpenApi(ctx, &crdevalv1.GetOpenApiRequest{Catalog: "default", Spec: "v3", Group: "example.com", Version: "v1", IfNoneMatch: first.GetEtag()})
	if err != nil || known.GetDocument() != nil || known.GetEtag() != first.GetEtag() {
		t.Errorf("%v %v", known, err)
	}
	changed, err := w.registry.RegisterCrd(ctx, &crdevalv1.RegisterCrdRequest{Catalog: "default", Manifest: yamlDocument(strings.Replace(lampManifest, "A lamp.", "A light.", 1))})
	if err != nil || !changed.GetAccepted() {
		t.Fatal(changed, err)
	}
	fresh, err := w.shows.GetOpenApi(ctx, &crdevalv1.GetOpenApiRequest{
		Catalog: "default", Spec: "v3", Group: "example.com", Version: "v1", IfNoneMatch: first.GetEtag(), AtLeast: changed.GetToken(),
	})
	if err != nil || !strings.Contains(string(fresh.GetDocument().GetJson()), "A light.") || fresh.GetEtag() == first.GetEtag() {
		t.Errorf("after a registration: %v", err)
	}
	empty, err := w.registry.CreateCatalog(ctx, &crdevalv1.CreateCatalogRequest{Catalog: "empty"})
	if err != nil {
		t.Fatal(empty, err)
	}
	for path, want := range map[string]string{"/apis": `"groups":[]`, "/openapi/v3": `{"paths":{}}`, "/openapi/v2": `"swagger":"2.0"`} {
		if a := w.do("GET", "/v1/catalogs/empty"+path, ""); a.code != http.StatusOK || !strings.Contains(a.text, want) {
			t.Errorf("%s of nothing: HTTP %d %.300s", path, a.code, a.text)
		}
	}
}

// TestExplain: the text of kubectl, over both faces.
func TestExplain(t *testing.T) {
	w := start(t, nil).withLamp()
	got, err := w.shows.Explain(context.Background(), &crdevalv1.ExplainRequest{Catalog: "default", Path: "lp.spec.color"})
	if err != nil || !strings.Contains(got.GetText(), "FIELD: color <string>") || !strings.Contains(got.GetText(), "What it shines in.") {
		t.Fatalf("%v %v", got, err)
	}
	var rest crdevalv1.ExplainResponse
	if w.do("GET", toShow+"/explain/lamps.spec.color", "", "Accept", "text/plain").into(t, &rest); rest.GetText() != got.GetText() {
		t.Errorf("REST: %v", &rest)
	}
	w.do("GET", toShow+"/explain/lamps?recursive=true&maxDepth=1&apiVersion=example.com%2Fv1beta1", "").into(t, &rest)
	if !strings.Contains(rest.GetText(), "VERSION:    v1beta1") || strings.Contains(rest.GetText(), "color") {
		t.Errorf("%s", rest.GetText())
	}
}

// showing makes a bad call of a request to PresentationService.
func showing[Q, A any](f func(crdevalv1.PresentationServiceClient, context.Context, Q) (A, error), r Q) func(context.Context, *wire) error {
	return func(ctx context.Context, w *wire) error {
		_, err := f(w.shows, ctx, r)
		return err
	}
}

func table(r *crdevalv1.TableRequest) func(context.Context, *wire) error {
	return showing(func(c crdevalv1.PresentationServiceClient, ctx context.Context, r *crdevalv1.TableRequest) (*crdevalv1.TableResponse, error) {
		return c.Table(ctx, r)
	}, r)
}

func selects(r *crdevalv1.SelectFieldsRequest) func(context.Context, *wire) error {
	return showing(func(c crdevalv1.PresentationServiceClient, ctx context.Context, r *crdevalv1.SelectFieldsRequest) (*crdevalv1.SelectFieldsResponse, error) {
		return c.SelectFields(ctx, r)
	}, r)
}

func getsScale(r *crdevalv1.GetScaleRequest) func(context.Context, *wire) error {
	return showing(func(c crdevalv1.PresentationServiceClient, ctx context.Context, r *crdevalv1.GetScaleRequest) (*crdevalv1.GetScaleResponse, error) {
		return c.GetScale(ctx, r)
	}, r)
}

func setsScale(r *crdevalv1.SetScaleRequest) func(context.Context, *wire) error {
	return showing(func(c crdevalv1.PresentationServiceClient, ctx context.Context, r *crdevalv1.SetScaleRequest) (*crdevalv1.SetScaleResponse, error) {
		return c.SetScale(ctx, r)
	}, r)
}

func openAPI(r *crdevalv1.GetOpenApiRequest) func(context.Context, *wire) error {
	return showing(func(c crdevalv1.PresentationServiceClient, ctx context.Context, r *crdevalv1.GetOpenApiRequest) (*crdevalv1.GetOpenApiResponse, error) {
		return c.GetOpenApi(ctx, r)
	}, r)
}

func discovers(r *crdevalv1.DiscoverRequest) func(context.Context, *wire) error {
	return showing(func(c crdevalv1.PresentationServiceClient, ctx context.Context, r *crdevalv1.DiscoverRequest) (*crdevalv1.DiscoverResponse, error) {
		return c.Discover(ctx, r)
	}, r)
}

func explains(r *crdevalv1.ExplainRequest) func(context.Context, *wire) error {
	return showing(func(c crdevalv1.PresentationServiceClient, ctx context.Context, r *crdevalv1.ExplainRequest) (*crdevalv1.ExplainResponse, error) {
		return c.Explain(ctx, r)
	}, r)
}

func manages(r *crdevalv1.GetFieldManagementRequest) func(context.Context, *wire) error {
	return func(ctx context.Context, w *wire) error {
		_, err := w.apiServers.GetFieldManagement(ctx, r)
		return err
	}
}

func models(r *crdevalv1.GetOpenApiModelsRequest) func(context.Context, *wire) error {
	return func(ctx context.Context, w *wire) error {
		_, err := w.apiServers.GetOpenApiModels(ctx, r)
		return err
	}
}

// TestTableOfKinds: an object of another kind is no row, and named.
func TestTableOfKinds(t *testing.T) {
	w := start(t, nil).withLamp()
	for object, want := range map[string]string{
		`{"apiVersion":"example.com/v1","kind":"X"}`: `objects[1]: its kind is "X", but the kind of lamps.example.com is Lamp`,
		`{"a":1}`:                               `objects[1]: its kind is "", but the kind of lamps.example.com is Lamp`,
		`{"apiVersion":"a.b/v1","kind":"Lamp"}`: `objects[1]: its apiVersion "a.b/v1" is not a version of lamps.example.com`,
	} {
		got, err := w.shows.Table(context.Background(), &crdevalv1.TableRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Objects: []*crdevalv1.Document{jsonDocument(aLamp), jsonDocument(object)}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, not %s", object, got, err, want)
		}
	}
}

// badPresentations are the calls of PresentationService, and gets of ApiServerService, that fail, each over both faces as far as these can say it.
func badPresentations() []badCall {
	const bad, missing, badHTTP, missingHTTP = codes.InvalidArgument, codes.NotFound, http.StatusBadRequest, http.StatusNotFound
	documents := func(texts ...string) (all []*crdevalv1.Document) {
		for _, text := range texts {
			all = append(all, jsonDocument(text))
		}
		return all
	}
	never := &timestamppb.Timestamp{Seconds: 1 << 60}
	beta := strings.Replace(aLamp, "com/v1", "com/v1beta1", 1)
	long := strings.Repeat("x", 1<<20+1)
	return []badCall{
		{"table without a catalog", table(&crdevalv1.TableRequest{}), "", "", "", "", bad, badHTTP, "INVALID_ARGUMENT"},
		{"table of nothing", table(&crdevalv1.TableRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}}), "POST", toShow + ":table", `{}`, asJSON, bad, badHTTP, "INVALID_ARGUMENT"},
		{"table of an unknown catalog", table(&crdevalv1.TableRequest{Context: &crdevalv1.EvaluationContext{Catalog: "x"}, Crd: lamps}), "POST", "/v1/catalogs/x:table", `{"crd":"lamps.example.com"}`, asJSON, missing, missingHTTP, "CATALOG_NOT_FOUND"},
		{"table of an unknown CRD", table(&crdevalv1.TableRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Crd: "a.b"}), "POST", toShow + ":table", `{"crd":"a.b"}`, asJSON, missing, missingHTTP, "CRD_NOT_FOUND"},
		{"table of an unknown kind", table(&crdevalv1.TableRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Objects: documents(`{"apiVersion":"a/v1","kind":"B"}`)}), "POST", toShow + ":table", `{"objects":[{"apiVersion":"a/v1","kind":"B"}]}`, asJSON, missing, missingHTTP, "CRD_NOT_FOUND"},
		{"table with another kind", table(&crdevalv1.TableRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Objects: documents(aLamp, `{"apiVersion":"example.com/v1","kind":"X"}`)}), "POST", toShow + ":table", `{"objects":[` + aLamp + `,{"apiVersion":"example.com/v1","kind":"X"}]}`, asJSON, bad, badHTTP, "INVALID_ARGUMENT"},
		{"table with another group", table(&crdevalv1.TableRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Objects: documents(aLamp, `{"apiVersion":"a.b/v1","kind":"Lamp"}`)}), "POST", toShow + ":table", `{"objects":[` + aLamp + `,{"apiVersion":"a.b/v1","kind":"Lamp"}]}`, asJSON, bad, badHTTP, "INVALID_ARGUMENT"},
		{"table with what has no kind", table(&crdevalv1.TableRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Objects: documents(aLamp, `{"a":1}`)}), "POST", toShow + ":table", `{"objects":[` + aLamp + `,{"a":1}]}`, asJSON, bad, badHTTP, "INVALID_ARGUMENT"},
		{"table of an unknown version", table(&crdevalv1.TableRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Crd: lamps, Version: "v9"}), "POST", toShow + ":table", `{"crd":"lamps.example.com","version":"v9"}`, asJSON, missing, missingHTTP, "VERSION_NOT_FOUND"},
		{"table of a version that is not served", table(&crdevalv1.TableRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Crd: "crontabs.stable.example.com", Version: "v1alpha1"}), "POST", toShow + ":table", `{"crd":"crontabs.stable.example.com","version":"v1alpha1"}`, asJSON, codes.FailedPrecondition, 400, "VERSION_NOT_SERVED"},
		{"table of an unknown revision", table(&crdevalv1.TableRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Crd: lamps, Revision: "sha256:0"}), "POST", toShow + ":table", `{"crd":"lamps.example.com","revision":"sha256:0"}`, asJSON, missing, missingHTTP, "REVISION_NOT_FOUND"},
		{"table of what cannot be read", table(&crdevalv1.TableRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Objects: documents(`{"a":`)}), "", "", "", "", bad, badHTTP, "OBJECT_UNREADABLE"},
		{"table of an empty document", table(&crdevalv1.TableRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Crd: lamps, Objects: []*crdevalv1.Document{{}}}), "", "", "", "", bad, badHTTP, "INVALID_ARGUMENT"},
		{"table of another group", table(&crdevalv1.TableRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Crd: lamps, Objects: documents(`{"apiVersion":"a/v1","kind":"B"}`)}), "POST", toShow + ":table", `{"crd":"lamps.example.com","objects":[{"apiVersion":"a/v1","kind":"B"}]}`, asJSON, bad, badHTTP, "INVALID_ARGUMENT"},
		{"table at no time", table(&crdevalv1.TableRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Crd: lamps, Now: never}), "", "", "", "", bad, badHTTP, "INVALID_ARGUMENT"},
		{"table with odd rows", table(&crdevalv1.TableRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Crd: lamps, RowObject: 9}), "POST", toShow + ":table", `{"crd":"lamps.example.com","rowObject":9}`, asJSON, bad, badHTTP, "INVALID_ARGUMENT"},
		{"table with less than nothing left", table(&crdevalv1.TableRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Crd: lamps, RemainingItemCount: -1}), "POST", toShow + ":table", `{"crd":"lamps.example.com","remainingItemCount":-1}`, asJSON, bad, badHTTP, "INVALID_ARGUMENT"},
		{"table with many labels", table(&crdevalv1.TableRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Crd: lamps, Text: &crdevalv1.TableText{LabelColumns: strings.Repeat("a,", 64) + "a"}}), "POST", toShow + ":table", `{"crd":"lamps.example.com","text":{"labelColumns":"` + strings.Repeat("a,", 64) + `a"}}`, asJSON, bad, badHTTP, "INVALID_ARGUMENT"},
		{"table of many objects", table(&crdevalv1.TableRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Objects: emptyDocuments(1001)}), "POST", toShow + ":table", `{"objects":[{}` + strings.Repeat(",{}", 1000) + `]}`, asJSON, codes.ResourceExhausted, 413, "LIMIT_EXCEEDED"},
		{"table of a huge object", table(&crdevalv1.TableRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Crd: lamps, Version: "v1", Objects: documents(`"` + hugeString + `"`)}), "POST", toShow + ":table", `{"crd":"lamps.example.com","version":"v1","objects":["` + hugeString + `"]}`, asJSON, codes.ResourceExhausted, 413, "LIMIT_EXCEEDED"},
		{"table from elsewhere", table(&crdevalv1.TableRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default", AtLeast: "elsewhere"}, Crd: lamps}), "POST", toShow + ":table", `{"crd":"lamps.example.com","context":{"atLeast":"elsewhere"}}`, asJSON, bad, badHTTP, "TOKEN_INVALID"},
		{"table with an unknown field", nil, "POST", toShow + ":table", `{"crd":"lamps.example.com","wide":true}`, asJSON, bad, badHTTP, "MALFORMED_BODY"},

		{"selection of nothing", selects(&crdevalv1.SelectFieldsRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}}), "POST", toShow + ":selectFields", `{}`, asJSON, bad, badHTTP, "INVALID_ARGUMENT"},
		{"selection of an unknown version", selects(&crdevalv1.SelectFieldsRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Crd: lamps, Version: "v9"}), "POST", toShow + ":selectFields", `{"crd":"lamps.example.com","version":"v9"}`, asJSON, missing, missingHTTP, "VERSION_NOT_FOUND"},
		{"selection by what cannot be read", selects(&crdevalv1.SelectFieldsRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Crd: lamps, Objects: documents(`{"a":`)}), "", "", "", "", bad, badHTTP, "OBJECT_UNREADABLE"},
		{"selection by a long selector", selects(&crdevalv1.SelectFieldsRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Crd: lamps, Selector: long}), "POST", toShow + ":selectFields", `{"crd":"lamps.example.com","selector":"` + long + `"}`, asJSON, codes.ResourceExhausted, 413, "LIMIT_EXCEEDED"},
		{"selection of many objects", selects(&crdevalv1.SelectFieldsRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Objects: emptyDocuments(1001)}), "POST", toShow + ":selectFields", `{"objects":[{}` + strings.Repeat(",{}", 1000) + `]}`, asJSON, codes.ResourceExhausted, 413, "LIMIT_EXCEEDED"},

		{"scale of nothing", getsScale(&crdevalv1.GetScaleRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}}), "POST", toShow + ":getScale", `{}`, asJSON, bad, badHTTP, "INVALID_ARGUMENT"},
		{"scale of another version", getsScale(&crdevalv1.GetScaleRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Version: "v1", Object: jsonDocument(beta)}), "POST", toShow + ":getScale", `{"version":"v1","object":` + beta + `}`, asJSON, bad, badHTTP, "INVALID_ARGUMENT"},
		{"scale of another kind", getsScale(&crdevalv1.GetScaleRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Crd: lamps, Version: "v1", Object: jsonDocument(aScale)}), "POST", toShow + ":getScale", `{"crd":"lamps.example.com","version":"v1","object":` + aScale + `}`, asJSON, bad, badHTTP, "INVALID_ARGUMENT"},
		{"object without a scale", setsScale(&crdevalv1.SetScaleRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Object: jsonDocument(aLamp)}), "POST", toShow + ":setScale", `{"object":` + aLamp + `}`, asJSON, bad, badHTTP, "INVALID_ARGUMENT"},
		{"scale without an object", setsScale(&crdevalv1.SetScaleRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Scale: jsonDocument(aScale)}), "POST", toShow + ":setScale", `{"scale":` + aScale + `}`, asJSON, bad, badHTTP, "INVALID_ARGUMENT"},

		{"OpenAPI without a catalog", openAPI(&crdevalv1.GetOpenApiRequest{Spec: "v3"}), "", "", "", "", bad, badHTTP, "INVALID_ARGUMENT"},
		{"OpenAPI without a spec", openAPI(&crdevalv1.GetOpenApiRequest{Catalog: "default"}), "", "", "", "", bad, badHTTP, "INVALID_ARGUMENT"},
		{"OpenAPI v4", openAPI(&crdevalv1.GetOpenApiRequest{Catalog: "default", Spec: "v4"}), "GET", toShow + "/openapi/v4", "", "", bad, badHTTP, "INVALID_ARGUMENT"},
		{"OpenAPI v2 of a group", openAPI(&crdevalv1.GetOpenApiRequest{Catalog: "default", Spec: "v2", Group: "a.b", Version: "v1"}), "GET", toShow + "/openapi/v2/apis/a.b/v1", "", "", bad, badHTTP, "INVALID_ARGUMENT"},
		{"OpenAPI v3 of a group alone", openAPI(&crdevalv1.GetOpenApiRequest{Catalog: "default", Spec: "v3", Group: "a.b"}), "GET", toShow + "/openapi/v3?group=a.b", "", "", bad, badHTTP, "INVALID_ARGUMENT"},
		{"OpenAPI v3 of an unknown group", openAPI(&crdevalv1.GetOpenApiRequest{Catalog: "default", Spec: "v3", Group: "a.b", Version: "v1"}), "GET", toShow + "/openapi/v3/apis/a.b/v1", "", "", missing, missingHTTP, "GROUP_VERSION_NOT_FOUND"},
		{"OpenAPI of an unknown catalog", openAPI(&crdevalv1.GetOpenApiRequest{Catalog: "x", Spec: "v3"}), "GET", "/v1/catalogs/x/openapi/v3", "", "", missing, missingHTTP, "CATALOG_NOT_FOUND"},
		{"OpenAPI from elsewhere", openAPI(&crdevalv1.GetOpenApiRequest{Catalog: "default", Spec: "v3", AtLeast: "elsewhere"}), "GET", toShow + "/openapi/v3?atLeast=elsewhere", "", "", bad, badHTTP, "TOKEN_INVALID"},
		{"OpenAPI with an odd parameter", nil, "GET", toShow + "/openapi/v3?pretty=1", "", "", bad, badHTTP, "INVALID_ARGUMENT"},
		{"OpenAPI by another method", nil, "POST", toShow + "/openapi/v3", "{}", asJSON, codes.Unimplemented, 405, "METHOD_NOT_ALLOWED"},

		{"discovery without a catalog", discovers(&crdevalv1.DiscoverRequest{}), "", "", "", "", bad, badHTTP, "INVALID_ARGUMENT"},
		{"discovery of an unknown group", discovers(&crdevalv1.DiscoverRequest{Catalog: "default", Group: "a.b"}), "GET", toShow + "/apis/a.b", "", "", missing, missingHTTP, "GROUP_VERSION_NOT_FOUND"},
		{"discovery of an unknown version", discovers(&crdevalv1.DiscoverRequest{Catalog: "default", Group: "example.com", Version: "v9"}), "GET", toShow + "/apis/example.com/v9", "", "", missing, missingHTTP, "GROUP_VERSION_NOT_FOUND"},
		{"discovery of a version alone", discovers(&crdevalv1.DiscoverRequest{Catalog: "default", Version: "v1"}), "GET", toShow + "/apis?version=v1", "", "", bad, badHTTP, "INVALID_ARGUMENT"},
		{"discovery of a group, aggregated", discovers(&crdevalv1.DiscoverRequest{Catalog: "default", Group: "example.com", Aggregated: true}), "GET", toShow + "/apis/example.com?aggregated=true", "", "", bad, badHTTP, "INVALID_ARGUMENT"},
		{"discovery of an unknown catalog", discovers(&crdevalv1.DiscoverRequest{Catalog: "x"}), "GET", "/v1/catalogs/x/apis", "", "", missing, missingHTTP, "CATALOG_NOT_FOUND"},

		{"explanation without a path", explains(&crdevalv1.ExplainRequest{Catalog: "default"}), "", "", "", "", bad, badHTTP, "INVALID_ARGUMENT"},
		{"explanation of an unknown resource", explains(&crdevalv1.ExplainRequest{Catalog: "default", Path: "pods"}), "GET", toShow + "/explain/pods", "", "", bad, badHTTP, "INVALID_ARGUMENT"},
		{"explanation of an unknown field", explains(&crdevalv1.ExplainRequest{Catalog: "default", Path: "lamps.spec.x"}), "GET", toShow + "/explain/lamps.spec.x", "", "", bad, badHTTP, "INVALID_ARGUMENT"},
		{"explanation of an unknown version", explains(&crdevalv1.ExplainRequest{Catalog: "default", Path: "lamps", ApiVersion: "example.com/v9"}), "GET", toShow + "/explain/lamps?apiVersion=example.com/v9", "", "", missing, missingHTTP, "VERSION_NOT_FOUND"},
		{"explanation of negative depth", explains(&crdevalv1.ExplainRequest{Catalog: "default", Path: "lamps", MaxDepth: -1}), "GET", toShow + "/explain/lamps?maxDepth=-1", "", "", bad, badHTTP, "INVALID_ARGUMENT"},
		{"explanation of depth alone", explains(&crdevalv1.ExplainRequest{Catalog: "default", Path: "lamps", MaxDepth: 1}), "GET", toShow + "/explain/lamps?maxDepth=1", "", "", bad, badHTTP, "INVALID_ARGUMENT"},
		{"explanation of a long path", explains(&crdevalv1.ExplainRequest{Catalog: "default", Path: long}), "", "", "", "", codes.ResourceExhausted, 413, "LIMIT_EXCEEDED"},
		{"explanation in an unknown catalog", explains(&crdevalv1.ExplainRequest{Catalog: "x", Path: "lamps"}), "GET", "/v1/catalogs/x/explain/lamps", "", "", missing, missingHTTP, "CATALOG_NOT_FOUND"},

		{"field management without a CRD", manages(&crdevalv1.GetFieldManagementRequest{Catalog: "default"}), "", "", "", "", bad, badHTTP, "INVALID_ARGUMENT"},
		{"field management of an unknown CRD", manages(&crdevalv1.GetFieldManagementRequest{Catalog: "default", Crd: "a.b"}), "GET", toRegister + "/a.b:fieldManagement", "", "", missing, missingHTTP, "CRD_NOT_FOUND"},
		{"field management of an unknown version", manages(&crdevalv1.GetFieldManagementRequest{Catalog: "default", Crd: lamps, Version: "v9"}), "GET", toLamps + ":fieldManagement?version=v9", "", "", missing, missingHTTP, "VERSION_NOT_FOUND"},
		{"field management of an unknown revision", manages(&crdevalv1.GetFieldManagementRequest{Catalog: "default", Crd: lamps, Revision: "x"}), "GET", toLamps + ":fieldManagement?revision=x", "", "", missing, missingHTTP, "REVISION_NOT_FOUND"},

		{"models without a CRD", models(&crdevalv1.GetOpenApiModelsRequest{Catalog: "default"}), "", "", "", "", bad, badHTTP, "INVALID_ARGUMENT"},
		{"models of an unknown CRD", models(&crdevalv1.GetOpenApiModelsRequest{Catalog: "default", Crd: "a.b"}), "GET", toRegister + "/a.b:openapiModels", "", "", missing, missingHTTP, "CRD_NOT_FOUND"},
		{"models of an unknown revision", models(&crdevalv1.GetOpenApiModelsRequest{Catalog: "default", Crd: lamps, Revision: "x"}), "GET", toLamps + ":openapiModels?revision=x", "", "", missing, missingHTTP, "REVISION_NOT_FOUND"},
	}
}

// emptyDocuments are n of them.
func emptyDocuments(n int) []*crdevalv1.Document {
	all := make([]*crdevalv1.Document, n)
	for i := range all {
		all[i] = &crdevalv1.Document{}
	}
	return all
}
