package rule

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/containers"
	"github.com/google/cel-go/common/decls"
	celtypes "github.com/google/cel-go/common/types"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/schema"
)

// Scope is a place in the schema of one version, as rules see it: the type of self. Root makes the first one, the others descend from it. Scopes
// live while a version is checked or compiled and are then dropped. They are used by one goroutine.
//
// Upstream: schema/cel/validation.go, validator.
type Scope struct {
	// Props is the schema at the place.
	Props *schema.Props
	// Decl is its CEL declaration with the sizes that estimates need; nil if expressions cannot see the place at all.
	Decl *apiservercel.DeclType
	// ResourceRoot: the place is the root of a CRD or an embedded resource, where apiVersion, kind, metadata.name and metadata.generateName
	// are always declared.
	ResourceRoot bool

	named    *apiservercel.DeclType // Decl with the names of its object types
	space    *space
	memory   *Memory
	checkers []scopeChecker
	// values is the type of values, of its own schema; declared is that of Decl. They differ below the metadata of resources that do not declare
	// it whole: its Decl has two names and nothing else, its values are still of the schema that was written.
	values, declared *closure.Type
}

// space is the set of named types that a scope and its ancestors share: the whole version, but for properties whose names have no escape, which
// upstream declares apart.
type space struct {
	root     *apiservercel.DeclType
	provider map[providerKey]*apiservercel.DeclTypeProvider
}

type providerKey struct {
	env      *Env
	keywords bool
}

type scopeChecker struct {
	env      *Env
	optional bool
	checker  *checker.Env
}

// selfTypeName names the type of self. Upstream appends the nanoseconds of the clock, so that nobody relies on it.
const selfTypeName = "selfType0"

// Root is the scope of a version's root.
func (mem *Memory) Root(s *schema.Props) *Scope { return newScope(s, true, mem) }

// Field is the scope of a schema by itself that is not a resource's, unless it says that it is an embedded one.
func (mem *Memory) Field(s *schema.Props) *Scope { return newScope(s, s.XEmbeddedResource, mem) }

// Root is the scope of a version's root, with a memory of its own.
func Root(s *schema.Props) *Scope { return NewMemory().Root(s) }

// Field is Memory.Field with a memory of its own.
func Field(s *schema.Props) *Scope { return NewMemory().Field(s) }

func newScope(s *schema.Props, resourceRoot bool, mem *Memory) *Scope {
	scope := &Scope{Props: s, ResourceRoot: resourceRoot, memory: mem}
	scope.declare(declare(s, resourceRoot))
	return scope
}

// declare begins a space.
func (s *Scope) declare(d *apiservercel.DeclType) {
	if s.Decl = d; d != nil {
		s.named = d.MaybeAssignTypeName(selfTypeName)
		s.space = &space{root: s.named}
	}
}

// Property is the scope of a declared property, nil where upstream drops it from evaluation: its rules, and those below, never run.
// A nil Scope has nothing below it.
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
		if sub := newScope(&p, p.XEmbeddedResource, s.memory); sub.Decl != nil && quirk.On(quirk.EscapedPropertyNames) {
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

// below is a scope that descends from s.
func (s *Scope) below(p *schema.Props, decl, named *apiservercel.DeclType) *Scope {
	return &Scope{Props: p, ResourceRoot: p.XEmbeddedResource, Decl: decl, named: named, space: s.space, memory: s.memory}
}

// Items is the scope of the elements of an array, nil if the schema has no items.
func (s *Scope) Items() *Scope {
	if s == nil || s.Props.Items == nil || s.Props.Items.Schema == nil {
		return nil
	}
	return s.element(s.Props.Items.Schema, true)
}

// Additional is the scope of the values of additionalProperties, nil if these have no schema.
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

// Type is the place's type for values, shared with equal ones of the memory. It is never nil.
func (s *Scope) Type() *closure.Type {
	if s.values == nil {
		s.values = s.memory.typeOf(s.Props, s.ResourceRoot)
	}
	return s.values
}

// Declared is the type that Decl declares, which expressions are checked against. It is the type for values but for a few places.
func (s *Scope) Declared() *closure.Type {
	if s.declared == nil {
		s.declared = s.Type()
	}
	return s.declared
}

// checker is the environment that checks expressions of the scope. It starts from declarations that were checked once, and names types by their
// place in the version, which tells the same types apart as upstream's names, by their place below self, do.
func (s *Scope) checker(e *Env, optionalOldSelf bool) (*checker.Env, error) {
	for _, c := range s.checkers {
		if c.env == e && c.optional == optionalOldSelf {
			return c.checker, nil
		}
	}
	provider, err := s.space.providerOf(e)
	if err != nil {
		return nil, err
	}
	env, err := checker.NewEnv(containers.DefaultContainer, provider, checker.CrossTypeNumericComparisons(e.crossTypeNumbers()),
		checker.ValidatedDeclarations(e.declared))
	if err != nil {
		return nil, err
	}
	self, oldSelf := variables(s.named, optionalOldSelf)
	if err := env.AddIdents(decls.NewVariable(selfName, self), decls.NewVariable(oldSelfName, oldSelf)); err != nil {
		return nil, err
	}
	s.checkers = append(s.checkers, scopeChecker{e, optionalOldSelf, env})
	return env, nil
}

// The variables of rules.
const (
	selfName    = "self"
	oldSelfName = "oldSelf"
)

func variables(named *apiservercel.DeclType, optionalOldSelf bool) (self, oldSelf *celtypes.Type) {
	self = named.CelType()
	if !quirk.On(quirk.TypesByPosition) { // objects of one shape are of one type
		self = celtypes.DynType
	}
	if optionalOldSelf {
		return self, celtypes.NewOptionalType(self)
	}
	return self, self
}

func (p *space) providerOf(e *Env) (*apiservercel.DeclTypeProvider, error) {
	key := providerKey{e, e.minor >= keywordFieldsSince}
	if known := p.provider[key]; known != nil {
		return known, nil
	}
	types := apiservercel.NewDeclTypeProvider(p.root)
	types.SetRecognizeKeywordAsFieldName(key.keywords)
	provider, err := types.WithTypeProvider(e.base.CELTypeProvider())
	if err != nil {
		return nil, err
	}
	if p.provider == nil {
		p.provider = map[providerKey]*apiservercel.DeclTypeProvider{}
	}
	p.provider[key] = provider
	return provider, nil
}

// extended is the environment of the scope as upstream makes it, with upstream's names: for errors, which print them.
//
// Upstream: schema/cel/compilation.go, prepareEnvSet; environment.go, filterAndBuildOpts.
func (s *Scope) extended(e *Env, optionalOldSelf bool) (*cel.Env, error) {
	named := s.Decl.MaybeAssignTypeName(selfTypeName)
	types := apiservercel.NewDeclTypeProvider(named)
	types.SetRecognizeKeywordAsFieldName(e.minor >= keywordFieldsSince)
	options, err := types.EnvOptions(e.base.CELTypeProvider())
	if err != nil {
		return nil, err
	}
	self, oldSelf := variables(named, optionalOldSelf)
	return e.base.Extend(append(options, cel.Variable(selfName, self), cel.Variable(oldSelfName, oldSelf))...)
}
