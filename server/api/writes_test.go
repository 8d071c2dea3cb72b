package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/server/gateway/codec"

	statusv1 "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine/testenv/writecase"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/internal/testwrite"
)

// TestWrites runs the cases of package writecase over gRPC, in streams, and over REST with JSON and YAML bodies. Each CRD
// is in a catalog of its name.
func TestWrites(t *testing.T) {
	w := start(t, nil)
	for _, name := range writecase.CRDs(t) {
		if _, err := w.registry.CreateCatalog(t.Context(), &crdevalv1.CreateCatalogRequest{Catalog: name}); err != nil {
			t.Fatal(err)
		}
		got, err := w.registry.RegisterCrd(t.Context(), &crdevalv1.RegisterCrdRequest{
			Catalog: name, Manifest: yamlDocument(writecase.Manifest(name)),
		})
		if err != nil || !got.GetAccepted() {
			t.Fatalf("%s: %v %v", name, err, got)
		}
	}
	writecase.Run(t, 100, writecase.Surface{Name: "gRPC", Run: w.overGRPC, Reports: errorsOfAPI})
	writecase.Run(t, 90, writecase.Surface{Name: "stream", Run: w.overStream, Reports: errorsOfAPI})
	writecase.Run(t, 80, writecase.Surface{Name: "REST", Run: w.overREST, Reports: linesOfREST})
	writecase.Run(t, 85, writecase.Surface{Name: "REST with YAML", Run: w.overYAML, Reports: linesOfYAML})
}

// errorsOfAPI: for an old object that an API server cannot read, the engine and the API have different reasons.
func errorsOfAPI(_ *writecase.Case, l writecase.Line) (writecase.Line, bool) {
	if l.Key == "error" {
		l.Text = strings.Replace(l.Text, "OBJECT_REJECTED", "INVALID_ARGUMENT", 1)
	}
	return l, true
}

// linesOfREST: the value null of a change is absent.
func linesOfREST(c *writecase.Case, l writecase.Line) (writecase.Line, bool) {
	if l.Key == "pruned" || l.Key == "defaulted" {
		l.Text = strings.TrimSuffix(l.Text, "null")
	}
	return errorsOfAPI(c, l)
}

// linesOfYAML: objects have sorted keys, and hints quote lines of the body.
func linesOfYAML(c *writecase.Case, l writecase.Line) (writecase.Line, bool) {
	l = l.Sorted()
	if !c.YAML {
		return linesOfREST(c, l)
	}
	// The document is not the body of a request, so texts that quote it as one differ.
	if _, of, ok := strings.Cut(l.Hint, " of line "); ok {
		l.Hint = strings.TrimLeft(of, "0123456789")
	}
	switch {
	case l.Type == "DuplicateField", l.Key == "verdict" && strings.HasPrefix(l.Text, "400 "):
		l.Text = ""
	case l.Key == "cause":
		return l, false
	}
	return linesOfREST(c, l)
}

func documentOf(text string, yaml bool) *crdevalv1.Document {
	if yaml {
		return yamlDocument(text)
	}
	return jsonDocument(text)
}

// itemOf returns the write of a case.
func itemOf(t *testing.T, c *writecase.Case) *crdevalv1.WriteItem {
	t.Helper()
	operation, text := c.Operation()
	item := &crdevalv1.WriteItem{Crd: c.CRDName(t), Version: c.Version, Namespace: c.Namespace, Name: c.ObjectName}
	var old *crdevalv1.Document
	if c.Old != nil {
		old = documentOf(*c.Old, c.OldYAML)
	}
	patch := func(kind crdevalv1.PatchType) {
		item.Write = &crdevalv1.WriteItem_Patch{Patch: &crdevalv1.Patch{
			Type: kind, Patch: documentOf(text, c.YAML), OldObject: old, OldObjectDecoded: c.OldDecoded, Subresource: c.Subresource,
		}}
	}
	switch operation {
	case "create":
		item.Write = &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{
			Object: documentOf(text, c.YAML), GeneratedName: c.GeneratedName,
		}}
	case "update":
		item.Write = &crdevalv1.WriteItem_Update{Update: &crdevalv1.Update{
			Object: documentOf(text, c.YAML), OldObject: old, OldObjectDecoded: c.OldDecoded, Subresource: c.Subresource,
		}}
	case "mergePatch":
		patch(crdevalv1.PatchType_PATCH_TYPE_MERGE)
	case "jsonPatch":
		patch(crdevalv1.PatchType_PATCH_TYPE_JSON)
	}
	return item
}

func contextOf(c *writecase.Case) *crdevalv1.EvaluationContext {
	validation := crdevalv1.FieldValidation_value["FIELD_VALIDATION_"+strings.ToUpper(c.FieldValidation)]
	return &crdevalv1.EvaluationContext{Catalog: c.CRD, Options: &crdevalv1.EvaluationOptions{
		FieldValidation: crdevalv1.FieldValidation(validation), CompleteMetadata: c.CompleteMetadata, WithStatus: c.WithStatus,
	}}
}

func stageOf(c *writecase.Case) crdevalv1.AdmissionStage {
	return map[string]crdevalv1.AdmissionStage{
		"Decode": crdevalv1.AdmissionStage_ADMISSION_STAGE_DECODE, "Finish": crdevalv1.AdmissionStage_ADMISSION_STAGE_FINISH,
	}[c.Call]
}

// requestOf returns the request of a call with the item of a case.
func requestOf(t *testing.T, c *writecase.Case, call string) proto.Message {
	t.Helper()
	item := itemOf(t, c)
	objects := []*crdevalv1.ObjectItem{{Crd: item.GetCrd(), Version: c.Version, Object: item.GetCreate().GetObject()}}
	writes := []*crdevalv1.WriteItem{item}
	switch call {
	case "Validate":
		return &crdevalv1.ValidateRequest{Context: contextOf(c), Items: writes, AsGiven: c.AsGiven}
	case "Prune":
		return &crdevalv1.PruneRequest{Context: contextOf(c), Items: objects}
	case "Default":
		return &crdevalv1.DefaultRequest{Context: contextOf(c), Items: objects, KeepNulls: c.KeepNulls}
	case "Read":
		return &crdevalv1.ReadRequest{Context: contextOf(c), Items: objects, TargetVersion: c.TargetVersion}
	case "Convert":
		return &crdevalv1.ConvertRequest{Context: contextOf(c), Items: objects, TargetVersion: c.TargetVersion}
	}
	return &crdevalv1.AdmitRequest{Context: contextOf(c), Items: writes, Stage: stageOf(c)}
}

// callsOf returns the calls of a case: that of the case, and Validate beside Admit.
func callsOf(c *writecase.Case) []string {
	if c.Call == "Admit" {
		return []string{"Admit", "Validate"}
	}
	return []string{c.Call}
}

func (w *wire) overGRPC(t *testing.T, c *writecase.Case) (r writecase.Result) {
	t.Helper()
	for i, call := range callsOf(c) {
		var answer proto.Message
		var err error
		switch m := requestOf(t, c, call).(type) {
		case *crdevalv1.ValidateRequest:
			answer, err = w.evaluation.Validate(t.Context(), m)
		case *crdevalv1.PruneRequest:
			answer, err = w.evaluation.Prune(t.Context(), m)
		case *crdevalv1.DefaultRequest:
			answer, err = w.evaluation.Default(t.Context(), m)
		case *crdevalv1.ReadRequest:
			answer, err = w.evaluation.Read(t.Context(), m)
		case *crdevalv1.ConvertRequest:
			answer, err = w.evaluation.Convert(t.Context(), m)
		case *crdevalv1.AdmitRequest:
			answer, err = w.evaluation.Admit(t.Context(), m)
		}
		if err != nil {
			t.Fatal(err)
		}
		r = with(r, i, call, answerLines(t, answer, nil))
	}
	return r
}

// with adds the lines of a call to those of the first.
func with(r writecase.Result, i int, call string, lines writecase.Result) writecase.Result {
	if i == 0 {
		return lines
	}
	r.AddOther(call, lines)
	return r
}

func (w *wire) overStream(t *testing.T, c *writecase.Case) (r writecase.Result) {
	t.Helper()
	m, ok := requestOf(t, c, c.Call).(*crdevalv1.AdmitRequest)
	if !ok {
		return nil
	}
	answer, err := w.admitStream(t.Context(), &crdevalv1.AdmitStreamRequest{
		Context: m.GetContext(), Items: m.GetItems(), Stage: m.GetStage(),
	}).Recv()
	if err != nil {
		t.Fatal(err)
	}
	r = answerLines(t, answer, nil)
	if c.Call == "Admit" {
		r.AddOther("Validate", w.validated(t, c))
	}
	return r
}

// validated returns what Validate reports, which has no stream.
func (w *wire) validated(t *testing.T, c *writecase.Case) writecase.Result {
	t.Helper()
	m, _ := requestOf(t, c, "Validate").(*crdevalv1.ValidateRequest)
	answer, err := w.evaluation.Validate(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	return answerLines(t, answer, nil)
}

// overREST sends the documents inline in a JSON body.
func (w *wire) overREST(t *testing.T, c *writecase.Case) writecase.Result {
	t.Helper()
	_, document := c.Operation()
	if c.YAML || c.OldYAML || !json.Valid([]byte(document)) || c.Old != nil && !json.Valid([]byte(*c.Old)) {
		return nil // it cannot be inline
	}
	return w.inline(t, c, asJSON)
}

// overYAML sends the document inline in a YAML body: YAML below a key, and JSON as it is.
func (w *wire) overYAML(t *testing.T, c *writecase.Case) (r writecase.Result) {
	t.Helper()
	if !c.YAML {
		if r := w.overREST(t, c); r == nil {
			return nil
		}
		return w.inline(t, c, asYAML)
	}
	if c.OldYAML {
		return nil
	}
	const indent = "      "
	_, document := c.Operation()
	var parsed any
	if yaml.Unmarshal([]byte(document), &parsed) != nil {
		return nil // TestFaultsOfYAMLBodies
	}
	for i, call := range callsOf(c) {
		body := blockBodyOf(t, c, call)
		lines := strings.Count(body, "\n")
		for line := range strings.Lines(document) {
			body += indent + line
		}
		answer := w.do(http.MethodPost, pathOf(c, call), body, "Content-Type", asYAML)
		moved := func(p *crdevalv1.Position) {
			p.Line, p.Column = p.GetLine()-int32(lines), p.GetColumn()-int32(len(indent))
		}
		r = with(r, i, call, w.restLines(t, call, answer, moved))
	}
	return r
}

// blockBodyOf returns the part of a body in block style before the document of a case, which comes last.
func blockBodyOf(t *testing.T, c *writecase.Case, call string) string {
	t.Helper()
	head, tail := bodyOf(t, c, call)
	var b strings.Builder
	members := func(text []byte, indent, last string) (value json.RawMessage) {
		var all map[string]json.RawMessage
		if err := json.Unmarshal(text, &all); err != nil {
			t.Fatal(err)
		}
		for _, key := range slices.Sorted(maps.Keys(all)) {
			if strings.Contains(string(all[key]), mark) {
				last, value = key, all[key]
				continue
			}
			fmt.Fprintf(&b, "%s%s: %s\n", indent, key, all[key])
		}
		fmt.Fprintf(&b, "%s%s:\n", indent, last)
		return value
	}
	items := members([]byte(head+mark+tail), "", "")
	b.WriteString("- # an item\n")
	value := members(items[1:len(items)-1], "  ", "")
	if c.IsWrite() {
		members(value, "    ", "")
	}
	return b.String()
}

// inline sends a body with the document of a case.
func (w *wire) inline(t *testing.T, c *writecase.Case, contentType string) (r writecase.Result) {
	t.Helper()
	_, document := c.Operation()
	for i, call := range callsOf(c) {
		head, tail := bodyOf(t, c, call)
		answer := w.do(http.MethodPost, pathOf(c, call), head+document+tail, "Content-Type", contentType)
		moved := func(p *crdevalv1.Position) {
			if p.GetLine() == 1 {
				p.Column -= int32(len(head))
			}
		}
		r = with(r, i, call, w.restLines(t, call, answer, moved))
	}
	return r
}

func pathOf(c *writecase.Case, call string) string {
	name := strings.ToLower(call)
	if c.IsWrite() && call != "Validate" {
		name = "admit"
	}
	return "/v1/catalogs/" + c.CRD + ":" + name
}

// mark stands for a document.
const mark = `{"mark":"here"}`

// bodyOf returns what a JSON body has before and after the document of a case.
func bodyOf(t *testing.T, c *writecase.Case, call string) (head, tail string) {
	t.Helper()
	inline := *c
	inline.YAML = false
	text := mark
	switch operation, _ := c.Operation(); operation {
	case "create":
		inline.Create = &text
	case "update":
		inline.Update = &text
	case "mergePatch":
		inline.MergePatch = &text
	case "jsonPatch":
		inline.JSONPatch = &text
	}
	m := requestOf(t, &inline, call)
	m.ProtoReflect().Get(m.ProtoReflect().Descriptor().Fields().ByName("context")).Message().Clear(
		(&crdevalv1.EvaluationContext{}).ProtoReflect().Descriptor().Fields().ByName("catalog")) // it is in the path
	body, err := codec.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	head, tail, _ = strings.Cut(string(body), mark)
	return head, tail
}

func (w *wire) restLines(t *testing.T, call string, a answer, moved func(*crdevalv1.Position)) writecase.Result {
	t.Helper()
	if a.code != http.StatusOK {
		t.Fatalf("HTTP %d: %s", a.code, a.text)
	}
	var m proto.Message = &crdevalv1.AdmitResponse{}
	switch call {
	case "Validate":
		m = &crdevalv1.ValidateResponse{}
	case "Prune":
		m = &crdevalv1.PruneResponse{}
	case "Default":
		m = &crdevalv1.DefaultResponse{}
	case "Read":
		m = &crdevalv1.ReadResponse{}
	case "Convert":
		m = &crdevalv1.ConvertResponse{}
	}
	a.into(t, m)
	return answerLines(t, m, moved)
}

// answerLines returns the lines of a response with one result. moved changes positions in the body of a request to those
// in the document.
func answerLines(t *testing.T, m proto.Message, moved func(*crdevalv1.Position)) (r writecase.Result) {
	t.Helper()
	var st *statusv1.Status
	switch m := m.(type) {
	case interface {
		GetResults() []*crdevalv1.VerdictResult
	}:
		st = m.GetResults()[0].GetError()
		r = testwrite.Verdict(m.GetResults()[0].GetVerdict(), moved)
	case interface {
		GetResults() []*crdevalv1.TransformResult
	}:
		st = m.GetResults()[0].GetError()
		r = testwrite.Transformed(m.GetResults()[0].GetTransformed(), moved)
	}
	if st != nil {
		r.Add("error", reason(t, status.FromProto(st))+" "+st.GetMessage())
	}
	return r
}
