package gateway

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/grpc-ecosystem/grpc-gateway/v2/utilities"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// queryParser is the parser of query parameters. It rejects what grpc-gateway's parser ignores: parameters that the message does not have, that
// the path or the body gives, and parameters given twice.
type queryParser struct{}

var _ runtime.QueryParameterParser = queryParser{}

// Parse implements runtime.QueryParameterParser.
func (queryParser) Parse(m proto.Message, values url.Values, taken *utilities.DoubleArray) error {
	return parseQuery(m, values, taken)
}

// parseQuery reads parameters into the scalar fields of m, also of messages in it (options.view=…). own are the names of further
// parameters, in their order.
func parseQuery(m proto.Message, values url.Values, taken *utilities.DoubleArray, own ...string) error {
	parameters := parametersOf(m.ProtoReflect().Descriptor(), "", taken)
	names := map[protoreflect.FullName]string{}
	fields := url.Values{}
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
			if _, want := parseScalar(f.field, given[0], f.field.Kind() == protoreflect.EnumKind && !isNumber(given[0])); want != "" {
				return fmt.Errorf("the query parameter %q is %q: %s is expected", name, given[0], want)
			}
		}
		names[f.field.FullName()], fields[name] = name, given
	}
	return (&runtime.DefaultQueryParser{}).Parse(m, fields, taken)
}

// parameter is a field that a query parameter may set.
type parameter struct {
	json, proto string // both spellings of its path
	field       protoreflect.FieldDescriptor
}

func (p parameter) is(name string) bool { return name == p.json || name == p.proto }

// parametersOf returns the parameters of a message, except those that are taken.
func parametersOf(md protoreflect.MessageDescriptor, parent string, taken *utilities.DoubleArray) (all []parameter) {
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		p := parameter{json: parent + fd.JSONName(), proto: parent + fd.TextName(), field: fd}
		switch sub := fd.Message(); {
		case fd.IsList() || fd.IsMap() || parent == "" && taken.HasCommonPrefix([]string{string(fd.Name())}):
		case sub == nil || sub.ParentFile().Package() != ownPackage:
			all = append(all, p)
		case sub.FullName() != documentName:
			all = append(all, parametersOf(sub, p.json+".", taken)...)
		}
	}
	return all
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

// streamQuery reads the query of a stream into its first message. bare says that lines are objects, crds how many lines or documents at the
// beginning are CRDs.
func streamQuery(first proto.Message, query string) (bare bool, crds int, err error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return false, 0, invalid("%v", err)
	}
	if err = parseQuery(first, values, utilities.NewDoubleArray([][]string{{"catalog"}}), "bare", "crds"); err != nil {
		return false, 0, invalid("%v", err)
	}
	const wrong = "the query parameter %q is %q: %s is expected"
	given := values.Get("bare")
	if bare = given == "true"; values.Has("bare") && !bare && given != "false" {
		return false, 0, invalid(wrong, "bare", given, "true or false")
	}
	given = values.Get("crds")
	if crds, err = strconv.Atoi(given); values.Has("crds") && (err != nil || crds < 0) {
		return false, 0, invalid(wrong, "crds", given, "how many lines or documents at the beginning are CRDs")
	}
	return bare, crds, nil
}
