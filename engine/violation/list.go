package violation

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/quirk"
)

// rank orders the steps as a write passes them.
func (s Step) rank() int {
	return slices.Index([]Step{Decode, Request, TypeMeta, Metadata, Schema, Scale, Embedded, List, CRD}, s)
}

// Sort puts violations into the order in which the steps run, unknown steps first, and leaves those of one step in the order in
// which it found them: the walks go in document order, then schema order.
func Sort(list []Violation) {
	slices.SortStableFunc(list, func(a, b Violation) int { return a.Step.rank() - b.Step.rank() })
}

// Unique keeps the first violation of each text. The reference does so when it words the message of a Status, and does not when
// it lists the causes: the result is for messages.
func Unique(list []Violation) []Violation {
	seen := make(map[string]struct{}, len(list))
	var kept []Violation
	for _, v := range list {
		text := v.Error.Error()
		if _, known := seen[text]; !known {
			seen[text] = struct{}{}
			kept = append(kept, v)
		}
	}
	return kept
}

// Errors gives the reference's errors alone.
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

// Blocking reports whether a violation of a type that keeps the reference from evaluating CEL rules is among the list: unsupported,
// required, too long, too many, or of a wrong type. Invalid and duplicate values do not.
// (k8s.io/apiextensions-apiserver/pkg/registry/customresource/strategy.go)
func Blocking(list []Violation) bool {
	for i := range list {
		switch list[i].Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return true
		case field.ErrorTypeDuplicate:
			if !quirk.On(50) {
				return true
			}
		}
	}
	return false
}
