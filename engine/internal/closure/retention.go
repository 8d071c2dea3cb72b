package closure

import "unsafe"

// Retention counts the heap of types and texts, each of them once.
type Retention struct {
	Size  int64 // bytes
	types map[*Type]bool
	texts map[string]bool
}

// Type adds a type and those below it.
func (r *Retention) Type(t *Type) {
	if t == nil || r.types[t] {
		return
	}
	if r.types == nil {
		r.types = map[*Type]bool{}
	}
	r.types[t] = true
	r.Size += int64(unsafe.Sizeof(*t)) + int64(cap(t.Members))*int64(unsafe.Sizeof(Member{})) + int64(cap(t.Keys))*16
	r.Text(t.Keys...)
	for i := range t.Members {
		m := &t.Members[i]
		r.Text(m.Name, m.Ident)
		r.Type(m.Type)
	}
	r.Type(t.Elem)
}

// Text adds texts.
func (r *Retention) Text(list ...string) {
	if r.texts == nil {
		r.texts = map[string]bool{}
	}
	for _, text := range list {
		if !r.texts[text] {
			r.texts[text] = true
			r.Size += int64(len(text)+7) &^ 7
		}
	}
}
