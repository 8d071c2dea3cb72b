package violation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/quirk"
)

// Errors returns the field errors of the violations.
func Errors(list []Violation) field.ErrorList {
	if len(list) == 0 {
		return nil
	}
	errs := make(field.ErrorList, len(list))
	for i := range list {
		errs[i] = list[i].Error
	}
	return errs
}

// Blocking reports whether a violation prevents CEL rules from running: unsupported, required, too long, too many, or
// wrong type. Invalid and duplicate values do not.
// (k8s.io/apiextensions-apiserver/pkg/registry/customresource/strategy.go)
func Blocking(list []Violation) bool {
	for i := range list {
		switch list[i].Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return true
		case field.ErrorTypeDuplicate:
			if !quirk.On(quirk.DuplicatesDoNotBlockRules) {
				return true
			}
		}
	}
	return false
}
