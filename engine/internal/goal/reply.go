package goal

import (
	"regexp"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/sample"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Reply is the result of a write with a subject.
type Reply struct {
	Allowed bool
	Faults  []sample.Fault
	// Pointers are the schema pointers of the violations, in the order of Faults. They are empty for faults that are not
	// violations.
	Pointers []string
	Unknown  []string // the texts of errors of strict decoding
	object   []byte   // what an allowed write stores, in the version of the request
}

// IsAt reports whether one of the violations has a schema pointer, or one below it.
func (r *Reply) IsAt(pointer string) bool {
	return slices.ContainsFunc(r.Pointers, func(p string) bool {
		rest, ok := strings.CutPrefix(p, pointer)
		return ok && (rest == "" || rest[0] == '/')
	})
}

// isAround reports whether one of the violations is one of a logical operator around a schema pointer.
func (r *Reply) isAround(pointer string) bool {
	return slices.ContainsFunc(r.Pointers, func(p string) bool {
		operator := p[strings.LastIndex(p, "/")+1:]
		return strings.HasPrefix(pointer, p+"/") && slices.Contains([]string{"allOf", "anyOf", "oneOf", "not"}, operator)
	})
}

// HasUnknownAt reports whether an unknown field is at a schema pointer or below it.
func (r *Reply) HasUnknownAt(pointer string) bool {
	if len(r.Unknown) == 0 || pointer == "" {
		return len(r.Unknown) > 0
	}
	path := ""
	tokens := strings.Split(pointer, "/")
	for i := 1; i < len(tokens); i++ {
		switch tokens[i] {
		case "properties":
			if i++; i < len(tokens) {
				path += `\.` + regexp.QuoteMeta(tree.UnescapePointer(tokens[i]))
			}
		case "items":
			path += `\[\d+\]`
		case "additionalProperties":
			path += `[.\[].+`
		}
	}
	field := regexp.MustCompile(`^unknown field "` + strings.TrimPrefix(path, `\.`) + `["\[.]`)
	return slices.ContainsFunc(r.Unknown, field.MatchString)
}
