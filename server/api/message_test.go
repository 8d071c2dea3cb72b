package api

import (
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// fill sets a value, and all that it has, to something else than zero.
func fill(t *testing.T, name string, v reflect.Value) {
	t.Helper()
	if v.Type() == reflect.TypeFor[engine.Step]() {
		v.SetString(string(engine.StepDecode))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint('1')
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.String:
		v.SetString("1")
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, name, v.Index(0))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, name, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				fill(t, name+"."+f.Name, v.Field(i))
			}
		}
	default:
		t.Fatalf("set %s, a %s, in this test", name, v.Kind())
	}
}

// elsewhere are fields without a counterpart in the message, with the reason.
var elsewhere = map[string]string{
	"Verdict.Rejection.Cause":    "it is a part of the message",
	"Verdict.Rejection.Details":  "they are in the status",
	"Verdict.Traces.Steps.Value": "a step has a value or an error",
}

// TestVerdictMessage checks that no field of a verdict is missing in its message, and that no field of the message is
// never set.
func TestVerdictMessage(t *testing.T) {
	var full engine.Verdict
	of := reflect.ValueOf(&full).Elem()
	fill(t, "Verdict", of)
	message := func() *crdevalv1.Verdict { return VerdictMessage(&full) }
	whole := message()
	fields := whole.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		if f := fields.Get(i); !whole.ProtoReflect().Has(f) {
			t.Errorf("the field %s of the message is not set", f.Name())
		}
	}
	eachField("Verdict", of, func(name string, field reflect.Value) {
		value := reflect.ValueOf(field.Interface())
		field.SetZero()
		if proto.Equal(message(), whole) {
			t.Errorf("the message does not have %s", name)
		}
		field.Set(value)
	})
}

// eachField calls f for each field of a struct, and of the structs in it.
func eachField(name string, v reflect.Value, f func(name string, field reflect.Value)) {
	switch v.Kind() {
	case reflect.Pointer:
		eachField(name, v.Elem(), f)
	case reflect.Slice:
		eachField(name, v.Index(0), f)
	case reflect.Struct:
		for i := range v.NumField() {
			if of := v.Type().Field(i); of.IsExported() {
				inner := name + "." + of.Name
				if elsewhere[inner] == "" {
					f(inner, v.Field(i))
					eachField(inner, v.Field(i), f)
				}
			}
		}
	}
}
