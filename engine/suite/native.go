package suite

import (
	"encoding/json"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/crdeval/crdeval/engine"
)

// readNative reads a suite in crdeval's own format.
func readNative(s *Suite, root node) {
	fields := root.strictFields("name", "crds", "base", "fieldValidation", "tests")
	s.Name = fields["name"].text()
	for _, path := range fields["crds"].texts() {
		s.CRDs = append(s.CRDs, s.relative(path))
	}
	n := native{base: fields["base"].mapping(), validation: validationOf(fields["fieldValidation"])}
	s.Tests = root.tests(fields["tests"].list(), n.test)
}

// native has what the tests of a suite share.
type native struct {
	base       []byte // the object that objects of tests are merged into, or nil
	validation engine.FieldValidation
}

var fieldValidations = map[string]engine.FieldValidation{
	"": engine.FieldValidationStrict, "strict": engine.FieldValidationStrict,
	"warn": engine.FieldValidationWarn, "ignore": engine.FieldValidationIgnore,
}

func validationOf(n node) engine.FieldValidation {
	return fieldValidations[n.oneOf("strict", "warn", "ignore")]
}

// test reads a test.
func (n native) test(of node) *Test {
	fields := of.strictFields("name", "object", "old", "invalidOld", "patch", "subresource", "fieldValidation", "expect",
		"error", "causes", "moreCauses", "warnings", "result", "wholeResult")
	t := &Test{Name: fields["name"].text(), Line: of.line(), of: of}
	w := step{title: "the write", fieldValidation: n.validation, subresource: fields["subresource"].oneOf("status", "scale")}
	if fields["fieldValidation"].present() {
		w.fieldValidation = validationOf(fields["fieldValidation"])
	}
	object, old, patch := fields["object"], fields["old"], fields["patch"]
	isUpdate := old.present() || patch.present() || w.subresource != ""
	switch {
	case object.present() && patch.present():
		patch.wrong("a test has an object or a patch, not both")
	case !object.present() && !patch.present() && n.base == nil:
		of.wrong("the test has no object and no patch")
	case w.subresource != "" && !old.present() && n.base == nil:
		fields["subresource"].wrong("a write to a subresource is an update: the test needs old")
	case w.subresource == "scale" && !object.present() && !patch.present():
		of.wrong("the test has no object and no patch: a write to scale needs a Scale, such as {spec: {replicas: 1}}")
	case fields["invalidOld"].present() && !isUpdate:
		fields["invalidOld"].wrong("invalidOld needs old")
	case patch.present() && !old.present() && n.base == nil:
		patch.wrong("a patch changes a stored object: the test needs old")
	}
	if isUpdate {
		w.old = withIdentity(n.merged(old.mapping()), nil)
		w.check = &storedCheck{at: []string{"/old"}, invalid: fields["invalidOld"].boolean()}
	}
	if patch.present() {
		w.patch, w.at = engine.MergePatch, []string{"/patch", "/old"}
		if patch.isKind('[') {
			w.patch, w.at = engine.JSONPatch, []string{"/old"}
		} else {
			patch.mapping()
		}
		w.object = always(patch.raw)
	} else {
		w.at = []string{"/object"}
		if w.subresource == "scale" {
			w.object = always(withIdentity(asScale(object.mapping()), w.old))
		} else {
			w.object = always(withIdentity(n.merged(object.mapping()), w.old))
		}
	}
	w.expect = readExpectation(of, fields)
	t.steps = []step{w}
	return t
}

func always(object []byte) func([]byte) ([]byte, error) {
	return func([]byte) ([]byte, error) { return object, nil }
}

// merged returns an object merged into the base.
func (n native) merged(object []byte) []byte {
	if n.base == nil {
		return object
	}
	if object == nil {
		return n.base
	}
	if merged, err := jsonpatch.MergePatch(n.base, object); err == nil {
		return merged
	}
	return object
}

// asScale adds apiVersion and kind to a Scale.
func asScale(object []byte) []byte {
	if scale, err := jsonpatch.MergePatch([]byte(`{"apiVersion":"autoscaling/v1","kind":"Scale"}`), object); err == nil {
		return scale
	}
	return object
}

// testName is the name of objects without one.
const testName = "test"

// withIdentity adds a name to an object without one: name and namespace of the old object, or else testName.
func withIdentity(object, old []byte) []byte {
	type identity struct {
		Metadata struct{ Name, GenerateName, Namespace json.RawMessage }
	}
	var own, of identity
	if json.Unmarshal(object, &own) != nil || own.Metadata.Name != nil || own.Metadata.GenerateName != nil {
		return object
	}
	fields := map[string]any{"name": testName}
	if json.Unmarshal(old, &of) == nil && of.Metadata.Name != nil {
		fields["name"] = of.Metadata.Name
		if own.Metadata.Namespace == nil && of.Metadata.Namespace != nil {
			fields["namespace"] = of.Metadata.Namespace
		}
	}
	return withMetadata(object, fields)
}

// withMetadata sets fields of the metadata of an object, which are strings. nil removes a field.
func withMetadata(object []byte, fields map[string]any) []byte {
	patch, _ := json.Marshal(map[string]any{"metadata": fields})
	if changed, err := jsonpatch.MergePatch(object, patch); err == nil {
		return changed
	}
	return object
}
