package apiserver

import (
	"reflect"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// withFields returns an object with an entry of managed fields for each text of fieldsV1.
func withFields(t *testing.T, texts ...string) *unstructured.Unstructured {
	t.Helper()
	entries := make([]any, len(texts))
	for i, text := range texts {
		u := &unstructured.Unstructured{}
		if err := unmarshal([]byte(`{"fieldsV1":`+text+`}`), u); err != nil {
			t.Fatal(err)
		}
		entries[i] = u.Object
	}
	return &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"managedFields": entries}}}
}

func fieldsOf(u *unstructured.Unstructured, entry int) any {
	return u.Object["metadata"].(map[string]any)["managedFields"].([]any)[entry].(map[string]any)["fieldsV1"]
}

// TestFieldSets: equal sets are shared, also within an object, and others keep their content. Large and malformed
// sets are not shared.
func TestFieldSets(t *testing.T) {
	const spec, status = `{"f:spec":{"f:a":{},"f:b":{".":{}}}}`, `{"f:status":{}}`
	texts := []string{
		spec, status, spec, `{"f:spec":{"f:b":{".":{}},"f:a":{}}}`, `{"f:spec":{"f:a":{".":{}},"f:b":{}}}`, `{"f:spec":{}}`,
		`{"f:spec":1}`, `{"f:spec":"f:a"}`, `{"f:spec":[]}`, `{"f:spec":null}`, `{}`, `null`, `"f:spec"`,
	}
	s := &fieldSets{}
	var first *unstructured.Unstructured
	for range 2 {
		u := withFields(t, texts...)
		if s.share(u); first == nil {
			first = u
		}
		if want := withFields(t, texts...); !reflect.DeepEqual(u, want) {
			t.Errorf("got  %v\nwant %v", u, want)
		}
		for i, same := range map[int]int{0: 0, 1: 1, 2: 0, 3: 0, 4: 4, 5: 5, 10: 10} {
			if got, want := reflect.ValueOf(fieldsOf(u, i)).Pointer(), reflect.ValueOf(fieldsOf(first, same)).Pointer(); got != want {
				t.Errorf("%s is not shared", texts[i])
			}
		}
	}
	if len(s.sets) != 5 {
		t.Errorf("%d sets are kept", len(s.sets))
	}
	const depth = maxFieldSetBytes / fieldBytes
	for _, text := range []string{
		strings.Repeat(`{"f:a":`, depth) + "{}" + strings.Repeat("}", depth), `{"f:` + strings.Repeat("a", maxFieldSetBytes) + `":{}}`,
	} {
		if s.share(withFields(t, text)); len(s.sets) != 5 {
			t.Errorf("the large set %.20s is kept", text)
		}
	}
	if s.share(withFields(t, strings.Repeat(`{"f:a":`, depth/2)+"{}"+strings.Repeat("}", depth/2))); len(s.sets) != 6 {
		t.Error("a set of half the bound is not kept")
	}
	for i := range 10 * maxFieldSets {
		s.share(withFields(t, `{"f:`+strconv.Itoa(i)+`":{}}`))
	}
	if len(s.sets) != maxFieldSets {
		t.Errorf("%d sets are kept", len(s.sets))
	}
	for _, object := range []map[string]any{nil, {"metadata": 1}, {"metadata": map[string]any{"managedFields": "a"}}, {"metadata": map[string]any{"managedFields": []any{1}}}} {
		s.share(&unstructured.Unstructured{Object: object})
	}
}
