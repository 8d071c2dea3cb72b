package selector

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

func selectableOf(namespaced bool, paths ...string) *Fields {
	v := &apiextensionsv1.CustomResourceDefinitionVersion{}
	for _, p := range paths {
		v.SelectableFields = append(v.SelectableFields, apiextensionsv1.SelectableField{JSONPath: p})
	}
	return CompileFields(v, namespaced)
}

func setOf(list []Field) fields.Set {
	set := fields.Set{}
	for _, f := range list {
		set[f.Field] = f.Value
	}
	return set
}

// fieldsOf returns the fields of an object as name=value, in order.
func fieldsOf(t *testing.T, s *Fields, object string) string {
	t.Helper()
	d := tree.Acquire()
	defer d.Release()
	root, err := d.ParseJSON([]byte(object), tree.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.Fields(d, root)
	if err != nil {
		return "error: " + err.Error()
	}
	var texts []string
	for _, f := range list {
		texts = append(texts, f.Field+"="+f.Value)
	}
	return strings.Join(texts, " ")
}

func TestFields(t *testing.T) {
	const metadata = `"metadata":{"name":"n","namespace":"ns"}`
	for _, c := range []struct {
		name, path, object, want string
	}{
		{"a string", ".spec.color", `{"spec":{"color":"blue"}}`, "blue"},
		{"an integer", ".spec.color", `{"spec":{"color":-7}}`, "-7"},
		{"a large integer", ".spec.color", `{"spec":{"color":9223372036854775807}}`, "9223372036854775807"},
		{"a boolean", ".spec.color", `{"spec":{"color":true}}`, "true"},
		{"a float", ".spec.color", `{"spec":{"color":12345678.5}}`, "1.23456785e+07"},
		{"null", ".spec.color", `{"spec":{"color":null}}`, ""},
		{"absent", ".spec.color", `{"spec":{}}`, ""},
		{"parent null", ".spec.color", `{"spec":null}`, ""},
		{"parent a string", ".spec.color", `{"spec":"x"}`, ""},
		{"parent a list", ".spec.color", `{"spec":[{"color":"x"}]}`, ""},
		{"an object", ".spec.color", `{"spec":{"color":{"b":1,"a":[null,"x"]}}}`, "map[a:[<nil> x] b:1]"},
		{"escapes", ".spec.color", `{"spec":{"color":"\u00e9\n"}}`, "é\n"},
		{"a wildcard of one", ".spec.*", `{"spec":{"x":"blue"}}`, "blue"},
		{"a wildcard of none", ".spec.*", `{"spec":{}}`, ""},
		{"a wildcard of two", ".spec.*", `{"spec":{"x":1,"y":2}}`, "error: unexpectedly received more than one JSON path result"},
		{"text behind", ".a}b", `{"a":1}`, "error: unexpectedly received more than one JSON path result"},
		{"a path that cannot be parsed", ".a{", `{}`, "error: unexpected error parsing jsonPath: unrecognized character in action: U+007B '{'"},
		{"a path on which upstream panics", ".a}{range .x}{range ", `{}`, "error: unexpected error finding value with jsonPath: reflect: call of reflect.Value.Interface on zero Value"},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := "metadata.name= " + strings.TrimPrefix(c.path, ".") + "=" + c.want
			if strings.HasPrefix(c.want, "error: ") {
				want = c.want
			}
			if got := fieldsOf(t, selectableOf(false, c.path), c.object); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
	s := selectableOf(true, ".spec.b", ".a")
	if got, want := fieldsOf(t, s, `{`+metadata+`,"a":1,"spec":{"b":2}}`), "metadata.name=n metadata.namespace=ns spec.b=2 a=1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := fieldsOf(t, s, `{"metadata":{"name":1}}`); got != "metadata.name= metadata.namespace= spec.b= a=" {
		t.Error(got)
	}
	if !slices.Equal(s.Names, []string{"metadata.name", "metadata.namespace", "spec.b", "a"}) || s.Size == 0 {
		t.Errorf("%q, %d bytes", s.Names, s.Size)
	}
}

// TestPrinted checks that numbers print as with fmt.Sprint.
func TestPrinted(t *testing.T) {
	for _, f := range []float64{0.5, 1e6 + 0.5, 1e20, 1e21, 1e22, 1e-4, 1e-5, 123456789.125, math.MaxFloat64, math.SmallestNonzeroFloat64, -1e7 - 0.25} {
		if got, want := fieldsOf(t, selectableOf(false, ".x"), fmt.Sprintf(`{"x":%g}`, f)), "metadata.name= x="+fmt.Sprint(f); got != want && f != math.Trunc(f) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestParse(t *testing.T) {
	s := selectableOf(true, ".spec.color")
	object := []Field{{"metadata.name", "n"}, {"metadata.namespace", "ns"}, {"spec.color", "a,b=c"}}
	for _, c := range []struct{ selector, want string }{
		{"", "true"},
		{"metadata.name=n", "true"},
		{"metadata.name==n,metadata.namespace!=x", "true"},
		{"metadata.name!=n", "false"},
		{`spec.color=a\,b\=c`, "true"},
		{"spec.color=", "false"},
		{"spec.size=1", "field label not supported: spec.size"},
		{"metadata.labels=x", "field label not supported: metadata.labels"},
		{"spec.color", "invalid selector: 'spec.color'; can't understand 'spec.color'"},
		{`spec.color=\x`, `invalid field selector: invalid escape sequence: \x`},
		{"spec.color=a=b", "invalid field selector: unescaped character in value: 61"},
	} {
		parsed, err := s.Parse(c.selector)
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprint(parsed.Matches(setOf(object)))
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.selector, got, c.want)
		}
	}
	if _, err := selectableOf(false).Parse("metadata.namespace=x"); err == nil {
		t.Error("objects without namespaces were selected by them")
	}
	if p, err := s.Parse("metadata.name==b,metadata.name!=a,"); err != nil || p.Empty() || p.String() != "metadata.name!=a,metadata.name=b" {
		t.Errorf("%v, %v", p, err)
	}
}

// FuzzSelectable checks that no path, object or selector panics.
func FuzzSelectable(f *testing.F) {
	for _, path := range []string{".spec.color", ".a}b", ".a}{range .x}{range ", ".*", "..", ".a[0]", ".a['b.c']", ".a[?(@.x==1)]", ""} {
		f.Add(path, `{"spec":{"color":"blue"},"a":[{"x":1}]}`, "spec.color=blue,metadata.name!=x")
	}
	f.Fuzz(func(t *testing.T, path, object, selector string) {
		s := selectableOf(true, path)
		d := tree.Acquire()
		defer d.Release()
		root, err := d.ParseJSON([]byte(object), tree.Limits{MaxDepth: 100})
		if err != nil {
			return
		}
		list, err := s.Fields(d, root)
		if err == nil && len(list) != len(s.Names) {
			t.Errorf("%d fields for %q", len(list), s.Names)
		}
		if parsed, err := s.Parse(selector); err == nil {
			parsed.Matches(setOf(list))
		}
	})
}
