package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// The bad documents of the tables below.
var (
	deep       = strings.Repeat("[", 20000) + strings.Repeat("]", 20000)
	hugeString = strings.Repeat("x", 3<<20)
	cyclicYAML = "a: &a\n  b: *a\n"
	bombYAML   = bomb()
)

// bomb is a YAML text whose aliases expand to some billions of values.
func bomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 10; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), i-1)
	}
	return b.String()
}

// TestBadObjects: what a document can have wrong, and what is answered: a rejection where an API server would reject, an error of
// that item where crdeval could not evaluate. The call itself succeeds, and so does the good item beside the bad one.
func TestBadObjects(t *testing.T) {
	w := start(t, nil).withCronTab()
	good := &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: jsonDocument(cronTab(`{}`))}}}
	const crd = "crontabs.stable.example.com"
	for _, c := range []struct {
		name   string
		item   *crdevalv1.WriteItem
		code   codes.Code // OK: a rejection
		reason string     // of the error, or of the rejection
	}{
		{"empty", &crdevalv1.WriteItem{Crd: crd, Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: jsonDocument(``)}}}, codes.OK, "BadRequest"},
		{"deep", &crdevalv1.WriteItem{Crd: crd, Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: jsonDocument(cronTab(`{"extra":` + deep + `}`))}}}, codes.OK, "BadRequest"},
		{"malformed, by its own kind", &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: jsonDocument(`{"apiVersion":}`)}}}, codes.InvalidArgument, "OBJECT_UNREADABLE"},
		{"no kind", &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: jsonDocument(`{"apiVersion":"v1"}`)}}}, codes.InvalidArgument, "OBJECT_UNREADABLE"},
		{"huge", &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: jsonDocument(cronTab(`{"image":"` + hugeString + `"}`))}}}, codes.ResourceExhausted, "LIMIT_EXCEEDED"},
		{"cyclic alias", &crdevalv1.WriteItem{Crd: crd, Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: yamlDocument(cyclicYAML)}}}, codes.OK, "BadRequest"},
		{"alias bomb", &crdevalv1.WriteItem{Crd: crd, Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: yamlDocument(bombYAML)}}}, codes.ResourceExhausted, "LIMIT_EXCEEDED"},
		{"absent", &crdevalv1.WriteItem{}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		{"no such CRD", &crdevalv1.WriteItem{Crd: "x.y", Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: good.GetCreate().GetObject()}}}, codes.NotFound, "CRD_NOT_FOUND"},
		{"no such kind", &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: jsonDocument(`{"apiVersion":"a/v1","kind":"B"}`)}}}, codes.NotFound, "CRD_NOT_FOUND"},
		{"no such version", &crdevalv1.WriteItem{Version: "v9", Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: good.GetCreate().GetObject()}}}, codes.NotFound, "VERSION_NOT_FOUND"},
		{"version not served", &crdevalv1.WriteItem{Version: "v1alpha1", Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: good.GetCreate().GetObject()}}}, codes.FailedPrecondition, "VERSION_NOT_SERVED"},
		{"no such revision", &crdevalv1.WriteItem{Revision: "sha256:0", Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: good.GetCreate().GetObject()}}}, codes.NotFound, "REVISION_NOT_FOUND"},
		{"patch of nothing", &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Patch{Patch: &crdevalv1.Patch{Type: crdevalv1.PatchType_PATCH_TYPE_MERGE, Patch: jsonDocument(`{}`)}}}, codes.InvalidArgument, "INVALID_ARGUMENT"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := w.evaluation.Validate(context.Background(), &crdevalv1.ValidateRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Items: []*crdevalv1.WriteItem{good, c.item, good}})
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range []int{0, 2} {
				if !got.GetResults()[i].GetVerdict().GetAllowed() {
					t.Errorf("the good item beside it: %v", got.GetResults()[i])
				}
			}
			bad := got.GetResults()[1]
			if c.code == codes.OK {
				rejection := bad.GetVerdict().GetRejection()
				if rejection.GetCode() != http.StatusBadRequest || rejection.GetReason() != c.reason || rejection.GetMessage() == "" || bad.GetVerdict().GetAllowed() {
					t.Errorf("got %v, want a rejection", bad)
				}
				read, err := w.evaluation.Read(context.Background(), &crdevalv1.ReadRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Items: objectsOf(c.item)})
				if err != nil || read.GetResults()[0].GetTransformed().GetRejection() == nil {
					t.Errorf("Read: %v %v", read, err)
				}
				return
			}
			st := status.FromProto(bad.GetError())
			if st.Code() != c.code || reason(t, st) != c.reason || st.Message() == "" || len(st.Message()) > 4096 {
				t.Errorf("got %v, want %s %s", bad, c.code, c.reason)
			}
			if strings.HasPrefix(c.reason, "VERSION_") {
				want := map[string]string{"catalog": "default", "crd": crd, "version": c.item.GetVersion()}
				if got := st.Details()[0].(*errdetails.ErrorInfo).GetMetadata(); !maps.Equal(got, want) {
					t.Errorf("metadata %v, want %v", got, want)
				}
			}
			t.Log(st.Message())
		})
	}
}

// badCall is one bad call over both faces; a face that cannot express it is left out.
type badCall struct {
	name                       string
	grpc                       func(context.Context, *wire) error
	method, path, body, header string
	code                       codes.Code
	http                       int
	reason                     string
}

func validate(r *crdevalv1.ValidateRequest) func(context.Context, *wire) error {
	return func(ctx context.Context, w *wire) error {
		_, err := w.evaluation.Validate(ctx, r)
		return err
	}
}

func register(catalog string, manifest *crdevalv1.Document) func(context.Context, *wire) error {
	return func(ctx context.Context, w *wire) error {
		_, err := w.registry.RegisterCrd(ctx, &crdevalv1.RegisterCrdRequest{Catalog: catalog, Manifest: manifest})
		return err
	}
}

const (
	toValidate = "/v1/catalogs/default:validate"
	toRegister = "/v1/catalogs/default/crds"
	asYAML     = "application/yaml"
	asJSON     = "application/json"
)

// badCalls are the calls that fail as a whole, each with its gRPC code and its HTTP status.
func badCalls() []badCall {
	items := make([]*crdevalv1.WriteItem, 1001)
	for i := range items {
		items[i] = &crdevalv1.WriteItem{}
	}
	tooMany := `{"items":[{}` + strings.Repeat(",{}", 1000) + `]}`
	large := &crdevalv1.ValidateRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}}
	for range 4 {
		large.Items = append(large.Items, &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: jsonDocument(`"` + hugeString + `"`)}}})
	}
	listed := func(size int32) func(context.Context, *wire) error {
		return func(ctx context.Context, w *wire) error {
			_, err := w.registry.ListCrds(ctx, &crdevalv1.ListCrdsRequest{Catalog: "default", PageSize: size})
			return err
		}
	}
	traced := &crdevalv1.ValidateRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default", Options: &crdevalv1.EvaluationOptions{Trace: 9}}}
	overlaid := &crdevalv1.ValidateRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default", Crds: []*crdevalv1.Document{{}}}}
	foreign := &crdevalv1.ValidateRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default", AtLeast: "elsewhere"}}
	hasty := &crdevalv1.ValidateRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default", Options: &crdevalv1.EvaluationOptions{ItemTimeout: durationpb.New(-time.Second)}}}
	return []badCall{
		{"batch limit", validate(&crdevalv1.ValidateRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Items: items}), "POST", toValidate, tooMany, asJSON, codes.ResourceExhausted, 413, "LIMIT_EXCEEDED"},
		{"message limit", validate(large), "POST", toValidate, `"` + strings.Repeat(hugeString, 3) + `"`, asJSON, codes.ResourceExhausted, 413, "LIMIT_EXCEEDED"},
		{"page size", listed(-1), "GET", toRegister + "?pageSize=-1", "", "", codes.InvalidArgument, 400, "INVALID_ARGUMENT"},
		{"no catalog", validate(&crdevalv1.ValidateRequest{}), "", "", "", "", codes.InvalidArgument, 400, "INVALID_ARGUMENT"},
		{"unknown catalog", validate(&crdevalv1.ValidateRequest{Context: &crdevalv1.EvaluationContext{Catalog: "x"}}), "POST", "/v1/catalogs/x:validate", "{}", asJSON, codes.NotFound, 404, "CATALOG_NOT_FOUND"},
		{"trace", validate(traced), "POST", toValidate, `{"context":{"options":{"trace":9}}}`, asJSON, codes.InvalidArgument, 400, "INVALID_ARGUMENT"},
		{"trace by another name", nil, "POST", toValidate, `{"context":{"options":{"trace":"TRACE_SOME"}}}`, asJSON, codes.InvalidArgument, 400, "MALFORMED_BODY"},
		{"overlay", validate(overlaid), "", "", "", "", codes.InvalidArgument, 400, "INVALID_ARGUMENT"},
		{"token", validate(foreign), "POST", toValidate, `{"context":{"atLeast":"elsewhere"}}`, asJSON, codes.InvalidArgument, 400, "TOKEN_INVALID"},
		{"item timeout", validate(hasty), "POST", toValidate, `{"context":{"options":{"itemTimeout":"-1s"}}}`, asJSON, codes.InvalidArgument, 400, "INVALID_ARGUMENT"},
		{"enum", validate(&crdevalv1.ValidateRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default", Options: &crdevalv1.EvaluationOptions{View: 9}}}), "POST", toValidate, `{"context":{"options":{"view":9}}}`, asJSON, codes.InvalidArgument, 400, "INVALID_ARGUMENT"},

		{"manifest absent", register("default", nil), "POST", toRegister, "null", asJSON, codes.InvalidArgument, 400, "INVALID_ARGUMENT"},
		{"manifest malformed", register("default", jsonDocument(`{"a":}`)), "POST", toRegister, `{"a":}`, asJSON, codes.InvalidArgument, 400, "MANIFEST_UNREADABLE"},
		{"manifest truncated", register("default", yamlDocument(`a: [`)), "POST", toRegister, `a: [`, asYAML, codes.InvalidArgument, 400, "MANIFEST_UNREADABLE"},
		{"manifest of another kind", register("default", jsonDocument(cronTab(`{}`))), "POST", toRegister, cronTab(`{}`), asJSON, codes.InvalidArgument, 400, "MANIFEST_UNREADABLE"},
		{"manifest deep", register("default", jsonDocument(deep)), "POST", toRegister, deep, asJSON, codes.InvalidArgument, 400, "MANIFEST_UNREADABLE"},
		{"manifest huge", register("default", jsonDocument(`"`+hugeString+`"`)), "POST", toRegister, `"` + hugeString + `"`, asJSON, codes.ResourceExhausted, 413, "LIMIT_EXCEEDED"},
		{"manifest cyclic", register("default", yamlDocument(cyclicYAML)), "POST", toRegister, cyclicYAML, asYAML, codes.InvalidArgument, 400, "MANIFEST_UNREADABLE"},
		{"manifest bomb", register("default", yamlDocument(bombYAML)), "POST", toRegister, bombYAML, asYAML, codes.ResourceExhausted, 413, "LIMIT_EXCEEDED"},

		{"body malformed", nil, "POST", toValidate, `{"items":`, asJSON, codes.InvalidArgument, 400, "MALFORMED_BODY"},
		{"body truncated in a document", nil, "POST", toValidate, `{"items":[{"create":{"object":{"a":"b`, asJSON, codes.InvalidArgument, 400, "MALFORMED_BODY"},
		{"body with more behind", nil, "POST", toValidate, `{} {}`, asJSON, codes.InvalidArgument, 400, "MALFORMED_BODY"},
		{"manifest with more behind", nil, "POST", toRegister, `{} {}`, asJSON, codes.InvalidArgument, 400, "MALFORMED_BODY"},
		{"body empty", nil, "POST", toValidate, ``, asJSON, codes.InvalidArgument, 400, "MALFORMED_BODY"},
		{"body deep", nil, "POST", toValidate, deep, asJSON, codes.InvalidArgument, 400, "MALFORMED_BODY"},
		{"body cyclic", nil, "POST", toValidate, cyclicYAML, asYAML, codes.InvalidArgument, 400, "MALFORMED_BODY"},
		{"body bomb", nil, "POST", toValidate, bombYAML, asYAML, codes.ResourceExhausted, 413, "LIMIT_EXCEEDED"},
		{"unknown field", nil, "POST", toValidate, `{"fieldValidation":"Strict"}`, asJSON, codes.InvalidArgument, 400, "MALFORMED_BODY"},
		{"media type", nil, "POST", toValidate, `{}`, "text/plain", codes.InvalidArgument, 415, "MEDIA_TYPE_NOT_SUPPORTED"},
		{"parameter of a body", nil, "POST", toValidate + "?asGiven=true", `{}`, asJSON, codes.InvalidArgument, 400, "INVALID_ARGUMENT"},
		{"unknown parameter", nil, "GET", toRegister + "?pagesize=1", "", "", codes.InvalidArgument, 400, "INVALID_ARGUMENT"},
		{"parameter twice", nil, "GET", toRegister + "?pageSize=1&pageSize=2", "", "", codes.InvalidArgument, 400, "INVALID_ARGUMENT"},
		{"parameter of the path", nil, "GET", toRegister + "?catalog=other", "", "", codes.InvalidArgument, 400, "INVALID_ARGUMENT"},
		{"path", nil, "POST", "/v1/catalogs/default:valdate", `{}`, asJSON, codes.NotFound, 404, "PATH_NOT_FOUND"},
		{"method", nil, "GET", toValidate, "", "", codes.Unimplemented, 405, "METHOD_NOT_ALLOWED"},
		{"method of health", nil, "POST", "/healthz", "", "", codes.Unimplemented, 405, "METHOD_NOT_ALLOWED"},
		{"escape", nil, "GET", "/v1/catalogs/%ff", "", "", codes.InvalidArgument, 400, "INVALID_ARGUMENT"},
	}
}

func TestBadCalls(t *testing.T) {
	w := start(t, nil).withCronTab().withLamp()
	for _, c := range slices.Concat(badCalls(), badAdmits(), badPresentations()) {
		t.Run(c.name, func(t *testing.T) {
			if c.grpc != nil {
				st := status.Convert(c.grpc(context.Background(), w))
				if st.Code() != c.code || st.Message() == "" || len(st.Message()) > 4096 {
					t.Errorf("gRPC: %s %s, want %s", st.Code(), st.Message(), c.code)
				}
				// grpc-go itself rejects a message over the limit, before any of our code.
				if c.name != "message limit" && reason(t, st) != c.reason {
					t.Errorf("gRPC: %v, want %s", st, c.reason)
				}
			}
			if c.path == "" {
				return
			}
			got := w.do(c.method, c.path, c.body, "Content-Type", c.header)
			if c.reason == "GROUP_VERSION_NOT_FOUND" { // as clients of Kubernetes read it
				var status metav1.Status
				if err := json.Unmarshal([]byte(got.text), &status); err != nil || got.code != c.http || status.Kind != "Status" || status.Code != http.StatusNotFound {
					t.Errorf("REST: HTTP %d %s, want a metav1.Status", got.code, got.text)
				}
				return
			}
			st := got.status(t)
			if got.code != c.http || st.Code() != c.code || reason(t, st) != c.reason {
				t.Errorf("REST: HTTP %d %s, want %d %s", got.code, got.text, c.http, c.reason)
			}
			if c.http == http.StatusMethodNotAllowed && got.header.Get("Allow") == "" {
				t.Error("no Allow header")
			}
			t.Log(st.Message())
		})
	}
}
