package rule

import (
	"context"
	"runtime"
	"sync/atomic"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

// compiling are the long expressions that are being compiled in this process, those included that nobody waits for any more. When there are as many
// as this, others wait: more than there are processors would end no earlier, and each takes tens of MiB. cel-go's own bound of 100,000 code
// points ends each some time.
var compiling = make(chan struct{}, min(4, max(2, runtime.GOMAXPROCS(0))))

// begin waits for a place among compiling; false if done closed before. end gives it back.
func begin(done <-chan struct{}) bool {
	select {
	case compiling <- struct{}{}:
		return true
	case <-done:
		return false
	}
}

func end() { <-compiling }

// leftBehind counts the work that goes on although nobody waits for it any more.
var leftBehind atomic.Int64

// LeftBehind is how many compilations and evaluations of this process go on after those who asked for them went away.
func LeftBehind() int64 { return max(0, leftBehind.Load()) } // work may end before it is counted

// aside does work that cannot be stopped, and goes on without its result when done closes: ok is unset then. What was given up ends by itself, so it
// must share nothing with who goes on. A panic of the work is the caller's, if that is still there; it ends nobody else.
func aside[T any](done <-chan struct{}, work func() T) (result T, ok bool) {
	if done == nil {
		return work(), true
	}
	type outcome struct {
		result   T
		panicked any
	}
	came := make(chan outcome, 1)
	var over atomic.Bool // the work is, or nobody waits for it any more: whichever came first
	go func() {
		var o outcome
		defer func() {
			o.panicked = recover()
			if over.Swap(true) {
				leftBehind.Add(-1)
			}
			came <- o
		}()
		o.result = work()
	}()
	select {
	case o := <-came:
		if o.panicked != nil {
			panic(o.panicked)
		}
		return o.result, true
	case <-done:
		if !over.Swap(true) {
			leftBehind.Add(1)
		}
		return result, false
	}
}

// apart does work on a scope: at once, or for long expressions aside, on a copy of the scope. ok is unset if the context ended before.
func apart[T any](ctx context.Context, s *Scope, isLong bool, work func(*Scope) T) (result T, ok bool) {
	if !isLong {
		return work(s), true
	}
	if !begin(ctx.Done()) {
		return result, false
	}
	scope := s.apart()
	result, ok = aside(ctx.Done(), func() T {
		defer end()
		return work(scope)
	})
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
