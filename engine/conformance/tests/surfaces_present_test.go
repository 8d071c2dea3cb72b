package tests

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/crdeval/crdeval/engine/internal/casefile"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// now is the time for ages.
var now = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

// send is post that also accepts error responses.
func (s *server) send(t *testing.T, method, path string, body io.Reader, accept string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, s.rest.URL+path, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", accept)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := s.rest.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// shown requests all presentations of an object. gRPC and REST return the same.
func (s *server) shown(t *testing.T, catalog string, c *casefile.Case, object []byte) {
	t.Helper()
	if !json.Valid(object) {
		return // it cannot be written inline
	}
	ctx, path := context.Background(), "/v1/catalogs/"+catalog
	document := &crdevalv1.Document{Content: &crdevalv1.Document_Json{Json: object}}
	compare := func(what string, document *crdevalv1.Document, rejection *crdevalv1.Rejection, err error, body string) {
		t.Helper()
		code, text := s.send(t, http.MethodPost, path+":"+what, strings.NewReader(body), "application/json")
		switch {
		case err != nil && code < 400:
			t.Errorf("%s: gRPC %v\nREST HTTP %d %s", what, err, code, text)
		case rejection != nil:
			var st struct {
				Code            int32
				Reason, Message string
			}
			if jerr := json.Unmarshal([]byte(text), &st); jerr != nil || int(rejection.GetCode()) != code || st.Code != rejection.GetCode() || st.Message != rejection.GetMessage() || st.Reason != rejection.GetReason() {
				t.Errorf("%s: gRPC %v\nREST HTTP %d %s", what, rejection, code, text)
			}
		case err == nil && text != string(document.GetJson())+"\n":
			t.Errorf("%s: gRPC %s\nREST HTTP %d %s", what, document.GetJson(), code, text)
		}
	}
	at, _ := now.MarshalText()
	table, err := s.shows.Table(ctx, &crdevalv1.TableRequest{Context: &crdevalv1.EvaluationContext{Catalog: catalog}, Crd: crd, Version: "v1", Objects: []*crdevalv1.Document{document}, Now: timestamppb.New(now)})
	compare("table", table.GetTable(), table.GetRejection(), err, fmt.Sprintf(`{"crd":%q,"version":"v1","objects":[%s],"now":%q}`, crd, object, at))
	scale, err := s.shows.GetScale(ctx, &crdevalv1.GetScaleRequest{Context: &crdevalv1.EvaluationContext{Catalog: catalog}, Crd: crd, Version: "v1", Object: document})
	compare("getScale", scale.GetScale(), scale.GetRejection(), err, fmt.Sprintf(`{"crd":%q,"version":"v1","object":%s}`, crd, object))
	if scale.GetScale() != nil {
		set, err := s.shows.SetScale(ctx, &crdevalv1.SetScaleRequest{Context: &crdevalv1.EvaluationContext{Catalog: catalog}, Crd: crd, Version: "v1", Object: document, Scale: scale.GetScale()})
		compare("setScale", set.GetObject(), set.GetRejection(), err, fmt.Sprintf(`{"crd":%q,"version":"v1","object":%s,"scale":%s}`, crd, object, scale.GetScale().GetJson()))
	}
	fields, err := s.shows.SelectFields(ctx, &crdevalv1.SelectFieldsRequest{Context: &crdevalv1.EvaluationContext{Catalog: catalog}, Crd: crd, Version: "v1", Objects: []*crdevalv1.Document{document}, Selector: "metadata.name!=y"})
	if err != nil {
		t.Fatal(err)
	}
	same(t, fields, s.post(t, path+":selectFields", []byte(fmt.Sprintf(`{"crd":%q,"version":"v1","objects":[%s],"selector":"metadata.name!=y"}`, crd, object))))
}

// presented compares the presentations of an object with the reference's answer.
func (s *server) presented(t *testing.T, catalog string, c *casefile.Case, object []byte, want *casefile.Answer) {
	t.Helper()
	ctx := context.Background()
	document := &crdevalv1.Document{Content: &crdevalv1.Document_Json{Json: object}}
	switch c.Op {
	case "table":
		if s.changedByReading(t, catalog, document) {
			return // the case calls the converter alone; a server first reads the object from storage
		}
		got, err := s.shows.Table(ctx, &crdevalv1.TableRequest{
			Context: &crdevalv1.EvaluationContext{Catalog: catalog}, Crd: crd, Version: "v1", Objects: []*crdevalv1.Document{document}, RowObject: crdevalv1.RowObject_ROW_OBJECT_NONE, Now: timestamppb.New(now),
		})
		if err != nil {
			t.Fatal(err)
		}
		columns := func(text []byte) string {
			var table struct {
				ColumnDefinitions json.RawMessage
				Rows              []struct{ Cells json.RawMessage }
			}
			if err := json.Unmarshal(text, &table); err != nil {
				t.Fatal(err)
			}
			line := canonical(table.ColumnDefinitions)
			for _, r := range table.Rows {
				line += "\n" + canonical(r.Cells)
			}
			return line
		}
		s.compared["table"]++
		if ours, theirs := columns(got.GetTable().GetJson()), columns(want.Result); ours != theirs {
			t.Errorf("table\n%s\nwant\n%s", ours, theirs)
		}
	case "scale":
		got, err := s.shows.GetScale(ctx, &crdevalv1.GetScaleRequest{Context: &crdevalv1.EvaluationContext{Catalog: catalog}, Crd: crd, Version: "v1", Object: document})
		s.compared["scale"]++
		if err != nil || canonical(got.GetScale().GetJson()) != canonical(want.Result) {
			t.Errorf("%v %v\nwant %s", got, err, want.Result)
		}
	case "fields":
		got, err := s.shows.SelectFields(ctx, &crdevalv1.SelectFieldsRequest{Context: &crdevalv1.EvaluationContext{Catalog: catalog}, Crd: crd, Version: "v1", Objects: []*crdevalv1.Document{document}})
		if err != nil {
			t.Fatal(err)
		}
		s.compared["fields"]++
		all := map[string]string{}
		for _, f := range got.GetResults()[0].GetSelected().GetFields() {
			all[f.GetField()] = f.GetValue()
		}
		if ours, _ := json.Marshal(all); canonical(ours) != canonical(want.Result) {
			t.Errorf("fields %s\nwant   %s", ours, want.Result)
		}
	}
}

// changedByReading reports whether reading an object from storage changes it: the schemas of some cases lack the fields
// of their columns.
func (s *server) changedByReading(t *testing.T, catalog string, object *crdevalv1.Document) bool {
	t.Helper()
	read, err := s.evaluation.Read(context.Background(), &crdevalv1.ReadRequest{Context: &crdevalv1.EvaluationContext{Catalog: catalog}, Items: []*crdevalv1.ObjectItem{{Crd: crd, Object: object}}})
	if err != nil {
		t.Fatal(err)
	}
	return len(read.GetResults()[0].GetTransformed().GetChanges().GetPruned()) > 0 || read.GetResults()[0].GetTransformed().GetRejection() != nil || droppedTime(object)
}

// droppedTime reports whether an object has an invalid creationTimestamp, which a read drops silently.
func droppedTime(object *crdevalv1.Document) bool {
	var o struct {
		Metadata struct{ CreationTimestamp string }
	}
	if json.Unmarshal(object.GetJson(), &o) != nil || o.Metadata.CreationTimestamp == "" {
		return false
	}
	_, err := time.Parse(time.RFC3339, o.Metadata.CreationTimestamp)
	return err != nil
}

// published requests the published documents of a catalog. gRPC and REST return the same.
func (s *server) published(t *testing.T, catalog string) {
	t.Helper()
	ctx, path := context.Background(), "/v1/catalogs/"+catalog
	registered, err := s.registry.GetCrd(ctx, &crdevalv1.GetCrdRequest{Catalog: catalog, Crd: crd})
	if err != nil {
		t.Fatal(err)
	}
	if !registered.GetCrd().GetStatus().GetEstablished() || !slices.ContainsFunc(registered.GetCrd().GetVersions(), func(v *crdevalv1.CrdVersion) bool { return v.GetName() == "v1" && v.GetServed() }) {
		return // nothing is published for the CRDs of some cases
	}
	for where, ask := range map[string]func() (*crdevalv1.Document, error){
		"/apis/stable.example.com/v1": func() (*crdevalv1.Document, error) {
			r, err := s.shows.Discover(ctx, &crdevalv1.DiscoverRequest{Catalog: catalog, Group: "stable.example.com", Version: "v1"})
			return r.GetDocument(), err
		},
		"/apis?aggregated=true": func() (*crdevalv1.Document, error) {
			r, err := s.shows.Discover(ctx, &crdevalv1.DiscoverRequest{Catalog: catalog, Aggregated: true})
			return r.GetDocument(), err
		},
		"/openapi/v2": func() (*crdevalv1.Document, error) {
			r, err := s.shows.GetOpenApi(ctx, &crdevalv1.GetOpenApiRequest{Catalog: catalog, Spec: "v2"})
			return r.GetDocument(), err
		},
		"/openapi/v3/apis/stable.example.com/v1": func() (*crdevalv1.Document, error) {
			r, err := s.shows.GetOpenApi(ctx, &crdevalv1.GetOpenApiRequest{Catalog: catalog, Spec: "v3", Group: "stable.example.com", Version: "v1"})
			return r.GetDocument(), err
		},
	} {
		document, err := ask()
		if err != nil {
			t.Errorf("%s: %v", where, err)
			continue
		}
		if code, text := s.send(t, http.MethodGet, path+where, http.NoBody, "*/*"); code != http.StatusOK || text != string(document.GetJson())+"\n" {
			t.Errorf("%s: gRPC %.300s\nREST HTTP %d %.300s", where, document.GetJson(), code, text)
		}
	}
}
