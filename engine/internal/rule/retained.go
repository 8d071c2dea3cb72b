package rule

import (
	"iter"
	"unsafe"

	"github.com/crdeval/crdeval/engine/internal/closure"
)

// Retained is the heap that the types and texts of some sets take, what they share once, in bytes.
func Retained(sets iter.Seq[*Set]) int64 {
	r := retention{types: map[*closure.Type]struct{}{}, texts: map[string]struct{}{}}
	for set := range sets {
		r.typ(set.self)
		r.typ(set.declared)
		for i := range set.rules {
			c := &set.rules[i]
			for _, text := range [...]string{c.text, c.message, c.messageExpr, string(c.reason), c.fieldPath, c.compileError} {
				r.text(text)
			}
		}
	}
	return r.size
}

// retention counts everything once.
type retention struct {
	types map[*closure.Type]struct{}
	texts map[string]struct{}
	size  int64
}

func (r *retention) typ(t *closure.Type) {
	if t == nil {
		return
	}
	if _, known := r.types[t]; known {
		return
	}
	r.types[t] = struct{}{}
	r.size += int64(unsafe.Sizeof(*t)) + int64(cap(t.Members))*int64(unsafe.Sizeof(closure.Member{})) + int64(cap(t.Keys))*16
	for _, key := range t.Keys {
		r.text(key)
	}
	for i := range t.Members {
		m := &t.Members[i]
		r.text(m.Name)
		r.text(m.Ident)
		r.typ(m.Type)
	}
	r.typ(t.Elem)
}

func (r *retention) text(text string) {
	if _, known := r.texts[text]; !known {
		r.texts[text] = struct{}{}
		r.size += int64(len(text)+7) &^ 7
	}
}
