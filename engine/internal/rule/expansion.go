package rule

import (
	"fmt"
	"strings"
	"sync"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/parser"

	"github.com/crdeval/crdeval/internal/value"
)

// The macros that put their target into the expression twice. A chain of thirty fits into a line and becomes a thousand million expressions, which
// upstream sets out to check.
const (
	optMap     = "optMap"
	optFlatMap = "optFlatMap"
)

const (
	// fewDoublings is how many of these macros one expression may have unseen.
	fewDoublings = 4
	// mostExpanded is how many parts an expression with more of them may have once they are expanded, if it was much smaller before: cel-go
	// checks those in a second or so.
	mostExpanded = 2_000
	muchSmaller  = 8
)

// Doubles reports whether an expression has more of these macros than cel-go checks at once.
func Doubles(text string) bool {
	return strings.Count(text, optMap)+strings.Count(text, optFlatMap) > fewDoublings
}

// Expands returns a *value.LimitError for an expression whose macros expand to more than anybody would want to wait for.
func Expands(text string) error {
	if !Doubles(text) {
		return nil
	}
	source, err := common.NewTextSourceWithLimit(text, maxCodePoints)
	if err != nil {
		return nil //nolint:nilerr // too long to be parsed, which is a finding
	}
	parsed, _ := unexpanded().Parse(source) // with errors, it is as much as is looked at
	if parsed == nil {
		return nil
	}
	if parts := expanded(parsed.Expr(), 2); parts > mostExpanded && parts > muchSmaller*expanded(parsed.Expr(), 1) {
		return &value.LimitError{
			Name: "max_rule_parts", Limit: fmt.Sprintf("size of the rule that begins %.60q", text), Unit: "parts once its macros are expanded", Maximum: mostExpanded, Actual: int64(min(parts, 1<<53)), AtLeast: true,
			Advice: "nest optMap and optFlatMap less deep: each doubles what it is called on",
		}
	}
	return nil
}

// unexpanded is a parser that knows no macros.
var unexpanded = sync.OnceValue(func() *parser.Parser {
	p, err := parser.NewParser(parser.EnableOptionalSyntax(true), parser.Macros())
	if err != nil {
		panic(err) // of options that do not depend on anything
	}
	return p
})

// expanded counts the parts of an expression once the doubling macros are expanded to so many copies of their target; all others leave it about
// as large as it is.
func expanded(e ast.Expr, copies float64) float64 {
	parts := 1.0
	add := func(list []ast.Expr) {
		for _, x := range list {
			parts += expanded(x, copies)
		}
	}
	switch e.Kind() {
	case ast.CallKind:
		call := e.AsCall()
		add(call.Args())
		if call.IsMemberFunction() {
			target := expanded(call.Target(), copies)
			if name := call.FunctionName(); name == optMap || name == optFlatMap {
				target *= copies
			}
			parts += target
		}
	case ast.SelectKind:
		parts += expanded(e.AsSelect().Operand(), copies)
	case ast.ListKind:
		add(e.AsList().Elements())
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			parts += expanded(entry.AsMapEntry().Key(), copies) + expanded(entry.AsMapEntry().Value(), copies)
		}
	case ast.StructKind:
		for _, field := range e.AsStruct().Fields() {
			parts += expanded(field.AsStructField().Value(), copies)
		}
	}
	return parts
}
