package tree

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
)

// TestStrictTextsAreTheSerializers compares Duplicates with the errors of an API server's strict serializer.
func TestStrictTextsAreTheSerializers(t *testing.T) {
	for _, c := range []struct {
		yaml bool
		text string
		want []string
	}{
		{false, `{"apiVersion":"v1","kind":"A","metadata":{"name":"a"}}`, nil},
		{false, `{"apiVersion":"v1","kind":"A","metadata":{"name":"a","name":"b","name":"c"},"kind":"A","spec":{"l":[{},{"x":1,"x":1}],"é":1,"\u00e9":2}}`,
			[]string{`duplicate field "metadata.name"`, `duplicate field "kind"`, `duplicate field "spec.l[1].x"`, `duplicate field "spec.é"`}},
		{false, `{"apiVersion":"v1","kind":"A","":{"":1,"":2}}`, []string{`duplicate field "."`}},
		{true, "apiVersion: v1\nkind: A\nmetadata: {name: a}\n", nil},
		{true, "apiVersion: v1\nkind: A\nmetadata:\n  name: a\n  name: b\nkind: A\n",
			[]string{"yaml: unmarshal errors:\n  line 5: key \"name\" already set in map\n  line 6: key \"kind\" already set in map"}},
	} {
		scheme := runtime.NewScheme()
		serializer := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{Strict: true, Yaml: c.yaml})
		_, _, err := serializer.Decode([]byte(c.text), nil, &unstructured.Unstructured{})
		var upstream []string
		if strict, ok := runtime.AsStrictDecodingError(err); ok {
			for _, e := range strict.Errors() {
				upstream = append(upstream, e.Error())
			}
		} else if err != nil {
			t.Fatal(err)
		}
		d := Acquire()
		if c.yaml {
			_, err = d.ParseYAML([]byte(c.text), Request, Limits{})
		} else {
			_, err = d.ParseJSON([]byte(c.text), Limits{})
		}
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for duplicate := range d.Duplicates(Request) {
			got = append(got, duplicate.Text)
		}
		if !reflect.DeepEqual(got, c.want) || !reflect.DeepEqual(upstream, c.want) {
			t.Errorf("%s:\ngot      %q\nupstream %q\nwant     %q", c.text, got, upstream, c.want)
		}
		d.Release()
	}
}

// TestPathsOfDuplicates checks that the work for the paths of duplicate keys is bounded.
func TestPathsOfDuplicates(t *testing.T) {
	long := strings.Repeat("k", 1<<14)
	few, many := strings.Repeat(`"a":0,`, 100), strings.Repeat(`"a":0,`, maxDuplicatePaths>>13)
	deep := func(members string) string {
		return strings.Repeat(`{"`+long[:1<<10]+`":[`, 16) + `{` + members + `"b":0}` + strings.Repeat(`]}`, 16)
	}
	for name, c := range map[string]struct {
		text    string
		allowed bool
	}{
		"a long key": {`{"` + long + `":{` + few + `"b":0}}`, true}, "many below a long key": {`{"` + long + `":{` + many + `"b":0}}`, false},
		"a long path": {deep(few), true}, "many below a long path": {deep(many), false}, "many short": {`{` + many + `"b":0}`, true},
		"many objects": {`{"` + long + `":[` + strings.Repeat(`{"a":0,"a":1},`, maxDuplicatePaths>>13) + `0]}`, false},
	} {
		d := Acquire()
		_, err := d.ParseJSON([]byte(c.text), Limits{})
		limit := new(LimitError)
		if c.allowed && err != nil || !c.allowed && (!errors.As(err, &limit) || limit.Name != "max_path_bytes") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := d.ParseJSON([]byte(`{"a":1,"a":2}`), Limits{}); err != nil || !d.HasDuplicates(Request) {
			t.Errorf("after %s: %v", name, err)
		}
		d.Release()
	}
}
