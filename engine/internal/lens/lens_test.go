package lens

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

var update = flag.Bool("update", false, "write testdata/*.txt")

// testFile is a file of testdata: rules, and objects to convert.
type testFile struct {
	Schemas map[string]*schema.Props `json:"schemas"`
	Order   []string                 `json:"order"`
	Tests   []struct {
		Name    string `json:"name"`
		Rules   string `json:"rules"`
		Objects []struct {
			From, To string
			Partial  bool // one of server-side apply
			Object   string
		} `json:"objects"`
	} `json:"tests"`
}

func compileTest(t testing.TB, f *testFile, rules string) (*Set, []violation.Violation) {
	t.Helper()
	var d tree.Doc
	root, err := d.ParseYAML([]byte(rules), tree.Request, tree.Limits{})
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
	set, found, err := Compile(t.Context(), file, versions, celcheck.NewShared())
	if err != nil {
		t.Fatal(err)
	}
	return set, found
}

// convert converts a JSON object.
func convert(t *testing.T, s *Set, object, from, to string, whole bool) (string, error) {
	t.Helper()
	var d tree.Doc
	root, err := d.ParseJSON([]byte(object), tree.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Convert(t.Context(), &d, root, from, to, whole); err != nil {
		return "", err
	}
	return string(d.AppendJSON(nil, root)), nil
}

func normalize(t *testing.T, s *Set, object, from, to string) string {
	t.Helper()
	var d tree.Doc
	root, err := d.ParseJSON([]byte(object), tree.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if from != s.Hub() && to != s.Hub() && s.Hub() != "" {
		to = s.Hub()
	}
	s.Normalize(&d, root, from, to, true)
	return string(d.AppendCanonical(nil, root))
}

// TestConvert converts the objects of testdata and back, and compares violations, labels and objects with golden files.
func TestConvert(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			f := &testFile{}
			if err := yaml.UnmarshalStrict(text, f); err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			for _, test := range f.Tests {
				fmt.Fprintf(&out, "--- %s\n", test.Name)
				set, found := compileTest(t, f, test.Rules)
				for _, v := range found {
					fmt.Fprintf(&out, "%v\n", v.Error)
				}
				if set == nil {
					continue
				}
				for _, r := range set.Rules() {
					fmt.Fprintf(&out, "%s %s\n", r.Class, r.Text)
					for _, p := range r.Preconditions {
						fmt.Fprintf(&out, "    %s\n", p)
					}
				}
				for _, o := range test.Objects {
					object, err := yaml.YAMLToJSON([]byte(o.Object))
					if err != nil {
						t.Fatal(err)
					}
					fmt.Fprintf(&out, "\n%s\n", object)
					converted, err := convert(t, set, string(object), o.From, o.To, !o.Partial)
					if err != nil {
						fmt.Fprintf(&out, "error: %v\n", err)
						continue
					}
					fmt.Fprintf(&out, "%s\n", converted)
					back, err := convert(t, set, converted, o.To, o.From, !o.Partial)
					switch {
					case err != nil:
						fmt.Fprintf(&out, "error: %v\n", err)
					case normalize(t, set, back, o.From, o.To) == normalize(t, set, string(object), o.From, o.To):
						fmt.Fprintf(&out, "and back\n")
					default:
						fmt.Fprintf(&out, "%s\n", back)
					}
				}
			}
			golden := strings.TrimSuffix(name, ".yaml") + ".txt"
			if *update {
				if err := os.WriteFile(golden, []byte(out.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil || out.String() != string(want) {
				t.Errorf("go test -update writes %s (%v):\n%s", golden, err, out.String())
			}
		})
	}
}
