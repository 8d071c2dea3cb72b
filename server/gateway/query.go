package gateway

import (
	"fmt"
	"net/url"
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
		case !utf8.ValidString(given[0]):
			return fmt.Errorf("the query parameter %q is not UTF-8", name)
		}
	}
	return q.DefaultQueryParser.Parse(m, values, taken)
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
