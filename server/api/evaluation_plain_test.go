package api

import (
	"reflect"
	"testing"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// TestPlainResults: only results that have nothing but the same revision are one message.
func TestPlainResults(t *testing.T) {
	b := &batch{}
	b.budget.reset(1<<20, 0)
	result := func(v engine.Verdict) (*crdevalv1.VerdictResult, int64) {
		before := b.budget.used()
		r, err := b.verdictResult(&v)
		if err != nil {
			t.Fatal(err)
		}
		return r, b.budget.used() - before
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
	verdict := reflect.TypeFor[engine.Verdict]()
	for i := range verdict.NumField() {
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
			continue // the revision
		default:
			t.Fatalf("set %s in this test", verdict.Field(i).Name)
		}
		if isPlain(&v) {
			t.Errorf("a verdict with %s is plain", verdict.Field(i).Name)
		}
	}
	if v := (engine.Verdict{Allowed: true, Object: []byte{}}); isPlain(&v) {
		t.Error("a verdict with an object is plain")
	}
}
