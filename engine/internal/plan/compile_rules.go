package plan

import (
	"github.com/crdeval/crdeval/engine/internal/rule"
	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/schema"
)

// rootScope returns the scope of the schema's root, or nil if there are no rules to compile.
func (c *compiler) rootScope(s *schema.Props) *celcheck.Scope {
	if c.o.Rules == WithoutRules || !schema.HasRules(s) {
		return nil
	}
	if c.o.Rules == RulesOfField {
		return c.o.Memory.Field(s)
	}
	return c.o.Memory.Root(s)
}

// rules compiles the rules of a node. Equal sets of a version are one set, and counted once.
func (c *compiler) rules(s *schema.Props, scope *celcheck.Scope) *rule.Set {
	if scope == nil || len(s.XValidations) == 0 || c.err != nil {
		return nil
	}
	set, err := rule.Compile(c.o.Context, scope, s.XValidations)
	if err != nil {
		c.err = err
		return nil
	}
	if c.sets == nil {
		c.sets = map[*rule.Set]struct{}{}
	}
	if _, known := c.sets[set]; !known {
		c.sets[set] = struct{}{}
		c.size += set.Size()
	}
	return set
}
