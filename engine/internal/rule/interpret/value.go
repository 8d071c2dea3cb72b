package interpret

import (
	"reflect"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// Parts are the parts of self that an expression reads. Evaluations get nothing else of it.
type Parts struct {
	// Whole: everything.
	Whole bool
	// Members are the parts of members by name. Each are those of all items of a list, and of other members; nil: none.
	Members map[string]*Parts
	Each    *Parts
}

// all are the parts of an evaluation that gets everything.
var all = &Parts{Whole: true}

// Part returns the parts of a member, or of the others, to add to them.
func (p *Parts) Part(member string, each bool) *Parts {
	of := p.Members[member]
	if each {
		of = p.Each
	}
	switch {
	case of != nil:
	case each:
		of = &Parts{}
		p.Each = of
	default:
		of = &Parts{}
		if p.Members == nil {
			p.Members = map[string]*Parts{}
		}
		p.Members[member] = of
	}
	// A member that is also one of the others would need the parts of both.
	p.Whole = p.Whole || p.Each != nil && p.Members != nil
	return of
}

// of returns the parts of a member or, for "", of an item; nil if the expression does not read it.
func (p *Parts) of(member string) *Parts {
	if p.Whole {
		return all
	}
	if of, ok := p.Members[member]; ok {
		return of
	}
	return p.Each
}

// size returns how many of an object's members an evaluation gets at most.
func (p *Parts) size(members int) int {
	if p.Whole || p.Each != nil {
		return members
	}
	return min(members, len(p.Members))
}

// NodeOf returns the node of a value that is an object, a map or a list of the document and has members or items. Input
// must have Parts. It is 0 for other values.
func (e *Evaluation) NodeOf(v ref.Val) uint32 {
	switch data := v.Value().(type) {
	case map[string]any:
		return e.objects[address(data)]
	case []any:
		return e.objects[reflect.ValueOf(data).Pointer()]
	}
	return 0
}

// endWith ends the evaluation of a value with the error of an argument of sort, sortBy or distinct. cel-go's tracker of
// their costs panics for errors, and rules then have an internal error that does not say what is absent.
func (e *Evaluation) endWith(failed ref.Val, function string) {
	err, ok := failed.(*types.Err)
	if !ok || e == nil || e.Parts == nil {
		return
	}
	switch function {
	case "sort", "@sortByAssociatedKeys", "distinct":
		e.failed = err
		panic(errInterrupted)
	}
}

// Interruptible runs work that uses values of the evaluation. It returns false if that was interrupted.
func (e *Evaluation) Interruptible(work func()) bool { return interruptible(work) }
