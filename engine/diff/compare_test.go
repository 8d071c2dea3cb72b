package diff_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/diff"
	"github.com/crdeval/crdeval/engine/kubeserver"
)

// cronTabs is the sample CRD, with replacements.
func cronTabs(t *testing.T, oldNew ...string) []byte {
	t.Helper()
	text, err := os.ReadFile("../../deploy/samples/crds/crontabs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(oldNew); i += 2 {
		if !strings.Contains(string(text), oldNew[i]) {
			t.Fatalf("the sample does not have %q any more", oldNew[i])
		}
	}
	return []byte(strings.NewReplacer(oldNew...).Replace(string(text)))
}

func compareYAML(t *testing.T, old, new []byte, o engine.Options) *diff.Result {
	t.Helper()
	d, err := diff.Compare(t.Context(), engine.YAML(old), engine.YAML(new), o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestCompare(t *testing.T) {
	old := cronTabs(t)
	d := compareYAML(t, old, cronTabs(t, "maximum: 10", "maximum: 5", "                minLength: 1\n", ""), engine.Options{})
	if d.Class != diff.Breaking || d.Identical || len(d.Changes) != 2 || !d.Report.Accepted || !d.Report.Update {
		t.Fatalf("%+v", d)
	}
	loosened, tightened := d.Changes[0], d.Changes[1]
	if c := tightened; c.Kind != "BoundTightened" || c.Class != diff.Breaking || c.Side != diff.Clients || c.Stored != diff.NeedsCare || c.Readers != diff.Compatible ||
		c.Version != "v1" || c.SchemaPointer != "/properties/spec/properties/replicas/maximum" ||
		c.ManifestPointer != "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/replicas/maximum" || string(c.Old) != "10" || string(c.New) != "5" ||
		c.OldPosition.Line != 51 || c.NewPosition.Line != 50 || c.OldPosition.Column != 26 || c.NewPosition.Column != 26 {
		t.Errorf("%+v at %v and %v", c, c.OldPosition, c.NewPosition)
	}
	// What is gone has the place of its parent in the new one.
	if c := loosened; c.Class != diff.Compatible || c.Side != diff.BothSides || string(c.Old) != "1" || c.New != nil ||
		c.OldPosition.Line != 47 || c.NewPosition.Line != 46 {
		t.Errorf("%+v at %v and %v", c, c.OldPosition, c.NewPosition)
	}
	if d := compareYAML(t, old, append([]byte("# again\n"), old...), engine.Options{}); !d.Identical || d.Class != diff.Compatible || len(d.Changes) != 0 {
		t.Errorf("the same again: %+v", d)
	}
}

// TestCompareAsUpdate: the report is that of an update of the old one, with the stored versions of its status,
// or that the caller knows.
func TestCompareAsUpdate(t *testing.T) {
	const v1 = "  - name: v1\n    served: true\n    storage: true\n"
	const beta = "  - name: v1beta1\n    served: true\n    storage: false\n    schema: {openAPIV3Schema: {type: object}}\n" + v1
	both := cronTabs(t, v1, beta)
	one := cronTabs(t)
	if d := compareYAML(t, both, one, engine.Options{}); !d.Report.Accepted {
		t.Errorf("v1beta1 was never stored: %v", d.Report.Violations)
	}
	stored := slices.Concat(both, []byte("status: {storedVersions: [v1beta1, v1]}\n"))
	d := compareYAML(t, stored, one, engine.Options{})
	if d.Report.Accepted || !strings.Contains(d.Report.Rejection.Message, "status.storedVersions") || d.Changes[0].Kind != "VersionRemoved" || d.Changes[0].Stored != diff.Breaking {
		t.Errorf("v1beta1 is stored: %+v %+v", d.Report, d.Changes)
	}
	known := func(string) *engine.Existing {
		_, e, err := kubeserver.ExistingFrom(engine.YAML(stored), engine.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	if d := compareYAML(t, both, one, engine.Options{Existing: known}); d.Report.Accepted {
		t.Error("v1beta1 is stored, as the caller knows")
	}
	d = compareYAML(t, one, cronTabs(t, "scope: Namespaced", "scope: Cluster"), engine.Options{})
	if d.Report.Accepted || d.Class != diff.Breaking || d.Changes[0].Kind != "ScopeChanged" {
		t.Errorf("the scope: %+v", d)
	}
	d = compareYAML(t, one, cronTabs(t, "crontabs.stable", "crontabz.stable", "plural: crontabs", "plural: crontabz"), engine.Options{})
	if d.Report.Update || !d.Report.Accepted || len(d.Changes) != 1 || d.Changes[0].Kind != "NameChanged" {
		t.Errorf("another CRD: %+v", d)
	}
}

func TestCompareWhatCannotBe(t *testing.T) {
	good := engine.YAML(cronTabs(t))
	for name, tc := range map[string]struct {
		old, new engine.Document
		reason   engine.Reason
		text     string
	}{
		"nothing old":  {engine.Document{}, good, engine.ReasonInvalidArgument, "old CRD: there is no manifest"},
		"nothing new":  {good, engine.Document{}, engine.ReasonInvalidArgument, "there is no manifest"},
		"an old Pod":   {engine.JSON([]byte(`{"apiVersion":"v1","kind":"Pod"}`)), good, engine.ReasonNotACRD, "old CRD: manifest:"},
		"a new Pod":    {good, engine.JSON([]byte(`{"apiVersion":"v1","kind":"Pod"}`)), engine.ReasonNotACRD, "manifest:"},
		"no JSON":      {engine.JSON([]byte(`{`)), good, engine.ReasonManifestUnreadable, "old CRD: manifest:"},
		"of old types": {engine.YAML(cronTabs(t, "served: true", "served: 1")), good, engine.ReasonManifestUnreadable, "old CRD:"},
	} {
		d, err := diff.Compare(t.Context(), tc.old, tc.new, engine.Options{})
		if d != nil || engine.ReasonOf(err) != tc.reason || !strings.HasPrefix(err.Error(), tc.text) {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
	// An API server rejects it: that is an answer.
	d := compareYAML(t, cronTabs(t), cronTabs(t, "served: true", "served: 1"), engine.Options{})
	if d.Class != diff.Breaking || d.Report.Accepted || d.Report.Rejection.Code != 400 || d.Changes != nil {
		t.Errorf("%+v", d)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := diff.Compare(ended, good, good, engine.Options{}); engine.ReasonOf(err) != engine.ReasonItemDeadline {
		t.Error(err)
	}
	if _, err := diff.Compare(t.Context(), good, good, engine.Options{Kubernetes: "1.3"}); engine.ReasonOf(err) != engine.ReasonInvalidArgument {
		t.Error(err)
	}
}

// TestCompareBeta: what v1beta1 writes once for all versions has its place there.
func TestCompareBeta(t *testing.T) {
	beta := func(maximum int) []byte {
		return fmt.Appendf(nil, `apiVersion: apiextensions.k8s.io/v1beta1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Cluster
  preserveUnknownFields: false
  names: {plural: things, kind: Thing}
  version: v1
  validation:
    openAPIV3Schema:
      type: object
      properties:
        i:
          type: integer
          maximum: %d
`, maximum)
	}
	d := compareYAML(t, beta(5), beta(4), engine.Options{})
	if len(d.Changes) != 1 || d.Changes[0].NewPosition.Line != 16 || d.Changes[0].OldPosition.Line != 16 {
		t.Errorf("%+v", d.Changes)
	}
	const v1 = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {plural: things, kind: Thing}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {i: {type: integer, maximum: 5}}}}}
`
	if d := compareYAML(t, beta(5), []byte(v1), engine.Options{}); !d.Identical {
		t.Errorf("the same at v1: %+v\n%s", d.Changes, v1)
	}
}

// TestKindsAreDocumented checks that docs/diff.md lists exactly the kinds in the package.
func TestKindsAreDocumented(t *testing.T) {
	docs, err := os.ReadFile("../../docs/diff.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../internal/compare/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	known := map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || filepath.Base(file) == "change.go" { // it has classes and sides
			continue
		}
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`"([A-Z][a-z]+(?:[A-Z][a-z]+)+)"`).FindAllSubmatch(source, -1) {
			known[string(found[1])] = true
		}
	}
	for kind := range known {
		if !strings.Contains(string(docs), "`"+kind+"`") {
			t.Errorf("%s is not in docs/diff.md", kind)
		}
	}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*) \\|").FindAllSubmatch(docs, -1) {
		for kind := range strings.FieldsSeq(strings.ReplaceAll(string(row[1]), "`", "")) {
			if !known[kind] {
				t.Errorf("docs/diff.md lists %s, which is not a kind", kind)
			}
		}
	}
}
