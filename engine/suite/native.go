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
	for _, of := range fields["tests"].list() {
		s.Tests = append(s.Tests, n.test(of))
	}
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
	fields := of.strictFields("name", "object", "old", "patch", "subresource", "fieldValidation", "expect", "error",
		"causes", "moreCauses", "warnings", "result", "wholeResult")
	t := &Test{Name: fields["name"].text(), Line: of.line(), of: of}
	w := step{title: "the write", fieldValidation: n.validation, subresource: fields["subresource"].oneOf("status", "scale")}
	if fields["fieldValidation"].present() {
		w.fieldValidation = validationOf(fields["fieldValidation"])
	}
	object, old, patch := fields["object"], fields["old"], fields["patch"]
	isUpdate := old.present() || patch.present()
	switch {
	case object.present() && patch.present():
		patch.wrong("a test has an object or a patch, not both")
	case !object.present() && !patch.present() && n.base == nil:
		of.wrong("the test has no object and no patch")
	case w.subresource != "" && !isUpdate:
		fields["subresource"].wrong("a write to a subresource is an update: the test needs old or a patch")
	case patch.present() && !old.present() && n.base == nil:
		patch.wrong("a patch changes a stored object: the test needs old")
	}
	if isUpdate {
		w.old = n.complete(old.mapping(), true)
	}
	if patch.present() {
		w.patch, w.pointer = engine.MergePatch, "/patch"
		if patch.isKind('[') {
			w.patch = engine.JSONPatch
		} else {
			patch.mapping()
		}
		w.object = always(patch.raw)
	} else {
		w.pointer = "/object"
		w.object = always(n.complete(object.mapping(), w.subresource != "scale"))
	}
	w.expect = readExpectation(of, fields)
	t.steps = []step{w}
	return t
}

func always(object []byte) func([]byte) ([]byte, error) {
	return func([]byte) ([]byte, error) { return object, nil }
}

// complete returns an object merged into the base, if merge is true, and with a name.
func (n native) complete(object []byte, merge bool) []byte {
	switch {
	case merge && n.base != nil && object == nil:
		object = n.base
	case merge && n.base != nil:
		if merged, err := jsonpatch.MergePatch(n.base, object); err == nil {
			object = merged
		}
	}
	return withName(object)
}

// testName is the name of objects without one.
const testName = "test"

// withName adds a name to an object without one.
func withName(object []byte) []byte {
	var o struct {
		Metadata struct{ Name, GenerateName json.RawMessage }
	}
	if json.Unmarshal(object, &o) != nil || o.Metadata.Name != nil || o.Metadata.GenerateName != nil {
		return object
	}
	return withMetadata(object, map[string]any{"name": testName})
}

// withMetadata sets fields of the metadata of an object, which are strings. nil removes a field.
func withMetadata(object []byte, fields map[string]any) []byte {
	patch, _ := json.Marshal(map[string]any{"metadata": fields})
	if changed, err := jsonpatch.MergePatch(object, patch); err == nil {
		return changed
	}
	return object
}
