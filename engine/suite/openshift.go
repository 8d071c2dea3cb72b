package suite

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/workspace"
)

// openShift has what is particular to a suite in OpenShift's format: it runs with each of several CRDs, cut to one
// version.
type openShift struct {
	crdNames     []string
	version      string // "" if the CRD has one version
	featureGates []string
	originals    map[string][]byte // the CRDs by file, before they are cut
}

// readOpenShift reads a suite in OpenShift's format. OpenShift's runner ignores unknown fields.
func readOpenShift(s *Suite, root node) {
	for _, err := range root.errs { // duplicate keys: the last one counts
		s.Warnings = append(s.Warnings, err.Error())
	}
	root.errs = nil
	ignored := func(n node, unknown []string) {
		for _, key := range unknown {
			line := n.lineOf("/" + tree.EscapePointer(key))
			s.Warnings = append(s.Warnings, fmt.Sprintf("%s:%d: the field %s has no effect", s.File, line, key))
		}
	}
	fields, unknown := root.fields("apiVersion", "name", "crdName", "crdNames", "featureGates", "version", "tests")
	ignored(root, unknown)
	s.Name = fields["name"].text()
	s.openShift = &openShift{version: fields["version"].text(), featureGates: fields["featureGates"].texts(),
		originals: map[string][]byte{},
		crdNames:  append(fields["crdName"].texts(), fields["crdNames"].texts()...)}
	tests, unknown := fields["tests"].fields("onCreate", "onUpdate")
	ignored(fields["tests"], unknown)
	s.Tests = root.tests(tests["onCreate"].list(), func(of node) *Test {
		fields, unknown := of.fields("name", "initial", "expected", "expectedError")
		ignored(of, unknown)
		return onCreate(of, fields)
	})
	s.Tests = append(s.Tests, root.tests(tests["onUpdate"].list(), func(of node) *Test {
		fields, unknown := of.fields("name", "initial", "updated", "expected", "expectedError", "expectedStatusError",
			"initialCRDPatches")
		ignored(of, unknown)
		return onUpdate(of, fields)
	})...)
}

// required returns the JSON of an object that a test must have.
func required(of node, fields map[string]node, name string) []byte {
	if !fields[name].present() {
		of.wrong("the test has no %s", name)
		return nil
	}
	return embedded(fields[name])
}

// embedded returns the JSON of an object that is the text of a field, with a name.
func embedded(n node) []byte {
	text, _, err := tree.YAMLToJSON([]byte(n.text()), limits)
	if err != nil {
		n.wrong("%s: %v", n.title(), err)
		return nil
	}
	if text[0] != '{' {
		n.wrong("%s must have an object", n.title())
		return nil
	}
	text = withMetadata(text, map[string]any{"generateName": testName + "-", "namespace": nil})
	if m := workspace.New(engine.JSON(text)); m.Err == nil && m.Name == "" {
		text = withMetadata(text, map[string]any{"name": testName + "-1"})
	}
	return text
}

// expectObject reads expected, or else an expected error.
func expectObject(of node, fields map[string]node, errorField string) *expectation {
	e := &expectation{of: of, errorText: fields[errorField].text()}
	e.rejected, e.older = e.errorText != "", olderError(e.errorText)
	if expected := fields["expected"]; !e.rejected && expected.text() != "" {
		e.whole, e.parts = embedded(expected), comparedParts
	}
	return e
}

// olderValue matches values in errors as older versions of Kubernetes print them: the type of the schema instead of the
// value, or a map of Go. newerValue matches how Kubernetes 1.37 prints them: as JSON, or not at all.
var olderValue = regexp.MustCompile(`(Invalid) value: "(?:object|array|string|integer|number|boolean|null)?"(?:: )?|` +
	`(Duplicate) value: map\[string\]interface \{\}\{[^}]*\}?`)

const newerValue = ` value: (?:(?:"(?:[^"\\]|\\.)*"|null|true|false|-?[0-9][^ ]*|\{.*?\}|\[.*?\])(?:: )?)?`

// olderError returns a regular expression for an expected error of an older version of Kubernetes. It ignores the
// values. It returns nil for an error without such values.
func olderError(text string) *regexp.Regexp {
	var pattern strings.Builder
	at := 0
	for _, m := range olderValue.FindAllStringSubmatchIndex(text, -1) {
		kind := text[max(m[2], m[4]):max(m[3], m[5])]
		pattern.WriteString(regexp.QuoteMeta(text[at:m[0]]) + kind + newerValue)
		at = m[1]
	}
	if at == 0 {
		return nil
	}
	pattern.WriteString(regexp.QuoteMeta(text[at:]))
	return regexp.MustCompile(pattern.String())
}

// comparedParts are the parts of objects that are compared.
var comparedParts = []string{"spec", "status"}

func onCreate(of node, fields map[string]node) *Test {
	create := step{title: "the creation", object: always(required(of, fields, "initial")),
		expect: expectObject(of, fields, "expectedError")}
	return &Test{Name: fields["name"].text(), Line: of.line(), of: of, steps: []step{create}}
}

// onUpdate returns a test that creates an object and writes its status, updates the object, and updates its status.
func onUpdate(of node, fields map[string]node) *Test {
	initial, updated := required(of, fields, "initial"), required(of, fields, "updated")
	status, newStatus := statusOf(initial), statusOf(updated)
	patches := fields["initialCRDPatches"].raw
	steps := []step{{title: "the creation of the initial object", object: always(initial), patches: patches}}
	if status != nil {
		steps = append(steps, step{title: "the update of the initial status", object: replaceStatus(status),
			keepsOld: true, subresource: "status", patches: patches})
	}
	if patches != nil { // under the CRD without patches
		steps = append(steps, step{title: "an update of the initial object without changes", keepsOld: true,
			object: func(stored []byte) ([]byte, error) { return stored, nil }})
	}
	update := step{title: "the update", keepsOld: true, object: func(stored []byte) ([]byte, error) {
		m := workspace.New(engine.JSON(stored))
		return withMetadata(updated, map[string]any{"name": m.Name}), m.Err
	}}
	updateStatus := step{title: "the update of the status", keepsOld: true, subresource: "status",
		object: replaceStatus(newStatus)}
	hasStatusError := fields["expectedStatusError"].text() != ""
	switch {
	case fields["expectedError"].text() != "" || newStatus == nil && !hasStatusError:
		update.expect = expectObject(of, fields, "expectedError")
		steps = append(steps, update)
	case newStatus == nil:
		fields["expectedStatusError"].wrong("expectedStatusError needs a status in updated")
	default:
		updateStatus.expect = expectObject(of, fields, "expectedStatusError")
		steps = append(steps, update, updateStatus)
	}
	return &Test{Name: fields["name"].text(), Line: of.line(), of: of, steps: steps}
}

// statusOf returns the status of an object, nil if it has none.
func statusOf(object []byte) json.RawMessage {
	var o struct{ Status json.RawMessage }
	if json.Unmarshal(object, &o) != nil || string(o.Status) == "null" {
		return nil
	}
	return o.Status
}

// replaceStatus returns a function that replaces the status of a stored object.
func replaceStatus(status json.RawMessage) func(stored []byte) ([]byte, error) {
	return func(stored []byte) ([]byte, error) {
		operation, err := json.Marshal([]map[string]any{{"op": "add", "path": "/status", "value": status}})
		if err != nil {
			return nil, err
		}
		return applyPatch(stored, operation)
	}
}

// applyPatch applies a JSON patch.
func applyPatch(document, operations []byte) ([]byte, error) {
	patch, err := jsonpatch.DecodePatch(operations)
	if err != nil {
		return nil, err
	}
	return patch.Apply(document)
}
