package generate

import (
	"regexp"
	"strings"

	"github.com/crdeval/crdeval/engine/conformance/jsontree"
)

// celType is the CEL type of a schema node, or invisible if rules cannot see it.
type celType string

const (
	invisible    celType = ""
	celString    celType = "string"
	celBytes     celType = "bytes"
	celTimestamp celType = "timestamp"
	celDuration  celType = "duration"
	celInt       celType = "int"
	celDouble    celType = "double"
	celBool      celType = "bool"
	celDyn       celType = "dyn"
	celObject    celType = "object"
	celMap       celType = "map"
	celList      celType = "list"
)

// visible returns the type of a node, like upstream's SchemaDeclType (apiserver/pkg/cel/common/schemas.go).
func visible(s *jsontree.Node) celType {
	if s == nil || s.Kind != jsontree.Object {
		return invisible
	}
	if s.Get("x-kubernetes-int-or-string").IsTrue() {
		return celDyn
	}
	t, _ := s.Get("type").Text()
	switch t {
	case "boolean":
		return celBool
	case "integer":
		return celInt
	case "number":
		return celDouble
	case "string":
		switch f, _ := s.Get("format").Text(); f {
		case "byte":
			return celBytes
		case "date", "date-time":
			return celTimestamp
		case "duration":
			return celDuration
		}
		return celString
	case "array":
		if visible(s.Get("items")) != invisible {
			return celList
		}
	case "object":
		if extra := s.Get("additionalProperties"); extra != nil && extra.Kind == jsontree.Object {
			if visible(extra) != invisible {
				return celMap
			}
			return invisible
		}
		return celObject
	}
	return invisible
}

// reserved are words that cannot be names of fields: CEL's own, and those of upstream's escaping such as namespace.
var reserved = map[string]bool{
	"true": true, "false": true, "null": true, "in": true, "as": true, "break": true, "const": true, "continue": true, "else": true, "for": true, "function": true,
	"if": true, "import": true, "let": true, "loop": true, "package": true, "namespace": true, "return": true, "var": true, "void": true, "while": true,
}

var identifier = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// escape returns the name of a property in a rule, or false if rules cannot use it.
func escape(name string) (string, bool) {
	if reserved[name] {
		return "__" + name + "__", true
	}
	out := strings.NewReplacer("__", "__underscores__", ".", "__dot__", "-", "__dash__", "/", "__slash__").Replace(name)
	return out, identifier.MatchString(out)
}

// unboundedText is the type of kind and apiVersion in rules.
var unboundedText = jsontree.Obj("type", "string")

// field is a property that rules can select.
type field struct {
	name   string // in rules
	plain  string // in objects
	schema *jsontree.Node
}

// fields returns the fields of an object that rules can select.
func fields(s *jsontree.Node, root bool) (out []field) {
	root = root || s.Get("x-kubernetes-embedded-resource").IsTrue()
	for _, p := range s.Get("properties").GetMembers() {
		if root && (p.Key == "apiVersion" || p.Key == "kind" || p.Key == "metadata") {
			continue
		}
		if name, ok := escape(p.Key); ok && visible(p.Value) != invisible {
			out = append(out, field{name, p.Key, p.Value})
		}
	}
	if root {
		text := jsontree.Obj("type", "string", "maxLength", 253)
		out = append(out, field{"kind", "kind", unboundedText}, field{"apiVersion", "apiVersion", unboundedText},
			field{"metadata", "metadata", jsontree.Obj("type", "object", "properties", jsontree.Obj("name", text, "generateName", text))})
	}
	return out
}

// undeclared returns the properties of an object that rules cannot select, with the names that they would have.
func undeclared(s *jsontree.Node) (names []string) {
	for _, p := range s.Get("properties").GetMembers() {
		if name, ok := escape(p.Key); ok && visible(p.Value) == invisible {
			names = append(names, name)
		}
	}
	return names
}
