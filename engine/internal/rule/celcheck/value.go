package celcheck

import (
	"context"

	celtypes "github.com/google/cel-go/common/types"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/rule/celenv"
	"github.com/crdeval/crdeval/engine/internal/schema"
)

// Value is an expression that compiles and computes a value of any type.
type Value struct {
	*Checked
	// Cost is its highest cost for one value of self.
	Cost  uint64
	scope *Scope
	types *apiservercel.DeclTypeProvider // of Fields, made when it is first needed
}

// CheckValue compiles an expression that computes a value and estimates its cost. oldSelf is not declared. Errors are
// those of rules. If the context ends, the result is undefined and ctx.Err is set. The scope must have a Decl.
func (s *Scope) CheckValue(ctx context.Context, e *celenv.Env, text string) (*Value, *apiservercel.Error) {
	v := &Value{scope: &Scope{
		Props: s.Props, Decl: s.Decl, ResourceRoot: s.ResourceRoot, named: s.named, space: s.space, forValues: true,
	}}
	if IsLong(text) {
		v.scope = v.scope.detached() // the types have the names of the scope in which they are checked
	}
	o, _ := runIfLong(ctx, v.scope, text, func(s *Scope) (o outcome) {
		o.Checked, o.err = s.compile(e, expressionKey{text: text}, nil, "", "", "program instantiation failed: ")
		return o
	})
	if o.err != nil || ctx.Err() != nil {
		return nil, o.err
	}
	var err error
	v.Checked = o.Checked
	if v.Cost, err = v.scope.estimateIfLong(ctx, e, o.Checked, text); err != nil {
		return nil, internal("cost estimation failed: " + err.Error())
	}
	return v, nil
}

// Cardinality returns how often one object may have self, by the lists and maps around it. If not all of them are
// bounded, it depends on the size of self.
func (s *Scope) Cardinality(around []*schema.Props) uint64 {
	n := uint64(1)
	for _, p := range around {
		_, times, bounded := MaxElements(p)
		if !bounded {
			return maxCardinality(s.Decl.MinSerializedSize)
		}
		n = MultiplyCost(n, times)
	}
	return n
}

// Fields returns the types of the fields that expressions see of an object, by their names in the schema. It is nil for
// other types.
func (v *Value) Fields(t *celtypes.Type) map[string]*celtypes.Type {
	if t.Kind() != celtypes.StructKind {
		return nil
	}
	if v.types == nil {
		v.types = apiservercel.NewDeclTypeProvider(v.scope.space.root)
	}
	decl, ok := v.types.FindDeclType(t.TypeName())
	if !ok {
		return nil
	}
	fields := make(map[string]*celtypes.Type, len(decl.Fields))
	for ident, f := range decl.Fields {
		if name, ok := apiservercel.Unescape(ident); ok {
			fields[name] = f.Type.CelType()
		}
	}
	return fields
}

// Target returns the type of the values of a field that an expression sets, shared with the types of the CRD.
func (s *Scope) Target(field *schema.Props) *closure.Type { return s.Shared.Field(field).Type() }
