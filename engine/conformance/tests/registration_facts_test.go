package tests

import (
	"context"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/cel-go/common"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/util/version"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/crdeval/crdeval/engine/internal/definition"
	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/rule/celenv"
	"github.com/crdeval/crdeval/engine/testenv"
)

// compiled is upstream's compilation of the rules of one schema, for a minor.
func compiled(t *testing.T, s *apiextensionsv1.JSONSchemaProps, root bool, minor uint) []cel.CompilationResult {
	t.Helper()
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(s, internal, nil); err != nil {
		t.Fatal(err)
	}
	structural, err := structuralschema.NewStructural(internal)
	if err != nil {
		t.Fatal(err)
	}
	results, err := cel.Compile(structural, model.SchemaDeclType(structural, root), celconfig.PerCallLimit,
		environment.MustBaseEnvSet(version.MajorMinor(1, minor)), cel.NewExpressionsEnvLoader())
	if err != nil {
		t.Fatal(err)
	}
	return results
}

func textOf(err *apiservercel.Error) string {
	if err == nil {
		return ""
	}
	return timeless(string(err.Type) + ": " + err.Detail)
}

// generatedType matches a type name that contains the time of compilation in Kubernetes.
var generatedType = regexp.MustCompile(`selfType\d+`)

func timeless(text string) string { return generatedType.ReplaceAllString(text, "selfTypeN") }

func compareFacts(t *testing.T, name string, ours *celcheck.Result, theirs *cel.CompilationResult) {
	t.Helper()
	if a, b := textOf(ours.Error), textOf(theirs.Error); a != b {
		t.Errorf("%s:\nours     %s\nupstream %s", name, a, b)
	}
	if a, b := textOf(ours.MessageError), textOf(theirs.MessageExpressionError); a != b {
		t.Errorf("%s, message:\nours     %s\nupstream %s", name, a, b)
	}
	type figures struct {
		uses                       bool
		cost, cardinality, message uint64
		hasMessage                 bool
	}
	a := figures{ours.UsesOldSelf, ours.MaxCost, ours.Cardinality, ours.MessageMaxCost, ours.Message != nil}
	b := figures{theirs.UsesOldSelf, theirs.MaxCost, theirs.MaxCardinality, theirs.MessageExpressionMaxCost, theirs.MessageExpression != nil}
	if a != b {
		t.Errorf("%s: ours %+v, upstream %+v", name, a, b)
	}
}

// doubt compares the syntax tree of an expression with cel-go's. It returns 1 if the expression is a doubt.
func doubt(t *testing.T, e *celenv.Env, text string) int {
	source := common.NewTextSource(text)
	got := e.Parser.Parse(text, source)
	if text == "" || got == nil {
		return min(1, len(text))
	}
	if want, issues := e.Base.ParseSource(source); issues.Err() != nil || !reflect.DeepEqual(got, want.NativeRep()) {
		t.Errorf("%s: the syntax tree differs from cel-go's (%v)", text, issues.Err())
	}
	return 0
}

// TestFactsOfTheCorpus compares the facts about each rule of the corpus with those of upstream's compiler.
func TestFactsOfTheCorpus(t *testing.T) {
	c := sampledCorpus(t)
	n, doubts := 0, 0
	for _, crd := range c.CRDs {
		if !strings.Contains(string(crd.Doc), "x-kubernetes-validations") {
			continue
		}
		m, err := definition.Decode(crd.Doc)
		if err != nil {
			t.Fatal(err)
		}
		r := definition.Validate(context.Background(), m, definition.Options{})
		seen := map[*definition.Rules]bool{nil: true}
		for i, rules := range r.Rules {
			if seen[rules] {
				continue // shared by versions
			}
			seen[rules] = true
			var last *apiextensionsv1.JSONSchemaProps
			var theirs []cel.CompilationResult
			for k := range rules.List {
				ours := &rules.List[k]
				if ours.Props != last {
					last, theirs = ours.Props, compiled(t, ours.Props, len(ours.Path) == 0 || ours.Props.XEmbeddedResource, celenv.NewMinor)
				}
				n++
				rule := ours.Props.XValidations[ours.Index]
				doubts += doubt(t, ours.Env, rule.Rule) + doubt(t, ours.MessageEnv, rule.MessageExpression)
				compareFacts(t, crd.Path+" "+m.CRD.Spec.Versions[i].Name+" "+strings.Join(ours.Path, "/"), &ours.Facts, &theirs[ours.Index])
			}
		}
	}
	t.Logf("%d rules, %d of them are a doubt of package celparse", n, doubts)
	if n < testenv.Portion(1500) {
		t.Errorf("only %d rules", n)
	}
	if doubts > n/10 {
		t.Errorf("%d doubts of %d rules", doubts, n)
	}
}
