package lens

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/rule"
	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// expression computes a field of one version from the other.
type expression struct {
	*rule.Expression
	backText
	by     *compiledRule
	side   int // of the field
	placed bool

	reads  []rule.Read
	self   path // of the item in the other version
	parent path // in the other version: it must exist to set a value that is computed without any field
	// elsewhere has, by apiVersion, the fields of third versions that are converted to the field, or to what the
	// expression reads.
	elsewhere map[string][]thirdField
}

// nameExpressions compiles the expressions of a rule and marks the fields that they read.
func (b *pairing) nameExpressions(r *compiledRule) {
	expr := r.at.With(tree.Name(string(CEL)), tree.Name("expr")).Clone()
	for k, t := range append([]backText{{r.to, r.expr, expr}}, r.back...) {
		x := &expression{by: r, side: either(k == 0, 1, 0), backText: t, elsewhere: map[string][]thirdField{}}
		b.fields(r, t.to)
		if result := b.schemaAt(x.side, t.to, x.at); result != nil {
			r.writes = append(r.writes, x)
		}
	}
}

// compileExpressions compiles the expressions of a rule. The paths of all rules must be recorded before.
func (b *pairing) compileExpressions(r *compiledRule) {
	for _, x := range r.writes {
		from := 1 - x.side
		self, ok := b.counterpart(x.side, x.to.item())
		scope, around := b.scopeAt(from, self)
		if !ok || scope == nil {
			b.invalid(x.at, x.to.String(), "the items of %s have no counterpart in %s: name the list or map in a rule",
				x.to.item(), b.sides[from].Name)
			continue
		}
		result, _ := x.to.resolve(b.sides[x.side].Schema)
		var err error
		if x.Expression, err = rule.CompileExpression(b.ctx, scope, x.expr, result, around...); err != nil {
			if b.ctx.Err() == nil {
				b.invalid(x.at, x.expr, "%v", err)
			}
			continue
		}
		x.Retain(&b.retained)
		x.self, x.reads = self, x.Reads()
		x.parent, _ = b.counterpartAbove(x.side, x.to)
		for _, read := range x.reads {
			if p := append(slices.Clone(self), read.Path...); read.Whole && len(p) > 0 {
				b.sides[from].named.at(p).read = true
			}
		}
	}
}

// scopeAt returns the scope of the object at a path, and the schemas of the lists and maps around it.
func (b *pairing) scopeAt(s int, p path) (scope *celcheck.Scope, around []*schema.Props) {
	scope = b.sides[s].scope
	for _, name := range p {
		if scope == nil {
			return nil, nil
		}
		switch {
		case name != each:
			scope = scope.Property(name)
		case scope.Props.Type == "array":
			around, scope = append(around, scope.Props), scope.Items()
		default:
			around, scope = append(around, scope.Props), scope.Additional()
		}
	}
	if scope == nil || scope.Decl == nil {
		return nil, nil
	}
	return scope, around
}

// evaluate returns a new node with the value for an item, or 0 without a value.
//
// If the object can be partial, only the fields that are present may determine the value (partial.go). A constant or a
// default is set only if the object around it exists.
func (x *expression) evaluate(r *run, item uint32) (uint32, *Error) {
	if r.rules == nil {
		r.rules = rule.Start(r.d)
		r.rules.Context, r.rules.Stop = r.ctx, interrupt.Of(r.ctx)
	}
	made, err := x.Evaluate(r.rules, item, r.whole)
	if err == nil && (made == 0) != r.whole { // a partial object without a value, or a whole one with a value
		absent := len(x.reads) == 0 || slices.ContainsFunc(x.reads, func(read rule.Read) bool {
			return !exists(r.d, item, read.Path, "")
		})
		switch {
		case absent && !exists(r.d, r.root, x.parent, ""):
			made = 0
		case !r.whole && x.determined(r, item, absent):
			made, err = x.Evaluate(r.rules, item, true)
		}
	}
	if err != nil {
		return 0, x.failed(r, item, err)
	}
	return made, nil
}

// failed returns the error of an evaluation, with the position of the expression and the first field that it reads.
func (x *expression) failed(r *run, item uint32, err error) *Error {
	text := fmt.Sprintf("makes the expression for %s fail: %s", x.to, violation.Shorten(err.Error(), maxShownFile))
	var cause error
	switch failure := (*rule.ExpressionError)(nil); {
	case !errors.As(err, &failure):
		cause = err
	case strings.HasPrefix(failure.Text, "index out of bounds"):
		text += ": compare the index with size() first"
	case strings.HasPrefix(failure.Text, "no such key"):
		text += ": add it to the map, or set nothing without it: [?key]"
	default:
		text += ": change the value, or write the expression for such values, too"
	}
	failed := r.failed(x.by, item, text)
	for _, read := range x.reads {
		p, i := path(nil), item
		for k := 0; k < len(read.Path) && read.Path[k] != each; k++ {
			p, i = p.with(read.Path[k]), r.d.Field(i, read.Path[k])
		}
		if i != 0 && len(p) > 0 {
			failed = r.failed(x.by, i, text).in(p)
			break
		}
	}
	failed.Rule, failed.cause = fmt.Sprintf("%s (%s)", x.at.Dotted(), CEL), cause
	return failed
}
