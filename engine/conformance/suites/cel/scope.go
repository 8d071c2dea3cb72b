package cel

import (
	"strings"

	"github.com/google/cel-go/common/types"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/crdeval/crdeval/engine/conformance/generate"
)

// variable is a name in scope.
type variable struct {
	name string
	t    *types.Type
}

// scope contains the names that an expression can use: variables and fields of object types.
type scope struct {
	variables []variable
	objects   map[string]*apiservercel.DeclType
}

// newScope declares self, and oldSelf with the same type or as an optional of it.
func newScope(decl *apiservercel.DeclType, optionalOld bool) *scope {
	decl = decl.MaybeAssignTypeName("selfType")
	s := &scope{objects: apiservercel.FieldTypeMap("selfType", decl)}
	old := decl.CelType()
	if optionalOld {
		old = types.NewOptionalType(old)
	}
	s.variables = []variable{{"self", decl.CelType()}, {"oldSelf", old}}
	return s
}

// with adds a variable. It hides earlier ones with its name.
func (s *scope) with(name string, t *types.Type) *scope {
	n := &scope{objects: s.objects}
	for _, v := range s.variables {
		if v.name != name {
			n.variables = append(n.variables, v)
		}
	}
	n.variables = append(n.variables, variable{name, t})
	return n
}

// members returns the fields of an object type, sorted by name.
func (s *scope) members(t *types.Type) ([]string, map[string]*apiservercel.DeclField) {
	if t.Kind() != types.StructKind {
		return nil, nil
	}
	d := s.objects[t.TypeName()]
	if d == nil {
		return nil, nil
	}
	return sortedKeys(d.Fields), d.Fields
}

// route is a path from a variable to a value: fields, indexes of lists, keys of maps.
type route struct {
	e    *expression
	t    *types.Type
	path bool // fields only: has() accepts it
}

// routes returns paths from every variable with at most depth steps. It chooses an index or a key for every list and
// map.
func (s *scope) routes(g *generator, depth int) (found []route) {
	for _, v := range s.variables {
		if v.name == "oldSelf" && !g.transition {
			continue
		}
		s.walk(g, route{text(v.name), v.t, false}, depth, &found)
	}
	return found
}

func (s *scope) walk(g *generator, at route, depth int, found *[]route) {
	*found = append(*found, at)
	if depth == 0 || len(*found) > 150 {
		return
	}
	switch {
	case at.t.Kind() == types.StructKind:
		order, fields := s.members(at.t)
		for _, name := range order {
			s.walk(g, route{joined(true, "$."+name, at.e), fields[name].Type.CelType(), true}, depth-1, found)
		}
	case at.t.Kind() == types.ListKind:
		s.walk(g, route{joined(true, "$[$]", at.e, g.index()), at.t.Parameters()[0], false}, depth-1, found)
	case at.t.Kind() == types.MapKind:
		if at.t.Parameters()[0].Kind() == types.StringKind {
			s.walk(g, route{joined(true, "$[$]", at.e, g.key()), at.t.Parameters()[1], false}, depth-1, found)
		}
	case isOptional(at.t):
		s.walk(g, route{method(at.e, "value"), at.t.Parameters()[0], false}, depth-1, found)
	}
}

// someType returns a type of a value in scope, or a simple one.
func (s *scope) someType(g *generator) *types.Type {
	if g.r.Chance(50) {
		return generate.Pick(g.r, simple)
	}
	found := s.routes(g, 2)
	return generate.Pick(g.r, found).t
}

// simple are types that have literals.
var simple = []*types.Type{types.BoolType, types.IntType, types.IntType, types.UintType, types.DoubleType, types.StringType, types.StringType, types.BytesType,
	types.DurationType, types.TimestampType, types.NewListType(types.IntType), types.NewListType(types.StringType), types.NewMapType(types.StringType, types.IntType), types.DynType}

// opaque reports whether values of a type cannot be created: those of the authorizer.
func opaque(t *types.Type) bool { return strings.HasPrefix(t.TypeName(), "kubernetes.authorization.") }
