package tests

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
	"github.com/crdeval/crdeval/engine/testenv"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
)

// storedObjects is the number of objects that TestStorage reads in one call.
var storedObjects = testenv.Volume(1250)

// TestStorage reads objects of many CRDs, stored at all of their versions, in one call of Read. Each result equals that
// of the codec of an API server's storage.
func TestStorage(t *testing.T) {
	conn, _ := serve(t, api.Limits{MaxBatchItems: storedObjects})
	crds, evaluation := crdevalv1.NewRegistryServiceClient(conn), crdevalv1.NewEvaluationServiceClient(conn)
	ctx := context.Background()
	request := &crdevalv1.ReadRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, TargetVersion: "v1"}
	var want [][]byte
	versions := map[string]int{}
	for n := uint64(0); len(want) < storedObjects; n++ {
		g := generate.Stored(generate.New("stored", 1, n), int(n))
		registered, answer := oracle.Register(g.CRD, false)
		if registered == nil || !answer.Accepted() {
			continue
		}
		theirs, err := oracle.Compile(registered)
		if err != nil {
			continue
		}
		if kept, err := crds.RegisterCrd(ctx, &crdevalv1.RegisterCrdRequest{Catalog: "default", Manifest: document(g.CRD)}); err != nil || !kept.GetAccepted() {
			t.Fatalf("the CRD was not registered: %v %v", kept, err)
		}
		for _, o := range g.Objects {
			read, err := theirs.Stored(o.Old, "v1")
			if err != nil || len(want) == storedObjects {
				continue
			}
			var of struct{ APIVersion string }
			if json.Unmarshal(o.Old, &of) == nil {
				versions[of.APIVersion[len(of.APIVersion)-2:]]++
			}
			want = append(want, read)
			request.Items = append(request.Items, &crdevalv1.ObjectItem{Object: document(o.Old)})
		}
	}
	response, err := evaluation.Read(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	wrong := 0
	for i, result := range response.GetResults() {
		if got := result.GetTransformed().GetObject().GetJson(); canonical(got) != canonical(want[i]) {
			if wrong++; wrong < 5 {
				t.Errorf("object %d %s\nis read as %s (%v)\nand upstream reads %s", i, request.Items[i].GetObject().GetJson(), got, result.GetError(), want[i])
			}
		}
	}
	if wrong > 0 || len(response.GetResults()) != storedObjects || len(versions) < 3 {
		t.Errorf("%d of %d objects differ, stored at %v", wrong, len(response.GetResults()), versions)
	}
	t.Logf("%d objects, stored at %v", len(want), versions)
}

func document(text []byte) *crdevalv1.Document {
	return &crdevalv1.Document{Content: &crdevalv1.Document_Json{Json: text}}
}
