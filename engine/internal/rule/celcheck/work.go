package celcheck

import (
	"fmt"
	"strings"
	"sync"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/parser"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// The time of cel-go's checker grows with the square of an expression's length and with the fourth power of the nesting
// of list and map literals, whose types are written out at each level. A unit of work is a few nanoseconds in the worst
// case (types that the checker has to infer) and mostly far less.
const (
	// LongWork is the work from which on an expression is compiled in the background: 4 KiB, or 76 levels.
	LongWork        = 1 << 24
	nestingsPerUnit = 2
)

// estimateWork estimates the work of checking an expression. Brackets in string literals count, too.
func estimateWork(text string) int64 {
	n := int64(len(text))
	work := n * n
	depth, deepest := int64(0), int64(0)
	for i := range len(text) {
		switch text[i] {
		case '[', '{':
			depth++
			deepest = max(deepest, depth)
		case ']', '}':
			if depth = max(0, depth-1); depth == 0 {
				work += deepest * deepest * deepest * deepest / nestingsPerUnit
				deepest = 0
			}
		}
		if work > LongWork {
			return work
		}
	}
	if hasManyDoublings(text) {
		return max(work, LongWork)
	}
	return work
}

// IsLong reports whether an expression may take long to compile.
func IsLong(text string) bool { return estimateWork(text) >= LongWork }

// optMap and optFlatMap expand to two copies of their target. A chain of thirty fits on one line and expands to 2^30
// expressions, which upstream would try to check.
const (
	optMap     = "optMap"
	optFlatMap = "optFlatMap"

	// An expression with at most uncheckedDoublings of these macros is not checked for its expanded size.
	uncheckedDoublings = 4
	// Others may have maxExpandedParts parts after expansion, or minGrowth times their own parts. cel-go checks those
	// within about a second.
	maxExpandedParts = 2_000
	minGrowth        = 8
)

func hasManyDoublings(text string) bool {
	return strings.Count(text, optMap)+strings.Count(text, optFlatMap) > uncheckedDoublings
}

// CheckExpansion returns a *tree.LimitError for an expression whose macros expand to too many parts.
func CheckExpansion(text string) error {
	if !hasManyDoublings(text) {
		return nil
	}
	source, err := common.NewTextSourceWithLimit(text, maxCodePoints)
	if err != nil {
		return nil //nolint:nilerr // compiling reports a text that is too long
	}
	parsed, _ := parserWithoutMacros().Parse(source) // after an error, the parsed part is checked
	if parsed == nil {
		return nil
	}
	root := ast.NavigateAST(parsed)
	parts := expandedParts(root, 2)
	if parts <= maxExpandedParts || parts <= minGrowth*expandedParts(root, 1) {
		return nil
	}
	return &tree.LimitError{
		Name: "max_rule_parts", Limit: fmt.Sprintf("size of the rule that begins %.60q", text),
		Unit: "parts once its macros are expanded", Maximum: maxExpandedParts,
		Actual: int64(min(parts, 1<<53)), AtLeast: true,
		Advice: "nest optMap and optFlatMap less deep: each doubles what it is called on",
	}
}

var parserWithoutMacros = sync.OnceValue(func() *parser.Parser {
	p, err := parser.NewParser(parser.EnableOptionalSyntax(true), parser.Macros())
	if err != nil {
		panic(err) // the options are constant
	}
	return p
})

// expandedParts counts the parts of an expression if each doubling macro expands to the given number of copies of its
// target.
func expandedParts(e ast.NavigableExpr, copies float64) float64 {
	parts := 1.0
	for i, child := range e.Children() {
		n := expandedParts(child, copies)
		if i == 0 && e.Kind() == ast.CallKind && e.AsCall().IsMemberFunction() { // the target
			if name := e.AsCall().FunctionName(); name == optMap || name == optFlatMap {
				n *= copies
			}
		}
		parts += n
	}
	return parts
}
