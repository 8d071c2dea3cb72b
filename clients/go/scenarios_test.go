package crdeval_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"sigs.k8s.io/yaml"

	crdeval "github.com/crdeval/crdeval/clients/go"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// scenarios is the content of clients/scenarios/scenarios.yaml. Its README describes the format.
type scenarios struct {
	Token     string
	Documents map[string]string
	Scenarios []struct {
		Name  string
		Steps []step
	}
}

type step struct {
	Call           string
	Catalog, Token *string
	Retries        *bool
	Items          []item
	Repeat         int
	Manifests      []string
	Version        string
	CRD, Group     string
	Options        struct {
		FieldValidation string
		ItemTimeoutNs   int64
	}
	TimeoutMs      int
	ReleaseAfterMs int
	Expect         map[string]any
}

type item struct {
	Object, OldObject, MergePatch, JSONPatch, Subresource string

	Padding int
}

// UnmarshalJSON reads an item that is only the name of its object, or a map.
func (i *item) UnmarshalJSON(text []byte) error {
	if text[0] == '"' {
		return yaml.Unmarshal(text, &i.Object)
	}
	type plain item
	return yaml.UnmarshalStrict(text, (*plain)(i))
}

// TestScenarios runs the scenarios that all clients share. CRDEVAL_SCENARIOS_GRPC is the address of a server that
// clients/scenarios/serve started. Without it, the test starts the server in its process.
func TestScenarios(t *testing.T) {
	text, err := os.ReadFile("../scenarios/scenarios.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all scenarios
	if err := yaml.UnmarshalStrict(text, &all); err != nil {
		t.Fatal(err)
	}
	address := os.Getenv("CRDEVAL_SCENARIOS_GRPC")
	if address == "" {
		address = serve(t, "--config=../scenarios/server.yaml", "--auth-token-file=../scenarios/tokens.csv")
	}
	for _, scenario := range all.Scenarios {
		t.Run(scenario.Name, func(t *testing.T) {
			r := &runner{t: t, scenarios: &all, address: address}
			for i, s := range scenario.Steps {
				got := r.run(s)
				if at := difference(s.Expect, got); at != "" {
					printed, _ := yaml.Marshal(got)
					t.Errorf("step %d, %s: %s differs from what is expected:\n%.4000s", i, s.Call, at, printed)
				}
			}
			if r.release != nil {
				t.Error("the stream is not released")
			}
		})
	}
	if len(all.Scenarios) == 0 {
		t.Error("there are no scenarios")
	}
}

// runner runs the steps of one scenario.
type runner struct {
	t         *testing.T
	scenarios *scenarios
	address   string
	release   func()
}

func (r *runner) client(s step) *crdeval.Client {
	options := []crdeval.Option{crdeval.WithToken(r.scenarios.Token)}
	if s.Token != nil {
		options = []crdeval.Option{crdeval.WithToken(*s.Token)}
	}
	if s.Catalog != nil {
		options = append(options, crdeval.WithCatalog(*s.Catalog))
	}
	if s.Retries != nil && !*s.Retries {
		options = append(options, crdeval.WithRetries(crdeval.RetryOptions{MaxAttempts: 1}))
	}
	c, err := crdeval.Dial(r.address, options...)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	return c
}

func (r *runner) document(name string) []byte {
	if name == "" {
		return nil
	}
	text, ok := r.scenarios.Documents[name]
	if !ok {
		r.t.Fatalf("there is no document %q", name)
	}
	return []byte(text)
}

// writes returns the items of a step and their objects.
func (r *runner) writes(s step) (objects [][]byte, items []*crdevalv1.WriteItem) {
	for range max(s.Repeat, 1) {
		for _, i := range s.Items {
			object := append(r.document(i.Object), strings.Repeat(" ", i.Padding)...)
			var item *crdevalv1.WriteItem
			switch old := r.document(i.OldObject); {
			case i.MergePatch != "":
				item = crdeval.MergePatch(old, r.document(i.MergePatch))
			case i.JSONPatch != "":
				item = crdeval.JSONPatch(old, r.document(i.JSONPatch))
			case i.OldObject != "":
				item = crdeval.UpdateSubresource(i.Subresource, old, object)
			default:
				item = crdeval.Create(object)
			}
			objects, items = append(objects, object), append(items, item)
		}
	}
	return objects, items
}

// run performs the call of a step and returns its outcome in the form of `expect`.
func (r *runner) run(s step) map[string]any {
	c := r.client(s)
	ctx, cancel := context.WithTimeout(r.t.Context(), cmp.Or(time.Duration(s.TimeoutMs)*time.Millisecond, time.Minute))
	defer cancel()
	objects, items := r.writes(s)
	var evaluation crdevalv1.EvaluationOptions
	if name := s.Options.FieldValidation; name != "" {
		evaluation.FieldValidation = crdevalv1.FieldValidation(crdevalv1.FieldValidation_value["FIELD_VALIDATION_"+name])
	}
	if ns := s.Options.ItemTimeoutNs; ns != 0 {
		evaluation.ItemTimeout = durationpb.New(time.Duration(ns))
	}
	if s.ReleaseAfterMs > 0 {
		release := r.release
		r.release = nil
		time.AfterFunc(time.Duration(s.ReleaseAfterMs)*time.Millisecond, release)
	}
	switch s.Call {
	case "register":
		manifests := make([][]byte, len(s.Manifests))
		for i, name := range s.Manifests {
			manifests[i] = r.document(name)
		}
		results, err := c.RegisterAll(ctx, manifests...)
		return outcome(results, err, registeredMap)
	case "validate":
		results, err := c.ValidateItems(ctx, items, &evaluation)
		return outcome(results, err, verdictMap)
	case "admit":
		results, err := c.AdmitItems(ctx, items, crdeval.AdmitOptions{Evaluation: &evaluation})
		return outcome(results, err, verdictMap)
	case "prune":
		results, err := c.Prune(ctx, objects...)
		return outcome(results, err, transformedMap)
	case "default":
		results, err := c.Default(ctx, objects...)
		return outcome(results, err, transformedMap)
	case "read":
		results, err := c.Read(ctx, s.Version, objects...)
		return outcome(results, err, transformedMap)
	case "convert":
		results, err := c.Convert(ctx, s.Version, objects...)
		return outcome(results, err, transformedMap)
	case "admitStream":
		var all []crdeval.Result
		for result, err := range c.AdmitStream(ctx, slices.Values(items), crdeval.AdmitOptions{Evaluation: &evaluation}) {
			if err != nil {
				return outcome(all, err, verdictMap)
			}
			all = append(all, result)
		}
		return outcome(all, nil, verdictMap)
	case "readStream":
		var all []crdeval.Transformed
		options := crdeval.ReadOptions{TargetVersion: s.Version}
		items := func(yield func(*crdevalv1.ObjectItem) bool) {
			for _, object := range objects {
				if !yield(&crdevalv1.ObjectItem{Object: crdeval.Document(object)}) {
					return
				}
			}
		}
		for result, err := range c.ReadStream(ctx, items, options) {
			if err != nil {
				return outcome(all, err, transformedMap)
			}
			all = append(all, result)
		}
		return outcome(all, nil, transformedMap)
	case "list":
		return r.list(ctx, c, s.Group)
	case "watch":
		return r.watch(ctx, c, s.Group)
	case "delete":
		return errorOutcome(c.DeleteCRD(ctx, s.CRD))
	case "hold":
		return r.hold(c, items[0])
	}
	r.t.Fatalf("unknown call %q", s.Call)
	return nil
}

// list returns the names of the CRDs of a group.
func (r *runner) list(ctx context.Context, c *crdeval.Client, group string) map[string]any {
	names, token := []any{}, ""
	for {
		page, err := c.Registry().ListCrds(ctx, &crdevalv1.ListCrdsRequest{
			Catalog: c.Catalog(), PageSize: 1, PageToken: token, AtLeast: c.Token(),
		})
		if err != nil {
			return errorOutcome(err)
		}
		for _, crd := range page.GetCrds() {
			if crd.GetGroup() == group {
				names = append(names, crd.GetName())
			}
		}
		if token = page.GetNextPageToken(); token == "" {
			return map[string]any{"crds": names}
		}
	}
}

// watch returns the events of a group up to SYNCED.
func (r *runner) watch(ctx context.Context, c *crdeval.Client, group string) map[string]any {
	events := []any{}
	for event, err := range c.Watch(ctx, crdeval.WatchOptions{}) {
		if err != nil {
			return errorOutcome(err)
		}
		kind := strings.TrimPrefix(event.GetType().String(), "WATCH_EVENT_TYPE_")
		if crd := event.GetCrd(); crd != nil && crd.GetGroup() == group {
			events = append(events, kind+" "+crd.GetName())
		}
		if kind == "SYNCED" {
			events = append(events, kind)
			break
		}
	}
	return map[string]any{"events": events}
}

// hold opens a stream, waits for one result and keeps the stream open until r.release is called.
func (r *runner) hold(c *crdeval.Client, one *crdevalv1.WriteItem) map[string]any {
	open, opened := make(chan struct{}), make(chan error, 1)
	items := func(yield func(*crdevalv1.WriteItem) bool) {
		if yield(one) {
			<-open
		}
	}
	go func() {
		for _, err := range c.AdmitStream(r.t.Context(), items, crdeval.AdmitOptions{}) {
			opened <- err
		}
	}()
	r.release = func() { close(open) }
	return errorOutcome(<-opened)
}

// outcome returns the results of a call, and its error.
func outcome[R any](results []R, err error, toMap func(R) map[string]any) map[string]any {
	all := make([]any, len(results))
	for i, result := range results {
		all[i] = toMap(result)
	}
	o := errorOutcome(err)
	if err == nil || len(all) > 0 {
		o["results"] = all
	}
	return o
}

func errorOutcome(err error) map[string]any {
	if err == nil {
		return map[string]any{}
	}
	return map[string]any{"error": errorMap(err)}
}

func errorMap(err error) map[string]any {
	reason, metadata := crdeval.ReasonOf(err)
	all := map[string]any{"code": codeName(status.Code(err)), "message": status.Convert(err).Message()}
	if reason != crdevalv1.ErrorReason_ERROR_REASON_UNSPECIFIED {
		all["reason"] = strings.TrimPrefix(reason.String(), "ERROR_REASON_")
	}
	values := map[string]any{}
	for key, value := range metadata {
		values[key] = value
	}
	all["metadata"] = values
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok {
			all["retryDelay"] = info.GetRetryDelay().AsDuration() > 0
		}
	}
	return all
}

// codeName returns the name of a code as the documentation of gRPC spells it.
func codeName(c codes.Code) string {
	for name := range strings.FieldsSeq("OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND " +
		"ALREADY_EXISTS PERMISSION_DENIED RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED " +
		"INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED") {
		var named codes.Code
		if named.UnmarshalJSON([]byte(`"`+name+`"`)) == nil && named == c {
			return name
		}
	}
	return c.String()
}

func registeredMap(r crdeval.Registered) map[string]any {
	all := map[string]any{"name": r.Name}
	var rejected *crdeval.RejectedError
	if r.Err != nil && !errors.As(r.Err, &rejected) {
		all["error"] = errorMap(r.Err)
		return all
	}
	all["accepted"] = r.Response.GetAccepted()
	all["outcome"] = strings.TrimPrefix(r.Response.GetOutcome().String(), "REGISTRATION_OUTCOME_")
	all["violations"] = violationMaps(r.Response.GetReport().GetViolations())
	addRejection(all, r.Response.GetReport().GetRejection())
	return all
}

func verdictMap(r crdeval.Result) map[string]any {
	if r.Err != nil {
		return map[string]any{"error": errorMap(r.Err)}
	}
	all := map[string]any{
		"allowed": r.Allowed(), "violations": violationMaps(r.Verdict.GetViolations()),
		"ratcheted": violationMaps(r.Verdict.GetRatcheted()), "warnings": warningTexts(r.Verdict.GetWarnings()),
		"next": violationMaps(r.Verdict.GetNext()),
	}
	addRejection(all, r.Verdict.GetRejection())
	addText(all, "object", r.Object())
	addText(all, "storedObject", r.StoredObject())
	addChanges(all, r.Verdict.GetChanges())
	return all
}

func warningTexts(list []*crdevalv1.Warning) []any {
	texts := []any{}
	for _, w := range list {
		texts = append(texts, w.GetText())
	}
	return texts
}

func transformedMap(t crdeval.Transformed) map[string]any {
	if t.Err != nil {
		return map[string]any{"error": errorMap(t.Err)}
	}
	all := map[string]any{"changed": t.GetChanged(), "warnings": warningTexts(t.GetWarnings())}
	addRejection(all, t.GetRejection())
	addText(all, "object", t.GetObject().GetJson())
	addChanges(all, t.GetChanges())
	return all
}

func violationMaps(list []*crdevalv1.Violation) []any {
	all := make([]any, len(list))
	for i, v := range list {
		one := map[string]any{
			"type": v.GetType(), "field": v.GetField(), "message": v.GetMessage(), "detail": v.GetDetail(),
			"pointer": v.GetPointer(), "schemaPointer": v.GetSchemaPointer(),
			"step": strings.TrimPrefix(v.GetStep().String(), "PIPELINE_STEP_"),
		}
		addText(one, "badValue", v.GetBadValue().GetJson())
		if at := v.GetPosition(); at != nil {
			one["position"] = map[string]any{
				"line": float64(at.GetLine()), "column": float64(at.GetColumn()), "offset": float64(at.GetOffset()),
			}
		}
		if rule := v.GetRule(); rule != nil {
			one["rule"] = map[string]any{
				"rule": rule.GetRule(), "index": float64(rule.GetIndex()), "reason": rule.GetReason(),
			}
		}
		all[i] = one
	}
	return all
}

func addRejection(all map[string]any, r *crdevalv1.Rejection) {
	if r != nil {
		all["rejection"] = map[string]any{
			"code": float64(r.GetCode()), "reason": r.GetReason(), "message": r.GetMessage(),
		}
	}
}

func addText(all map[string]any, key string, text []byte) {
	if text != nil {
		all[key] = string(text)
	}
}

func addChanges(all map[string]any, changes *crdevalv1.ObjectChanges) {
	for key, list := range map[string][]*crdevalv1.FieldChange{
		"pruned": changes.GetPruned(), "defaulted": changes.GetDefaulted(),
	} {
		fields := make([]any, len(list))
		for i, change := range list {
			fields[i] = map[string]any{"path": change.GetPath(), "value": string(change.GetValue().GetJson())}
		}
		all[key] = fields
	}
}

// difference returns the path of the first difference between a step's `expect` and its outcome, or "". README.md of
// the scenarios defines the comparison.
func difference(expected, got any) string {
	switch want := expected.(type) {
	case map[string]any:
		have, ok := got.(map[string]any)
		if !ok {
			return "."
		}
		if want["error"] == nil && have["error"] != nil {
			return ".error"
		}
		if count, ok := want["count"].(float64); ok {
			return prefixed(".results", repeats(want["results"], have["results"], int(count)))
		}
		for _, key := range slices.Sorted(maps.Keys(want)) {
			found, ok := have[key]
			switch {
			case want[key] == nil && ok:
				return "." + key
			case want[key] != nil:
				if at := difference(want[key], found); at != "" {
					return "." + key + strings.TrimSuffix(at, ".")
				}
			}
		}
		return ""
	case []any:
		return repeats(want, got, len(want))
	}
	if !reflect.DeepEqual(expected, got) {
		return "."
	}
	return ""
}

func prefixed(prefix, at string) string {
	if at == "" {
		return ""
	}
	return prefix + at
}

// repeats returns the path of the first difference between a list and the expected elements, repeated to count
// elements.
func repeats(expected, got any, count int) string {
	want, _ := expected.([]any)
	have, ok := got.([]any)
	if !ok || len(have) != count {
		return fmt.Sprintf(".length (%d, not %d)", len(have), count)
	}
	for i, element := range have {
		if at := difference(want[i%len(want)], element); at != "" {
			return fmt.Sprintf("[%d]%s", i, at)
		}
	}
	return ""
}

// TestScenarioComparison checks that the comparison of scenarios notices each kind of difference.
func TestScenarioComparison(t *testing.T) {
	got := map[string]any{"results": []any{
		map[string]any{"object": "1.0", "violations": []any{map[string]any{"type": "a"}}},
		map[string]any{"error": map[string]any{"code": "NOT_FOUND"}},
	}}
	for expected, want := range map[string]bool{
		`results: [{object: "1.0"}, {error: {code: NOT_FOUND}}]`:      true,
		`results: [{object: "1.0", storedObject: null}, {error: {}}]`: true,
		`results: [{object: "1"}, {error: {code: NOT_FOUND}}]`:        false,
		`results: [{object: "1.0"}]`:                                  false,
		`results: [{object: "1.0"}, {}]`:                              false,
		`results: [{object: null}, {error: {}}]`:                      false,
		`results: [{violations: []}, {error: {}}]`:                    false,
		`results: [{violations: [{type: b}]}, {error: {}}]`:           false,
		`results: [{warnings: []}, {error: {}}]`:                      false,
		`error: {code: NOT_FOUND}`:                                    false,
		`{count: 2, results: [{object: "1.0"}, {error: {}}]}`:         true,
		`{count: 3, results: [{object: "1.0"}, {error: {}}]}`:         false,
		`{count: 2, results: [{object: "1.0"}]}`:                      false,
	} {
		var e map[string]any
		if err := yaml.Unmarshal([]byte(expected), &e); err != nil {
			t.Fatal(err)
		}
		if (difference(e, got) == "") != want {
			t.Errorf("%s: %v", expected, !want)
		}
	}
	if fmt.Sprint(codeName(codes.NotFound), codeName(codes.Canceled)) != "NOT_FOUNDCANCELLED" {
		t.Error(codeName(codes.NotFound), codeName(codes.Canceled))
	}
}
