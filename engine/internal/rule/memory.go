package rule

import (
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/crdeval/crdeval/engine/internal/closure"
)

// Memory is what the scopes of one CRD share while it is judged and compiled: types, sets of rules and checked expressions, equal ones once. CRDs say
// the same in many places, in several versions, and each rule is wanted twice: judged as new, and compiled as stored. A Memory is used by one
// goroutine and dropped when the CRD is compiled; it serves no other CRD. Nil remembers nothing.
type Memory struct {
	types map[string]*closure.Type
	sets  map[string]*Set
	texts map[string]string
	key   []byte
	// checked holds what came of an expression in each environment that it was compiled in.
	checked map[checkedKey][]outcome
}

// NewMemory returns one that remembers nothing yet.
func NewMemory() *Memory {
	return &Memory{
		types: map[string]*closure.Type{}, sets: map[string]*Set{}, texts: map[string]string{}, checked: map[checkedKey][]outcome{},
	}
}

// checkedKey is all that the checker goes by: it knows types by their places below self, and no sizes.
type checkedKey struct {
	text string
	self *closure.Type // what is declared
	// optional: oldSelf is. message: the text is a messageExpression.
	optional, message bool
}

func (s *Scope) checkedKey(text string, optional, message bool) checkedKey {
	return checkedKey{text: text, self: s.Declared(), optional: optional, message: message}
}

// outcome is what CompileRule or CompileMessage gives.
type outcome struct {
	env *Env
	*Checked
	err *apiservercel.Error
}

// recall finds what came of an expression in the environment, or what came of it in another one and would here; nil if neither is known.
func (mem *Memory) recall(e *Env, key checkedKey) *outcome {
	if mem == nil {
		return nil
	}
	list := mem.checked[key]
	for i := range list {
		if o := &list[i]; o.env == e {
			return o
		}
	}
	for i := range list {
		o := &list[i]
		if o.err == nil && o.Checked != nil && e.agrees(o.env, o.Ast.NativeRep()) || o.err != nil && e.agreesAbout(o.env, key.text) {
			known := outcome{env: e, Checked: o.Checked, err: o.err}
			mem.remember(key, known)
			return &known
		}
	}
	return nil
}

func (mem *Memory) remember(key checkedKey, o outcome) {
	if mem == nil {
		return
	}
	mem.checked[key] = append(mem.checked[key], o)
}
