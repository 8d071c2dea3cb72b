package schema

import (
	"slices"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/quirk"
)

var ruleReasons = []string{
	string(apiextensionsv1.FieldValueDuplicate), string(apiextensionsv1.FieldValueForbidden),
	string(apiextensionsv1.FieldValueInvalid), string(apiextensionsv1.FieldValueRequired),
}

// ruleShapes checks the rules of one schema without compiling them: rule is set, messages have one line, and reason and
// fieldPath exist.
// (k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go,
// ValidateCustomResourceDefinitionOpenAPISchema)
func (c *checker) ruleShapes(s *Props, path *field.Path) {
	if len(s.XValidations) == 0 {
		return
	}
	supported := sync.OnceValue(func() bool { return Unsupported(s) == nil })
	for i := range s.XValidations {
		r, at := &s.XValidations[i], path.Child("x-kubernetes-validations").Index(i)
		rule, message := strings.TrimSpace(r.Rule), strings.TrimSpace(r.Message)
		switch {
		case rule == "":
			c.add(field.Required(at.Child("rule"), "rule is not specified"))
		case r.Message != "" && message == "":
			c.add(field.Invalid(at.Child("message"), r.Message, "must be non-empty if specified"))
		case hasNewlines(message):
			c.add(field.Invalid(at.Child("message"), r.Message, "must not contain line breaks"))
		case hasNewlines(rule) && message == "" && quirk.On(quirk.MultilineRuleNeedsMessage):
			c.add(field.Required(at.Child("message"), "message must be specified if rule contains line breaks"))
		}
		if r.MessageExpression != "" && strings.TrimSpace(r.MessageExpression) == "" {
			c.add(field.Required(at.Child("messageExpression"), "messageExpression must be non-empty if specified"))
		}
		if r.Reason != nil && !slices.Contains(ruleReasons, string(*r.Reason)) {
			c.add(field.NotSupported(at.Child("reason"), *r.Reason, ruleReasons))
		}
		c.ruleFieldPath(s, r.FieldPath, at.Child("fieldPath"), supported)
	}
}

// ruleFieldPath checks the fieldPath of a rule. As in upstream, it reports a blank path twice.
func (c *checker) ruleFieldPath(s *Props, fieldPath string, path *field.Path, supported func() bool) {
	if fieldPath == "" {
		return
	}
	if strings.TrimSpace(fieldPath) == "" {
		c.add(field.Invalid(path, fieldPath, "must be non-empty if specified"))
	}
	if hasNewlines(fieldPath) {
		c.add(field.Invalid(path, fieldPath, "must not contain line breaks"))
	}
	if _, _, err := Resolve(fieldPath, s, true); err != nil && supported() {
		c.add(field.Invalid(path, fieldPath, "must be a valid path"))
	}
}

// hasNewlines reports whether s contains a line terminator of the CEL grammar.
func hasNewlines(s string) bool { return strings.ContainsAny(s, "\n\r") }
