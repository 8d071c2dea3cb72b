package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/conversionwebhook"
	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/casefile"
	"github.com/crdeval/crdeval/engine/internal/definition"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/testenv"
)

// TestCases holds the engine against the reference's answers, in the fast way and in the exact way.
func TestCases(t *testing.T) {
	cases, err := casefile.Load("conformance/testdata/cases")
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for i := range cases {
		c := &cases[i]
		asked++
		t.Run(c.File+"/"+c.Name, func(t *testing.T) {
			if testing.Short() && c.Costly() {
				t.Skip("takes minutes under the race detector")
			}
			if testenv.Volume(1) == 1 && spendsBudget(c.Name) {
				t.Skip("takes 10 s: make conformance runs it, and TestBudget of the rules has smaller budgets")
			}
			runCase(t, c)
		})
	}
	t.Logf("%d cases asked", asked)
}

// spendsBudget reports whether a case spends the cost budget of an object.
func spendsBudget(name string) bool {
	return name == "CEL: total budget runs out, rules after it are skipped" ||
		name == "run time, the rules beyond the budget of an object" ||
		name == "messageExpression, the budget of the object runs out"
}

func runCase(t *testing.T, c *casefile.Case) {
	ctx := context.Background()
	report, err := Check(ctx, JSON(c.CRD), Options{Existing: existing(t, c)})
	if err != nil {
		t.Fatal(err)
	}
	if report.Update != (c.OldCRD != nil) {
		t.Errorf("judged as an update: %v", report.Update)
	}
	if c.Registration != nil {
		compareViolations(t, "registration", report.Violations, c.Registration.Errors)
		if got := upstreamWarnings(textsOf(report.Warnings)); !slices.Equal(got, c.Registration.Warnings) {
			t.Errorf("warnings %q, want %q", got, c.Registration.Warnings)
		}
	}
	if len(c.Objects) == 0 {
		return
	}
	o := Options{}
	if c.Op == "convert" {
		o.Converter = replies(c.Request.Converted)
	}
	// Some cases are about CRDs that a server has stored, and would not take today.
	d, err := compileStored(ctx, c.CRD, o)
	if err != nil {
		t.Fatal(err)
	}
	for i, object := range c.Objects {
		want := &c.Answers[i]
		switch c.Op {
		case "convert":
			convertCase(t, d, c, object, want)
			continue
		case "table", "fields", "scale", "openapi": // TestCases of package publish
			continue
		}
		writeCase(t, d, c, object, want)
	}
}

// existing is the CRD that a case updates: as it is stored, established.
func existing(t *testing.T, c *casefile.Case) func(string) *Existing {
	t.Helper()
	if c.OldCRD == nil {
		return nil
	}
	d, err := compileStored(context.Background(), c.OldCRD, Options{})
	if err != nil {
		t.Fatal(err)
	}
	group := []definition.CRDStatus{{Name: d.Name(), Desired: d.compiled.Desired, Status: d.compiled.Desired.AddStoredVersion(apiextensionsv1.CustomResourceDefinitionStatus{})}}
	definition.ReconcileStatus(group, d.Name(), time.Now())
	return func(name string) *Existing {
		if name != d.Name() {
			return nil
		}
		return &Existing{Manifest: d.Manifest(), Generation: 1, Status: group[0].Status}
	}
}

type replies []json.RawMessage

func (r replies) Convert(context.Context, conversionwebhook.Request) ([][]byte, error) {
	out := make([][]byte, len(r))
	for i := range r {
		out[i] = r[i]
	}
	return out, nil
}

func convertCase(t *testing.T, d *Definition, c *casefile.Case, object []byte, want *casefile.Answer) {
	t.Helper()
	out, err := d.compiled.Inner.Convert(context.Background(), &admission.Request{Body: object, Target: c.Request.ToVersion, WantObject: true})
	if want.Error != "" {
		if err == nil || err.Error() != want.Error {
			t.Errorf("error %v, want %s", err, want.Error)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	sameJSON(t, out.Object, want.Object)
}

// ways are all that an object can go: quickly or exactly, with rules as closures or not.
var ways = []struct {
	name              string
	exact, noClosures bool
}{{name: "fast"}, {name: "exact, no closures", exact: true, noClosures: true}, {name: "exact", exact: true}, {name: "fast, no closures", noClosures: true}}

func writeCase(t *testing.T, d *Definition, c *casefile.Case, object []byte, want *casefile.Answer) {
	t.Helper()
	ctx := context.Background()
	for i, way := range ways {
		if i > 0 && c.Costly() && testenv.Volume(1) == 1 {
			break
		}
		r := admission.Request{
			Version: "v1", Body: object, Old: c.OldObject, Status: c.Request.Subresource != "", WantObject: true, Exact: way.exact, NoClosures: way.noClosures,
		}
		out, err := d.compiled.Inner.Write(ctx, &r)
		if err != nil {
			t.Fatalf("%s: %v", way.name, err)
		}
		if want.Error != "" {
			if out.Rejection == nil || out.Rejection.Cause != want.Error {
				t.Errorf("%s: rejection %+v, want %s", way.name, out.Rejection, want.Error)
			}
			continue
		}
		if out.Rejection != nil && out.Rejection.Code != 422 {
			t.Errorf("%s: rejection %+v, want none", way.name, out.Rejection)
			continue
		}
		sameJSON(t, out.Object, want.Object)
		unknown, texts := splitStrict(out.Strict, textsOf(warnings(out.Warnings)))
		if !slices.Equal(unknown, want.PrunedPaths) {
			t.Errorf("%s: unknown fields %q, want %q", way.name, unknown, want.PrunedPaths)
		}
		if !slices.Equal(sorted(texts), sorted(want.Warnings)) {
			t.Errorf("%s: warnings %q, want %q", way.name, texts, want.Warnings)
		}
		compareViolations(t, way.name, violations(out.Violations), want.Errors)
	}
	if want.Error != "" {
		return
	}
	var item Write = Create{Version: "v1", Object: JSON(object)}
	if c.OldObject != nil {
		item = Update{Version: "v1", Object: JSON(object), Old: JSON(c.OldObject), Subresource: c.Request.Subresource}
	}
	verdict, err := d.Validate(ctx, item, ValidateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if verdict.Rejection == nil || verdict.Rejection.Code == 422 { // a server's handler may reject what the cases hand to the strategy
		compareViolations(t, "Validate", verdict.Violations, want.Errors)
	}
	if verdict.Allowed != (len(want.Errors) == 0) || verdict.Allowed == (verdict.Rejection != nil) {
		t.Errorf("allowed %v, rejection %v, with %d violations", verdict.Allowed, verdict.Rejection, len(want.Errors))
	}
}

func sorted(texts []string) []string {
	texts = slices.Clone(texts)
	slices.Sort(texts)
	return texts
}

// splitStrict takes the unknown fields apart from all other warnings.
func splitStrict(strict []admission.StrictError, warnings []string) (unknown, rest []string) {
	for i := range strict {
		if name, ok := strings.CutPrefix(strict[i].Text, `unknown field "`); ok {
			unknown = append(unknown, strings.TrimSuffix(name, `"`))
		}
	}
	for _, text := range warnings {
		if !strings.HasPrefix(text, "unknown field") {
			rest = append(rest, text)
		}
	}
	return unknown, rest
}

func strictTexts(list []admission.StrictError) (texts []string) {
	for i := range list {
		texts = append(texts, list[i].Text)
	}
	return texts
}

// warningLines returns one line for each warning.
func warningLines(list []violation.Warning) (lines []string) {
	for _, w := range list {
		lines = append(lines, fmt.Sprintf("%s %s %s %s %d:%d", w.Type, w.Text, w.Field, w.Path.Pointer(), w.Position.Line, w.Position.Column))
	}
	return lines
}

func upstreamWarnings(texts []string) (kept []string) {
	for _, text := range texts {
		if !strings.HasPrefix(text, "crdeval: ") {
			kept = append(kept, text)
		}
	}
	return kept
}

// generated are the names of types that hold a time in Kubernetes, and are N in the case files.
var generated = regexp.MustCompile(`selfType\d+`)

func compareViolations(t *testing.T, what string, got []Violation, want []casefile.FieldError) {
	t.Helper()
	line := func(typ, field, detail string, bad []byte, message string) string {
		return generated.ReplaceAllString(fmt.Sprintf("%s | %s | %s | %s | %s", typ, field, detail, canonicalJSON(bad), message), "selfTypeN")
	}
	var ours, theirs []string
	for _, v := range got {
		ours = append(ours, line(v.Type, v.Field, v.Detail, v.BadValue, v.Error()))
	}
	for _, f := range want {
		theirs = append(theirs, line(f.Type, f.Field, f.Detail, f.BadValue, f.Message))
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	if !slices.Equal(ours, theirs) {
		t.Errorf("%s: violations\n\t%s\nwant\n\t%s", what, strings.Join(ours, "\n\t"), strings.Join(theirs, "\n\t"))
	}
}

func sameJSON(t *testing.T, got, want []byte) {
	t.Helper()
	if canonicalJSON(got) != canonicalJSON(want) {
		t.Errorf("object %s\nwant   %s", canonicalJSON(got), canonicalJSON(want))
	}
}

// canonicalJSON prints with sorted keys and numbers as they are written.
func canonicalJSON(text []byte) string {
	if text == nil {
		return "(none)"
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return string(text)
	}
	out, _ := json.Marshal(v)
	return string(out)
}
