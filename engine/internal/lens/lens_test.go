package lens

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/value"
)

// testFile is a file of testdata. Cases that have error fail with it; the others give to, and back converts it back.
type testFile struct {
	Schemas map[string]*schema.Props `json:"schemas"`
	Order   []string                 `json:"order"`
	Tests   []struct {
		Name  string `json:"name"`
		Rules string `json:"rules"`
		// Violations are the texts of registration, Labels those of the accepted rules.
		Violations []string `json:"violations"`
		Labels     []string `json:"labels"`
		Cases      []struct {
			From, To    string
			Object      string
			Converted   string
			Back, Error string
		} `json:"cases"`
	} `json:"tests"`
}

func compileTest(t *testing.T, f *testFile, rules string) (*Set, []violation.Violation) {
	t.Helper()
	var d value.Doc
	root, err := d.ParseYAML([]byte(rules), value.Request, value.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	file, found := Read(&d, root)
	if file == nil {
		return nil, found
	}
	versions := make([]Version, 0, len(f.Order))
	for _, name := range f.Order {
		versions = append(versions, Version{name, "example.com/" + name, f.Schemas[name]})
	}
	set, found, err := Compile(t.Context(), file, versions, celcheck.NewMemory())
	if err != nil {
		t.Fatal(err)
	}
	return set, found
}

// convert converts a YAML object and returns JSON.
func convert(t *testing.T, s *Set, object, from, to string) (string, error) {
	t.Helper()
	var d value.Doc
	text, err := yaml.YAMLToJSON([]byte(object))
	if err != nil {
		t.Fatal(err)
	}
	root, err := d.ParseJSON(text, value.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Convert(t.Context(), &d, root, from, to); err != nil {
		return "", err
	}
	return string(d.AppendJSON(nil, root)), nil
}

// same compares JSON with YAML.
func same(t *testing.T, json, want string) bool {
	t.Helper()
	text, err := yaml.YAMLToJSON([]byte(want))
	if err != nil {
		t.Fatal(err)
	}
	got, err := yaml.YAMLToJSON([]byte(json)) // sorts keys
	if err != nil {
		t.Fatalf("%v: %s", err, json)
	}
	return string(got) == string(text)
}

func TestConvert(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f := &testFile{}
		if err := yaml.UnmarshalStrict(text, f); err != nil {
			t.Fatal(name, err)
		}
		for _, test := range f.Tests {
			t.Run(filepath.Base(name)+"/"+test.Name, func(t *testing.T) {
				set, found := compileTest(t, f, test.Rules)
				var texts []string
				for _, v := range found {
					texts = append(texts, v.Error.Error())
				}
				if got, want := strings.Join(texts, "\n"), strings.Join(test.Violations, "\n"); got != want {
					t.Fatalf("violations\n%s\nwant\n%s", got, want)
				}
				if set == nil {
					return
				}
				var labels []string
				for _, r := range set.Rules() {
					labels = append(labels, strings.Join(append([]string{string(r.Class) + " " + r.Text}, r.Preconditions...), "; "))
				}
				if got, want := strings.Join(labels, "\n"), strings.Join(test.Labels, "\n"); got != want {
					t.Errorf("labels\n%s\nwant\n%s", got, want)
				}
				for _, c := range test.Cases {
					got, err := convert(t, set, c.Object, c.From, c.To)
					switch {
					case err != nil || c.Error != "":
						if err == nil || err.Error() != c.Error {
							t.Errorf("%s to %s of %s: error %v, want %s; object %s", c.From, c.To, c.Object, err, c.Error, got)
						}
						continue
					case !same(t, got, c.Converted):
						t.Errorf("%s to %s of %s: %s, want %s", c.From, c.To, c.Object, got, c.Converted)
						continue
					}
					want := c.Back
					if want == "" {
						want = c.Object
					}
					if back, err := convert(t, set, got, c.To, c.From); err != nil || !same(t, back, want) {
						t.Errorf("%s to %s and back of %s: %s %v, want %s", c.From, c.To, c.Object, back, err, want)
					}
				}
			})
		}
	}
}
