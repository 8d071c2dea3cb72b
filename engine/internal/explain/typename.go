package explain

import "strings"

// typeOf returns the type name of a schema: string, Object, []Object, map[string]string, or the name of a definition. A
// single allOf clause overrides the type of its schema.
func (p *printer) typeOf(s object) string {
	if one := member(s, "items"); one != nil {
		return "[]" + p.typeOf(one)
	}
	if one := member(s, "additionalProperties"); one != nil {
		return "map[string]" + p.typeOf(one)
	}
	if clauses := list(s, "allOf"); len(clauses) == 1 && member(s, "properties") == nil {
		if clause, _ := clauses[0].(object); clause != nil {
			return p.typeOf(clause) // for an empty clause kubectl fails, and this returns Object
		}
	}
	if ref := text(s, "$ref"); ref != "" {
		if typ := text(p.target(ref), "type"); typ != "" && typ != "object" {
			return typ
		}
		ref = ref[strings.LastIndexByte(ref, '/')+1:]
		if name := ref[strings.LastIndexByte(ref, '.')+1:]; name != "" {
			return name
		}
		return "Object"
	}
	if typ := text(s, "type"); typ != "" && typ != "object" {
		return typ
	}
	return "Object"
}
