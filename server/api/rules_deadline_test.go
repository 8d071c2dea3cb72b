package api_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	statusv1 "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/crdeval/crdeval/engine/testenv"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// worst are rules that pass registration, and objects of 3 MiB for which an API server works on them for minutes or longer.
var worst = []struct {
	name, rule, spec string
	ends             bool // after some hundred milliseconds, at the limit of a call
}{
	{name: "nested comprehensions", ends: true, rule: "self.l.map(x, self.l.map(y, self.l.map(z, x + y + z))).size() >= 0",
		spec: `{"l":[` + strings.TrimSuffix(strings.Repeat("1,", 60), ",") + `],"groups":[` + strings.TrimSuffix(strings.Repeat(`{"l":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]},`, 40_000), ",") + `]}`},
	{name: "a pattern that looks ahead", rule: "self.s.findAll('a[^b]*b|a').size() >= 0", spec: `{"s":"` + strings.Repeat("a", 3_100_000) + `"}`},
	{name: "a list printed", rule: "'%s'.format([self.groups]).size() >= 0", spec: `{"groups":[` + strings.TrimSuffix(strings.Repeat(`{"l":[1,2,3,4,5,6,7,8,9,10]},`, 100_000), ",") + `]}`, ends: true},
	{name: "distinct parts of a text", rule: "[1, 2, 3].map(x, self.s.split('')).distinct().size() >= 0", spec: `{"s":"` + strings.Repeat("a", 1_400_000) + `"}`, ends: true},
}

// TestTheWorstRule: among 99 other items, the worst item for the worst rule ends with its timeout, or with the call's deadline early enough to send the
// answer; the others have their verdicts.
func TestTheWorstRule(t *testing.T) {
	testenv.E2E(t)
	w := start(t, nil).withCronTab()
	for i, c := range worst {
		kind := fmt.Sprintf("Worst%d", i)
		manifest := fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"%[1]ss.example.com"},
			"spec":{"group":"example.com","scope":"Cluster","names":{"plural":"%[1]ss","kind":%[2]q},"versions":[{"name":"v1","served":true,"storage":true,
			"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","x-kubernetes-validations":[{"rule":%[3]q}],"properties":{
			"s":{"type":"string"},"l":{"type":"array","maxItems":60,"items":{"type":"integer"}},
			"groups":{"type":"array","items":{"type":"object","properties":{"l":{"type":"array","items":{"type":"integer"}}}}}}}}}}}]}}`, strings.ToLower(kind), kind, c.rule)
		registered, err := w.registry.RegisterCrd(context.Background(), &crdevalv1.RegisterCrdRequest{Catalog: "default", Manifest: jsonDocument(manifest)})
		if err != nil || !registered.GetAccepted() {
			t.Fatalf("%s: %v %.1000v", c.name, err, registered)
		}
		bad := jsonDocument(fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":%q,"metadata":{"name":"a"},"spec":%s}`, kind, c.spec))
		const at = 40
		r := &crdevalv1.ValidateRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}}
		for n := range 100 {
			object := bad
			if n != at {
				object = jsonDocument(cronTab(`{}`))
			}
			r.Items = append(r.Items, &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: object}}})
		}
		for name, options := range map[string]*crdevalv1.EvaluationOptions{
			"item timeout of 50 ms": {ItemTimeout: durationpb.New(50 * time.Millisecond)},
			"the call's time only":  {},
		} {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				r.Context.Options = options
				got, err := patiently(t, func(ctx context.Context) (*crdevalv1.ValidateResponse, error) { return w.evaluation.Validate(ctx, r) })
				for attempt := 1; err == nil && attempt < 3 && lateBeside(at, got.GetResults()); attempt++ {
					t.Log("the machine was away for as long as an item may take: once more")
					got, err = patiently(t, func(ctx context.Context) (*crdevalv1.ValidateResponse, error) { return w.evaluation.Validate(ctx, r) })
				}
				if err != nil {
					t.Fatalf("no answer within the deadline: %v", err)
				}
				for n, result := range got.GetResults() {
					if n != at {
						if !result.GetVerdict().GetAllowed() {
							t.Fatalf("item %d: %v", n, result)
						}
						continue
					}
					if c.ends && options.GetItemTimeout() == nil {
						t.Logf("it may end before: %.300v", result)
					} else if st := status.FromProto(result.GetError()); st.Code() != codes.DeadlineExceeded || reason(t, st) != "ITEM_DEADLINE" {
						t.Errorf("the worst item: %.500v", result)
					}
				}
			})
		}
	}
}

// lateBeside reports that another item than the one at an index ran out of time.
func lateBeside[R interface{ GetError() *statusv1.Status }](at int, results []R) bool {
	for n, result := range results {
		if n != at && codes.Code(result.GetError().GetCode()) == codes.DeadlineExceeded { //nolint:gosec // codes are small
			return true
		}
	}
	return false
}

// patiently makes a call that takes as long as its deadline lets it, and has an answer before that. Of the time a tenth is kept for the answer, which a busy machine
// may miss: the deadline is a longer one then.
func patiently[R any](t *testing.T, call func(context.Context) (R, error)) (answer R, err error) {
	t.Helper()
	timeout := 2 * time.Second
	for range 8 {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		begin := time.Now()
		answer, err = call(ctx)
		cancel()
		t.Logf("within %v: after %v, %v", timeout, time.Since(begin).Round(100*time.Microsecond), err)
		if status.Code(err) != codes.DeadlineExceeded {
			break
		}
		timeout = min(3*timeout, 18*time.Second)
	}
	return answer, err
}
