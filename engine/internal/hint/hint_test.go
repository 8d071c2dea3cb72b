package hint

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/rules"
)

const schemaOfTests = `{"type":"object","properties":{
	"spec":{"type":"object","properties":{
		"replicas":{"type":"integer"},"minReplicas":{"type":"integer"},"maxReplicas":{"type":"integer"},"image":{"type":"string"},"names":{"type":"array","items":{"type":"string"}},
		"policy":{"type":"string","enum":["Always","Never"]},"level":{"type":"integer","enum":[1,5]},
		"jobs":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"retries":{"type":"integer"}}}},
		"inner":{"type":"object","properties":{"deep":{"type":"boolean"}}},
		"either":{"anyOf":[{"enum":["red","blue"]}],"x-kubernetes-preserve-unknown-fields":true},
		"pod":{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"spec":{"type":"object"}}}}}}}`

func planOf(t testing.TB, text string) *plan.Plan {
	t.Helper()
	s := &apiextensionsv1.JSONSchemaProps{}
	if err := json.Unmarshal([]byte(text), s); err != nil {
		t.Fatal(err)
	}
	p, err := plan.Compile(s, plan.Options{Context: context.Background()})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// pathOf reads a pointer, with indexes where there are numbers.
func pathOf(pointer string) tree.Path {
	var field strings.Builder
	for _, s := range strings.Split(pointer, "/")[1:] {
		if s != "" && s[0] >= '0' && s[0] <= '9' {
			field.WriteString("[" + s + "]")
		} else {
			field.WriteString("." + s)
		}
	}
	return violation.PathOf(field.String())
}

func show(h *violation.Hint) string {
	if h == nil {
		return ""
	}
	return strings.Join([]string{h.Text, h.Pointer, string(h.Replacement)}, "|")
}

func TestRemoved(t *testing.T) {
	compiled := planOf(t, schemaOfTests)
	for _, c := range []struct{ object, at, want string }{
		{`{"spec":{"replica":1}}`, "/spec/replica", `did you mean "replicas"?|/spec/replicas|`},
		{`{"spec":{"replica":1,"replicas":2}}`, "/spec/replica", ""},
		{`{"spec":{"replica":1,"Replica":2}}`, "/spec/replica", ""},
		{`{"spec":{"replica":1,"repl":2}}`, "/spec/replica", ""},
		{`{"spec":{"minreplica":1}}`, "/spec/minreplica", `did you mean "minReplicas"?|/spec/minReplicas|`},
		{`{"spec":{"maxReplicas":5,"maxreplicas":9}}`, "/spec/maxreplicas", ""},
		{`{"spec":{"maxReplicas":5,"mxReplicas":9}}`, "/spec/mxReplicas", ""},
		{`{"spec":{"axReplicas":9}}`, "/spec/axReplicas", `did you mean "maxReplicas"?|/spec/maxReplicas|`},
		{`{"spec":{"mixReplicas":9}}`, "/spec/mixReplicas", ""},
		{`{"spec":{"jobs":[{"nam":1}]}}`, "/spec/jobs/0/nam", `did you mean "name"?|/spec/jobs/0/name|`},
		{`{"spec":{"jobs":[{"image":1}]}}`, "/spec/jobs/0/image", `"image" is declared one level up, in spec|/spec/image|`},
		{`{"spec":{"jobs":[{"image":1}],"image":"x"}}`, "/spec/jobs/0/image", ""},
		{`{"spec":{"deep":1}}`, "/spec/deep", `"deep" is declared one level down, in spec.inner|/spec/inner/deep|`},
		{`{"spec":{"deep":1,"inner":{"deep":true}}}`, "/spec/deep", ""},
		{`{"spec":{"retries":1}}`, "/spec/retries", `"retries" is declared one level down, in the items of spec.jobs||`},
		{`{"spec":{"name":1}}`, "/spec/name", `did you mean "names"?|/spec/names|`},
		{`{"replicas":1}`, "/replicas", `"replicas" is declared one level down, in spec|/spec/replicas|`},
		{`{"annotations":{}}`, "/annotations", `"annotations" is declared one level down, in metadata|/metadata/annotations|`},
		{`{"kidn":1}`, "/kidn", `did you mean "kind"?|/kind|`},
		{`{"metadata":{"onwerReferences":1}}`, "/metadata/onwerReferences", `did you mean "ownerReferences"?|/metadata/ownerReferences|`},
		{`{"metadata":{"ownerReferences":[{"controler":true}]}}`, "/metadata/ownerReferences/0/controler", `did you mean "controller"?|/metadata/ownerReferences/0/controller|`},
		{`{"spec":{"pod":{"metadata":{"Labels":{}}}}}`, "/spec/pod/metadata/Labels", `did you mean "labels"?|/spec/pod/metadata/labels|`},
		{`{"spec":{"pod":{"apiversion":"v1"}}}`, "/spec/pod/apiversion", `did you mean "apiVersion"?|/spec/pod/apiVersion|`},
		{`{"spec":{"x":1}}`, "/spec/x", ""},
		{`{"spec":{"inner":{"deep":{"x":1}}}}`, "/spec/inner/deep/x", ""},
		{`{"nowhere":{"x":{"y":1}}}`, "/nowhere/x/y", ""},
		{`{}`, "", ""},
	} {
		path := pathOf(c.at)
		f := New(compiled, []byte(c.object), false, nil, tree.Limits{}, nil)
		if got := show(f.Removed(path)); got != c.want {
			t.Errorf("%s in %s: %s, want %s", c.at, c.object, got, c.want)
		}
		f.Close()
		f = New(compiled, nil, false, nil, tree.Limits{}, nil)
		f.Removed(path) // of an object that is in no document
		f.Close()
	}
}

// find returns the hint about a violation at a path of a document.
func find(t *testing.T, compiled *plan.Plan, object string, yaml bool, at string, err *field.Error) string {
	t.Helper()
	d := tree.Acquire()
	defer d.Release()
	var parseErr error
	if yaml {
		_, parseErr = d.ParseYAML([]byte(object), tree.Request, tree.Limits{})
	} else {
		_, parseErr = d.ParseJSON([]byte(object), tree.Limits{})
	}
	if parseErr != nil {
		t.Fatal(parseErr)
	}
	v := violation.Of(violation.Schema, err, pathOf(at))
	f := New(compiled, []byte(object), yaml, nil, tree.Limits{}, nil)
	defer f.Close()
	v.Position = d.PositionAt(v.Path)
	return show(f.Violation(&v))
}

func TestWrongType(t *testing.T) {
	compiled := planOf(t, schemaOfTests)
	for _, c := range []struct{ object, at, want string }{
		{`{"spec":{"replicas":" 3 "}}`, "/spec/replicas", "did you mean the number 3, without quotes?||3"},
		{`{"spec":{"replicas":"03"}}`, "/spec/replicas", ""},
		{`{"spec":{"replicas":"3.5"}}`, "/spec/replicas", ""},
		{`{"spec":{"replicas":"99999999999999999999"}}`, "/spec/replicas", ""},
		{`{"spec":{"replicas":true}}`, "/spec/replicas", ""},
		{`{"spec":{"replicas":null}}`, "/spec/replicas", ""},
		{`{"spec":{"replicas":[7]}}`, "/spec/replicas", "no list is wanted: did you mean its one element, 7?||7"},
		{`{"spec":{"replicas":["7"]}}`, "/spec/replicas", ""},
		{`{"spec":{"image":true}}`, "/spec/image", `did you mean "true", in quotes?||"true"`},
		{`{"spec":{"image":1e3}}`, "/spec/image", `did you mean "1000", in quotes?||"1000"`},
		{`{"spec":{"image":{"a":1}}}`, "/spec/image", ""},
		{`{"spec":{"names":"a"}}`, "/spec/names", `a list is wanted: did you mean ["a"]?||["a"]`},
		{`{"spec":{"names":1}}`, "/spec/names", `a list is wanted: did you mean ["1"]?||["1"]`},
		{`{"spec":{"names":{"a":1}}}`, "/spec/names", ""},
		{`{"spec":{"jobs":{"name":"a"}}}`, "/spec/jobs", `a list is wanted: did you mean [{"name":"a"}]?||[{"name":"a"}]`},
		{`{"spec":{"inner":{"deep":"On"}}}`, "/spec/inner/deep", "did you mean true, without quotes?||true"},
		{`{"spec":{"inner":{"deep":"perhaps"}}}`, "/spec/inner/deep", ""},
		{`{"spec":{"image":` + strings.Repeat("1", 18) + `}}`, "/spec/image", `did you mean "` + strings.Repeat("1", 18) + `", in quotes?||"` + strings.Repeat("1", 18) + `"`},
	} {
		if got := find(t, compiled, c.object, false, c.at, field.TypeInvalid(nil, "", "")); got != c.want {
			t.Errorf("%s: %s, want %s", c.object, got, c.want)
		}
	}
	for _, c := range []struct{ object, want string }{
		{"spec:\n  image: on", `YAML takes on for true: did you mean "on", in quotes?||"on"`},
		{"spec: {image: NO, x: 1}", `YAML takes NO for false: did you mean "NO", in quotes?||"NO"`},
		{"spec:\n  image: 1.10 # the version\n", `did you mean "1.10", in quotes?||"1.10"`},
		{"spec:\n  image: 0x1F\n", `did you mean "0x1F", in quotes?||"0x1F"`},
		{"spec:\n  image: !!int 3\n", `did you mean "3", in quotes?||"3"`},
		{"a: &x 5\nspec:\n  image: *x\n", `did you mean "5", in quotes?||"5"`},
	} {
		if got := find(t, compiled, c.object, true, "/spec/image", field.TypeInvalid(nil, "", "")); got != c.want {
			t.Errorf("%s: %s, want %s", c.object, got, c.want)
		}
	}
}

func TestEnum(t *testing.T) {
	compiled := planOf(t, schemaOfTests)
	for _, c := range []struct {
		object, at string
		err        *field.Error
		want       string
	}{
		{`{"spec":{"policy":"always"}}`, "/spec/policy", field.NotSupported(nil, "always", []string{"Always", "Never"}), `did you mean "Always"?||"Always"`},
		{`{"spec":{"policy":"x"}}`, "/spec/policy", field.NotSupported(nil, "x", []string{"Always", "Never"}), ""},
		{`{"spec":{"level":4}}`, "/spec/level", field.NotSupported(nil, int64(4), []string{"1", "5"}), ""},
		{`{"spec":{"level":"5"}}`, "/spec/level", field.NotSupported(nil, "5", []string{"1", "5"}), "did you mean the number 5, without quotes?||5"},
		{`{"spec":{"either":"bleu"}}`, "/spec/either", field.NotSupported(nil, "bleu", []string{"red", "blue"}), ``},
	} {
		if got := find(t, compiled, c.object, false, c.at, c.err); got != c.want {
			t.Errorf("%s: %s, want %s", c.object, got, c.want)
		}
	}
}

// TestNoPosition checks that there is no hint about a value that is not in the document.
func TestNoPosition(t *testing.T) {
	f := New(planOf(t, schemaOfTests), []byte(`{"spec":{"replicas":"3","policy":"always"}}`), false, nil, tree.Limits{}, nil)
	defer f.Close()
	wrong := violation.Of(violation.Schema, field.TypeInvalid(nil, "string", ""), pathOf("/spec/replicas"))
	if h := f.Violation(&wrong); h != nil {
		t.Errorf("%+v", h)
	}
	rule := violation.Of(violation.Rules, field.Required(nil, ""), pathOf("/spec/image"))
	rule.Rule, rule.Position = &rules.Ref{}, tree.Position{Line: 1, Column: 1}
	if h := f.Violation(&rule); h != nil {
		t.Errorf("%+v", h)
	}
}

// TestLongTexts checks that a hint may have maxText bytes, and no more.
func TestLongTexts(t *testing.T) {
	compiled := planOf(t, schemaOfTests)
	const around = len(`a list is wanted: did you mean [""]?`)
	for length, returned := range map[int]bool{maxText: true, maxText + 1: false} {
		object := fmt.Sprintf(`{"spec":{"names":%q}}`, strings.Repeat("x", length-around))
		got := find(t, compiled, object, false, "/spec/names", field.TypeInvalid(nil, "", ""))
		if text, _, _ := strings.Cut(got, "|"); returned && len(text) != length || !returned && got != "" {
			t.Errorf("%d bytes: %q", length, got)
		}
	}
}

func TestLongPathsHaveNone(t *testing.T) {
	long := strings.Repeat("x", longestPath)
	path := tree.Path{tree.Name("spec"), tree.Name(long)}
	f := New(planOf(t, schemaOfTests), nil, false, nil, tree.Limits{}, nil)
	if h := f.Removed(path); h != nil {
		t.Errorf("%+v", h)
	}
	path = pathOf("/spec/replica")
	done := make(chan struct{})
	close(done)
	if h := New(planOf(t, schemaOfTests), nil, false, nil, tree.Limits{}, interrupt.On(done)).Removed(path); h != nil {
		t.Errorf("after an interrupt: %+v", h)
	}
	for i := range 2 * MaxHints {
		if h := f.Removed(path); (h == nil) != (i >= MaxHints) {
			t.Fatalf("hint %d: %v", i, h)
		}
	}
}

// FuzzHints: whatever the document, the schema and the violation, there is an answer, within its bounds, and always the
// same one.
func FuzzHints(f *testing.F) {
	f.Add(`{"spec":{"replica":"3"}}`, false, "/spec/replica", "string", uint8(0))
	f.Add("spec:\n  image: on\n", true, "/spec/image", "boolean", uint8(1))
	f.Add(`{"spec":{"policy":"alwys"}}`, false, "/spec/policy", "alwys", uint8(2))
	f.Add(`{"spec":{"jobs":[{"nam":1}]}}`, false, "/spec/jobs/0/name", "", uint8(3))
	compiled := planOf(f, schemaOfTests)
	f.Fuzz(func(t *testing.T, object string, yaml bool, at, bad string, what uint8) {
		path := pathOf("/" + strings.TrimPrefix(at, "/"))
		errs := []*field.Error{field.TypeInvalid(nil, bad, "must be of type "+bad), field.NotSupported(nil, bad, []string{"red", at}), field.Required(nil, bad)}
		v := violation.Of(violation.Schema, errs[int(what)%len(errs)], path)
		limits := tree.Limits{MaxBytes: 1 << 16, MaxDepth: 100}
		ask := func() (texts []string) {
			d := tree.Acquire()
			defer d.Release()
			var err error
			if yaml {
				_, err = d.ParseYAML([]byte(object), tree.Request, limits)
			} else {
				_, err = d.ParseJSON([]byte(object), limits)
			}
			if err != nil {
				return nil
			}
			v.Position = d.PositionAt(path)
			finder := New(compiled, []byte(object), yaml, nil, limits, nil)
			defer finder.Close()
			for _, h := range []*violation.Hint{finder.Removed(path), finder.Violation(&v)} {
				if h != nil && h.Replacement != nil && !json.Valid(h.Replacement) {
					t.Errorf("%q is no JSON", h.Replacement)
				}
				texts = append(texts, show(h))
			}
			return texts
		}
		if a, b := ask(), ask(); strings.Join(a, "\n") != strings.Join(b, "\n") {
			t.Errorf("%q, and then %q", a, b)
		}
	})
}

// TestWorkIsBounded: whatever names and enums are like, the work for one document ends at its bound, give or take one
// look.
func TestWorkIsBounded(t *testing.T) {
	const most = 1 << 12
	r := rand.New(rand.NewPCG(1, 2))
	for name, word := range map[string]func(i int) string{
		"of few letters": func(i int) string {
			b := make([]byte, 30)
			for k := range b {
				b[k] = "abcd"[r.IntN(4)]
			}
			return fmt.Sprint(string(b), i)
		},
		"of one beginning": func(i int) string { return fmt.Sprint("specification", i) },
		"nearly too long":  func(i int) string { return strings.Repeat("x", 58) + fmt.Sprint(i) },
		"too long":         func(i int) string { return strings.Repeat("x", 70) + fmt.Sprint(i) },
		"not ASCII's":      func(i int) string { return "größe" + fmt.Sprint(i) },
	} {
		var properties, values []string
		for i := range 10_000 {
			w := word(i)
			properties = append(properties, fmt.Sprintf(`%q:{"type":"object","properties":{"deep":{"type":"string"}}}`, w))
			values = append(values, strconv.Quote(w))
		}
		compiled := planOf(t, `{"type":"object","properties":{"e":{"type":"string","enum":[`+strings.Join(values, ",")+`]},"spec":{"type":"object","properties":{`+strings.Join(properties, ",")+`}}}}`)
		f := New(compiled, []byte(`{"e":"specification"}`), false, nil, tree.Limits{}, nil)
		enum := violation.Of(violation.Schema, field.NotSupported(nil, "specification", values), pathOf("/e"))
		enum.Position = tree.Position{Line: 1, Column: 6, Offset: 5}
		for i := range 100 {
			f.Removed(tree.Path{tree.Name("spec"), tree.Name(word(i) + "y")})
			f.Violation(&enum)
		}
		if over := f.work - maxWork; over < 0 || over > most {
			t.Errorf("names %s: %d of work, the bound is %d", name, f.work, maxWork)
		}
	}
}
