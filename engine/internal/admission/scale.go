package admission

import (
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/scale"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/value"
)

// plainScale reports without allocating whether scale finds nothing.
func plainScale(d *value.Doc, root uint32, s *Scale) bool {
	return s == nil || plainReplicas(d, root, s.SpecReplicas) && plainReplicas(d, root, s.StatusReplicas) &&
		plainSelector(d, root, s.LabelSelector)
}

func plainReplicas(d *value.Doc, root uint32, path ScalePath) bool {
	c, ok := scale.Descend(d, root, path.Names)
	return ok && (c == 0 || d.Nodes[c].Kind == value.Int && d.Int(c) >= 0 && d.Int(c) <= math.MaxInt32)
}

func plainSelector(d *value.Doc, root uint32, path ScalePath) bool {
	c, ok := scale.Descend(d, root, path.Names)
	return len(path.Names) == 0 || ok && (c == 0 || d.Nodes[c].Kind == value.String)
}

// scaleViolations returns the violations of the scale subresource's fields. spec includes those in spec, which are not checked on
// an update of the status.
//
// Upstream: registry/customresource/validator.go, ValidateScaleSpec and ValidateScaleStatus.
func scaleViolations(d *value.Doc, root uint32, s *Scale, spec bool) (found []violation.Violation) {
	if plainScale(d, root, s) {
		return nil
	}
	object, ok := d.Any(root).(map[string]any)
	if !ok {
		return nil
	}
	add := func(path ScalePath, bad any, detail string) {
		at := make(value.Path, 0, len(path.Names))
		for _, name := range path.Names {
			at = append(at, value.Name(name))
		}
		v := violation.Of(violation.Scale, field.Invalid(field.NewPath(path.Text), bad, detail), at)
		v.Node = d.Finder().Deepest(root, at)
		found = append(found, v)
	}
	for k, path := range [...]ScalePath{s.SpecReplicas, s.StatusReplicas} {
		if k == 0 && !spec {
			continue
		}
		switch n, _, err := unstructured.NestedInt64(object, path.Names...); {
		case err != nil:
			add(path, n, err.Error())
		case n < 0:
			add(path, n, "should be a non-negative integer")
		case n > math.MaxInt32:
			add(path, n, fmt.Sprintf("should be less than or equal to %v", math.MaxInt32))
		}
	}
	if path := s.LabelSelector; len(path.Names) > 0 {
		if text, _, err := unstructured.NestedString(object, path.Names...); err != nil {
			add(path, text, err.Error())
		}
	}
	return found
}

// nestedString is unstructured.NestedString for one member. The string refers to the Doc's memory.
func nestedString(d *value.Doc, root uint32, key string) (string, error) {
	switch c := d.Field(root, key); {
	case c == 0:
		return "", nil
	case d.Nodes[c].Kind == value.String:
		return d.Str(c), nil
	}
	object := map[string]any{}
	if c := d.Field(root, key); c != 0 {
		object[key] = d.Any(c)
	}
	text, _, err := unstructured.NestedString(object, key)
	return text, err
}
