package closure

import (
	"cmp"
	"slices"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
)

// mapLiteral compiles {'a': x, ?'b': y} with constant keys. It costs 30, or nothing if all values are constants. Only
// results can be such maps: operations on them are Unknown.
func (c *compiler) mapLiteral(e ast.Expr) *expr {
	type entry struct {
		key      string
		value    valFn
		optional bool
		constant *val
	}
	if !c.maps {
		c.unsupported("a literal of a map")
	}
	s, list, constants := &shape{kind: kindMap}, []entry(nil), 0
	for i, x := range e.AsMap().Entries() {
		m := x.AsMapEntry()
		key, ok := m.Key().AsLiteral().(types.String)
		if !ok {
			c.unsupported("a literal of a map with computed keys")
		}
		y := c.observed(m.Value())
		of := y.shape
		if m.IsOptional() {
			of = of.element()
		}
		if i == 0 {
			s.elem = of
		}
		s.elem = join(s.elem, of)
		added := entry{key: string(key), value: y.val(), optional: m.IsOptional()}
		if y.isConst {
			added.constant = &y.constant
			constants++
		}
		list = append(list, added)
	}
	slices.SortFunc(list, func(a, b entry) int { return cmp.Compare(a.key, b.key) })
	of := &entries{}
	for i, x := range list {
		if of.keys = append(of.keys, x.key); i > 0 && x.key == list[i-1].key {
			c.unsupported("a literal of a map with equal keys")
		}
		if x.constant != nil && constants == len(list) {
			of.constants = append(of.constants, *x.constant)
		}
	}
	if constants == len(list) {
		return constExpr(s, val{kind: kindEntries, of: of})
	}
	return &expr{shape: s, v: func(f *Frame) (val, bool) {
		from := len(f.stack)
		for i := range list {
			v, ok := list[i].value(f)
			if ok && list[i].optional {
				ok = v.opt
				v.opt = v.kind == kindNone
			}
			if !ok || !f.push(v) {
				return val{}, false
			}
		}
		f.Cost += common.MapCreateBaseCost
		v, ok := f.store(from)
		v.kind, v.of = kindEntries, of
		return v, ok
	}}
}
