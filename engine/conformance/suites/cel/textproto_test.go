package cel

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"cel.dev/expr"
	_ "cel.dev/expr/conformance/proto2" // messages in the test data
	_ "cel.dev/expr/conformance/proto3"
	test "cel.dev/expr/conformance/test"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/crdeval/crdeval/engine/conformance/jsontree"
	"github.com/crdeval/crdeval/engine/conformance/upstreamtests"
	"github.com/crdeval/crdeval/engine/testenv"
)

// TestLanguage runs CEL's own conformance tests as rules, if they need nothing but the language. Both sides must agree,
// whatever the tests expect.
func TestLanguage(t *testing.T) {
	dir, err := upstreamtests.ModuleDir("cel.dev/expr")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "tests", "simple", "testdata", "*.textproto"))
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	var n Counts
	var apart, asExpected, otherwise, broken, tests int
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var f test.SimpleTestFile
		if err := prototext.Unmarshal(data, &f); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, section := range f.Section {
			for _, s := range section.Test {
				if tests++; !testenv.Sampled(tests) {
					continue
				}
				rules := asRules(s)
				if rules == nil {
					apart++
					continue
				}
				for _, r := range rules {
					out := language(t, fmt.Sprintf("%s/%s/%s", f.Name, section.Name, s.Name), r, &n)
					switch {
					case out == nil:
						broken++
					case out.Error == "" && out.Value == "true" && s.GetEvalError() == nil, out.Error != "" && s.GetEvalError() != nil:
						asExpected++
					default:
						otherwise++
					}
				}
			}
		}
	}
	t.Logf("%d tests need more than the language; of the rules made of the others upstream runs %d as the tests expect, %d otherwise, and rejects %d", apart, asExpected, otherwise, broken)
	t.Log(n.Detail())
	if asExpected < testenv.Portion(1000) {
		t.Errorf("only %d as expected: the files were not read whole", asExpected)
	}
}

// language compares one rule. It returns nil if upstream rejects it.
func language(t *testing.T, name, text_ string, n *Counts) *Result {
	t.Helper()
	c := &Case{Schema: jsontree.Obj("type", "object"), Rules: []Rule{{rule: text(text_)}}}
	v := Values{Self: jsontree.Obj()}
	p, diffs, out := guardPair(c, n)
	if p == nil {
		if out == different {
			t.Errorf("%s: %s: %v", name, text_, diffs)
		}
		return nil
	}
	if diffs, out := guardValue(p, v, n); out == different {
		t.Errorf("%s: %s: %v", name, text_, diffs)
	}
	if p.up.compiled[0].Program == nil {
		return nil
	}
	if diffs, out := guardLimits(c, v); out == different {
		t.Errorf("%s: %s: %v", name, text_, diffs)
	}
	r := p.up.evaluate(0, map[string]any{}, nil)
	return &r
}

// asRules converts a test to rules, or returns nil if it needs variables, a container or messages.
func asRules(s *test.SimpleTest) []string {
	if len(s.Bindings) > 0 || len(s.TypeEnv) > 0 || s.Container != "" || s.DisableMacros {
		return nil
	}
	switch m := s.ResultMatcher.(type) {
	case *test.SimpleTest_Value:
		want, ok := literalOf(m.Value)
		if !ok {
			return nil
		}
		return []string{"dyn(" + s.Expr + ") == dyn(" + want + ")"}
	case *test.SimpleTest_TypedResult:
		if m.TypedResult.Result == nil {
			return nil
		}
		want, ok := literalOf(m.TypedResult.Result)
		if !ok {
			return nil
		}
		return []string{"dyn(" + s.Expr + ") == dyn(" + want + ")"}
	case *test.SimpleTest_EvalError:
		return []string{"dyn(" + s.Expr + ") == dyn(1)", "dyn(" + s.Expr + ") || true"}
	case nil:
		return []string{"dyn(" + s.Expr + ") == true"}
	}
	return nil
}

// literalOf prints a value as an expression.
func literalOf(v *expr.Value) (string, bool) {
	switch k := v.GetKind().(type) {
	case *expr.Value_NullValue:
		return "null", true
	case *expr.Value_BoolValue:
		return strconv.FormatBool(k.BoolValue), true
	case *expr.Value_Int64Value:
		return strconv.FormatInt(k.Int64Value, 10), true
	case *expr.Value_Uint64Value:
		return strconv.FormatUint(k.Uint64Value, 10) + "u", true
	case *expr.Value_DoubleValue:
		return "double('" + strconv.FormatFloat(k.DoubleValue, 'g', -1, 64) + "')", true
	case *expr.Value_StringValue:
		return quoteBytes([]byte(k.StringValue), false), true
	case *expr.Value_BytesValue:
		return "b" + quoteBytes(k.BytesValue, true), true
	case *expr.Value_TypeValue:
		return k.TypeValue, !strings.Contains(k.TypeValue, "proto")
	case *expr.Value_ListValue:
		var parts []string
		for _, e := range k.ListValue.Values {
			p, ok := literalOf(e)
			if !ok {
				return "", false
			}
			parts = append(parts, "dyn("+p+")")
		}
		return "[" + strings.Join(parts, ", ") + "]", true
	case *expr.Value_MapValue:
		var parts []string
		for _, e := range k.MapValue.Entries {
			key, ok := literalOf(e.Key)
			value, also := literalOf(e.Value)
			if !ok || !also {
				return "", false
			}
			parts = append(parts, "dyn("+key+"): dyn("+value+")")
		}
		return "{" + strings.Join(parts, ", ") + "}", true
	}
	return "", false
}

// quoteBytes escapes everything except printable ASCII.
func quoteBytes(s []byte, raw bool) string {
	var b strings.Builder
	b.WriteByte('"')
	if raw {
		for _, c := range s {
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	} else {
		for _, r := range string(s) {
			if r < ' ' || r > '~' || r == '"' || r == '\\' {
				fmt.Fprintf(&b, `\U%08x`, r)
			} else {
				b.WriteRune(r)
			}
		}
	}
	b.WriteByte('"')
	return b.String()
}
