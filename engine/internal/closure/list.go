package closure

import (
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
)

// listLiteral compiles [a, b, ?c]: 10, or nothing if all elements are constants.
func (c *compiler) listLiteral(e ast.Expr) *expr {
	l := e.AsList()
	optional := map[int]bool{}
	for _, i := range l.OptionalIndices() {
		optional[int(i)] = true
	}
	s := shapeOf(c.ast.GetType(e.ID()))
	constants := make([]val, 0, len(l.Elements()))
	elems := make([]valFn, 0, len(l.Elements()))
	for i, x := range l.Elements() {
		y := c.observed(x)
		if y.isConst {
			constants = append(constants, y.constant)
		}
		if i == 0 && !optional[0] {
			s = &shape{kind: shapeList, elem: y.shape}
		} else if !optional[i] {
			s.elem = join(s.elem, y.shape)
		} else {
			s.elem = dynShape
		}
		elems = append(elems, y.val())
	}
	if len(constants) == len(elems) {
		return constExpr(s, constantList(constants))
	}
	slot := c.list()
	return &expr{shape: s, v: func(f *Frame) (val, bool) {
		acc := f.lists[slot][:0]
		for i, x := range elems {
			v, ok := x(f)
			if !ok {
				return val{}, false
			}
			if optional[i] {
				if !v.opt {
					return val{}, false
				}
				if v.kind == kindNone {
					continue
				}
				v.opt = false
			}
			acc = append(acc, v)
		}
		f.lists[slot] = acc
		f.Cost += common.ListCreateBaseCost
		return f.store(kindList, acc)
	}}
}

// mapLiteral compiles {k: v, ?k: v}: 30, or nothing if all of it is constant.
func (c *compiler) mapLiteral(e ast.Expr) *expr {
	type entry struct {
		key, value valFn
		optional   bool
	}
	var entries []entry
	var constants []val
	s := shapeOf(c.ast.GetType(e.ID()))
	for i, en := range e.AsMap().Entries() {
		m := en.AsMapEntry()
		k, v := c.observed(m.Key()), c.observed(m.Value())
		if k.isConst && v.isConst {
			constants = append(constants, k.constant, v.constant)
		}
		if i == 0 && !m.IsOptional() {
			s = &shape{kind: shapeMap, elem: v.shape}
		} else if !m.IsOptional() {
			s.elem = join(s.elem, v.shape)
		} else {
			s.elem = dynShape
		}
		entries = append(entries, entry{k.val(), v.val(), m.IsOptional()})
	}
	if len(constants) == 2*len(entries) {
		folded, ok := (&Frame{}).dictionary(constants)
		if !ok {
			c.no("a map of constants with such keys")
		}
		return constExpr(s, val{kind: kindMap, of: &folded})
	}
	slot := c.list()
	return &expr{shape: s, v: func(f *Frame) (val, bool) {
		acc := f.lists[slot][:0]
		for _, en := range entries {
			k, ok := en.key(f)
			v, also := en.value(f)
			if !ok || !also {
				return val{}, false
			}
			if en.optional {
				if !v.opt {
					return val{}, false
				}
				if v.kind == kindNone {
					acc = without(acc, k)
					continue
				}
				v.opt = false
			}
			acc = append(acc, k, v)
		}
		f.lists[slot] = acc
		f.Cost += common.MapCreateBaseCost
		acc, ok := f.dictionary(acc)
		if !ok {
			return val{}, false
		}
		return f.store(kindMap, acc)
	}}
}

// without takes a key out of keys and values.
func without(list []val, key val) []val {
	out := list[:0]
	for i := 0; i < len(list); i += 2 {
		if !identical(list[i], key) {
			out = append(out, list[i], list[i+1])
		}
	}
	return out
}

// dictionary makes keys and values a map: of keys that are the same the last one counts. It is false for keys of several types, of which numbers can
// be the same without being identical.
func (f *Frame) dictionary(list []val) ([]val, bool) {
	out := list[:0:0]
	var index map[val]int
	if len(list) > 2*fewElements {
		index = make(map[val]int, len(list)/2)
	}
	for i := 0; i < len(list); i += 2 {
		k := val{kind: list[i].kind, word: list[i].word, text: list[i].text}
		if !scalar(k.kind) || k.kind != list[0].kind || list[i].opt || !f.tick() {
			return nil, false
		}
		at, found := -1, false
		if index != nil {
			at, found = index[k]
		} else {
			for j := 0; j < len(out) && !found; j += 2 {
				at, found = j, identical(out[j], k)
			}
		}
		if found {
			out[at+1] = list[i+1]
			continue
		}
		if index != nil {
			index[k] = len(out)
		}
		out = append(out, list[i], list[i+1])
	}
	return out, true
}

// identical reports whether two scalars are of one kind and the same.
func identical(a, b val) bool { return a.kind == b.kind && a.word == b.word && a.text == b.text }

// joinedLists compiles the concatenation of lists. Sets and map lists are joined by upstream's own values.
func (c *compiler) joinedLists(a, b *expr) *expr {
	l, r := a.val(), b.val()
	slot := c.list()
	return &expr{shape: &shape{kind: shapeList, elem: join(a.shape.element(), b.shape.element())}, v: func(f *Frame) (val, bool) {
		x, ok := l(f)
		y, also := r(f)
		f.Cost++
		if !ok || !also || x.opt || y.opt || x.kind == kindList && x.wide {
			return val{}, false
		}
		if x.kind == kindNode {
			if _, t := x.node(); t.List == Set || t.List == MapList {
				return f.joinedByKey(x, y)
			}
		}
		if !isList(x) || !isList(y) {
			return f.joinedByKey(x, y)
		}
		acc := f.lists[slot][:0]
		for _, list := range [2]val{x, y} {
			for p := f.elements(list); !p.done(); {
				e, ok := p.take(f)
				if !ok || !f.tick() || len(acc) > maxCells {
					return val{}, false
				}
				acc = append(acc, e)
			}
		}
		f.lists[slot] = acc
		return f.store(kindList, acc)
	}}
}
