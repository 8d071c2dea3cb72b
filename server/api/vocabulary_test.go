package api

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// constants returns the texts of the constants of a type in a Go file, by their names.
func constants(t *testing.T, file, of string) map[string]string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Type == nil || len(spec.Values) != 1 {
			return true
		}
		var name string
		switch t := spec.Type.(type) {
		case *ast.Ident:
			name = t.Name
		case *ast.SelectorExpr:
			name = t.Sel.Name
		}
		if literal, ok := spec.Values[0].(*ast.BasicLit); ok && name == of {
			all[spec.Names[0].Name], _ = strconv.Unquote(literal.Value)
		}
		return true
	})
	if len(all) == 0 {
		t.Fatalf("%s has no constants of type %s", file, of)
	}
	return all
}

// TestVocabulary checks that each reason, step and type of the engine and the registry is one of the API, and that the API
// has no other step. Clients have no lists of their own: they use the generated enums.
func TestVocabulary(t *testing.T) {
	elsewhere := map[string]string{
		"NOT_A_CRD":       "it is sent as MANIFEST_UNREADABLE",
		"OBJECT_REJECTED": "results have a rejection instead",
	}
	const errors = "../../engine/error.go"
	reasons, public := constants(t, errors, "Reason"), textOf(t, errors)
	for name, code := range constants(t, "../../engine/internal/admission/rejection.go", "Code") {
		if reasons["admission."+name] = code; !strings.Contains(public, "Reason(admission."+name+")") {
			t.Errorf("the code %s, %q, is not one of package engine", name, code)
		}
	}
	for name, reason := range reasons {
		if _, known := crdevalv1.ErrorReason_value[reasonPrefix+reason]; known == (elsewhere[reason] != "") {
			t.Errorf("%s is %q, in the API: %v", name, reason, known)
		}
		if _, known := codeOf[reason]; !known && elsewhere[reason] == "" {
			t.Errorf("%s has no gRPC code", name)
		}
	}
	for name, reason := range constants(t, "../registry/error.go", "Reason") {
		if _, known := crdevalv1.ErrorReason_value[reasonPrefix+reason]; !known {
			t.Errorf("%s of the registry, %q, is not one of the API", name, reason)
		}
	}
	for name := range crdevalv1.ErrorReason_value {
		reason := strings.TrimPrefix(name, reasonPrefix)
		if _, known := codeOf[reason]; !known && reason != "UNSPECIFIED" {
			t.Errorf("%s has no gRPC code", name)
		}
	}
	const violations = "../../engine/internal/violation/"
	steps := constants(t, violations+"violation.go", "Step")
	sent := map[string]bool{"PIPELINE_STEP_UNSPECIFIED": true}
	public = textOf(t, "../../engine/reasons.go")
	for name, step := range steps {
		sent["PIPELINE_STEP_"+step] = true
		if _, known := crdevalv1.PipelineStep_value["PIPELINE_STEP_"+step]; !known || !strings.Contains(public, "violation."+name+" ") {
			t.Errorf("the step %s, %q, is not one of the API or of package engine", name, step)
		}
	}
	for name := range crdevalv1.PipelineStep_value {
		if !sent[name] {
			t.Errorf("%s is not a step of the engine", name)
		}
	}
	documented := textOf(t, "../../proto/crdeval/v1/violation.proto")
	for name, text := range constants(t, violations+"reasons.go", "ErrorType") {
		if !strings.Contains(documented, text) || !strings.Contains(public, "violation."+name+")") {
			t.Errorf("the type %s, %q, is not documented in the API or not one of package engine", name, text)
		}
	}
}

// textOf returns the text of a file.
func textOf(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
