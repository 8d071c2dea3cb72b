package rule

import (
	"slices"
	"strings"
	"unsafe"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/rule/interpret"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Read is a part of self that an expression may read.
type Read struct {
	// Path leads to the part from self: names of properties as in the schema, keys of maps, and Each.
	Path []string
	// Guarded: the expression is written for the absence of the part. It only tests it with has() or in, selects it as an
	// optional, or reads it behind such a test.
	Guarded bool
	// Whole: the value matters, with everything below it. Otherwise only its presence does.
	Whole bool
}

// Each is the step of a Read.Path to every item of a list, and to the values of a map by keys that are not constants.
const Each = "\x00"

// readSet is what an expression reads.
type readSet struct {
	list  []Read
	parts *interpret.Parts
	// required are the members without which an evaluation fails.
	required []memberPath
	// given are the members that an incomplete object must have for a value, and varies is true if the value
	// is not the same for all objects that include the incomplete one.
	given  []memberPath
	varies bool
	// literal: the expression selects a value of a map literal by a key. unnamed: it also selects members of self whose
	// names are not in list.
	literal, unnamed bool
}

// memberPath leads from self to a member by the names of members.
type memberPath []member

type member struct {
	name string
	// property: the member is a property of an object and not a value of a map. Then null is absent.
	property bool
}

// isAbsent reports whether a member is absent. It is not if a container on the path has another type than the schema.
func (p memberPath) isAbsent(d *tree.Doc, node uint32) bool {
	for _, m := range p {
		if d.Nodes[node].Kind != tree.Object {
			return false
		}
		node = d.Field(node, m.name)
		if node == 0 || m.property && d.Nodes[node].Kind == tree.Null {
			return true
		}
	}
	return false
}

// origin is a part of self that a value may be.
type origin struct {
	path []string
	// known is the beginning of the path up to the first Each.
	known memberPath
	// typ is the type of the part, nil if it is unknown.
	typ *closure.Type
	// optional: a selector on the way is optional. guarded: the part is tested, too.
	optional, guarded bool
	// maybe: the value may be something else.
	maybe bool
	// varies: an incomplete object may lack some of the parts.
	varies bool
}

// source is where a value comes from: the parts of self that it may be, and, for a computed list or map, where its
// elements come from. Nil is a value of which nothing more is read.
type source struct {
	parts []*origin
	elem  *source
}

// isGiven reports whether each object that includes an incomplete one has the same value.
func (s *readSet) isGiven(d *tree.Doc, self uint32) bool {
	if s.varies || len(s.list) == 0 {
		return false
	}
	for _, path := range s.given {
		if path.isAbsent(d, self) {
			return false
		}
	}
	return true
}

// isLiteral reports whether a key that an evaluation did not find is one of a map literal, and not a member of self.
func (s *readSet) isLiteral(key string) bool {
	return s.literal && !s.unnamed && !slices.ContainsFunc(s.list, func(r Read) bool { return slices.Contains(r.Path, key) })
}

// size returns the memory of the set in bytes.
func (s *readSet) size() int64 {
	size := int64(unsafe.Sizeof(*s))
	for i := range s.list {
		size += int64(unsafe.Sizeof(s.list[i])) + partBytes*int64(len(s.list[i].Path))
	}
	return size
}

// partBytes is the memory of a step of a path: in list, parts, required and given.
const partBytes = 16 + 100 + 24 + 24

// reader finds what an expression reads. It follows parts of self through selectors, lists, macros and conditionals
// until they are used.
type reader struct {
	ast   *ast.AST
	scope *readerScope
	set   *readSet
	found map[string]*Read
	// tests are the paths that the current expression stands behind a test of.
	tests [][]string
	// certain: the current expression is always evaluated, and its errors are not absorbed.
	certain bool
}

type readerScope struct {
	name  string
	value *source
	outer *readerScope
}

// readsOf returns what a checked expression reads of self.
func readsOf(a *ast.AST, self *closure.Type) *readSet {
	r := &reader{ast: a, set: &readSet{parts: &interpret.Parts{}}, found: map[string]*Read{}, certain: true}
	r.scope = &readerScope{name: "self", value: &source{parts: []*origin{{typ: self}}}}
	r.use(r.eval(a.Expr()))
	for _, read := range r.found {
		r.set.list = append(r.set.list, *read)
	}
	slices.SortFunc(r.set.list, func(a, b Read) int { return slices.Compare(a.Path, b.Path) })
	return r.set
}

// record adds a read.
func (r *reader) record(o *origin, whole, guarded bool) {
	s, guarded := r.set, guarded || o.guarded
	// Items of a list may lack what the expression is prepared for.
	s.unnamed = s.unnamed || whole && isMerged(o.typ)
	s.varies = s.varies || o.varies || whole && isMerged(o.typ) || guarded && len(o.known) < len(o.path)
	key := strings.Join(o.path, "\x01")
	read, known := r.found[key]
	if !known {
		read = &Read{Path: o.path, Guarded: true}
		r.found[key] = read
		s.given = append(s.given, o.known)
	}
	read.Whole = read.Whole || whole
	read.Guarded = read.Guarded && guarded
	p := s.parts
	for _, name := range o.path {
		p = p.Part(name, name == Each)
	}
	p.Whole = p.Whole || whole
}

// isMerged reports whether an incomplete object may have a part of a value of a type: of an object, which server-side
// apply merges unless it is atomic, which a closure.Type does not say, of a list of type set or map, and of an object in
// any list, because it may lack defaults.
func isMerged(t *closure.Type) bool {
	if t == nil {
		return true
	}
	switch t.Kind {
	case closure.Object, closure.Map, closure.Opaque:
		return true
	case closure.List:
		return isKeyedList(t) || isMerged(t.Elem)
	}
	return false
}

// isKeyedList reports whether server-side apply merges lists of a type.
func isKeyedList(t *closure.Type) bool {
	return t != nil && (t.List == closure.Set || t.List == closure.MapList)
}

// use records that a value is used as a whole.
func (r *reader) use(s *source) {
	for ; s != nil; s = s.elem {
		for _, o := range s.parts {
			r.record(o, true, false)
		}
	}
}

// test records that only the presence of a value matters.
func (r *reader) test(s *source, guarded bool) {
	if s == nil {
		return
	}
	for _, o := range s.parts {
		r.record(o, false, guarded)
		if guarded {
			r.tests = append(r.tests, o.path)
		}
	}
}

// join returns a value that comes from one of two sources.
func join(a, b *source) *source {
	if a == nil && b == nil {
		return nil
	}
	out := &source{}
	for _, s := range []*source{a, b} {
		if s == nil {
			continue
		}
		for _, o := range s.parts {
			i := slices.IndexFunc(out.parts, func(p *origin) bool {
				return slices.Equal(p.path, o.path) && p.guarded == o.guarded && p.optional == o.optional
			})
			if i < 0 {
				joined := *o
				joined.maybe = true
				out.parts = append(out.parts, &joined)
			}
		}
		out.elem = join(out.elem, s.elem)
	}
	return out
}

// member returns the source of a member by its name in the expression.
func (r *reader) member(s *source, ident string, optional bool) *source {
	if s == nil {
		return nil
	}
	out := &source{}
	for _, o := range s.parts {
		n := *o
		m := member{name: ident}
		switch {
		case o.typ != nil && o.typ.Kind == closure.Map:
			n.typ = o.typ.Elem
		case o.typ != nil && o.typ.Kind == closure.Object && o.typ.Identified(ident) != nil:
			declared := o.typ.Identified(ident)
			m, n.typ = member{declared.Name, true}, declared.Type
		default: // a field of a dyn
			r.record(o, true, false)
			continue
		}
		if len(o.known) == len(o.path) {
			n.known = append(slices.Clip(o.known), m)
		}
		n.path = append(slices.Clip(o.path), m.name)
		n.optional = o.optional || optional
		n.guarded = n.optional || slices.ContainsFunc(r.tests, func(test []string) bool {
			return len(n.path) <= len(test) && slices.Equal(n.path, test[:len(n.path)])
		})
		out.parts = append(out.parts, &n)
	}
	if s.elem != nil {
		out = join(out, s.elem)
	}
	r.require(out)
	return out
}

// require notes a member without which the evaluation fails.
func (r *reader) require(s *source) {
	if !r.certain || len(s.parts) != 1 || s.elem != nil {
		return
	}
	if o := s.parts[0]; !o.maybe && !o.optional && len(o.known) == len(o.path) {
		r.set.required = append(r.set.required, o.known)
	}
}

// each returns the source of an element: of a list, of a map, or its key if that is not of interest. byKey: it is
// selected by a key, so that what is absent ends the evaluation.
func (r *reader) each(s *source, byKey bool) *source {
	if s == nil {
		return nil
	}
	out := &source{}
	for _, o := range s.parts {
		if o.typ == nil || o.typ.Elem == nil {
			r.record(o, true, false)
			continue
		}
		n := *o
		n.typ, n.path = o.typ.Elem, append(slices.Clip(o.path), Each)
		switch {
		case o.typ.Kind == closure.List && !isKeyedList(o.typ):
		case o.typ.Kind == closure.Map && byKey:
			r.set.unnamed = true
		default:
			n.varies = true
		}
		out.parts = append(out.parts, &n)
	}
	if s.elem != nil {
		out = join(out, s.elem)
	}
	return out
}

// eval returns the source of an expression's value.
func (r *reader) eval(e ast.Expr) *source {
	switch e.Kind() {
	case ast.IdentKind:
		name, root := strings.CutPrefix(e.AsIdent(), ".") // a root variable, even if macros declare the name
		for s := r.scope; s != nil; s = s.outer {
			if s.name == name && (!root || s.outer == nil) {
				return s.value
			}
		}
	case ast.SelectKind:
		sel := e.AsSelect()
		operand := r.eval(sel.Operand())
		if sel.IsTestOnly() {
			r.test(r.tested(func() *source { return r.member(operand, sel.FieldName(), true) }), true)
			return nil
		}
		return r.member(operand, sel.FieldName(), false)
	case ast.ListKind:
		var elem *source
		for _, x := range e.AsList().Elements() {
			elem = join(elem, r.element(x))
		}
		return &source{elem: elem}
	case ast.MapKind:
		var elem *source
		for _, entry := range e.AsMap().Entries() {
			r.use(r.eval(entry.AsMapEntry().Key()))
			elem = join(elem, r.element(entry.AsMapEntry().Value()))
		}
		return &source{elem: elem}
	case ast.CallKind:
		return r.call(e)
	case ast.ComprehensionKind:
		return r.fold(e.AsComprehension())
	}
	return nil
}

// element returns the source of an element of a computed list or map, which is evaluated even if nothing uses it.
func (r *reader) element(e ast.Expr) *source {
	s := r.eval(e)
	r.test(s, false)
	return s
}

// tested runs eval where errors and absence do not end the evaluation.
func (r *reader) tested(eval func() *source) *source {
	certain := r.certain
	r.certain = false
	s := eval()
	r.certain = certain
	return s
}

// behind is tested for expressions behind tests that do not matter for what follows.
func (r *reader) behind(e ast.Expr) *source {
	tests := len(r.tests)
	s := r.tested(func() *source { return r.eval(e) })
	r.tests = r.tests[:tests]
	return s
}

// passing are the functions whose result is one of their arguments, or an optional of it or in it.
var passing = map[string]bool{"dyn": true, "value": true, "or": true, "orValue": true, "optional.of": true}

// rearranging are the functions whose result has elements of their first argument, whatever these are.
var rearranging = map[string]bool{"slice": true, "reverse": true, "@sortByAssociatedKeys": true}

func (r *reader) call(e ast.Expr) *source {
	call := e.AsCall()
	args := call.Args()
	if call.IsMemberFunction() {
		args = append([]ast.Expr{call.Target()}, args...)
	}
	name, tests := call.FunctionName(), len(r.tests)
	switch name {
	case operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot:
		for _, arg := range args { // tests matter for what follows
			if name == operators.LogicalNot {
				r.use(r.eval(arg))
			} else {
				r.use(r.tested(func() *source { return r.eval(arg) }))
			}
		}
		return nil
	case "hasValue":
		r.test(r.eval(args[0]), true)
		return nil
	case operators.In, operators.OldIn:
		if s, ok := r.contains(args); ok {
			r.test(s, true)
			return nil
		}
	}
	defer func() { r.tests = r.tests[:min(tests, len(r.tests))] }()
	switch {
	case name == operators.Conditional:
		r.use(r.eval(args[0]))
		return join(r.behind(args[1]), r.behind(args[2]))
	case name == operators.Index, name == operators.OptIndex:
		return r.index(args, name == operators.OptIndex)
	case name == operators.OptSelect:
		field, _ := args[1].AsLiteral().(types.String)
		return r.member(r.eval(args[0]), string(field), true)
	case passing[name] && len(args) > 0:
		s := r.eval(args[0])
		for _, arg := range args[1:] {
			s = join(s, r.behind(arg))
		}
		return s
	case name == operators.Add && r.isList(e):
		a, b := r.eval(args[0]), r.eval(args[1])
		if !isKeyed(a) {
			return &source{elem: join(r.elements(a), r.elements(b))}
		}
		r.use(a)
		r.use(b)
		return nil
	case rearranging[name]:
		s := r.eval(args[0])
		for _, arg := range args[1:] {
			r.use(r.eval(arg))
		}
		return &source{elem: r.elements(s)}
	case name == "cel.@mapInsert":
		s := r.eval(args[0])
		if len(args) == 3 {
			r.use(r.eval(args[1]))
		}
		last := r.eval(args[len(args)-1])
		if r.test(last, false); len(args) == 2 {
			last = r.elements(last)
		}
		return &source{elem: join(r.elements(s), last)}
	}
	for _, arg := range args {
		r.use(r.eval(arg))
	}
	return nil
}

func (r *reader) isList(e ast.Expr) bool { return r.ast.GetType(e.ID()).Kind() == types.ListKind }

// isKeyed reports whether a value may be a list that is joined with others by the values of its items.
func isKeyed(s *source) bool {
	return s != nil && slices.ContainsFunc(s.parts, func(o *origin) bool { return isKeyedList(o.typ) })
}

// elements returns the source of the elements of a list or map that is gone through, and records that.
func (r *reader) elements(s *source) *source {
	if s == nil {
		return nil
	}
	elem := r.each(s, false)
	r.test(&source{parts: elem.parts}, false)
	return elem
}

// contains returns the member that "in" tests. ok is false if it does more.
func (r *reader) contains(args []ast.Expr) (s *source, ok bool) {
	if r.isList(args[1]) || r.ast.GetType(args[1].ID()).Kind() == types.DynKind {
		return nil, false
	}
	s = r.eval(args[1])
	if key, ok := constantKey(args[0]); ok {
		return r.tested(func() *source { return r.member(s, key, true) }), true
	}
	r.use(r.eval(args[0]))
	return r.each(s, false), true
}

func constantKey(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	key, ok := e.AsLiteral().(types.String)
	return string(key), ok
}

// index returns the source of list[i] or map[k].
func (r *reader) index(args []ast.Expr, optional bool) *source {
	r.set.literal = r.set.literal || args[0].Kind() == ast.MapKind && !optional
	s := r.eval(args[0])
	if key, ok := constantKey(args[1]); ok {
		return r.member(s, key, optional)
	}
	r.use(r.eval(args[1]))
	out := r.each(s, !optional)
	if out != nil && optional {
		for _, o := range out.parts {
			o.optional, o.guarded = true, true
		}
	}
	return out
}

// fold follows a macro. Macros go through a list or the keys of a map, or bind a variable.
func (r *reader) fold(c ast.ComprehensionExpr) *source {
	over := r.eval(c.IterRange())
	outer, tests, certain := r.scope, len(r.tests), r.certain
	defer func() { r.scope, r.tests, r.certain = outer, r.tests[:tests], certain }()
	declare := func(name string, s *source) { r.scope = &readerScope{name, s, r.scope} }
	accu := r.eval(c.AccuInit())
	r.test(accu, false)
	r.certain = false

	// The variables are the item; the key; the index and the item; or the key and the value.
	first, second := r.elements(over), (*source)(nil)
	if c.HasIterVar2() || r.ast.GetType(c.IterRange().ID()).Kind() == types.MapKind {
		first, second = nil, first
	}
	declare(c.AccuVar(), accu)
	declare(c.IterVar(), first)
	declare(c.IterVar2(), second)
	r.use(r.eval(c.LoopCondition()))
	accu = join(accu, r.eval(c.LoopStep()))
	r.scope = outer
	declare(c.AccuVar(), accu)
	return r.eval(c.Result())
}
