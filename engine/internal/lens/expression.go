package lens

import (
	"github.com/crdeval/crdeval/engine/value"
)

// expression computes a field of one version from the other.
type expression struct {
	by     *compiledRule
	side   int // of the field
	to     path
	at     value.Path // in the file
	placed bool
}

// nameExpressions compiles the expressions of a rule and marks the fields that they read.
func (b *pairing) nameExpressions(r *compiledRule) {
	expr := r.at.With(value.Name(string(CEL)), value.Name("expr"))
	texts := append([]backText{{r.to, r.expr, expr}}, r.back...)
	for k, t := range texts {
		x := &expression{by: r, side: either(k == 0, 1, 0), to: t.to, at: t.at.Clone()}
		b.fields(r, t.to)
		if result := b.schemaAt(x.side, t.to, x.at); result != nil {
			r.writes = append(r.writes, x)
		}
	}
}

// compileExpressions rejects expressions: package rule does not compute values yet.
func (b *pairing) compileExpressions(r *compiledRule) {
	for _, x := range r.writes {
		b.invalid(x.at, r.expr, "cel rules are not supported yet")
	}
}

// evaluate is never called.
func (x *expression) evaluate(*run, uint32) (uint32, *Error) { return 0, nil }
