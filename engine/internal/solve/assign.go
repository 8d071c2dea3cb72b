package solve

import (
	"net/netip"
	"strings"
	"time"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/crdeval/crdeval/engine/internal/sample"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// locate returns the place of the object that an expression selects, or nil.
func (s *run) locate(e ast.Expr, v *env) *place {
	switch e.Kind() {
	case ast.IdentKind:
		b := v.find(e.AsIdent())
		if b.root != nil && e.AsIdent() != "self" {
			return nil
		}
		return b.from.place
	case ast.SelectKind:
		return s.member(e.AsSelect().Operand(), v, e.AsSelect().FieldName())
	case ast.ComprehensionKind:
		if f := foldOf(e); f.kind == foldBind {
			return s.locate(f.yield, s.bound(f, v))
		}
	case ast.CallKind:
		name, list := args(e)
		switch name {
		case operators.Index, operators.OptIndex, operators.OptSelect:
			switch key := s.eval(list[1], v).(type) {
			case types.String:
				return s.member(list[0], v, string(key))
			case types.Int:
				if at := s.locate(list[0], v); at != nil && key >= 0 && key < 1<<10 {
					return at.at(tree.At(int(key)))
				}
			}
		case "dyn", "value", "or", "orValue", "optional.of", "optional.ofNonZeroValue":
			return s.locate(list[0], v)
		case operators.Conditional:
			if s.eval(list[0], v) == types.True {
				return s.locate(list[1], v)
			}
			return s.locate(list[2], v)
		}
	}
	return nil
}

// member returns the place of a member by its name in an expression, or nil.
func (s *run) member(operand ast.Expr, v *env, name string) *place {
	at := s.locate(operand, v)
	if at == nil {
		return nil
	}
	if s.ast.GetType(operand.ID()).Kind() == types.StructKind {
		if field, ok := apiservercel.Unescape(name); ok {
			name = field
		}
	}
	return at.at(tree.Name(name))
}

// set gives a variable a value.
func (s *run) set(from source, to ref.Val) {
	if from.place != nil {
		s.put(from.place, to)
	} else if from.set != nil {
		from.set(to)
	}
}

// put proposes a value for a place.
func (s *run) put(at *place, v ref.Val) {
	if t := treeOf(v); t != nil {
		s.propose(at, t)
	}
	if t, ok := v.(types.Timestamp); ok { // for the format date
		s.propose(at, sample.Text(t.Format(time.DateOnly)))
	}
}

// assign proposes changes after which an expression may have a value.
func (s *run) assign(e ast.Expr, v *env, to ref.Val) {
	if to == nil || types.IsUnknownOrError(to) || !s.enter() {
		return
	}
	defer s.leave()
	if at := s.locate(e, v); at != nil {
		s.put(at, to)
		return
	}
	switch e.Kind() {
	case ast.IdentKind:
		s.set(v.find(e.AsIdent()).from, to)
	case ast.ListKind:
		if list, ok := to.(traits.Lister); ok {
			for i, x := range e.AsList().Elements() {
				if n, _ := list.Size().(types.Int); i < int(n) {
					s.assign(x, v, list.Get(types.Int(i)))
				}
			}
		}
	case ast.ComprehensionKind:
		s.assignFold(foldOf(e), v, to)
	case ast.CallKind:
		name, list := args(e)
		switch {
		case s.assignNumber(name, list, v, to), s.assignList(name, list, v, to), s.assignText(name, list, v, to):
		case name == operators.Conditional:
			holds := s.eval(list[0], v) == types.True
			s.assign(list[map[bool]int{true: 1, false: 2}[holds]], v, to)
			s.want(list[0], v, !holds)
		case conversions[name] && len(list) > 0:
			s.assign(list[0], v, converted(to, s.ast.GetType(list[0].ID())))
			if s.ast.GetType(list[0].ID()).Kind() == types.StringKind {
				s.texts(list[0], v, forms(to))
			}
		default:
			if b, ok := to.(types.Bool); ok {
				s.want(e, v, bool(b))
			}
		}
	}
}

// conversions are functions whose result is their argument in another type.
var conversions = map[string]bool{
	"int": true, "uint": true, "double": true, "string": true, "bool": true, "bytes": true, "timestamp": true,
	"duration": true, "quantity": true, "semver": true, "ip": true, "cidr": true, "url": true, "dyn": true,
	"asInteger": true, "asApproximateFloat": true,
}

// converted returns a value in the type of an argument, or nil.
func converted(v ref.Val, to *types.Type) ref.Val {
	switch to.Kind() {
	case types.DynKind, types.AnyKind:
		if t := treeOf(v); t != nil {
			if text, ok := t.Content(); ok {
				return types.String(text)
			}
		}
		return v
	case types.StringKind:
		if t := treeOf(v); t != nil {
			if text, ok := t.Content(); ok {
				return types.String(text)
			}
			return types.String(t.Text)
		}
	case types.OpaqueKind:
		if to.TypeName() == apiservercel.QuantityType.TypeName() {
			if t := treeOf(v); t != nil {
				return quantity(t.Text)
			}
		}
		return v
	}
	if c := v.ConvertToType(to); !types.IsUnknownOrError(c) {
		return c
	}
	return nil
}

// assignNumber is assign for arithmetic and parts of times. It returns false for other functions.
func (s *run) assignNumber(name string, list []ast.Expr, v *env, to ref.Val) bool {
	if len(list) == 0 {
		return false
	}
	a, b := s.eval(list[0], v), ref.Val(nil)
	if len(list) > 1 {
		b = s.eval(list[1], v)
	}
	switch name {
	case operators.Add, "add":
		if _, text := to.(types.String); text || traitsOf(to) {
			return false
		}
		s.assign(list[0], v, minus(to, b))
		s.assign(list[1], v, minus(to, a))
	case operators.Subtract, "sub":
		s.assign(list[0], v, plus(to, b))
		s.assign(list[1], v, minus(a, to))
	case operators.Multiply:
		s.assign(list[0], v, over(to, b))
		s.assign(list[1], v, over(to, a))
	case operators.Divide:
		s.assign(list[0], v, times(to, b))
		s.assign(list[1], v, over(a, to))
	case operators.Modulo:
		rest := over(a, b)
		s.assign(list[0], v, plus(times(rest, b), to))
		s.assign(list[0], v, plus(plus(times(rest, b), to), b))
	case operators.Negate:
		if n, ok := a.(traits.Negater); ok && !types.IsUnknownOrError(n.Negate()) {
			s.assign(list[0], v, minus(minus(to, to), to))
		}
	case "compareTo", "sign":
		s.assignOrder(name, list, v, to)
	case "getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getHours", "getMinutes",
		"getSeconds", "getMilliseconds":
		s.assignTime(name, list[0], v, to)
	default:
		return false
	}
	return true
}

func traitsOf(v ref.Val) bool { _, ok := v.(traits.Lister); return ok }

// assignOrder is assign for the result of a comparison, and for the sign of a quantity.
func (s *run) assignOrder(name string, list []ast.Expr, v *env, to ref.Val) {
	n, ok := to.(types.Int)
	if !ok {
		return
	}
	if name == "sign" {
		for _, x := range nextTo(quantity("0"), int(n)) {
			s.assign(list[0], v, x)
		}
		return
	}
	for _, x := range nextTo(s.eval(list[1], v), int(n)) {
		s.assign(list[0], v, x)
	}
	for _, x := range nextTo(s.eval(list[0], v), -int(n)) {
		s.assign(list[1], v, x)
	}
}

// assignTime is assign for a part of a time or of a duration.
func (s *run) assignTime(name string, e ast.Expr, v *env, to ref.Val) {
	n, ok := to.(types.Int)
	if !ok {
		return
	}
	unit := map[string]time.Duration{"getHours": time.Hour, "getMinutes": time.Minute, "getSeconds": time.Second,
		"getMilliseconds": time.Millisecond}[name]
	now := s.eval(e, v)
	if _, ok := now.(types.Duration); ok {
		s.assign(e, v, types.Duration{Duration: time.Duration(n) * unit})
		return
	}
	t, ok := now.(types.Timestamp)
	if !ok {
		return
	}
	get := func(t time.Time) int {
		switch name {
		case "getFullYear":
			return t.Year()
		case "getMonth":
			return int(t.Month()) - 1
		case "getDate":
			return t.Day()
		case "getDayOfMonth":
			return t.Day() - 1
		case "getDayOfWeek":
			return int(t.Weekday())
		case "getDayOfYear":
			return t.YearDay() - 1
		case "getHours":
			return t.Hour()
		case "getMinutes":
			return t.Minute()
		case "getSeconds":
			return t.Second()
		}
		return t.Nanosecond() / 1e6
	}
	by := int(n) - get(t.UTC())
	next := t.Time.Add(time.Duration(by) * unit)
	switch name {
	case "getFullYear":
		next = t.AddDate(by, 0, 0)
	case "getMonth":
		next = t.AddDate(0, by, 0)
	case "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear":
		next = t.AddDate(0, 0, by)
	}
	s.assign(e, v, types.Timestamp{Time: next})
}

// assignText is assign for functions of strings. It returns false for other functions.
func (s *run) assignText(name string, list []ast.Expr, v *env, to ref.Val) bool {
	if len(list) == 0 {
		return false
	}
	text, isText := to.(types.String)
	n, isNumber := to.(types.Int)
	now, _ := s.eval(list[0], v).(types.String)
	number := func(i int) int {
		if i < len(list) {
			if x, ok := s.eval(list[i], v).(types.Int); ok {
				return int(x)
			}
		}
		return -1
	}
	operand := func(i int) string {
		if i < len(list) {
			x, _ := s.eval(list[i], v).(types.String)
			return string(x)
		}
		return ""
	}
	switch name {
	case operators.Add:
		if !isText {
			return false
		}
		if rest, cut := strings.CutSuffix(string(text), operand(1)); cut {
			s.assign(list[0], v, types.String(rest))
		}
		if rest, cut := strings.CutPrefix(string(text), operand(0)); cut {
			s.assign(list[1], v, types.String(rest))
		}
		s.assign(list[0], v, text)
		s.assign(list[1], v, text)
	case "lowerAscii", "upperAscii", "trim", "replace", "find", "strings.quote":
		if !isText {
			return false
		}
		s.assign(list[0], v, text)
		switch {
		case name == "trim":
			s.assign(list[0], v, " "+text+" ")
		case name == "find" && text == "":
			s.assign(list[0], v, types.String("a"))
		case name == "find":
			for try := range 4 {
				s.texts(list[0], v, []string{sample.Matching(s.random, operand(1), try, 0)})
			}
		}
	case "substring", "charAt":
		from, end := number(1), number(2)
		if name == "charAt" {
			end = from + 1
		}
		s.texts(list[0], v, []string{spliced(string(now), string(text), from, end)})
	case "indexOf", "lastIndexOf":
		if !isNumber || s.ast.GetType(list[0].ID()).Kind() == types.ListKind {
			return false
		}
		s.texts(list[0], v, withPartAt(string(now), operand(1), int(n), name == "lastIndexOf"))
	case "join":
		if list0 := strings.Split(string(text), operand(1)); isText && operand(1) != "" {
			s.assign(list[0], v, types.DefaultTypeAdapter.NativeToValue(list0))
		} else if isText {
			s.assign(list[0], v, types.DefaultTypeAdapter.NativeToValue([]string{string(text)}))
		}
	case "getScheme", "getHost", "getHostname", "getPort", "getEscapedPath", "getQuery":
		if u, isURL := s.eval(list[0], v).(apiservercel.URL); isURL {
			s.assign(list[0], v, types.String(withPart(*u.URL, name, to)))
		}
	case "major", "minor", "patch":
		if x, isSemver := s.eval(list[0], v).(apiservercel.Semver); isSemver && isNumber && n >= 0 {
			x.Pre, x.Build = nil, nil
			*map[string]*uint64{"major": &x.Major, "minor": &x.Minor, "patch": &x.Patch}[name] = uint64(n)
			s.assign(list[0], v, x)
		}
	case "prefixLength":
		if x, isCIDR := s.eval(list[0], v).(apiservercel.CIDR); isCIDR && isNumber {
			if p, err := x.Addr().Prefix(int(n)); err == nil {
				s.assign(list[0], v, types.String(p.String()))
			}
		}
	case "masked":
		s.assign(list[0], v, to)
	case "ip":
		x, isIP := to.(apiservercel.IP)
		if !isIP || s.ast.GetType(list[0].ID()).Kind() == types.StringKind {
			return false
		}
		s.assign(list[0], v, types.String(netip.PrefixFrom(x.Addr, x.BitLen()).String()))
	case "family":
		if isNumber {
			texts := []string{"10.0.0.1", "10.0.0.0/8"}
			if n == 6 {
				texts = []string{"fd00::1", "fd00::/8"}
			}
			s.texts(list[0], v, texts)
		}
	default:
		return false
	}
	return true
}
