package rule

import (
	"context"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apiserver/pkg/cel/common"

	"github.com/crdeval/crdeval/engine/internal/quirk"
)

// replay holds the values of one site as cel-go sees them: k8s.io/apiserver's own over the data that upstream would have.
type replay struct {
	programs        *programs
	plain, optional activation
}

// activation binds self and oldSelf (schema/cel/validation.go, validationActivation), and what ends the evaluation early.
type activation struct {
	self, oldSelf ref.Val
	bindsOldSelf  bool
	stop          *stopper
	order         *order
}

func (a *activation) ResolveName(name string) (any, bool) {
	switch name {
	case selfName:
		return a.self, true
	case oldSelfName:
		return a.oldSelf, a.bindsOldSelf
	case stopName:
		return a.stop, a.stop != nil
	case orderName:
		return a.order, true
	}
	return nil, false
}

func (a *activation) Parent() interpreter.Activation { return nil }

// prepare makes the values of the site, once. The run may be stopped meanwhile.
func (e *evaluation) prepare() {
	if e.replay.programs != nil {
		return
	}
	s := &stopper{signal: e.run.Stop, limit: e.run.Limit, large: large(e.run.Doc)}
	p := e.set.programs()
	o := &order{d: e.run.Doc}
	convert := func(node uint32) ref.Val {
		data, watched := s.watched(e.run.Doc, node, p.self)
		if !quirk.On(quirk.MapMacrosIterateKeys) {
			data = withoutNulls(data)
		}
		o.roots = append(o.roots, root{data, node})
		return common.UnstructuredToVal(data, watched)
	}
	plain := activation{self: convert(e.at.Self), stop: s, order: o}
	optional := activation{self: plain.self, stop: s, order: o}
	if e.set.bindsOldSelf {
		optional.oldSelf, optional.bindsOldSelf = types.OptionalNone, true
		if e.at.Old != 0 {
			plain.oldSelf, plain.bindsOldSelf = convert(e.at.Old), true
			optional.oldSelf = types.OptionalOf(plain.oldSelf)
		}
	}
	e.replay = replay{programs: p, plain: plain, optional: optional}
}

// replayed evaluates an expression on cel-go. declared: oldSelf was declared as an optional when the expression was checked; given: it is one.
func (e *evaluation) replayed(text string, declared, given bool) verdict {
	if !attempt(e.prepare) {
		return verdict{stopped: true}
	}
	program, ok, err := e.replay.programs.get(programKey{text, declared, e.run.Limit}, e.run.Stop.Done())
	switch {
	case !ok:
		return verdict{stopped: true}
	case err != nil:
		return verdict{err: err}
	}
	ctx := e.run.Context
	if ctx == nil {
		ctx = context.Background()
	}
	variables := &e.replay.plain
	if given {
		variables = &e.replay.optional
	}
	value, details, err := program.ContextEval(ctx, variables)
	if failure := variables.stop.failure; failure != nil {
		e.run.Room.Fail(failure)
		return verdict{stopped: true}
	}
	if details == nil {
		return verdict{noDetails: true}
	}
	cost := details.ActualCost()
	if cost == nil {
		return verdict{uncounted: true}
	}
	return verdict{value: value, cost: *cost, err: err}
}

// withoutNulls drops the nulls of maps, which rules see and count.
func withoutNulls(data any) any {
	switch data := data.(type) {
	case map[string]any:
		for k, v := range data {
			if data[k] = withoutNulls(v); v == nil {
				delete(data, k)
			}
		}
	case []any:
		for i, v := range data {
			data[i] = withoutNulls(v)
		}
	}
	return data
}
