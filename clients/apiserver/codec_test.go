package apiserver

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/kubeserver"
)

var lampKind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Lamp"}

// lamps compiles lampCRD.
func lamps(t *testing.T) Definition {
	t.Helper()
	d, err := InProcess{}.Compile(t.Context(), lampCRD())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// lampCRD returns a CRD with two versions. In v1, watts has a default.
func lampCRD() *apiextensionsv1.CustomResourceDefinition {
	version := func(name, watts string) apiextensionsv1.CustomResourceDefinitionVersion {
		number := apiextensionsv1.JSONSchemaProps{Type: "number"}
		if watts != "" {
			number.Default = &apiextensionsv1.JSON{Raw: []byte(watts)}
		}
		spec := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"watts": number}}
		return apiextensionsv1.CustomResourceDefinitionVersion{
			Name: name, Served: true, Storage: name == "v1beta1",
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
				Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": spec},
			}},
		}
	}
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "lamps.example.com"}}
	crd.Spec = apiextensionsv1.CustomResourceDefinitionSpec{
		Group: "example.com", Scope: apiextensionsv1.NamespaceScoped,
		Names:      apiextensionsv1.CustomResourceDefinitionNames{Plural: "lamps", Singular: "lamp", Kind: "Lamp", ListKind: "LampList"},
		Versions:   []apiextensionsv1.CustomResourceDefinitionVersion{version("v1", "5"), version("v1beta1", "")},
		Conversion: &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter},
	}
	return crd
}

const lamp = `{"apiVersion":"example.com/v1","kind":"Lamp","metadata":{"name":"a","namespace":"n"},"spec":{"watts":1.0,"volts":2}}`

// TestMarshal: floats keep their point for the evaluator, and lose it in the storage.
func TestMarshal(t *testing.T) {
	u := &unstructured.Unstructured{Object: map[string]any{
		"b": 1.0, "a": []any{int64(1), 1.5, 1e30, nil, true, `<"`}, "c": map[string]any{}, "d": []any{}, "e": map[string]any(nil), "f": []any(nil),
	}}
	text, err := marshal(u)
	if want := `{"a":[1,1.5,1e+30,null,true,"\u003c\""],"b":1.0,"c":{},"d":[],"e":null,"f":null}`; err != nil || string(text) != want {
		t.Errorf("%v\ngot  %s\nwant %s", err, text, want)
	}
	stored, err := appendStored(nil, u)
	if want := strings.Replace(string(text), "1.0", "1", 1); err != nil || string(stored) != want {
		t.Errorf("%v\ngot  %s\nwant %s", err, stored, want)
	}
}

// TestStorageCodec: objects are stored in the storage version, in JSON or CBOR, and both are read in that of the endpoint.
func TestStorageCodec(t *testing.T) {
	d := lamps(t)
	for _, c := range []struct {
		cbor   bool
		prefix string
	}{{false, `{"apiVersion":"example.com/v1beta1"`}, {true, "\xd9\xd9\xf7"}} {
		codec := storageCodec{d, lampKind, "v1beta1", "test", c.cbor, &writtenObjects{}}
		u := &unstructured.Unstructured{}
		if err := unmarshal([]byte(lamp), u); err != nil {
			t.Fatal(err)
		}
		var stored bytes.Buffer
		if err := codec.Encode(u, &stored); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(stored.String(), c.prefix) {
			t.Errorf("stored %q, want prefix %q", stored.String(), c.prefix)
		}
		other := codec
		other.cbor = !c.cbor
		read, kind, err := other.Decode(stored.Bytes(), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		watts, _, _ := unstructured.NestedFieldNoCopy(read.(*unstructured.Unstructured).Object, "spec", "watts")
		if *kind != lampKind || read.GetObjectKind().GroupVersionKind() != lampKind || watts != int64(1) {
			t.Errorf("read %v", read)
		}
	}
}

// down is a Definition whose evaluator does not answer.
type down struct{ Definition }

var errDown = errors.New("the evaluator is down")

func (down) Body(context.Context, string, engine.Document, kubeserver.WriteOptions) (kubeserver.BodyVerdict, error) {
	return kubeserver.BodyVerdict{}, errDown
}

// decoder returns the decoder of strict bodies in JSON.
func decoder(ctx context.Context, d Definition) runtime.Decoder {
	s := newSerializer(d, lampKind, converter{definition: d}, newTyper(runtime.NewScheme()))
	s.ctx = ctx
	return s.DecoderToVersion(s.media[0].StrictSerializer, lampKind.GroupVersion())
}

// TestBodyDecoder: a body is pruned and defaulted.
func TestBodyDecoder(t *testing.T) {
	ctx := withOutcome(t.Context())
	obj, _, err := decoder(ctx, lamps(t)).Decode([]byte(lamp), nil, nil)
	if !runtime.IsStrictDecodingError(err) || !strings.Contains(err.Error(), `unknown field "spec.volts"`) {
		t.Errorf("strict: %v", err)
	}
	spec := obj.(*unstructured.Unstructured).Object["spec"].(map[string]any)
	if len(spec) != 1 || spec["watts"] != 1.0 || outcomeOf(ctx).unevaluated != nil {
		t.Errorf("spec %v, %v", spec, outcomeOf(ctx).unevaluated)
	}
}

// TestBodyDecoderNoKind: handlers name the kind of into in the error for a body without a kind.
func TestBodyDecoderNoKind(t *testing.T) {
	into := &unstructured.Unstructured{}
	into.SetGroupVersionKind(lampKind)
	_, _, err := decoder(t.Context(), lamps(t)).Decode([]byte(`{"metadata":{}}`), &lampKind, into)
	if !runtime.IsMissingKind(err) || into.GroupVersionKind() != lampKind {
		t.Errorf("error %v, into %v", err, into)
	}
	_, _, err = decoder(t.Context(), lamps(t)).Decode([]byte(`{"apiVersion":"example.com/v1","kind":"Foo"}`), &lampKind, into)
	if err != nil || into.GetKind() != "Foo" {
		t.Errorf("another kind: %v, into %v", err, into)
	}
}

// TestBodyDecoderRejects: the errors and kinds are those of upstream's decoder. Handlers put the kind into the message,
// and reject objects of another type themselves.
func TestBodyDecoderRejects(t *testing.T) {
	const (
		labels    = "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"
		malformed = `,"metadata":{"labels":{"a":1}}}`
		unknown   = `,"metadata":{"x":1}}`
	)
	of := func(group, version, kind string) string {
		return schema.GroupVersionKind{Group: group, Version: version, Kind: kind}.String()
	}
	for _, c := range []struct{ name, body, kind, want string }{
		{"syntax", `{"apiVersion":"example.com/v1","kind":"Lamp","spec":{"watts":nul}}`, "",
			"couldn't get version/kind; json parse error: invalid character '}' in literal null (expecting 'l')"},
		{"truncated", `{"apiVersion":"example.com/v1","kind":"Lamp"`, "", "couldn't get version/kind; json parse error: unexpected end of JSON input"},
		{"a list", `[]`, "", "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { "},
		{"no kind", `{"apiVersion":"example.com/v1"` + malformed, of("example.com", "v1", ""), "Object 'Kind' is missing in "},
		{"no apiVersion", `{"kind":"Lamp","metadata":{}}`, of("", "", "Lamp"), ""},
		{"null apiVersion", `{"apiVersion":null,"kind":"Lamp"}`, of("", "", "Lamp"), ".apiVersion accessor error: <nil> is of the type <nil>, expected string"},
		{"metadata", `{"apiVersion":"example.com/v1","kind":"Lamp"` + malformed, lampKind.String(), labels},
		{"metadata without apiVersion", `{"kind":"Lamp"` + malformed, of("", "", "Lamp"), labels},
		{"metadata of another kind", `{"apiVersion":"example.com/v1","kind":"Foo"` + malformed, of("example.com", "v1", "Foo"), labels},
		{"metadata of another version", `{"apiVersion":"example.com/v1beta1","kind":"Lamp"` + malformed, of("example.com", "v1beta1", "Lamp"), labels},
		{"metadata of another group", `{"apiVersion":"v1","kind":"Lamp"` + malformed, of("", "v1", "Lamp"), labels},
		{"another version", `{"apiVersion":"example.com/v1beta1","kind":"Lamp"}`, of("example.com", "v1beta1", "Lamp"), ""},
		{"unknown version", `{"apiVersion":"example.com/v9","kind":"Lamp","metadata":{}}`, of("example.com", "v9", "Lamp"), ""},
		{"another kind", `{"apiVersion":"example.com/v1","kind":"Foo"}`, of("example.com", "v1", "Foo"), ""},
		{"unknown metadata of another kind", `{"apiVersion":"example.com/v1","kind":"Foo"` + unknown, of("example.com", "v1", "Foo"),
			`strict decoding error: unknown field "metadata.x"`},
		{"unknown metadata of another version", `{"apiVersion":"example.com/v1beta1","kind":"Lamp"` + unknown, of("example.com", "v1beta1", "Lamp"),
			`strict decoding error: unknown field "metadata.x"`},
	} {
		into := &unstructured.Unstructured{}
		into.SetGroupVersionKind(lampKind)
		obj, kind, err := decoder(withOutcome(t.Context()), lamps(t)).Decode([]byte(c.body), nil, into)
		got, found := "", ""
		if err != nil {
			got = err.Error()
		}
		if kind != nil {
			found = kind.String()
		}
		if !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") || found != c.kind {
			t.Errorf("%s: kind %q, error %q\nwant %q, %q", c.name, found, got, c.kind, c.want)
		}
		// Upstream changes into only if it returns an object.
		if decoded := into.GroupVersionKind().String(); obj == nil && decoded != lampKind.String() || obj != nil && decoded != c.kind {
			t.Errorf("%s: into is of %s, returned %v", c.name, decoded, obj)
		}
	}
}

// TestBodyDecoderYAML: YAML is read as upstream reads it: only its first document, and with duplicate keys.
func TestBodyDecoderYAML(t *testing.T) {
	s := newSerializer(lamps(t), lampKind, converter{}, newTyper(runtime.NewScheme()))
	s.ctx = withOutcome(t.Context())
	d := s.DecoderToVersion(s.media[1].StrictSerializer, lampKind.GroupVersion())
	const text = "apiVersion: example.com/v1\nkind: Lamp\nkind: Lamp\nspec: {volts: 2}\n---\na: b\n"
	obj, kind, err := d.Decode([]byte(text), nil, nil)
	want := `strict decoding error: yaml: unmarshal errors:` + "\n" + `  line 3: key "kind" already set in map, unknown field "spec.volts"`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if obj == nil || *kind != lampKind {
		t.Fatalf("kind %v, object %v", kind, obj)
	}
	if got, err := marshal(obj.(*unstructured.Unstructured)); err != nil || string(got) != `{"apiVersion":"example.com/v1","kind":"Lamp","spec":{"watts":5}}` {
		t.Errorf("%v, %s", err, got)
	}
	if _, kind, err = d.Decode([]byte("a: b: c"), nil, nil); kind != nil || err == nil || !strings.Contains(err.Error(), "mapping values are not allowed") {
		t.Errorf("syntax: kind %v, %v", kind, err)
	}
}

// TestBodyDecoderDown: if the evaluator does not answer, the handler must not answer that the body is malformed. The body
// is decoded, and the store rejects the write with the cause.
func TestBodyDecoderDown(t *testing.T) {
	ctx := withOutcome(t.Context())
	obj, _, err := decoder(ctx, down{}).Decode([]byte(lamp), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &strategy{definition: lamps(t), version: "v1", namespaced: true, written: &writtenObjects{}}
	s.PrepareForCreate(ctx, obj)
	if len(s.Validate(ctx, obj)) != 1 || !strings.Contains(rejection(ctx, errors.New("invalid")).Error(), errDown.Error()) {
		t.Errorf("not rejected: %v", outcomeOf(ctx).err)
	}
}

// TestEncode: objects and lists have the bytes of upstream's serializer.
func TestEncode(t *testing.T) {
	object := func(name string) unstructured.Unstructured {
		u := unstructured.Unstructured{}
		if err := unmarshal([]byte(strings.Replace(lamp, `"a"`, `"`+name+`"`, 1)), &u); err != nil {
			t.Fatal(err)
		}
		u.Object["spec"].(map[string]any)["text"] = "<é\u2028\"\\\n\x01>"
		return u
	}
	one := object("a")
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "LampList", "metadata": map[string]any{"resourceVersion": "7"}}}
	long := list.DeepCopy()
	list.Items = []unstructured.Unstructured{object("a"), object("b")}
	for range 1000 {
		long.Items = append(long.Items, object("a"))
	}
	s := newSerializer(nil, lampKind, converter{}, newTyper(runtime.NewScheme()))
	for _, obj := range []runtime.Object{&one, list, long, &unstructured.UnstructuredList{}} {
		for _, own := range []runtime.Serializer{s.media[0].Serializer, s.media[0].PrettySerializer} {
			var got, want bytes.Buffer
			if err := own.Encode(obj, &got); err != nil {
				t.Fatal(err)
			}
			if err := own.(bodySerializer).Serializer.Encode(obj, &want); err != nil {
				t.Fatal(err)
			}
			if got.String() != want.String() {
				t.Errorf("got  %.300q\nwant %.300q", got.String(), want.String())
			}
		}
	}
}

// reads counts the calls of Read.
type reads struct {
	Definition
	n *int
}

func (d reads) Read(ctx context.Context, object engine.Document, o engine.ReadOptions) (*engine.Transformed, error) {
	*d.n++
	return d.Definition.Read(ctx, object, o)
}

// TestWritten: the store and the watch cache get an object that was written without a call of Read, and each a copy of its
// own. Objects that do not read as they are written are read, and so are all others.
func TestWritten(t *testing.T) {
	n := 0
	kind := lampKind
	kind.Version = "v1beta1" // the storage version
	for _, c := range []struct {
		version, watts string
		reads          int
	}{{"v1beta1", "1.5", 1}, {"v1beta1", "1.0", 3}, {"v1", "1.5", 3}} {
		written := &writtenObjects{}
		n = 0
		d := reads{lamps(t), &n}
		kind.Version = c.version
		codec := storageCodec{d, kind, "v1beta1", "test", false, written}
		s := &strategy{definition: d, version: c.version, namespaced: true, written: written}
		ctx := withOutcome(genericapirequest.WithNamespace(t.Context(), "n"))
		u := &unstructured.Unstructured{}
		text := strings.NewReplacer("1.0", c.watts, "/v1", "/"+c.version, `,"volts":2`, "").Replace(lamp)
		if err := unmarshal([]byte(text), u); err != nil {
			t.Fatal(err)
		}
		if s.PrepareForCreate(ctx, u); outcomeOf(ctx).err != nil {
			t.Fatal(outcomeOf(ctx).err)
		}
		var stored bytes.Buffer
		if err := codec.Encode(u, &stored); err != nil {
			t.Fatal(err)
		}
		want := ""
		for range 3 {
			read, _, err := codec.Decode(stored.Bytes(), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := marshal(read.(*unstructured.Unstructured))
			if want == "" {
				want = string(got)
			}
			if err != nil || string(got) != want {
				t.Errorf("%s, %v\nwant %s", got, err, want)
			}
			read.(*unstructured.Unstructured).SetName("changed")
		}
		if n != c.reads {
			t.Errorf("%+v: %d reads", c, n)
		}
	}
}
