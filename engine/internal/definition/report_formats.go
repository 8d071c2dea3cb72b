package definition

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/crdeval/crdeval/engine/internal/format"
	"github.com/crdeval/crdeval/engine/internal/schema"
)

// lowestMinor returns the oldest Kubernetes minor that knows all supported formats of a schema, and a text that names a
// format which older minors lack.
func lowestMinor(s *schema.Props, f *schema.Facts) (lowest int, because string) {
	lowest = format.OldestMinor
	for known := range f.Formats {
		lowest = max(lowest, introduced(known))
	}
	if lowest == format.OldestMinor {
		return lowest, ""
	}
	path, name := youngest(s, lowest, nil)
	return lowest, fmt.Sprintf("%s: the format %s came with Kubernetes 1.%d", pointer(path), name, lowest)
}

// introduced returns the oldest minor that knows a format. It returns format.OldestMinor for an unknown format, because
// all minors ignore it.
func introduced(f schema.Format) int {
	lowest, types := format.OldestMinor, []string{f.Type}
	if !format.Supported(f.Name, types, format.LatestMinor) {
		return lowest
	}
	for !format.Supported(f.Name, types, lowest) {
		lowest++
	}
	return lowest
}

// youngest returns the path to the first schema whose format was introduced in the minor, and the format. The format
// can be "". It visits only keywords that an accepted schema may have.
func youngest(s *schema.Props, minor int, path []string) ([]string, string) {
	if s == nil {
		return nil, ""
	}
	if s.Format != "" && introduced(schema.Format{Name: s.Format, Type: s.Type}) == minor {
		return path, s.Format
	}
	enter := func(p *schema.Props, step ...string) ([]string, string) {
		return youngest(p, minor, slices.Concat(path, step))
	}
	for _, name := range schema.Names(s.Properties) {
		p := s.Properties[name]
		if at, name := enter(&p, "properties", name); name != "" {
			return at, name
		}
	}
	if at, name := enter(schema.Items(s), "items"); name != "" {
		return at, name
	}
	if at, name := enter(schema.ValueSchema(s), "additionalProperties"); name != "" {
		return at, name
	}
	for _, operator := range []struct {
		keyword string
		list    []schema.Props
	}{{"allOf", s.AllOf}, {"anyOf", s.AnyOf}, {"oneOf", s.OneOf}} {
		for i := range operator.list {
			if at, name := enter(&operator.list[i], operator.keyword, strconv.Itoa(i)); name != "" {
				return at, name
			}
		}
	}
	return enter(s.Not, "not")
}
