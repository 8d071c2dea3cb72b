package rule

import (
	"context"
	"runtime"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
)

// compileSlots bounds the long expressions that compile at the same time, abandoned ones included. Each takes tens of MiB.
// cel-go's own bound of 100,000 code points ends each of them.
var compileSlots = make(interrupt.Slots, min(4, max(2, runtime.GOMAXPROCS(0))))

// apart does work on a scope: at once, or for long expressions aside, on a copy of the scope. ok is unset if the context ended before.
func apart[T any](ctx context.Context, s *Scope, isLong bool, work func(*Scope) T) (result T, ok bool) {
	if !isLong {
		return work(s), true
	}
	scope := s.apart()
	result, ok = interrupt.Run(ctx.Done(), compileSlots, func() T { return work(scope) })
	if ok {
		s.learn(scope)
	}
	return result, ok
}

// apart is the same place for another goroutine.
func (s *Scope) apart() *Scope {
	apart := &Scope{Props: s.Props, ResourceRoot: s.ResourceRoot, memory: NewMemory()}
	apart.declare(s.Decl)
	return apart
}

// learn takes over what the same place, apart, has found out.
func (s *Scope) learn(apart *Scope) {
	for key, list := range apart.memory.checked {
		key.self = s.Declared()
		for _, o := range list {
			if s.memory.recall(o.env, key) == nil {
				s.memory.remember(key, o)
			}
		}
	}
}

// long reports whether an expression of the scope takes long to compile: one that was compiled before does not.
func (e *Env) long(text string, s *Scope, optional, message bool) bool {
	return long(text) && s.memory.recall(e, s.checkedKey(text, optional, message)) == nil
}

// CheckWithin is Check until the context ends: ok is unset then, and there are no Facts.
func (e *Env) CheckWithin(ctx context.Context, r *apiextensionsv1.ValidationRule, s *Scope) (f Facts, ok bool) {
	return e.CheckWithMessage(ctx, e, r, s)
}

// CheckWithMessage is CheckWithin where the messageExpression has an environment of its own: a message may be new where its rule is not.
func (e *Env) CheckWithMessage(ctx context.Context, message *Env, r *apiextensionsv1.ValidationRule, s *Scope) (f Facts, ok bool) {
	optional := r.OptionalOldSelf != nil && *r.OptionalOldSelf
	isLong := e.long(r.Rule, s, optional, false) || message.long(r.MessageExpression, s, optional, true)
	return apart(ctx, s, isLong, func(s *Scope) Facts { return e.facts(r, s, message) })
}

// compiled is what CompileRule or CompileMessage gives.
type compiled struct {
	*Checked
	err *apiservercel.Error
}

func (e *Env) compileRuleWithin(ctx context.Context, text string, s *Scope, optional bool) (c compiled, ok bool) {
	return apart(ctx, s, e.long(text, s, optional, false), func(s *Scope) (c compiled) {
		c.Checked, c.err = e.CompileRule(text, s, optional)
		return c
	})
}

func (e *Env) compileMessageWithin(ctx context.Context, text string, s *Scope, optional bool) (c compiled, ok bool) {
	return apart(ctx, s, e.long(text, s, optional, true), func(s *Scope) (c compiled) {
		c.Checked, c.err = e.CompileMessage(text, s, optional)
		return c
	})
}
