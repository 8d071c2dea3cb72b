package celparse

import (
	"strings"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/parser"
)

// macroKey identifies a macro.
type macroKey struct {
	function string
	args     int // anyArgs: any number
	receiver bool
}

const anyArgs = -1

func keyOf(m parser.Macro) macroKey {
	k := macroKey{m.Function(), m.ArgCount(), m.IsReceiverStyle()}
	if strings.HasPrefix(m.MacroKey(), k.function+":*:") {
		k.args = anyArgs
	}
	return k
}

// call returns the call of a function, expanded if it is a macro. target is nil for a global function.
func (s *state) call(id int64, function string, target ast.Expr, args []ast.Expr) ast.Expr {
	key := macroKey{function, len(args), target != nil}
	m, ok := s.macros[key]
	if !ok {
		key.args = anyArgs
		m, ok = s.macros[key]
	}
	if ok {
		e, err := m.Expander()(&helper{s, id}, target, args)
		if err != nil {
			panic(doubt{})
		}
		if e != nil {
			s.info.ClearOffsetRange(id)
			if id == s.next-1 {
				s.next--
			}
			return e
		}
	}
	if target != nil {
		return factory.NewMemberCall(id, function, target, args...)
	}
	return factory.NewCall(id, function, args...)
}

// helper makes the expressions of a macro. All are at the position of its call.
type helper struct {
	*state
	callID int64
}

func (h *helper) new() int64 {
	at, _ := h.info.GetOffsetRange(h.callID)
	return h.id(token{start: int(at.Start), end: int(at.Start)})
}

// Copy is a doubt: few macros copy expressions.
func (h *helper) Copy(ast.Expr) ast.Expr { panic(doubt{}) }

func (h *helper) NewLiteral(v ref.Val) ast.Expr           { return factory.NewLiteral(h.new(), v) }
func (h *helper) NewList(list ...ast.Expr) ast.Expr       { return factory.NewList(h.new(), list, []int32{}) }
func (h *helper) NewMap(list ...ast.EntryExpr) ast.Expr   { return factory.NewMap(h.new(), list) }
func (h *helper) NewIdent(name string) ast.Expr           { return factory.NewIdent(h.new(), name) }
func (h *helper) NewAccuIdent() ast.Expr                  { return factory.NewAccuIdent(h.new()) }
func (h *helper) AccuIdentName() string                   { return factory.AccuIdentName() }
func (h *helper) NewSelect(e ast.Expr, f string) ast.Expr { return factory.NewSelect(h.new(), e, f) }

func (h *helper) NewMapEntry(key, value ast.Expr, optional bool) ast.EntryExpr {
	return factory.NewMapEntry(h.new(), key, value, optional)
}

func (h *helper) NewStruct(name string, fields ...ast.EntryExpr) ast.Expr {
	return factory.NewStruct(h.new(), name, fields)
}

func (h *helper) NewStructField(name string, value ast.Expr, optional bool) ast.EntryExpr {
	return factory.NewStructField(h.new(), name, value, optional)
}

func (h *helper) NewComprehension(of ast.Expr, name, accu string, init, condition, step, result ast.Expr) ast.Expr {
	return factory.NewComprehension(h.new(), of, name, accu, init, condition, step, result)
}

func (h *helper) NewComprehensionTwoVar(
	of ast.Expr, name, name2, accu string, init, condition, step, result ast.Expr,
) ast.Expr {
	return factory.NewComprehensionTwoVar(h.new(), of, name, name2, accu, init, condition, step, result)
}

func (h *helper) NewCall(function string, args ...ast.Expr) ast.Expr {
	return factory.NewCall(h.new(), function, args...)
}

func (h *helper) NewMemberCall(function string, target ast.Expr, args ...ast.Expr) ast.Expr {
	return factory.NewMemberCall(h.new(), function, target, args...)
}

func (h *helper) NewPresenceTest(e ast.Expr, field string) ast.Expr {
	return factory.NewPresenceTest(h.new(), e, field)
}

func (h *helper) OffsetLocation(id int64) common.Location { return h.info.GetStartLocation(id) }

func (h *helper) NewError(id int64, message string) *common.Error {
	return common.NewError(id, message, h.OffsetLocation(id))
}
