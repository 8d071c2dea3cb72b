package tests

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/server/gateway/codec"

	"google.golang.org/protobuf/proto"

	"github.com/crdeval/crdeval/cache"
	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/casefile"
	"github.com/crdeval/crdeval/engine/testenv"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/gateway"
	"github.com/crdeval/crdeval/server/registry"
	"github.com/crdeval/crdeval/server/transport/inprocess"
)

const crd = "crontabs.stable.example.com"

type server struct {
	registry   crdevalv1.RegistryServiceClient
	evaluation crdevalv1.EvaluationServiceClient
	rest       *httptest.Server
}

// serve serves the API in this process, with a registry of its own in memory.
func serve(t *testing.T, limits api.Limits) (*inprocess.Conn, http.Handler) {
	t.Helper()
	ctx, log := context.Background(), slog.New(slog.DiscardHandler)
	programs := cache.New(cache.Options[string, *engine.Definition]{MaxBytes: 64 << 20, Weigh: (*engine.Definition).Size})
	kept, err := registry.New(ctx, registry.NewMemoryStore(), registry.Options{Programs: programs, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	conn := inprocess.New(inprocess.Options{})
	api.Register(conn, api.Options{Registry: kept, Limits: limits, Log: log})
	handler, err := gateway.New(ctx, conn, gateway.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Stop()
		_ = programs.Close(ctx)
	})
	return conn, handler
}

func startServer(t *testing.T) *server {
	t.Helper()
	conn, handler := serve(t, api.Limits{})
	rest := httptest.NewServer(handler)
	t.Cleanup(rest.Close)
	return &server{crdevalv1.NewRegistryServiceClient(conn), crdevalv1.NewEvaluationServiceClient(conn), rest}
}

// post sends JSON over REST and returns the response text.
func (s *server) post(t *testing.T, path string, body []byte) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.rest.URL+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := s.rest.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%v: HTTP %d %s", err, answer.StatusCode, text)
	}
	return string(text)
}

// TestSurfaces compares registrations and verdicts over gRPC and REST with the reference's answers. Tests of server/api
// compare the other calls over both, and TestCases of engine/publish the presentations with the reference's.
func TestSurfaces(t *testing.T) {
	cases, err := casefile.Load("../testdata/cases")
	if err != nil {
		t.Fatal(err)
	}
	s := startServer(t)
	asked, replaced := 0, 0
	for i := range cases {
		c := &cases[i]
		if c.Op == "convert" {
			continue // most are about answers of a webhook: engine/cases_test.go runs them
		}
		asked++
		if c.Costly() && testenv.Volume(1) == 1 {
			continue
		}
		t.Run(c.File+"/"+c.Name, func(t *testing.T) {
			if s.runCase(t, fmt.Sprintf("case-%d", i), c); c.OldCRD != nil && !t.Skipped() {
				replaced++
			}
		})
	}
	if asked < 400 || replaced < 25 {
		t.Errorf("only %d cases were asked, %d of them updates of CRDs", asked, replaced)
	}
}

func (s *server) runCase(t *testing.T, catalog string, c *casefile.Case) {
	ctx := context.Background()
	if _, err := s.registry.CreateCatalog(ctx, &crdevalv1.CreateCatalogRequest{Catalog: catalog}); err != nil {
		t.Fatal(err)
	}
	manifest := &crdevalv1.Document{Content: &crdevalv1.Document_Json{Json: c.CRD}}
	if c.OldCRD != nil {
		s.registerOld(t, catalog, c)
	}
	checked, err := s.registry.CheckCrd(ctx, &crdevalv1.CheckCrdRequest{Catalog: catalog, Manifest: manifest})
	if err != nil {
		t.Fatal(err)
	}
	same(t, checked, s.post(t, "/v1/catalogs/"+catalog+"/crds:check", c.CRD))
	if checked.GetReport().GetUpdate() != (c.OldCRD != nil) {
		t.Errorf("judged as an update: %v", checked.GetReport().GetUpdate())
	}
	if c.Registration != nil {
		compareViolations(t, checked.GetReport().GetViolations(), c.Registration.Errors)
		if checked.GetAccepted() != (len(c.Registration.Errors) == 0) {
			t.Errorf("accepted %v with %d field errors of the reference", checked.GetAccepted(), len(c.Registration.Errors))
		}
	}
	if c.OldCRD != nil {
		s.replace(t, catalog, c, checked)
	}
	if !checked.GetAccepted() {
		return // the CRD of such a case was stored by an older server
	}
	if _, err := s.registry.RegisterCrd(ctx, &crdevalv1.RegisterCrdRequest{Catalog: catalog, Manifest: manifest}); err != nil {
		t.Fatal(err)
	}
	for i, object := range c.Objects {
		if c.Op == "" {
			s.object(t, catalog, c, object, &c.Answers[i])
		}
	}
}

// registerOld registers the CRD that a case updates. If it was stored by an older server, today's validation rejects
// it, and no registry can contain it. Only the engine and the oracle run these cases.
func (s *server) registerOld(t *testing.T, catalog string, c *casefile.Case) {
	t.Helper()
	old := &crdevalv1.Document{Content: &crdevalv1.Document_Json{Json: c.OldCRD}}
	r, err := s.registry.RegisterCrd(context.Background(), &crdevalv1.RegisterCrdRequest{Catalog: catalog, Manifest: old})
	if err != nil {
		t.Fatal(err)
	}
	if !r.GetAccepted() {
		t.Skipf("today's validation does not take the old CRD: %s", r.GetReport().GetRejection().GetMessage())
	}
}

// replace registers the new CRD in both possible ways and compares it with the old one. All results agree.
func (s *server) replace(t *testing.T, catalog string, c *casefile.Case, checked *crdevalv1.CheckCrdResponse) {
	t.Helper()
	ctx := context.Background()
	manifest := &crdevalv1.Document{Content: &crdevalv1.Document_Json{Json: c.CRD}}
	diffed, err := s.registry.DiffCrd(ctx, &crdevalv1.DiffCrdRequest{Catalog: catalog, Manifest: manifest})
	if err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(diffed.GetReport(), checked.GetReport()) || diffed.GetAccepted() != checked.GetAccepted() {
		t.Errorf("a comparison reports %v\na check %v", diffed.GetReport(), checked.GetReport())
	}
	head := `{"manifest":`
	rest := &crdevalv1.DiffCrdResponse{}
	if err := codec.Unmarshal([]byte(s.post(t, "/v1/catalogs/"+catalog+"/crds:diff", []byte(head+string(c.CRD)+"}"))), rest, nil); err != nil {
		t.Fatal(err)
	}
	behind(diffed.GetReport().GetViolations(), head)
	warningsBehind(diffed.GetReport().GetWarnings(), head)
	for _, change := range diffed.GetChanges() {
		shift(change.GetNewPosition(), head)
	}
	if !proto.Equal(diffed, rest) {
		t.Errorf("gRPC %v\nREST %v", diffed, rest)
	}
	registered, err := s.registry.RegisterCrd(ctx, &crdevalv1.RegisterCrdRequest{Catalog: catalog, Manifest: manifest})
	if err != nil {
		t.Fatal(err)
	}
	if registered.GetOutcome() != checked.GetOutcome() || !proto.Equal(registered.GetReport(), checked.GetReport()) {
		t.Errorf("registered %v %v\nchecked %v %v", registered.GetOutcome(), registered.GetReport(), checked.GetOutcome(), checked.GetReport())
	}
	all := &crdevalv1.RegisterCrdsResponse{}
	if err := codec.Unmarshal([]byte(s.post(t, "/v1/catalogs/"+catalog+"/crds:register", c.CRD)), all, nil); err != nil {
		t.Fatal(err)
	}
	again := all.GetResults()[0].GetRegistration()
	compareViolations(t, again.GetReport().GetViolations(), c.Registration.Errors)
	if again.GetAccepted() != checked.GetAccepted() || again.GetCrd().GetEtag() != registered.GetCrd().GetEtag() || again.GetCrd().GetGeneration() != registered.GetCrd().GetGeneration() {
		t.Errorf("registered twice: %v, then %v", registered, again)
	}
}

func (s *server) object(t *testing.T, catalog string, c *casefile.Case, object []byte, want *casefile.Answer) {
	t.Helper()
	ctx := context.Background()
	item := &crdevalv1.WriteItem{Crd: crd, Version: "v1"}
	items := []*crdevalv1.WriteItem{item}
	if c.OldObject == nil {
		item.Write = &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: document(object)}}
	} else {
		item.Write = &crdevalv1.WriteItem_Update{Update: &crdevalv1.Update{
			Object: document(object), OldObject: document(c.OldObject), Subresource: c.Request.Subresource,
		}}
	}
	validated, err := s.evaluation.Validate(ctx, &crdevalv1.ValidateRequest{Context: &crdevalv1.EvaluationContext{Catalog: catalog}, Items: items})
	if err != nil {
		t.Fatal(err)
	}
	verdict := validated.GetResults()[0].GetVerdict()
	if code := verdict.GetRejection().GetCode(); (code == 0 || code == http.StatusUnprocessableEntity) && !byRequest(verdict) {
		compareViolations(t, verdict.GetViolations(), want.Errors)
	}
	if allowed := len(want.Errors) == 0 && want.Error == ""; verdict.GetAllowed() != allowed || (verdict.GetRejection() == nil) != allowed {
		t.Errorf("verdict %v, want allowed %v", verdict, allowed)
	}
	operation, tail := "create", "}}]}"
	if c.OldObject != nil {
		operation, tail = "update", fmt.Sprintf(`,"oldObject":%s,"subresource":%q}}]}`, c.OldObject, c.Request.Subresource)
	}
	if !json.Valid(object) || !json.Valid(c.OldObject) && c.OldObject != nil {
		return // it would be an invalid body, and it cannot be written inline
	}
	head := fmt.Sprintf(`{"items":[{"crd":%q,"version":"v1",%q:{"object":`, crd, operation)
	body := []byte(head + string(object) + tail)
	verdictBehind(verdict, head)
	same(t, validated, s.post(t, "/v1/catalogs/"+catalog+":validate", body))
}

// byRequest reports whether the request handler rejects the object before the strategy of the cases runs.
func byRequest(v *crdevalv1.Verdict) bool {
	return slices.ContainsFunc(v.GetViolations(), func(v *crdevalv1.Violation) bool { return v.GetStep() == crdevalv1.PipelineStep_PIPELINE_STEP_REQUEST })
}

// behind moves positions in a document to where they are if the document stands behind a text without line ends: over
// REST, positions are relative to the body.
func behind(found []*crdevalv1.Violation, head string) {
	for _, v := range found {
		shift(v.Position, head)
	}
}

// verdictBehind is behind for all positions of a verdict.
func verdictBehind(v *crdevalv1.Verdict, head string) {
	behind(v.GetViolations(), head)
	behind(v.GetRatcheted(), head)
	warningsBehind(v.GetWarnings(), head)
	for _, c := range v.GetChanges().GetPruned() {
		shift(c.GetPosition(), head)
	}
}

func warningsBehind(list []*crdevalv1.Warning, head string) {
	for _, w := range list {
		shift(w.GetPosition(), head)
	}
}

func shift(p *crdevalv1.Position, head string) {
	if p == nil {
		return
	}
	if p.Line == 1 {
		p.Column += int32(len(head))
	}
	p.Offset += int32(len(head))
}

// same compares a gRPC answer with the text of the REST answer.
func same(t *testing.T, answer proto.Message, rest string) {
	t.Helper()
	text, err := codec.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != rest {
		t.Errorf("gRPC %s\nREST %s", text, rest)
	}
}

func compareViolations(t *testing.T, got []*crdevalv1.Violation, want []casefile.FieldError) {
	t.Helper()
	var ours, theirs []string
	for _, v := range got {
		line := fmt.Sprintf("%s | %s | %s | %s | %s: %s", v.GetType(), v.GetField(), v.GetDetail(), canonical(v.GetBadValue().GetJson()), v.GetField(), v.GetMessage())
		ours = append(ours, timeless(line))
	}
	for _, f := range want {
		theirs = append(theirs, fmt.Sprintf("%s | %s | %s | %s | %s", f.Type, f.Field, f.Detail, canonical(f.BadValue), f.Message))
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	if !slices.Equal(ours, theirs) {
		t.Errorf("field errors\n\t%s\nwant\n\t%s", strings.Join(ours, "\n\t"), strings.Join(theirs, "\n\t"))
	}
}

// canonical prints JSON with sorted keys and unchanged numbers.
func canonical(text []byte) string {
	if text == nil {
		return "(none)"
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return string(text)
	}
	out, _ := json.Marshal(v)
	return string(out)
}
