package definition

import (
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/schema"
)

// position is a schema on the spine during the compilation of rules. It has the maximum number of its values in an
// object and, computed on demand, the types that rules see. It implements schema.Rules.
// (k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/cel_validation.go, CELSchemaContext)
type position struct {
	c     *ruleCheck
	props *schema.Props
	// up is the parent, nil at the root. step is the path from there. from derives the scope from the parent's.
	up   *position
	step []string
	from func(above *celcheck.Scope) *celcheck.Scope
	// ruled is set if the schema or one of its parents has rules.
	ruled bool
	// cardinality is the maximum number of values in one object if bounded is set, that is, if all enclosing lists and
	// maps have bounds.
	cardinality uint64
	bounded     bool

	known bool // seen and err are set
	seen  *celcheck.Scope
	err   error
}

// rootPosition returns the position of the root of a schema.
func rootPosition(c *ruleCheck, s *schema.Props) *position {
	return &position{c: c, props: s, ruled: len(s.XValidations) > 0, cardinality: 1, bounded: true}
}

func (p *position) below(s *schema.Props, from func(*celcheck.Scope) *celcheck.Scope, step ...string) *position {
	_, times, bounded := celcheck.MaxElements(p.props)
	return &position{
		c: p.c, props: s, up: p, step: step, from: from, ruled: p.ruled || len(s.XValidations) > 0,
		cardinality: celcheck.MultiplyCost(p.cardinality, times), bounded: p.bounded && bounded,
	}
}

// Property implements schema.Rules.
func (p *position) Property(name string, s *schema.Props) schema.Rules {
	return p.below(s, func(above *celcheck.Scope) *celcheck.Scope { return above.Property(name) }, "properties", name)
}

// Values implements schema.Rules.
func (p *position) Values(s *schema.Props) schema.Rules {
	return p.below(s, (*celcheck.Scope).Additional, "additionalProperties")
}

// Items implements schema.Rules.
func (p *position) Items(s *schema.Props) schema.Rules {
	return p.below(s, (*celcheck.Scope).Items, "items")
}

// Compile implements schema.Rules.
func (p *position) Compile(path, uncorrelatable *field.Path) { p.c.compile(p, path, uncorrelatable) }

var (
	errNoType        = errors.New("unable to convert structural schema to CEL declarations")
	errNoDeclaration = errors.New("failed to convert to declType for CEL validation rules")
)

// scope returns the types that rules of the schema see. It derives them from the parent if that has rules. Decl can
// then be nil if the schema has keywords of another type.
func (p *position) scope() (*celcheck.Scope, error) {
	if !p.known {
		p.seen, p.err = p.look()
		p.known = true
	}
	return p.seen, p.err
}

func (p *position) look() (*celcheck.Scope, error) {
	if p.up != nil && p.up.ruled {
		above, err := p.up.scope()
		if err != nil {
			return nil, err
		}
		if s := p.from(above); s != nil {
			return s, nil
		}
	}
	var s *celcheck.Scope
	if p.up == nil {
		s = p.c.shared.Root(p.props)
	} else {
		s = p.c.shared.Field(p.props)
	}
	if s.Decl == nil {
		return nil, errNoType
	}
	return s, nil
}

// path returns the path from the root, by keywords and property names.
func (p *position) path() []string {
	var steps []string
	for ; p != nil; p = p.up {
		for _, s := range slices.Backward(p.step) {
			steps = append(steps, s)
		}
	}
	slices.Reverse(steps)
	return steps
}

// around returns the enclosing lists and maps, outermost first.
func (p *position) around() []celcheck.Container {
	var list []celcheck.Container
	for p = p.up; p != nil; p = p.up {
		if repeater, _, _ := celcheck.MaxElements(p.props); repeater {
			list = append(list, celcheck.Container{Path: p.path(), Props: p.props})
		}
	}
	slices.Reverse(list)
	return list
}
