package celcheck

import (
	"strings"

	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/rule/celenv"
	"github.com/crdeval/crdeval/engine/internal/schema"
)

// Shared holds types, checked expressions and compiled rules for all scopes of one CRD: many nodes and versions are
// equal, and each rule is compiled as new for checking and as stored for evaluation. One goroutine uses a Shared at
// a time.
type Shared struct {
	// Sets holds the compiled rules of package rule by key.
	Sets map[string]any
	// Survey holds the facts of the CRD's schemas.
	Survey schema.Survey

	types   map[string]*closure.Type
	texts   map[string]string
	key     []byte
	checked map[expressionKey][]outcome // one for each environment
}

// NewShared returns an empty Shared.
func NewShared() *Shared {
	return &Shared{
		Sets: map[string]any{}, Survey: schema.Survey{}, types: map[string]*closure.Type{}, texts: map[string]string{},
		checked: map[expressionKey][]outcome{},
	}
}

// Text returns its own copy of a text. Compiled rules and types must not retain the CRD.
func (sh *Shared) Text(s string) string {
	if s == "" {
		return ""
	}
	t, ok := sh.texts[s]
	if !ok {
		t = strings.Clone(s)
		sh.texts[t] = t
	}
	return t
}

// expressionKey is everything that the result of the checker depends on, apart from the environment. Sizes do not
// matter.
type expressionKey struct {
	text              string
	declared          *closure.Type
	optional, message bool // oldSelf is an optional; the text is a messageExpression
}

// outcome is the result of compiling an expression in an environment.
type outcome struct {
	env *celenv.Env
	*Checked
	err *apiservercel.Error
}

// find returns the result of an expression in the environment, derived from that of another environment where
// possible. It is nil if none is known.
func (sh *Shared) find(e *celenv.Env, key expressionKey) *outcome {
	if sh == nil {
		return nil
	}
	list := sh.checked[key]
	for i := range list {
		if o := &list[i]; o.env == e {
			return o
		}
	}
	for _, o := range list {
		if o.err == nil && o.Checked != nil && e.SameResult(o.env, o.Ast.NativeRep()) ||
			o.err != nil && e.SameError(o.env, key.text) {
			o.env = e
			sh.keep(key, o)
			return &o
		}
	}
	return nil
}

func (sh *Shared) keep(key expressionKey, o outcome) {
	if sh != nil {
		sh.checked[key] = append(sh.checked[key], o)
	}
}
