package convert_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/conversionwebhook"
	"github.com/crdeval/crdeval/engine/convert"

	"github.com/crdeval/crdeval/engine/publish"

	"github.com/crdeval/crdeval/engine"
)

func definitionWithRules(t testing.TB, file, rules string) *engine.Definition {
	t.Helper()
	crd, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	d, report, err := engine.Compile(t.Context(), engine.YAML(crd), engine.Options{Conversion: engine.YAML([]byte(rules))})
	if err != nil || d == nil {
		t.Fatal(report, err)
	}
	return d
}

// Admit stores at the storage version and answers at that of the request; Read, Convert and tables convert, too.
func TestDeclaredConversion(t *testing.T) {
	d := definitionWithRules(t, "tasks.yaml", tasksRules)
	if c := convert.ReportOf(d); !c.Accepted || len(c.Rules) != 2 {
		t.Fatalf("%+v", c)
	}
	object := `{"apiVersion":"example.com/v1beta1","kind":"Task","metadata":{"name":"a","namespace":"b"},"spec":{"host":"h","note":"x"}}`
	v, err := d.Admit(t.Context(), engine.Create{Object: engine.JSON([]byte(object)), Version: "v1beta1"}, engine.AdmitOptions{})
	if err != nil || !v.Allowed {
		t.Fatalf("%+v %v", v, err)
	}
	if want := `"spec":{"endpoint":{"host":"h"}}`; !strings.Contains(string(v.StoredObject), want) {
		t.Errorf("stored %s, want %s", v.StoredObject, want)
	}
	if want := `"host":"h"`; !strings.Contains(string(v.Object), want) || !strings.Contains(string(v.Object), `"note":"x"`) {
		t.Errorf("object %s", v.Object)
	}
	read, err := d.Read(t.Context(), engine.JSON(v.StoredObject), engine.ReadOptions{TargetVersion: "v1beta1"})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(read.Object), `"note":"x"`) || strings.Contains(string(read.Object), "crdeval.dev") {
		t.Errorf("read %s", read.Object)
	}
}

const tasksRules = `
crd: tasks.example.com
between: [v1beta1, v1]
rules:
- move: {from: spec.host, to: spec.endpoint.host}
- stash: {path: spec.note, maxBytes: 100}
`

// webhookOf converts objects by rules, behind a webhook.
type webhookOf struct{ rules *engine.Definition }

func (w webhookOf) Convert(ctx context.Context, q conversionwebhook.Request) ([][]byte, error) {
	_, version, _ := strings.Cut(q.DesiredAPIVersion, "/")
	out := make([][]byte, len(q.Objects))
	for i, o := range q.Objects {
		var err error
		if out[i], err = convert.Append(ctx, w.rules, nil, o, version, true); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// TestDeclaredConversionOfNumbers: the results are those of an API server that calls crdeval. A webhook gets 1.0 as 1 and
// -0.0 as 0. So an update to 1 changes nothing, and rules find an integer.
func TestDeclaredConversionOfNumbers(t *testing.T) {
	crd, err := os.ReadFile("testdata/tasks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	crd = bytes.ReplaceAll(crd, []byte("            type: object\n            properties:\n"), []byte(`            type: object
            properties:
              size: {type: integer, x-kubernetes-validations: [{rule: self < 9}]}
              ratio: {type: number}
              any: {x-kubernetes-preserve-unknown-fields: true}
`))
	compile := func(o engine.Options) *engine.Definition {
		d, report, err := engine.Compile(t.Context(), engine.YAML(crd), o)
		if err != nil || d == nil {
			t.Fatal(report, err)
		}
		return d
	}
	rules := compile(engine.Options{Conversion: engine.YAML([]byte(tasksRules))})
	if c := convert.ReportOf(rules); !c.Accepted {
		t.Fatalf("%+v", c)
	}
	webhook := compile(engine.Options{Converter: webhookOf{rules}})
	object := func(version, numbers string) []byte {
		return []byte(`{"apiVersion":"example.com/` + version + `","kind":"Task","metadata":{"generation":1,"name":"a",` +
			`"namespace":"b","resourceVersion":"7","uid":"u"},"spec":{` + numbers + `}}`)
	}
	for _, c := range []struct{ stored, written, want string }{
		{`"size":2.0`, `"size":2`, `"generation":1,`},
		{`"ratio":-0.0`, `"ratio":0`, `"generation":1,`},
		{`"ratio":1e3`, `"ratio":1000`, `"generation":1,`},
		{`"any":{"x":[1.0]}`, `"any":{"x":[1]}`, `"generation":1,`},
		{`"ratio":2.5`, `"ratio":2.5`, `"generation":1,`},
		{`"ratio":2.5`, `"ratio":2.25`, `"generation":2,`},
		{`"size":1`, `"size":2.0`, `evaluating rule`}, // before a conversion
	} {
		var texts [2]string
		for i, d := range []*engine.Definition{rules, webhook} {
			item := engine.Update{Version: "v1beta1", Object: engine.JSON(object("v1beta1", c.written)), Old: engine.JSON(object("v1", c.stored))}
			v, err := d.Admit(t.Context(), item, engine.AdmitOptions{})
			if err != nil {
				t.Fatal(err)
			}
			texts[i] = string(v.Object) + string(v.StoredObject)
			for _, violation := range v.Violations {
				texts[i] += violation.Error()
			}
		}
		if !strings.Contains(texts[1], c.want) {
			t.Errorf("%s to %s: a webhook gives %s, want %s", c.stored, c.written, texts[1], c.want)
		}
		if texts[0] != texts[1] {
			t.Errorf("%s to %s: rules give\n%s\na webhook gives\n%s", c.stored, c.written, texts[0], texts[1])
		}
	}
}

// TestDeclaredConversionWithoutReviews: an API server calls no webhook whose versions of ConversionReview it does not
// know, so rules convert nothing. Updates of such CRDs are accepted. Objects of other kinds are not converted, either.
func TestDeclaredConversionWithoutReviews(t *testing.T) {
	crd := definitionWithRules(t, "tasks.yaml", tasksRules).Manifest()
	unknown := bytes.Replace(crd, []byte(`"conversionReviewVersions":["v1"]`), []byte(`"conversionReviewVersions":["v9"]`), 1)
	existing := func(string) *engine.Existing { return &engine.Existing{Manifest: unknown} }
	for _, c := range []struct {
		crd        []byte
		kind, want string
	}{
		{crd, "Task", ""},
		{unknown, "Task", "no supported conversion review versions"},
		{crd, "Other", `conversion webhook for example.com/v1beta1, Kind=Other failed: the kind "Other" of the object is not that of tasks.example.com`},
	} {
		d, report, err := engine.Compile(t.Context(), engine.JSON(c.crd),
			engine.Options{Existing: existing, Conversion: engine.YAML([]byte(tasksRules))})
		if err != nil || d == nil {
			t.Fatal(report, err)
		}
		object := `{"apiVersion":"example.com/v1beta1","kind":"` + c.kind + `","metadata":{"name":"a"},"spec":{"host":"h"}}`
		_, err = d.Convert(t.Context(), engine.JSON([]byte(object)), "v1", engine.TransformOptions{})
		if got := fmt.Sprint(err); err == nil && c.want != "" || err != nil && got != c.want {
			t.Errorf("%s: %v, want %q", c.kind, err, c.want)
		}
	}
}

// TestDeclaredConversionFails: the error of each call says which rule cannot convert which field. The text of an
// evaluation is that of an API server that calls crdeval.
func TestDeclaredConversionFails(t *testing.T) {
	crd, err := os.ReadFile("testdata/tasks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	crd = bytes.Replace(crd, []byte("                  host: {type: string}"), []byte("                  host: {type: string, maxLength: 2}"), 1)
	compile := func(rules string) *engine.Definition {
		d, report, err := engine.Compile(t.Context(), engine.YAML(crd), engine.Options{Conversion: engine.YAML([]byte(rules))})
		if err != nil || d == nil {
			t.Fatal(report, err)
		}
		return d
	}
	object := []byte(`{"apiVersion":"example.com/v1beta1","kind":"Task","metadata":{"name":"a","namespace":"b"},"spec":{"host":"abc"}}`)
	type call func(*engine.Definition) error
	calls := map[string]call{
		"Admit": func(d *engine.Definition) error {
			_, err := d.Admit(t.Context(), engine.Create{Object: engine.JSON(object), Version: "v1beta1"}, engine.AdmitOptions{})
			return err
		},
		"Read": func(d *engine.Definition) error {
			_, err := d.Read(t.Context(), engine.JSON(object), engine.ReadOptions{TargetVersion: "v1"})
			return err
		},
		"Table": func(d *engine.Definition) error {
			_, err := publish.TableOf(t.Context(), d, "v1", []engine.Document{engine.JSON(object)}, publish.TableOptions{})
			return err
		},
		"AppendConverted": func(d *engine.Definition) error {
			_, err := convert.Append(t.Context(), d, nil, object, "v1", true)
			return err
		},
	}
	valid, misfit := compile(tasksRules), compile(strings.Replace(tasksRules, "spec.host", "spec.none", 1))
	for name, do := range calls {
		preamble := map[string]string{"AppendConverted": "", "Table": "objects[0]: "}[name]
		if name != "AppendConverted" {
			preamble += "conversion webhook for example.com/v1beta1, Kind=Task failed: "
		}
		var e *conversionwebhook.Error
		want := preamble + `Task b/a: from v1beta1 to v1: rules[0] (move): spec.host: "abc" is not valid`
		err := do(valid)
		if engine.ReasonOf(err) != engine.ReasonConversionFailed || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
		if !errors.As(err, &e) || e.CRD != "tasks.example.com" || e.From != "v1beta1" || e.To != "v1" ||
			e.Rule != "rules[0] (move)" || e.Path != "spec.host" || strings.TrimPrefix(preamble, "objects[0]: ") != e.Preamble {
			t.Errorf("%s: %+v", name, e)
		}
		err = do(misfit)
		want = preamble + "tasks.example.com has conversion rules that do not fit its schemas"
		if engine.ReasonOf(err) != engine.ReasonConversionUnavailable || !strings.HasPrefix(err.Error(), want) ||
			!errors.As(err, &e) || e.Rule+e.Path != "" {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

// TestAppendIsCompact checks that line breaks in rules and objects do not reach converted objects.
func TestAppendIsCompact(t *testing.T) {
	d := definitionWithRules(t, "tasks.yaml", "{\"crd\":\"tasks.example.com\",\n\"between\":[\"v1beta1\",\"v1\"],\n\"rules\":[\n"+
		"{\"cel\":{\"to\":\"spec.endpoint.host\",\n\"expr\":\"self.spec.host\"},\"back\":{\"spec.host\":\"self.spec.endpoint.host\"}},\n"+
		"{\"stash\":{\"path\":\"spec.note\",\"maxBytes\":100}}]}")
	object := "{\n\"apiVersion\": \"example.com/v1beta1\",\n\"kind\": \"Task\", \"metadata\": {\n\"name\": \"a\"},\n\"spec\": {\"host\":\n\"h\", \"note\": \"x\"}}"
	converted, err := convert.Append(t.Context(), d, nil, []byte(object), "v1", true)
	if err != nil || strings.ContainsAny(string(converted), "\n ") {
		t.Errorf("%s, %v", converted, err)
	}
}
