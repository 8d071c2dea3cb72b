// Package storage reads objects as a server of many CRDs does that has only storage of its own: over gRPC, and held against the codec of an API server's storage.
package storage

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/crdeval/crdeval/cache"
	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/inprocess"
	"github.com/crdeval/crdeval/server/registry"
	"github.com/crdeval/crdeval/server/registry/memory"
)

// storedObjects is how many objects TestStorage reads in one call.
const storedObjects = 10_000

// TestStorage reads 10,000 objects of many CRDs, stored at all of their versions, in one call of Read: each is what the codec of an API server's storage makes of its bytes.
func TestStorage(t *testing.T) {
	crds, evaluation := start(t)
	ctx := context.Background()
	request := &crdevalv1.ReadRequest{Catalog: "default", TargetVersion: "v1"}
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
			request.Items = append(request.Items, &crdevalv1.EvaluationItem{Object: document(o.Old)})
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

// start starts a server that takes so many items at once.
func start(t *testing.T) (crdevalv1.RegistryServiceClient, crdevalv1.EvaluationServiceClient) {
	t.Helper()
	ctx := context.Background()
	programs := cache.New(cache.Options[string, *engine.Definition]{MaxBytes: 256 << 20, Weigh: (*engine.Definition).Size})
	kept, err := registry.New(ctx, memory.New(), registry.Options{Programs: programs, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	conn := inprocess.New(inprocess.Options{})
	api.Register(conn, api.Options{Registry: kept, Limits: api.Limits{MaxBatchItems: storedObjects}})
	t.Cleanup(func() {
		conn.Stop()
		_ = programs.Close(ctx)
	})
	return crdevalv1.NewRegistryServiceClient(conn), crdevalv1.NewEvaluationServiceClient(conn)
}

// canonical is a document with sorted keys, its numbers as they are written.
func canonical(text []byte) string {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return string(text)
	}
	made, err := json.Marshal(v)
	if err != nil {
		return string(text)
	}
	return string(made)
}

func document(text []byte) *crdevalv1.Document {
	return &crdevalv1.Document{Content: &crdevalv1.Document_Json{Json: text}}
}
