package celcheck

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/containers"
	"github.com/google/cel-go/common/decls"
	celtypes "github.com/google/cel-go/common/types"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"

	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/rule/celenv"
	"github.com/crdeval/crdeval/engine/internal/schema"
)

// Scope is a node of one version's schema as rules see it. Shared.Root makes the first one, the others descend from it.
// Scopes are used by one goroutine and dropped when the version is compiled.
//
// Upstream: schema/cel/validation.go, validator.
type Scope struct {
	// Props is the schema of the node.
	Props *schema.Props
	// Decl is its CEL declaration with the sizes for estimates. It is nil if expressions cannot see the node.
	Decl *apiservercel.DeclType
	// ResourceRoot is true for the root of a CRD and for embedded resources, which always declare apiVersion, kind,
	// metadata.name and metadata.generateName.
	ResourceRoot bool
	// Shared is that of Root or Field, nil for a scope of ScopeOf.
	Shared *Shared

	named    *apiservercel.DeclType // Decl with the names of its object types
	space    *typeSpace
	checkers map[checkerKey]*checker.Env
	// forValues: the expressions compute values of fields. oldSelf is not declared, and literals of lists and maps may have
	// elements of several types, as objects have.
	forValues bool
	// values is the type of values, by the schema as written; declared is the type of Decl. They differ below the metadata
	// of resources that do not declare it completely: Decl has two names only.
	values, declared *closure.Type
}

// typeSpace is the set of named types that a scope shares with its ancestors. Properties whose names have no escape
// begin a space of their own, as upstream declares them separately.
type typeSpace struct {
	root      *apiservercel.DeclType
	providers map[*celenv.Env]*apiservercel.DeclTypeProvider
}

type checkerKey struct {
	env      *celenv.Env
	optional bool
}

// selfTypeName names the type of self. Upstream appends the nanoseconds of the clock.
const selfTypeName = "selfType0"

// Root returns the scope of a version's root schema.
func (sh *Shared) Root(s *schema.Props) *Scope { return newScope(s, true, sh) }

// Field returns the scope for a schema below the resource root. The schema may declare an embedded resource.
func (sh *Shared) Field(s *schema.Props) *Scope { return newScope(s, s.XEmbeddedResource, sh) }

func newScope(s *schema.Props, resourceRoot bool, sh *Shared) *Scope {
	scope := &Scope{Props: s, ResourceRoot: resourceRoot, Shared: sh}
	scope.declare(declare(s, resourceRoot))
	return scope
}

// ScopeOf returns a scope for expressions about values of a type. It has no schema and no sizes.
func ScopeOf(t *closure.Type) *Scope {
	scope := &Scope{ResourceRoot: t.Root, values: t, declared: t}
	scope.declare(common.SchemaDeclType(SchemaOf(t), false))
	return scope
}

// ValueScopeOf is ScopeOf for expressions that compute values.
func ValueScopeOf(t *closure.Type) *Scope {
	scope := ScopeOf(t)
	scope.forValues = true
	return scope
}

// declare begins a type space.
func (s *Scope) declare(d *apiservercel.DeclType) {
	if s.Decl = d; d != nil {
		s.named = d.MaybeAssignTypeName(selfTypeName)
		s.space = &typeSpace{root: s.named}
	}
}

// Property returns the scope of a declared property. It is nil where upstream evaluates neither its rules nor those
// below, and for a nil Scope.
func (s *Scope) Property(name string) *Scope {
	if s == nil {
		return nil
	}
	p, ok := s.Props.Properties[name]
	if !ok {
		return nil
	}
	escaped, ok := apiservercel.Escape(name)
	if !ok {
		if sub := newScope(&p, p.XEmbeddedResource, s.Shared); sub.Decl != nil && quirk.On(quirk.EscapedPropertyNames) {
			return sub
		}
		return nil
	}
	if s.Decl == nil || s.Decl.Fields[escaped] == nil {
		return nil
	}
	sub := s.below(&p, s.Decl.Fields[escaped].Type, s.named.Fields[escaped].Type)
	sub.declared = s.Declared().Member(name).Type
	if !s.ResourceRoot || name != "metadata" && name != "apiVersion" && name != "kind" {
		sub.values = s.Type().Member(name).Type
	}
	return sub
}

func (s *Scope) below(p *schema.Props, decl, named *apiservercel.DeclType) *Scope {
	return &Scope{Props: p, ResourceRoot: p.XEmbeddedResource, Decl: decl, named: named, space: s.space, Shared: s.Shared}
}

// Items returns the scope of the elements of an array, nil if the schema has no items.
func (s *Scope) Items() *Scope {
	if s == nil || s.Props.Items == nil || s.Props.Items.Schema == nil {
		return nil
	}
	return s.element(s.Props.Items.Schema, true)
}

// Additional returns the scope of the values of additionalProperties, nil if they have no schema.
func (s *Scope) Additional() *Scope {
	if s == nil || s.Props.AdditionalProperties == nil || s.Props.AdditionalProperties.Schema == nil {
		return nil
	}
	return s.element(s.Props.AdditionalProperties.Schema, false)
}

func (s *Scope) element(p *schema.Props, items bool) *Scope {
	if s.Decl == nil || s.Decl.ElemType == nil {
		return s.below(p, nil, nil)
	}
	sub := s.below(p, s.Decl.ElemType, s.named.ElemType)
	sub.declared = s.Declared().Elem
	if items == (s.Props.Type == "array") {
		sub.values = s.Type().Elem
	}
	return sub
}

// Type returns the type of the node's values, shared with equal nodes of the CRD.
func (s *Scope) Type() *closure.Type {
	if s.values == nil {
		s.values = s.Shared.typeOf(s.Props, s.ResourceRoot)
	}
	return s.values
}

// Declared returns the type that expressions are checked against. It equals Type except below some metadata.
func (s *Scope) Declared() *closure.Type {
	if s.declared == nil {
		s.declared = s.Type()
	}
	return s.declared
}

// detached returns a scope of the same node for another goroutine.
func (s *Scope) detached() *Scope {
	copied := &Scope{Props: s.Props, ResourceRoot: s.ResourceRoot, forValues: s.forValues}
	copied.declare(s.Decl)
	return copied
}

// checker returns the checker of the scope's expressions. It starts from the checked declarations of the environment
// and names types by their position in the version. Upstream names them by their position below self; both names tell
// the same types apart.
func (s *Scope) checker(e *celenv.Env, optionalOldSelf bool) (*checker.Env, error) {
	key := checkerKey{e, optionalOldSelf}
	if c := s.checkers[key]; c != nil {
		return c, nil
	}
	provider := s.space.providers[e]
	if provider == nil {
		types := apiservercel.NewDeclTypeProvider(s.space.root)
		types.SetRecognizeKeywordAsFieldName(e.KeywordFields())
		var err error
		if provider, err = types.WithTypeProvider(e.Base.CELTypeProvider()); err != nil {
			return nil, err
		}
		s.space.providers = with(s.space.providers, e, provider)
	}
	env, err := checker.NewEnv(containers.DefaultContainer, provider,
		checker.CrossTypeNumericComparisons(e.CrossTypeNumbers()), checker.ValidatedDeclarations(e.Declared))
	if err != nil {
		return nil, err
	}
	if err := env.AddIdents(s.variables(s.named, optionalOldSelf)...); err != nil {
		return nil, err
	}
	s.checkers = with(s.checkers, key, env)
	return env, nil
}

// with adds to a map that may be nil.
func with[K comparable, V any](m map[K]V, k K, v V) map[K]V {
	if m == nil {
		m = map[K]V{}
	}
	m[k] = v
	return m
}

func (s *Scope) variables(named *apiservercel.DeclType, optionalOldSelf bool) []*decls.VariableDecl {
	self := named.CelType()
	if !quirk.On(quirk.TypesByPosition) { // objects of one shape have one type
		self = celtypes.DynType
	}
	oldSelf := self
	if optionalOldSelf {
		oldSelf = celtypes.NewOptionalType(self)
	}
	list := []*decls.VariableDecl{decls.NewVariable("self", self), decls.NewVariable("oldSelf", oldSelf)}
	if s.forValues {
		list = list[:1]
	}
	return list
}

// extended returns the environment that upstream makes for the scope, with upstream's type names, which errors contain.
//
// Upstream: schema/cel/compilation.go, prepareEnvSet; environment.go, filterAndBuildOpts.
func (s *Scope) extended(e *celenv.Env, optionalOldSelf bool) (*cel.Env, error) {
	named := s.Decl.MaybeAssignTypeName(selfTypeName)
	types := apiservercel.NewDeclTypeProvider(named)
	types.SetRecognizeKeywordAsFieldName(e.KeywordFields())
	options, err := types.EnvOptions(e.Base.CELTypeProvider())
	if err != nil {
		return nil, err
	}
	return e.Base.Extend(append(options, cel.VariableDecls(s.variables(named, optionalOldSelf)...))...)
}
