package convert

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// restoreField takes labels or annotations from a reply. They are validated only if they changed.
func restoreField(ours, theirs map[string]any, name string) error {
	reply := theirs[name]
	if reply == nil {
		delete(ours, name)
		return nil
	}
	after, ok := reply.(map[string]any)
	if !ok {
		return fmt.Errorf("invalid metadata.%s of type %T in converted object", name, reply)
	}
	before, ok := ours[name].(map[string]any)
	if !ok && ours[name] != nil {
		return fmt.Errorf("invalid metadata.%s of type %T in original object", name, ours[name])
	}
	changed := len(before) != len(after)
	texts := make(map[string]string, len(after))
	for _, k := range slices.Sorted(maps.Keys(after)) {
		v := after[k]
		text, ok := v.(string)
		if !ok {
			return fmt.Errorf("metadata.%s[%s] must be a string, but is %T in converted object", name, k, v)
		}
		texts[k] = text
		changed = changed || before[k] != v
	}
	if changed {
		errs := metav1validation.ValidateLabels
		at := field.NewPath("metadata", "labels")
		if name == "annotations" {
			errs, at = validation.ValidateAnnotations, field.NewPath("metadata", "annotation")
		}
		if found := errs(texts, at); len(found) > 0 {
			return found.ToAggregate()
		}
	}
	ours[name] = after
	return nil
}
