package rule

import (
	"context"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

// longRule is from how many bytes on an expression is compiled aside: cel-go's checker takes seconds for tens of thousands of operators, and cannot
// be stopped.
const longRule = 4 << 10

// long reports whether an expression may take long to compile.
func long(text string) bool { return len(text) >= longRule || Doubles(text) }

// compiling are the long expressions that are being compiled in this process, those included that nobody waits for any more. When there are as many
// as this, others wait. cel-go's own bound of 100,000 code points ends each some time.
var compiling = make(chan struct{}, 4)

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
	go func() {
		var o outcome
		defer func() {
			o.panicked = recover()
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
	return aside(ctx.Done(), func() T {
		defer end()
		return work(scope)
	})
}

// apart is the same place for another goroutine.
func (s *Scope) apart() *Scope {
	apart := &Scope{Props: s.Props, ResourceRoot: s.ResourceRoot, version: newVersion()}
	apart.declare(s.Decl)
	return apart
}

// CheckWithin is Check until the context ends: ok is unset then, and there are no Facts.
func (e *Env) CheckWithin(ctx context.Context, r *apiextensionsv1.ValidationRule, s *Scope) (f Facts, ok bool) {
	return e.CheckWithMessage(ctx, e, r, s)
}

// CheckWithMessage is CheckWithin where the messageExpression has an environment of its own: a message may be new where its rule is not.
func (e *Env) CheckWithMessage(ctx context.Context, message *Env, r *apiextensionsv1.ValidationRule, s *Scope) (f Facts, ok bool) {
	return apart(ctx, s, long(r.Rule) || long(r.MessageExpression), func(s *Scope) Facts { return e.facts(r, s, message) })
}

// compiled is what CompileRule or CompileMessage gives.
type compiled struct {
	*Checked
	err *apiservercel.Error
}

func (e *Env) compileRuleWithin(ctx context.Context, text string, s *Scope, optional bool) (c compiled, ok bool) {
	return apart(ctx, s, long(text), func(s *Scope) (c compiled) {
		c.Checked, c.err = e.CompileRule(text, s, optional)
		return c
	})
}

func (e *Env) compileMessageWithin(ctx context.Context, text string, s *Scope, optional bool) (c compiled, ok bool) {
	return apart(ctx, s, long(text), func(s *Scope) (c compiled) {
		c.Checked, c.err = e.CompileMessage(text, s, optional)
		return c
	})
}
