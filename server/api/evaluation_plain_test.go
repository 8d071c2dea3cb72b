package api

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/call"
)

// TestPlainResults: only results that have nothing but the same revision are one message.
func TestPlainResults(t *testing.T) {
	b := &batch{}
	b.budget.reset(1<<20, 0)
	result := func(v engine.Verdict) (*crdevalv1.VerdictResult, int64) {
		before := b.budget.left.Load()
		r, err := b.verdictResult(&v)
		if err != nil {
			t.Fatal(err)
		}
		return r, before - b.budget.left.Load()
	}
	first, size := result(engine.Verdict{Allowed: true, Revision: "1"})
	again, sizeAgain := result(engine.Verdict{Allowed: true, Revision: "1"})
	if first != again || size != sizeAgain || size != encodedSize(first) {
		t.Errorf("%v of %d bytes and %v of %d bytes", first, size, again, sizeAgain)
	}
	if other, _ := result(engine.Verdict{Allowed: true, Revision: "2"}); other.GetVerdict().GetRevision() != "2" {
		t.Errorf("revision 2 is %v", other)
	}
	if rejected, _ := result(engine.Verdict{Revision: "2"}); rejected.GetVerdict().GetAllowed() {
		t.Errorf("a rejection is %v", rejected)
	}
	fields := reflect.TypeFor[engine.Verdict]()
	for i := range fields.NumField() {
		if fields.Field(i).Name == "Revision" {
			continue
		}
		v := engine.Verdict{Allowed: true}
		field := reflect.ValueOf(&v).Elem().Field(i)
		switch field.Kind() {
		case reflect.Bool:
			field.SetBool(!field.Bool())
		case reflect.Int:
			field.SetInt(1)
		case reflect.Slice:
			field.Set(reflect.MakeSlice(field.Type(), 1, 1))
		case reflect.Pointer:
			field.Set(reflect.New(field.Type().Elem()))
		case reflect.String:
			field.SetString("a")
		default:
			t.Fatalf("set %s in this test", fields.Field(i).Name)
		}
		if isPlain(&v) {
			t.Errorf("a verdict with %s is plain", fields.Field(i).Name)
		}
	}
	if v := (engine.Verdict{Allowed: true, Object: []byte{}}); isPlain(&v) {
		t.Error("a verdict with an object is plain")
	}
}

// TestLongLists: a list that cannot fit in the response, or whose messages find no memory, is not converted.
func TestLongLists(t *testing.T) {
	b := &batch{}
	b.budget.reset(1<<20, 0)
	memory := call.NewMemory(1000 * changeMemory) // of which half is for one caller
	b.budget.lease = memory.Open("caller")
	short := engine.FieldChange{Path: "spec.a", Pointer: "/spec/a"}
	v := &engine.Verdict{Pruned: slices.Repeat([]engine.FieldChange{short}, 1000)}
	if _, err := b.verdictResult(v); !errors.Is(err, call.ErrTooLarge) || b.budget.short.Load() == nil {
		t.Error(err)
	}
	v.Pruned[0].Value = make([]byte, 2<<20)
	if _, err := b.verdictResult(v); !isBudgetError(err) || memory.Stats().Rejected != 1 {
		t.Errorf("%v, %+v", err, memory.Stats())
	}
}
