package definition

import (
	"errors"

	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/value"
)

// grows fails the room if macro expansion makes a rule of the schema too large, and reports whether it did.
func (s *spec) grows(p *schema.Props) bool {
	var limit *value.LimitError
	if errors.As(expands(p), &limit) {
		s.room.Fail(limit)
		return true
	}
	return false
}

// expands returns a *value.LimitError if macro expansion makes a rule of the schema too large.
func expands(s *schema.Props) error {
	var err error
	schema.Any(s, func(s *schema.Props) bool {
		for i := range s.XValidations {
			if err = celcheck.CheckExpansion(s.XValidations[i].Rule); err == nil {
				err = celcheck.CheckExpansion(s.XValidations[i].MessageExpression)
			}
			if err != nil {
				return true
			}
		}
		return false
	})
	return err
}
