package rule

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
)

// anyType is the type of data that no schema describes.
var anyType = &closure.Type{Nullable: true, Preserve: true}

// isAny reports whether a field of the type takes any data.
func isAny(t *closure.Type) bool { return t.Kind == closure.Opaque && t.Name == "" }

// memberType returns the type of a member of a field, nil if the field cannot have it.
func memberType(t *closure.Type, name string) *closure.Type {
	if m := t.Member(name); m != nil {
		return m.Type
	}
	switch {
	case t.Elem != nil:
		return t.Elem
	case t.Preserve:
		return anyType
	}
	return nil
}

// elemType returns the type of the items of a field.
func elemType(t *closure.Type) *closure.Type {
	if t.Elem == nil {
		return anyType
	}
	return t.Elem
}

// typeText describes the type of a field.
func typeText(t *closure.Type) string {
	text := map[string]string{
		"boolean": "a boolean", "integer": "an integer", "number": "a number", "string": "a string", "array": "a list",
		"object": "an object",
	}[t.Name]
	switch t.Kind {
	case closure.Opaque:
		if isAny(t) {
			text = "data that JSON has"
		}
	case closure.Dyn:
		text = "an integer or a string"
	case closure.Bytes, closure.Date, closure.DateTime, closure.Duration:
		text += " of the format " + t.Format
	}
	return text
}

// fieldStep returns a step of a path in errors, to a field or a key.
func fieldStep(name string) string {
	if name == "" || strings.ContainsAny(name, ".[]'") {
		return "['" + name + "']"
	}
	return "." + name
}

// resultCheck compares the type of an expression with that of the field that it sets.
type resultCheck struct {
	value *celcheck.Value
	ast   *ast.AST
}

// checkResult returns an error if the result of an expression cannot be a value of a field. Results of type dyn are
// checked at run time.
func checkResult(v *celcheck.Value, to *closure.Type) error {
	c := &resultCheck{v, v.Ast.NativeRep()}
	return c.check(c.ast.Expr(), "", to, true)
}

func isOptional(t *types.Type) bool {
	return t.Kind() == types.OpaqueKind && t.TypeName() == "optional_type"
}

// check checks an expression, and the parts of literals and conditionals one by one. at is the path in the result.
func (c *resultCheck) check(e ast.Expr, at string, to *closure.Type, optional bool) error {
	switch e.Kind() {
	case ast.CallKind:
		call := e.AsCall()
		switch args := call.Args(); {
		case call.FunctionName() == operators.Conditional:
			return cmp.Or(c.check(args[1], at, to, optional), c.check(args[2], at, to, optional))
		case call.FunctionName() == "dyn" && len(args) == 1:
			return c.check(args[0], at, to, optional)
		}
	case ast.ListKind:
		if to.Name == "array" {
			list := e.AsList()
			for i, x := range list.Elements() {
				isOptional := slices.Contains(list.OptionalIndices(), int32(i))
				if err := c.check(x, fmt.Sprintf("%s[%d]", at, i), elemType(to), isOptional); err != nil {
					return err
				}
			}
			return nil
		}
	case ast.MapKind:
		if to.Name == "object" {
			return c.entries(e, at, to)
		}
	}
	t := c.ast.GetType(e.ID())
	if optional && isOptional(t) {
		t = t.Parameters()[0]
	}
	return c.mismatch(e, at, t, to)
}

// entries checks the literal of a map.
func (c *resultCheck) entries(e ast.Expr, at string, to *closure.Type) error {
	for _, x := range e.AsMap().Entries() {
		entry := x.AsMapEntry()
		if t := c.ast.GetType(entry.Key().ID()); t.Kind() != types.StringKind && t.Kind() != types.DynKind {
			return fmt.Errorf("%s: a key has the type %s, and fields have strings", position(c.ast, entry.Key()), t)
		}
		name, constant := constantKey(entry.Key())
		if !constant {
			continue
		}
		of := memberType(to, name)
		if of == nil {
			return fmt.Errorf("%s: the field has no field %s%s", position(c.ast, entry.Key()), at, fieldStep(name))
		}
		if err := c.check(entry.Value(), at+fieldStep(name), of, entry.IsOptional()); err != nil {
			return err
		}
	}
	return nil
}

// mismatch returns an error if values of a type cannot be values of the field.
func (c *resultCheck) mismatch(e ast.Expr, at string, from *types.Type, to *closure.Type) error {
	at, found, field := c.compare(at, from, to)
	if found == "" {
		return nil
	}
	what := "the expression"
	if at != "" {
		what = "the value at " + at
	}
	if field == nil {
		return fmt.Errorf("%s: %s sets a field that does not exist", position(c.ast, e), what)
	}
	err := fmt.Sprintf("%s: %s has the type %s, and the field needs %s", position(c.ast, e), what, found, typeText(field))
	if convert := conversions[field.Name]; convert != "" && slices.Contains(convertible, found) {
		err += ": convert it with " + convert
	}
	return errors.New(err)
}

// conversions convert a value of a convertible type.
var (
	conversions = map[string]string{"string": "string()", "integer": "int()", "number": "double()"}
	convertible = []string{"string", "int", "uint", "double"}
)

// compare returns the first difference between types: where it is, the type there, and that of the field, which is nil
// for a field that does not exist. found is "" without one.
func (c *resultCheck) compare(at string, from *types.Type, to *closure.Type) (path, found string, field *closure.Type) {
	kind := from.Kind()
	if isAny(to) && (kind == types.ListKind || kind == types.MapKind || kind == types.StructKind) {
		return "", "", nil
	}
	switch kind {
	case types.DynKind, types.AnyKind, types.TypeParamKind:
		return "", "", nil
	case types.NullTypeKind:
		if to.Nullable || isAny(to) {
			return "", "", nil
		}
	case types.ListKind:
		if to.Name == "array" {
			return c.compare(at+"[*]", from.Parameters()[0], elemType(to))
		}
	case types.MapKind:
		key, values := from.Parameters()[0].Kind(), from.Parameters()[1]
		if to.Name == "object" && (key == types.StringKind || key == types.DynKind) {
			if of := memberType(to, ""); of != nil {
				return c.compare(at+"[*]", values, of)
			}
			if slices.ContainsFunc(to.Members, func(m closure.Member) bool {
				_, found, _ := c.compare(at, values, m.Type)
				return found == ""
			}) {
				return "", "", nil
			}
		}
	case types.StructKind:
		if to.Name != "object" {
			return at, "object", to
		}
		fields := c.value.Fields(from)
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			of := memberType(to, name)
			if of == nil {
				return at + fieldStep(name), "object", nil
			}
			if path, found, field = c.compare(at+fieldStep(name), fields[name], of); found != "" {
				return path, found, field
			}
		}
		return "", "", nil
	default:
		if isAny(to) && slices.Contains(plainKinds, kind) || slices.Contains(assignable[to.Kind], kind) {
			return "", "", nil
		}
	}
	return at, objectNames.ReplaceAllString(from.String(), "object"), to
}

// objectNames are the names of the types of objects.
var objectNames = regexp.MustCompile(`selfType0[^,)]*`)

// assignable are the types of CEL with a value for a field, by the kind of the field, for scalars.
var assignable = map[closure.Kind][]types.Kind{
	closure.Bool: {types.BoolKind}, closure.Int: {types.IntKind}, closure.Double: {types.DoubleKind, types.IntKind},
	closure.String: {types.StringKind}, closure.Dyn: {types.IntKind, types.StringKind},
	closure.Bytes: {types.BytesKind, types.StringKind}, closure.Duration: {types.DurationKind, types.StringKind},
	closure.Date: {types.TimestampKind, types.StringKind}, closure.DateTime: {types.TimestampKind, types.StringKind},
}

// plainKinds are the scalars that any data may have.
var plainKinds = []types.Kind{types.BoolKind, types.IntKind, types.DoubleKind, types.StringKind}
