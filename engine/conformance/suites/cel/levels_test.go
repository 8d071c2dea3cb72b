package cel

import (
	"encoding/json"
	"testing"

	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/conformance/jsontree"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
	engine "github.com/crdeval/crdeval/engine/conformance/ours"
	"github.com/crdeval/crdeval/engine/conformance/suites/writes"
	"github.com/crdeval/crdeval/engine/conformance/upstreamtests"
)

// TestRulesAtLevels runs upstream's tests of rules at all levels of a schema, of ratcheting and of optional old values
// on both sides.
func TestRulesAtLevels(t *testing.T) {
	served, rejected := 0, 0
	for _, row := range rows(t, upstreamtests.Rules, "TestValidationExpressionsAtSchemaLevels", "TestRatcheting", "TestOptionalOldSelf", "TestOptionalOldSelfCheckForNull", "TestReasonAndFldPath") {
		schema, err := jsontree.Parse(row.Schema)
		if err != nil {
			t.Fatal(err)
		}
		inner := schema
		self, old := envelope(t, row.Obj), envelope(t, row.Old)
		if kind, _ := schema.Get("type").Text(); kind != "object" || schema.Get("additionalProperties") != nil {
			inner = jsontree.Obj("type", "object", "properties", jsontree.Obj("v", schema))
			self, old = wrapped(row.Obj), wrapped(row.Old)
		}
		manifest := generate.Manifest(inner).JSON()
		up, first := writes.Upstream{}.Register(manifest)
		our, second := engine.Engine{}.Register(manifest)
		if diffs := oracle.Compare(first, second); len(diffs) > 0 {
			t.Errorf("%s %s: registration: %v", row.Table, row.Name, diffs)
			continue
		}
		if up == nil || our == nil {
			rejected++
			continue
		}
		served++
		requests := []oracle.Request{{Op: oracle.Create, Version: "v1", Body: self}}
		if old != nil {
			requests = append(requests, oracle.Request{Op: oracle.Update, Version: "v1", Body: self, Old: old})
		}
		for _, r := range requests {
			if diffs := oracle.Compare(up.Answer(r), our.Answer(r)); len(diffs) > 0 {
				t.Errorf("%s %s: %s: %v", row.Table, row.Name, r.Op, diffs)
			}
			if c, ok := our.(writes.Checked); ok {
				for _, diff := range c.Check(r) {
					t.Errorf("%s %s: %s: %s", row.Table, row.Name, r.Op, diff)
				}
			}
		}
	}
	t.Logf("%d definitions served, %d rejected", served, rejected)
	if served < 20 {
		t.Error("the tables were not read whole")
	}
}

// envelope returns an object with the root fields of a row, or nil for an empty document.
func envelope(t *testing.T, doc json.RawMessage) []byte {
	t.Helper()
	if len(doc) == 0 || string(doc) == "null" {
		return nil
	}
	n, err := jsontree.Parse(doc)
	if err != nil {
		t.Fatal(err)
	}
	return generate.Envelope(n.GetMembers()...).JSON()
}

// wrapped returns an object that contains a row's value.
func wrapped(doc json.RawMessage) []byte {
	if len(doc) == 0 || string(doc) == "null" {
		return nil
	}
	n, err := jsontree.Parse(doc)
	if err != nil {
		return nil
	}
	return generate.Envelope(jsontree.Member{Key: "v", Value: n}).JSON()
}
