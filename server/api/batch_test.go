package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/crdeval/crdeval/cache"
	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/registry"
)

// treacherous is a registry whose views do what CRDs with certain names ask for.
type treacherous struct{ api.Registry }

func (r treacherous) View(ctx context.Context, catalog, atLeast string) (registry.View, error) {
	v, err := r.Registry.View(ctx, catalog, atLeast)
	return treacherousView{v}, err
}

type treacherousView struct{ registry.View }

func (v treacherousView) Named(ctx context.Context, name, revision string) (*engine.Definition, error) {
	switch name {
	case "panics":
		panic("a secret of the server")
	case "fails", "build-panics":
		return nil, errors.New("a secret of the server")
	case "waits":
		<-ctx.Done()
		return nil, ctx.Err()
	case "closed":
		return nil, cache.ErrClosed
	case "talks":
		return nil, &registry.Error{Reason: registry.CRDNotFound, Message: strings.Repeat("é", 5000)}
	}
	return v.View.Named(ctx, name, revision)
}

// TestItemsFailAlone: whatever one item does, the call succeeds and the items beside it are evaluated.
func TestItemsFailAlone(t *testing.T) {
	w := start(t, func(r api.Registry) api.Registry { return treacherous{r} }).withCronTab()
	good := &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: jsonDocument(cronTab(`{}`))}}}
	for _, c := range []struct {
		crd, reason string
		code        codes.Code
	}{
		{"panics", "INTERNAL", codes.Internal},
		{"fails", "INTERNAL", codes.Internal},
		{"build-panics", "INTERNAL", codes.Internal},
		{"waits", "ITEM_DEADLINE", codes.DeadlineExceeded},
		{"closed", "OVERLOADED", codes.Unavailable},
		{"talks", "CRD_NOT_FOUND", codes.NotFound},
	} {
		t.Run(c.crd, func(t *testing.T) {
			r := &crdevalv1.PruneRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Items: objectsOf(good, good, good)}
			r.Items[1].Crd = c.crd
			if c.crd == "waits" {
				r.Context.Options = &crdevalv1.EvaluationOptions{ItemTimeout: durationpb.New(50 * time.Millisecond)}
			}
			got, err := w.evaluation.Prune(context.Background(), r)
			for err == nil && lateBeside(1, got.GetResults()) && r.GetContext().GetOptions().GetItemTimeout().AsDuration() < time.Minute {
				t.Logf("the machine was away for %v: once more", r.GetContext().GetOptions().GetItemTimeout().AsDuration())
				r.Context.Options.ItemTimeout = durationpb.New(10 * r.GetContext().GetOptions().GetItemTimeout().AsDuration())
				got, err = w.evaluation.Prune(context.Background(), r)
			}
			if err != nil {
				t.Fatal(err)
			}
			st := status.FromProto(got.GetResults()[1].GetError())
			if st.Code() != c.code || reason(t, st) != c.reason || strings.Contains(st.Message(), "secret") || len(st.Message()) > 4096 {
				t.Errorf("got %v", st)
			}
			for _, i := range []int{0, 2} {
				if got.GetResults()[i].GetTransformed().GetObject() == nil {
					t.Errorf("item %d: %v", i, got.GetResults()[i])
				}
			}
		})
	}
}

// TestDeadline: a call whose time runs out still answers, with what was done and an error for each item that was not.
func TestDeadline(t *testing.T) {
	w := start(t, func(r api.Registry) api.Registry { return treacherous{r} }).withCronTab()
	r := &crdevalv1.ValidateRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Items: []*crdevalv1.WriteItem{{Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: jsonDocument(cronTab(`{}`))}}}}}
	for range 9 {
		r.Items = append(r.Items, &crdevalv1.WriteItem{Crd: "waits", Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: jsonDocument(cronTab(`{}`))}}})
	}
	got, err := patiently(t, func(ctx context.Context) (*crdevalv1.ValidateResponse, error) {
		got, err := w.evaluation.Validate(ctx, r)
		if err == nil && got.GetResults()[0].GetError().GetCode() == int32(codes.DeadlineExceeded) {
			err = status.Error(codes.DeadlineExceeded, "the machine was away before the first item began")
		}
		return got, err
	})
	if err != nil {
		t.Fatalf("no answer within the deadline: %v", err)
	}
	if !got.GetResults()[0].GetVerdict().GetAllowed() {
		t.Errorf("the first item: %v", got.GetResults()[0])
	}
	for i, result := range got.GetResults()[1:] {
		if st := status.FromProto(result.GetError()); st.Code() != codes.DeadlineExceeded || reason(t, st) != "ITEM_DEADLINE" {
			t.Errorf("item %d: %v", i+1, result)
		}
	}
	for _, timeout := range []string{"1S", "3S", "9S", "9S", "9S", "20S", "40S"} {
		rest := w.do("POST", "/v1/catalogs/default:validate", `{"items":[{"crd":"waits","create":{"object":{}}}]}`, "Grpc-Timeout", timeout)
		if rest.code == http.StatusOK && strings.Contains(rest.text, "ITEM_DEADLINE") {
			return
		}
		t.Logf("REST, within %s: %d %s", timeout, rest.code, rest.text)
		if rest.code != http.StatusGatewayTimeout { // as if the machine was away when the answer was due
			break
		}
	}
	t.Error("REST: no answer within the deadline")
}

// TestAligned: result i is that of item i, in batches of every size, on several goroutines.
func TestAligned(t *testing.T) {
	w := start(t, nil).withCronTab()
	for _, n := range []int{0, 1, 2, 7, 8, 9, 100, 1000} {
		r := &crdevalv1.DefaultRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}}
		for i := range n {
			crd := ""
			if i%3 == 1 {
				crd = "crontabs.stable.example.com"
			}
			r.Items = append(r.Items, &crdevalv1.ObjectItem{Crd: crd, Object: jsonDocument(cronTab(fmt.Sprintf(`{"replicas":%d}`, i)))})
		}
		got, err := w.evaluation.Default(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.GetResults()) != n {
			t.Fatalf("%d results of %d items", len(got.GetResults()), n)
		}
		for i, result := range got.GetResults() {
			transformed := result.GetTransformed()
			if !strings.Contains(string(transformed.GetObject().GetJson()), fmt.Sprintf(`"replicas":%d,"image":"busybox"`, i)) {
				t.Fatalf("of %d, result %d is %v", n, i, result)
			}
			if d := transformed.GetChanges().GetDefaulted(); len(d) != 1 || d[0].GetPointer() != "/spec/image" || string(d[0].GetValue().GetJson()) != `"busybox"` {
				t.Fatalf("of %d, result %d: defaulted %v", n, i, d)
			}
		}
	}
}

// TestAtLeast checks that over REST the field at_least of a read is a query parameter.
func TestAtLeast(t *testing.T) {
	w := start(t, nil)
	for _, path := range []string{"/v1/catalogs/default", "/v1/catalogs", "/v1/catalogs/default/crds", "/v1/catalogs/default/crds/x"} {
		if a := w.do("GET", path+"?at_least=elsewhere", ""); a.code != http.StatusBadRequest || reason(t, a.status(t)) != "TOKEN_INVALID" {
			t.Errorf("%s: %d %s", path, a.code, a.text)
		}
	}
}

// TestViews: what the options say about objects in answers.
func TestViews(t *testing.T) {
	w := start(t, nil).withCronTab()
	for _, c := range []struct {
		view    string
		spec    string
		present bool
	}{
		{"OBJECT_VIEW_FULL", `{"image":"x"}`, true},
		{"OBJECT_VIEW_CHANGED", `{"image":"x"}`, false},
		{"OBJECT_VIEW_CHANGED", `{}`, true},
		{"OBJECT_VIEW_NONE", `{}`, false},
	} {
		a := w.do("POST", "/v1/catalogs/default:default", `{"context":{"options":{"view":"`+c.view+`"}},"items":[{"object":`+cronTab(c.spec)+`}]}`)
		if a.code != http.StatusOK || strings.Contains(a.text, `"object":{`) != c.present {
			t.Errorf("%s of %s: %d %s", c.view, c.spec, a.code, a.text)
		}
	}
}

func TestPreconditions(t *testing.T) {
	w := start(t, nil).withCronTab()
	for _, c := range []struct {
		method, path, body string
		http               int
		reason             string
	}{
		{"POST", "/v1/catalogs/default/crds?createOnly=true", crontabManifest, 409, "CRD_EXISTS"},
		{"POST", "/v1/catalogs/default/crds?etag=old", crontabManifest, 409, "ETAG_MISMATCH"},
		{"POST", "/v1/catalogs/default/crds?etag=old&createOnly=true", crontabManifest, 400, "INVALID_ARGUMENT"},
		{"DELETE", "/v1/catalogs/default/crds/crontabs.stable.example.com?etag=old", "", 409, "ETAG_MISMATCH"},
		{"POST", "/v1/catalogs", `catalog: default`, 409, "CATALOG_EXISTS"},
		{"POST", "/v1/catalogs", `catalog: Not.A.Label`, 400, "INVALID_ARGUMENT"},
		{"POST", "/v1/catalogs", `{catalog: a, kubernetes: "1.99"}`, 400, "INVALID_ARGUMENT"},
		{"DELETE", "/v1/catalogs/default", "", 400, "CATALOG_PROTECTED"},
		{"DELETE", "/v1/catalogs/nowhere", "", 404, "CATALOG_NOT_FOUND"},
	} {
		a := w.do(c.method, c.path, c.body, "Content-Type", "application/yaml")
		if a.code != c.http || reason(t, a.status(t)) != c.reason {
			t.Errorf("%s %s: %d %s", c.method, c.path, a.code, a.text)
		}
	}
}
