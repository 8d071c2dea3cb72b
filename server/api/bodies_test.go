package api_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/crdeval/crdeval/server/gateway/codec"

	"google.golang.org/grpc/status"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// tplManifest is a CRD whose objects have fields of several types.
const tplManifest = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: tpls.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Tpl, plural: tpls}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          s: {type: object, additionalProperties: {type: string}}
          level: {type: integer}
          l: {type: array, items: {type: object, properties: {name: {type: string}, cpu: {type: integer}}}}
`

// tplHead begins an object in YAML, tplJSON one in JSON, which ends with a brace.
const (
	tplHead = "apiVersion: example.com/v1\nkind: Tpl\nmetadata:\n  name: a\n  namespace: d\n"
	tplJSON = `{"apiVersion": "example.com/v1", "kind": "Tpl", "metadata": {"name": "a", "namespace": "d"`
)

// indented returns YAML as the value of a key.
func indented(text, indent string) string {
	return strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+indent) + "\n"
}

// shownAt returns a position with the rest of its line. It checks that line, column and offset are those of one byte of
// the body.
func shownAt(t *testing.T, body string, p *crdevalv1.Position) string {
	t.Helper()
	if p == nil {
		return ""
	}
	before := body[:p.GetOffset()]
	line, column := 1+strings.Count(before, "\n"), 1+utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	rest, _, _ := strings.Cut(body[p.GetOffset():], "\n")
	if line != int(p.GetLine()) || column != int(p.GetColumn()) {
		t.Errorf("%v is not a position in %q: line %d, column %d: %q", p, body, line, column, rest)
	}
	word, _, _ := strings.Cut(strings.TrimLeft(rest, `"'`), ":")
	return " at " + strings.TrimRight(word, `"',}] `)
}

// shownVerdict returns the violations and the warnings of a result, or its error.
func shownVerdict(t *testing.T, body string, r *crdevalv1.VerdictResult) (all []string) {
	t.Helper()
	add := func(list []*crdevalv1.Violation) {
		for _, v := range list {
			text := v.GetType() + " " + v.GetField() + shownAt(t, body, v.GetPosition())
			if h := v.GetHint(); h != nil {
				text += " (" + h.GetText() + ")"
			}
			all = append(all, text)
		}
	}
	if e := r.GetError(); e != nil {
		for _, d := range e.GetDetails() {
			list := &crdevalv1.ViolationList{}
			if d.MessageIs(list) && d.UnmarshalTo(list) == nil {
				add(list.GetViolations())
			}
		}
		return append(all, reason(t, status.FromProto(e)))
	}
	v := r.GetVerdict()
	add(v.GetViolations())
	for _, w := range v.GetWarnings() {
		all = append(all, "warning "+w.GetType()+" "+w.GetField()+shownAt(t, body, w.GetPosition()))
	}
	if v.GetAllowed() {
		all = append(all, "allowed")
	}
	return all
}

// forms are ways to send an object in YAML or in JSON over REST.
var forms = []struct {
	name, path, media string
	body              func(yaml, json, validation string) string // "" if there is no such text
}{
	{"request in YAML", "/v1/catalogs/default:validate", "application/yaml", func(yaml, _, validation string) string {
		return "context: {options: {fieldValidation: " + validation + "}}\nitems:\n- crd: \"\" # ä\n  create:\n    object:\n      " + indented(yaml, "      ")
	}},
	{"stream of YAML", admitPath + "?context.options.fieldValidation=", "application/yaml", func(yaml, _, _ string) string {
		return "# ä\n---\nnull\n---\n" + yaml
	}},
	{"stream of a List", admitPath + "?context.options.fieldValidation=", "application/yaml", func(yaml, _, _ string) string {
		return "# ä\n---\napiVersion: v1\nkind: List\nitems:\n- " + indented(yaml, "  ")
	}},
	{"stream of a typed List", admitPath + "?context.options.fieldValidation=", "application/yaml", func(yaml, _, _ string) string {
		return "apiVersion: example.com/v1\nkind: TplList\nitems:\n- " + indented(strings.TrimPrefix(yaml, "apiVersion: example.com/v1\nkind: Tpl\n"), "  ")
	}},
	{"request in JSON", "/v1/catalogs/default:validate", "application/json", func(_, json, validation string) string {
		return `{"context": {"options": {"fieldValidation": "` + validation + `"}},` + "\n" + `"items": [{"crd": "", "create": {"object":` + "\n " + json + `}}]}`
	}},
	{"stream of JSON", admitPath + "?context.options.fieldValidation=", "application/x-ndjson", func(_, json, _ string) string {
		return "\n" + `{"crd": "", "create": {"object": ` + json + "}}\n"
	}},
	{"stream of objects in JSON", admitPath + "?bare=true&context.options.fieldValidation=", "application/x-ndjson", func(_, json, _ string) string {
		return "\n" + json + "\n"
	}},
}

// TestBodies sends faulty objects in each form of a body: the answers, and the positions in the body, are the same.
func TestBodies(t *testing.T) {
	w := start(t, nil)
	if a := w.do("POST", "/v1/catalogs/default/crds", tplManifest, "Content-Type", "application/yaml"); a.code != http.StatusOK {
		t.Fatal(a.text)
	}
	for _, c := range []struct {
		name         string
		yaml, json   string // the object after its head; an empty text: it cannot be written so
		strict, warn string // the answers with field validation STRICT and WARN; warn is empty if it is the same
	}{
		{"override of a merged key", "l:\n- &one {name: one, cpu: 1}\n- {<<: *one, name: two}\n", "", "allowed", ""},
		{
			"duplicate key", "s:\n  a: b\n  a: c\n", `}, "s": {"a": "b", "a": "c"}}`,
			`DuplicateField s.a at a (the "a" of line LINE is lost, since the last one counts: merge them, or remove one)`, "warning DuplicateField s.a at a; allowed",
		},
		{
			"duplicate key beside a merge key", "l:\n- &one {name: one}\n- {<<: *one, cpu: 1, cpu: 2}\n", "",
			`DuplicateField l[1].cpu at cpu (the "cpu" of line LINE is lost, since the last one counts: merge them, or remove one)`, "warning DuplicateField l[1].cpu at cpu; allowed",
		},
		{"unknown field", "s: {a: b}\nlevl: 1\n", `}, "s": {"a": "b"}, "levl": 1}`, `UnknownField levl at levl (did you mean "level"?)`, "warning UnknownField levl at levl; allowed"},
		{"octal number", "s: {mode: 0644}\n", "", `FieldValueTypeInvalid s.mode at 0644 (did you mean "0644", in quotes?)`, ""},
		{"version", "s: {mode: 1.10}\n", "", `FieldValueTypeInvalid s.mode at 1.10 (did you mean "1.10", in quotes?)`, ""},
		{"switch", "s: {mode: off}\n", "", `FieldValueTypeInvalid s.mode at off (YAML takes off for false: did you mean "off", in quotes?)`, ""},
		{"exponent", "s: {mode: 1e3}\n", "", `FieldValueTypeInvalid s.mode at 1e3 (did you mean "1e3", in quotes?)`, ""},
		{
			"annotation", "  annotations: {scrape: true}\n", `, "annotations": {"scrape": true}}}`,
			`DecodeError metadata.annotations[scrape] at true (did you mean "true", in quotes?)`, "",
		},
	} {
		for _, strict := range []bool{true, false} {
			want, validation := c.strict, "FIELD_VALIDATION_STRICT"
			if !strict {
				validation = "FIELD_VALIDATION_WARN"
				if c.warn != "" {
					want = c.warn
				}
			}
			for _, f := range forms {
				if f.media != "application/yaml" && c.json == "" {
					continue // JSON has no such text
				}
				body := f.body(tplHead+c.yaml, tplJSON+c.json, validation)
				path := f.path
				if strings.Contains(path, "?") {
					path += validation
				}
				before, _, _ := strings.Cut(body, firstKey.FindString(body))
				want := strings.Replace(want, "LINE", strconv.Itoa(1+strings.Count(before, "\n")), 1)
				got := resultsOf(t, w.do("POST", path, body, "Content-Type", f.media))
				if len(got) != 1 {
					t.Errorf("%s, %s: %v", c.name, f.name, got)
					continue
				}
				if shown := strings.Join(shownVerdict(t, body, got[0]), "; "); shown != want {
					t.Errorf("%s, %s, %s: %s\nwant %s\n%s", c.name, f.name, validation, shown, want, body)
				}
			}
		}
	}
}

// firstKey matches the first one of duplicate keys in the bodies of TestBodies.
var firstKey = regexp.MustCompile(`"?(a|cpu)"?: ?("?b|1)`)

// resultsOf returns the results of a call or of a stream.
func resultsOf(t *testing.T, a answer) (all []*crdevalv1.VerdictResult) {
	t.Helper()
	if a.code != http.StatusOK {
		t.Fatalf("%d %s", a.code, a.text)
	}
	if strings.HasPrefix(a.text, `{"results"`) {
		var m crdevalv1.ValidateResponse
		a.into(t, &m)
		return m.GetResults()
	}
	for line := range strings.Lines(a.text) {
		if line = strings.TrimLeft(line, " "); line == "" {
			continue
		}
		line = "{" + regexp.MustCompile(`^\{"index":\d+,"line":\d+,`).ReplaceAllString(line, "")
		r := &crdevalv1.VerdictResult{}
		if err := codec.Unmarshal([]byte(line), r, nil); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		all = append(all, r)
	}
	return all
}

// TestStreamedDocuments sends streams of YAML that kubectl cannot read, or reads in part.
func TestStreamedDocuments(t *testing.T) {
	w := start(t, nil)
	w.do("POST", "/v1/catalogs/default/crds", tplManifest, "Content-Type", "application/yaml")
	good := tplHead + "s: {a: b}\n"
	for body, want := range map[string][]string{
		"--- " + `{apiVersion: example.com/v1, kind: Tpl, metadata: {name: a}}` + "\n---\n" + good: {"SyntaxError  at --- {apiVersion; OBJECT_UNREADABLE", "allowed"},
		good + "---\n%YAML 1.1\n---\n" + good:                                                      {"allowed", "SyntaxError  at %YAML 1.1; OBJECT_UNREADABLE", "allowed"},
		good + "...\nmore: 1\n---\n" + good:                                                        {"warning Notice  at more; allowed", "allowed"},
		"...\n" + good:                                                                             {"SyntaxError  at ...; OBJECT_UNREADABLE"},
		"null\n---\n# nothing\n---\n~\n---\n" + good:                                               {"allowed"},
		tplJSON + "}}\n" + good:                                                                    {"allowed", "allowed"},
		tplJSON + "}}\n---\n" + good + "---\na: [\n---\n" + good:                                   {"allowed", "allowed", "SyntaxError  at a; OBJECT_UNREADABLE", "allowed"},
		"kind: List\napiVersion: v1\nitems: []\n---\n" + good:                                      {"allowed"},
		"kind: List\napiVersion: v1\nkind: List\nitems:\n- " + indented(good, "  "): {"allowed",
			`DuplicateField kind at kind (the "kind" of line 1 is lost, since the last one counts: merge them, or remove one); OBJECT_UNREADABLE`},
	} {
		var got []string
		for _, r := range resultsOf(t, w.do("POST", admitPath, body, "Content-Type", "application/yaml")) {
			got = append(got, strings.Join(shownVerdict(t, body, r), "; "))
		}
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("%q:\n     %q\nwant %q", body, got, want)
		}
	}
}

// TestBrokenBodies checks the violation of a body that is not a request.
func TestBrokenBodies(t *testing.T) {
	w := start(t, nil)
	for _, c := range []struct{ media, body, message, violation string }{
		{"application/json", "{\"items\": [\n{\"create\": {\"object\": {\"a\": [1, 2}}}]}", "the body, line 2, column 34: invalid JSON: ", "SyntaxError  at "},
		{"application/json", "{\"items\": [\n{\"create\": {\"object\": {\"a\": 1}]}", "the body, line 2, column 31: items[0].create: a comma or a closing brace is expected", "SyntaxError items[0].create at "},
		{"application/json", "{\"items\": [\n{\"objet\": {}}]}", `the body, line 2, column 2: items[0]: unknown field "objet"`, "UnknownField items[0].objet at objet"},
		{"application/json", "{\"items\": [\n{\"crd\": 1}]}", "the body, line 2, column 9: items[0].crd: a string is expected", "DecodeError items[0].crd at 1"},
		{"application/yaml", "items:\n- crd: {a: 1\n", "the body, line 2, column 1: invalid YAML: ", "SyntaxError  at - crd"},
		{"application/yaml", "items:\n- objet: {}\n", `the body, line 2, column 3: items[0]: unknown field "objet"`, "UnknownField items[0].objet at objet"},
		{"application/yaml", "items:\n- crd: 1\n", "the body, line 2, column 8: items[0].crd: a string is expected", "DecodeError items[0].crd at 1"},
	} {
		a := w.do("POST", "/v1/catalogs/default:validate", c.body, "Content-Type", c.media)
		failed := a.status(t).Proto()
		shown := strings.Join(shownVerdict(t, c.body, &crdevalv1.VerdictResult{Result: &crdevalv1.VerdictResult_Error{Error: failed}}), "; ")
		if a.code != http.StatusBadRequest || !strings.HasPrefix(failed.GetMessage(), c.message) || shown != c.violation+"; MALFORMED_BODY" {
			t.Errorf("%q: %d %s\n     %s\nwant %s", c.body, a.code, failed.GetMessage(), shown, c.violation)
		}
	}
}

// TestManifestBodies checks the positions and the errors of CRDs in a body.
func TestManifestBodies(t *testing.T) {
	w := start(t, nil)
	bad := strings.Replace(tplManifest, "type: array", "type: many", 1)
	for _, c := range []struct {
		path, body, want string
	}{
		{"/crds", "# ä\n---\n" + bad, "many"},
		{"/crds:check", "# ä\n---\n" + bad + "---\n# nothing\n", "many"},
		{"/crds:check", bad, "many"},
		{"/crds:register", "# ä\n---\n" + tplManifest + "---\n" + bad, "many"},
		{"/crds:register", "kind: List\napiVersion: v1\nitems:\n- " + indented(bad, "  "), "many"},
		{"/crds:register", "kind: CustomResourceDefinitionList\napiVersion: apiextensions.k8s.io/v1\nitems:\n- " + indented(bad, "  "), "many"},
	} {
		a := w.do("POST", "/v1/catalogs/default"+c.path, c.body, "Content-Type", "application/yaml")
		var report *crdevalv1.CrdReport
		switch c.path {
		case "/crds":
			var m crdevalv1.RegisterCrdResponse
			a.into(t, &m)
			report = m.GetReport()
		case "/crds:check":
			var m crdevalv1.CheckCrdResponse
			a.into(t, &m)
			report = m.GetReport()
		default:
			var m crdevalv1.RegisterCrdsResponse
			a.into(t, &m)
			report = m.GetResults()[len(m.GetResults())-1].GetRegistration().GetReport()
		}
		if len(report.GetViolations()) == 0 {
			t.Errorf("%s %q: %s", c.path, c.body, a.text)
		} else if got := shownAt(t, c.body, report.GetViolations()[0].GetPosition()); got != " at "+c.want+", items" {
			t.Errorf("%s %q: %s, want %s", c.path, c.body, got, c.want)
		}
	}
	for body, want := range map[string]string{
		tplManifest + "---\n" + tplManifest: "the body, line 20, column 1: a second document begins here; send one document at a time",
		"--- {kind: a}\n":                   "the body, line 1, column 1: only a comment may follow the separator ---: kubectl does not read this document",
	} {
		a := w.do("POST", "/v1/catalogs/default/crds:check", body, "Content-Type", "application/yaml")
		if got := a.status(t).Message(); a.code != http.StatusBadRequest || got != want {
			t.Errorf("%q: %d %s", body, a.code, got)
		}
	}
}
