package tests

import (
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/conformance/oracle"
	"github.com/crdeval/crdeval/engine/internal/casefile"
	"github.com/crdeval/crdeval/engine/testenv"
)

// excluded returns why a case does not run on the oracle, or "".
func excluded(c *casefile.Case) string {
	switch {
	case c.Op == "table" || c.Op == "fields" || c.Op == "scale" || c.Op == "openapi":
		return "what is shown of objects has oracles of its own, see the suites tables, selectors, scale and openapi"
	case c.Op == "convert" && c.Request.Converted != nil:
		return "there is no webhook to ask"
	}
	return ""
}

func TestOracle(t *testing.T) {
	cases, err := casefile.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	asked, omitted := 0, map[string]int{}
	for i := range cases {
		c := &cases[i]
		if why := excluded(c); why != "" {
			omitted[why]++
			continue
		}
		asked++
		if c.Costly() && testenv.Volume(1) == 1 {
			continue
		}
		t.Run(c.File+"/"+c.Name, func(t *testing.T) { ask(t, c) })
	}
	t.Logf("%d cases asked, excluded: %v", asked, omitted)
}

func ask(t *testing.T, c *casefile.Case) {
	registered, answer := register(c)
	if registered == nil {
		t.Fatalf("the definition was not decoded: %+v", answer.Rejection)
	}
	if c.Registration != nil {
		compareCase(t, "registration", answer, *c.Registration)
	}
	if len(c.Objects) == 0 {
		return
	}
	// Some cases are about stored CRDs that are invalid today.
	d, err := oracle.Compile(registered)
	if err != nil {
		t.Fatal(err)
	}
	for i, object := range c.Objects {
		compareCase(t, string(object), d.Answer(requestOf(c, object)), c.Answers[i])
	}
}

// register registers the CRD of a case with the oracle: as an update if the case has an old CRD.
func register(c *casefile.Case) (*oracle.Registered, oracle.Answer) {
	if c.OldCRD == nil {
		return oracle.Register(c.CRD, false)
	}
	old := (&oracle.Previous{Manifest: c.OldCRD, Established: true}).Keep()
	return oracle.RegisterUpdate(old, c.CRD, false)
}

// requestOf returns the request for one object of a case.
func requestOf(c *casefile.Case, object []byte) oracle.Request {
	r := oracle.Request{Version: "v1", Body: object, Old: c.OldObject}
	switch {
	case c.Op == "convert":
		r.Op, r.Target = oracle.Convert, c.Request.ToVersion
	case c.Request.Subresource == "status":
		r.Op = oracle.Status
	case c.OldObject != nil:
		r.Op = oracle.Update
	}
	return r
}

func compareCase(t *testing.T, what string, got oracle.Answer, want casefile.Answer) {
	t.Helper()
	if want.Error != "" {
		if got.DecodeError != want.Error {
			t.Errorf("%s: error %q, want %q", what, got.DecodeError, want.Error)
		}
		return
	}
	var unknown []string
	for _, s := range got.Strict {
		if name, ok := strings.CutPrefix(s, `unknown field "`); ok {
			unknown = append(unknown, strings.TrimSuffix(name, `"`))
		}
	}
	if !slices.Equal(unknown, want.PrunedPaths) {
		t.Errorf("%s: unknown fields %q, want %q", what, unknown, want.PrunedPaths)
	}
	warnings := slices.DeleteFunc(slices.Clone(got.Warnings), func(w string) bool { return what != "registration" && strings.HasPrefix(w, "unknown field ") })
	wanted := slices.Clone(want.Warnings)
	sort.Strings(warnings)
	sort.Strings(wanted)
	if !slices.Equal(warnings, wanted) {
		t.Errorf("%s: warnings %q, want %q", what, warnings, wanted)
	}
	expected := oracle.Answer{Object: want.Object, Strict: got.Strict, Warnings: got.Warnings}
	if what == "registration" { // the files contain the CRD as the server returns it, not the stored one
		expected.Object, expected.Generation, expected.StoredVersions = got.Object, got.Generation, got.StoredVersions
	}
	for _, f := range want.Errors {
		expected.Errors = append(expected.Errors, oracle.FieldError(f))
	}
	for _, diff := range oracle.Compare(expected, got) {
		t.Errorf("%s (upstream is the case file here): %s", what, diff)
	}
}
