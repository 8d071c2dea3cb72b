package gateway

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/crdeval/crdeval/server/gateway/codec"
)

// parameter is a field that a query parameter may set.
type parameter struct {
	json, proto string // both spellings of its path
	field       protoreflect.FieldDescriptor
}

func (p parameter) is(name string) bool { return name == p.json || name == p.proto }

// parametersOf returns the scalar fields of a message, also of messages in it (options.view=…), that a path does not give.
func parametersOf(md protoreflect.MessageDescriptor, template string) []parameter {
	return appendParameters(nil, md, parameter{}, template)
}

func appendParameters(all []parameter, md protoreflect.MessageDescriptor, parent parameter, template string) []parameter {
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		p := parameter{json: parent.json + fd.JSONName(), proto: parent.proto + fd.TextName(), field: fd}
		switch sub := fd.Message(); {
		case fd.IsList() || fd.IsMap() || strings.Contains(template, "{"+p.proto+"}"):
		case sub == nil || sub.ParentFile().Package() != codec.OwnPackage:
			all = append(all, p)
		case sub.FullName() != codec.DocumentName:
			all = appendParameters(all, sub, parameter{json: p.json + ".", proto: p.proto + "."}, template)
		}
	}
	return all
}

// checkQuery rejects what grpc-gateway ignores: parameters that the message does not have or the path gives, and
// parameters given twice. own are the names of further parameters, in their order.
func checkQuery(parameters []parameter, values url.Values, own ...string) error {
	names := map[protoreflect.FullName]string{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		i := slices.IndexFunc(parameters, func(p parameter) bool { return p.is(name) })
		given := values[name]
		switch {
		case i < 0 && !slices.Contains(own, name):
			return fmt.Errorf("unknown query parameter %q: this call takes %s", name, parameterNames(parameters, own))
		case len(given) > 1:
			return fmt.Errorf("the query parameter %q is given %d times", name, len(given))
		case !utf8.ValidString(given[0]):
			return fmt.Errorf("the query parameter %q is not UTF-8", name)
		case i < 0:
			continue
		}
		f := parameters[i]
		if other := names[f.field.FullName()]; other != "" {
			return fmt.Errorf("the query parameter %q is given twice, also as %q", name, other)
		}
		if f.field.Message() == nil {
			if want := codec.ExpectedText(f.field, given[0]); want != "" {
				return fmt.Errorf("the query parameter %q is %q: %s is expected", name, given[0], want)
			}
		}
		names[f.field.FullName()] = name
	}
	return nil
}

func parameterNames(parameters []parameter, own []string) string {
	var names []string
	for _, p := range parameters {
		names = append(names, p.json)
	}
	if names = append(names, own...); len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
