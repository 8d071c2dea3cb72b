package engine

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"testing"

	"github.com/crdeval/crdeval/engine/internal/casefile"
)

// fieldsCase compares the selectable fields of an object with the reference's.
func fieldsCase(t *testing.T, d *Definition, object []byte, want *casefile.Answer) {
	t.Helper()
	fields, err := d.Select(context.Background(), "", JSON(object))
	if err != nil {
		t.Fatal(err)
	}
	got, wanted := map[string]string{}, map[string]string{}
	for _, f := range fields {
		got[f.Field] = f.Value
	}
	if err := json.Unmarshal(want.Result, &wanted); err != nil {
		t.Fatal(err)
	}
	if len(got) != len(fields) || !maps.Equal(got, wanted) {
		t.Errorf("fields %v\nwant %v", fields, wanted)
	}
}

// scaleCase compares the Scale of an object with the reference's.
func scaleCase(t *testing.T, d *Definition, object []byte, want *casefile.Answer) {
	t.Helper()
	text, err := d.GetScale(context.Background(), "", JSON(object))
	if err != nil {
		t.Fatal(err)
	}
	var got, wanted map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(want.Result, &wanted); err != nil {
		t.Fatal(err)
	}
	delete(wanted["metadata"].(map[string]any), "creationTimestamp") // null in the reference's own print of the type
	if !reflect.DeepEqual(got, wanted) {
		t.Errorf("scale %s\nwant %s", text, want.Result)
	}
}
