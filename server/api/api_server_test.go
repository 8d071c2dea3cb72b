package api_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/server/gateway/codec"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// bodies returns the results of DecodeBody, which are the same over both faces and on a stream.
func (w *wire) bodies(list ...*crdevalv1.BodyItem) []*crdevalv1.DecodeBodyResult {
	w.t.Helper()
	request := &crdevalv1.DecodeBodyRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Items: list}
	r, err := w.apiServers.DecodeBody(context.Background(), request)
	if err != nil || len(r.GetResults()) != len(list) {
		w.t.Fatal(r, err)
	}
	rest := &crdevalv1.DecodeBodyResponse{}
	w.do("POST", "/v1/catalogs/default:decodeBody", restBody(w.t, request)).into(w.t, rest)
	streamed := &crdevalv1.DecodeBodyResponse{}
	stream, err := w.apiServers.DecodeBodyStream(context.Background())
	if err == nil {
		err = stream.Send(&crdevalv1.DecodeBodyStreamRequest{Context: request.GetContext(), Items: list})
	}
	if err == nil {
		var m *crdevalv1.DecodeBodyStreamResponse
		m, err = stream.Recv()
		streamed.Results = m.GetResults()
	}
	if err != nil || placeless(r) != placeless(rest) || !proto.Equal(r, streamed) {
		w.t.Errorf("gRPC   %v\nREST   %v\nstream %v %v", r, rest, streamed, err)
	}
	return r.GetResults()
}

// decoded returns the results of ValidateDecoded, which are the same over both faces and on a stream.
func (w *wire) decoded(list ...*crdevalv1.DecodedItem) []*crdevalv1.ValidateDecodedResult {
	w.t.Helper()
	request := &crdevalv1.ValidateDecodedRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Items: list}
	r, err := w.apiServers.ValidateDecoded(context.Background(), request)
	if err != nil || len(r.GetResults()) != len(list) {
		w.t.Fatal(r, err)
	}
	rest := &crdevalv1.ValidateDecodedResponse{}
	w.do("POST", "/v1/catalogs/default:validateDecoded", restBody(w.t, request)).into(w.t, rest)
	streamed := &crdevalv1.ValidateDecodedResponse{}
	stream, err := w.apiServers.ValidateDecodedStream(context.Background())
	if err == nil {
		err = stream.Send(&crdevalv1.ValidateDecodedStreamRequest{Context: request.GetContext(), Items: list})
	}
	if err == nil {
		var m *crdevalv1.ValidateDecodedStreamResponse
		m, err = stream.Recv()
		streamed.Results = m.GetResults()
	}
	if err != nil || placeless(r) != placeless(rest) || !proto.Equal(r, streamed) {
		w.t.Errorf("gRPC   %v\nREST   %v\nstream %v %v", r, rest, streamed, err)
	}
	return r.GetResults()
}

// placeless returns the text of a message without positions, which over REST are in the body.
func placeless(m proto.Message) string {
	return regexp.MustCompile(`position:\s*\{[^}]*\}`).ReplaceAllString(prototext.Format(m), "")
}

// restBody returns a request as the body of a POST.
func restBody(t testing.TB, request interface {
	proto.Message
	GetContext() *crdevalv1.EvaluationContext
}) string {
	t.Helper()
	own := proto.Clone(request)
	own.(interface {
		GetContext() *crdevalv1.EvaluationContext
	}).GetContext().Catalog = ""
	text, err := codec.Marshal(own)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestDecodeBody: what an API server learns of a body before it knows the write, and after.
func TestDecodeBody(t *testing.T) {
	w := start(t, nil).withLamp()
	old := jsonDocument(lamp("v1", `,"spec":{"color":"red","count":2,"watts":5}`))
	body := jsonDocument(lamp("v1", `,"spec":{"color":"green","x":1}`))
	write := func(decoded bool) *crdevalv1.Update {
		return &crdevalv1.Update{Object: body, OldObject: old, OldObjectDecoded: decoded}
	}
	r := w.bodies(
		&crdevalv1.BodyItem{Write: &crdevalv1.BodyItem_Body{Body: body}},
		&crdevalv1.BodyItem{Write: &crdevalv1.BodyItem_Update{Update: write(true)}},
		&crdevalv1.BodyItem{Write: &crdevalv1.BodyItem_Update{Update: write(false)}},
		&crdevalv1.BodyItem{Write: &crdevalv1.BodyItem_Create{Create: &crdevalv1.Create{Object: jsonDocument(newLamp("v1", `,"spec":{"color":"mauve"}`))}}},
	)
	for i, accepts := range []bool{false, true, false, false} {
		d := r[i].GetDecoded()
		if d.GetValidateAccepts() != accepts || d.GetReadsAsWritten() && !accepts || !d.GetVerdict().GetAllowed() {
			t.Errorf("body %d: %v", i, r[i])
		}
		if i < 3 && (len(d.GetStrictErrors()) != 1 || len(d.GetVerdict().GetWarnings()) != 0 || !strings.Contains(string(d.GetVerdict().GetObject().GetJson()), `"uid"`)) {
			t.Errorf("body %d: %v", i, r[i])
		}
	}
}

// TestValidateDecoded: as ADMISSION_STAGE_FINISH, but for what only the storage does.
func TestValidateDecoded(t *testing.T) {
	w := start(t, nil).withLamp()
	old := lamp("v1", `,"spec":{"color":"red","count":2,"watts":5}`)
	changed := lamp("v1", `,"spec":{"color":"green","count":2,"watts":5}`)
	finished := w.admit(&crdevalv1.AdmitRequest{
		Items: []*crdevalv1.WriteItem{update(changed, old, "")}, Stage: crdevalv1.AdmissionStage_ADMISSION_STAGE_FINISH,
	})[0].GetVerdict()
	write := func(object string) *crdevalv1.DecodedItem {
		return &crdevalv1.DecodedItem{Write: &crdevalv1.DecodedItem_Update{Update: update(object, old, "").GetUpdate()}}
	}
	r := w.decoded(write(changed), write(lamp("v1", `,"spec":{"color":"mauve"}`)))
	v := r[0].GetValidated().GetVerdict()
	if object := strings.Replace(string(v.GetObject().GetJson()), `"resourceVersion":"7",`, "", 1); object == "" || object != string(finished.GetObject().GetJson()) || v.GetStoredObject() != nil {
		t.Errorf("got %v\nADMISSION_STAGE_FINISH %v", v, finished)
	}
	if v := r[1].GetValidated().GetVerdict(); v.GetAllowed() || len(v.GetViolations()) == 0 {
		t.Errorf("an invalid object: %v", v)
	}
}

// TestBadBodies: what items of API servers can have wrong. The call succeeds, the item fails.
func TestBadBodies(t *testing.T) {
	w := start(t, nil).withLamp()
	object := jsonDocument(newLamp("v1", `,"spec":{}`))
	scale := &crdevalv1.BodyItem_Update{Update: &crdevalv1.Update{Object: object, OldObject: object, Subresource: "scale"}}
	for i, r := range w.bodies(
		&crdevalv1.BodyItem{},
		&crdevalv1.BodyItem{Write: &crdevalv1.BodyItem_Update{Update: &crdevalv1.Update{Object: object}}},
		&crdevalv1.BodyItem{Write: scale},
	) {
		if st := status.FromProto(r.GetError()); st.Code() != codes.InvalidArgument || st.Message() == "" {
			t.Errorf("body %d: %v", i, r)
		}
	}
	for i, r := range w.decoded(
		&crdevalv1.DecodedItem{},
		&crdevalv1.DecodedItem{Write: &crdevalv1.DecodedItem_Create{Create: &crdevalv1.Create{}}},
	) {
		if st := status.FromProto(r.GetError()); st.Code() != codes.InvalidArgument || st.Message() == "" {
			t.Errorf("object %d: %v", i, r)
		}
	}
}

// TestFieldManagement: the same over both faces.
func TestFieldManagement(t *testing.T) {
	w := start(t, nil).withLamp()
	got, err := w.apiServers.GetFieldManagement(context.Background(), &crdevalv1.GetFieldManagementRequest{Catalog: "default", Crd: lamps})
	if err != nil || len(got.GetVersions()) != 2 || got.GetVersions()[0].GetApiVersion() != "example.com/v1" || len(got.GetReplicasPaths()) != 2 {
		t.Fatalf("%v %v", got, err)
	}
	if reset := got.GetVersions()[0].GetResetFields(); len(reset) != 3 || string(reset[0].GetFields().GetJson()) != `{"f:status":{}}` || reset[1].GetSubresource() != "status" {
		t.Errorf("%v", got)
	}
	if path := strings.Join(got.GetReplicasPaths()[0].GetFields(), "."); path != "spec.count" {
		t.Errorf("%v", got)
	}
	var rest crdevalv1.GetFieldManagementResponse
	w.do("GET", toLamps+":fieldManagement", "").into(t, &rest)
	if !proto.Equal(got, &rest) {
		t.Errorf("REST %v\ngRPC %v", &rest, got)
	}
	var one crdevalv1.GetFieldManagementResponse
	w.do("GET", toLamps+":fieldManagement?version=v1beta1", "").into(t, &one)
	if len(one.GetVersions()) != 1 || one.GetVersions()[0].GetApiVersion() != "example.com/v1beta1" {
		t.Errorf("%v", &one)
	}
}

// TestOpenAPIModels: the schemas of all versions, the same over both faces.
func TestOpenAPIModels(t *testing.T) {
	w := start(t, nil).withLamp()
	got, err := w.apiServers.GetOpenApiModels(context.Background(), &crdevalv1.GetOpenApiModelsRequest{Catalog: "default", Crd: lamps})
	if text := string(got.GetDocument().GetJson()); err != nil || !strings.Contains(text, `"com.example.v1.Lamp"`) || !strings.Contains(text, `"com.example.v1beta1.Lamp"`) || got.GetRevision() == "" {
		t.Errorf("%.300s %v", text, err)
	}
	var rest crdevalv1.GetOpenApiModelsResponse
	if w.do("GET", toLamps+":openapiModels", "").into(t, &rest); !proto.Equal(got, &rest) {
		t.Errorf("REST %v\ngRPC %v", &rest, got)
	}
}
