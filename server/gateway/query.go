package gateway

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"unicode/utf8"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/grpc-ecosystem/grpc-gateway/v2/utilities"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// strictQuery reads query parameters into a message and refuses what grpc-gateway's own parser lets pass: parameters that the
// message does not have, that the path or the body gives already, and parameters given twice.
type strictQuery struct{ runtime.DefaultQueryParser }

// Parse is called for requests whose message is not their body.
func (q *strictQuery) Parse(m proto.Message, values url.Values, taken *utilities.DoubleArray) error {
	fields := m.ProtoReflect().Descriptor().Fields()
	seen := map[protoreflect.FieldNumber]string{}
	for name, given := range values {
		fd := fields.ByJSONName(name)
		if fd == nil {
			fd = fields.ByTextName(name)
		}
		switch {
		case fd == nil || fd.IsList() || fd.IsMap() || fd.Kind() == protoreflect.MessageKind || taken.HasCommonPrefix([]string{string(fd.Name())}):
			return fmt.Errorf("unknown query parameter %q: this call takes %s", name, parameters(fields, taken))
		case len(given) > 1:
			return fmt.Errorf("the query parameter %q is given %d times", name, len(given))
		case seen[fd.Number()] != "":
			return fmt.Errorf("the query parameter %q is given twice, also as %q", max(name, seen[fd.Number()]), min(name, seen[fd.Number()]))
		case !utf8.ValidString(given[0]):
			return fmt.Errorf("the query parameter %q is not UTF-8", name)
		}
		seen[fd.Number()] = name
	}
	err := q.DefaultQueryParser.Parse(m, values, taken)
	if err == nil {
		return nil
	}
	return cause(planOf(m.ProtoReflect().Descriptor()), values, err)
}

// cause says which parameter err is about and what it takes; grpc-gateway says it in terms of protobuf and of Go.
func cause(p *plan, values url.Values, err error) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		f, text := p.byName[name], values.Get(name)
		if f == nil {
			continue
		}
		if _, want := parseScalar(f, text, f.kind == scalarEnum); want != "" && f.kind != scalarString {
			return fmt.Errorf("the query parameter %q is %q: %s is expected", name, text, want)
		}
	}
	return err
}

// parameters lists those that a call takes.
func parameters(fields protoreflect.FieldDescriptors, taken *utilities.DoubleArray) string {
	list := ""
	for i := range fields.Len() {
		fd := fields.Get(i)
		if fd.IsList() || fd.IsMap() || fd.Kind() == protoreflect.MessageKind || taken.HasCommonPrefix([]string{string(fd.Name())}) {
			continue
		}
		if list != "" {
			list += ", "
		}
		list += fd.JSONName()
	}
	if list == "" {
		return "none"
	}
	return list
}
