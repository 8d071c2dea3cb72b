package gateway

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/grpc-ecosystem/grpc-gateway/v2/utilities"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// streamSettings are what the query says that is not for the first message.
type streamSettings struct {
	bare bool // lines are the objects themselves
	crds int  // how many lines or documents at the beginning are CRDs
}

// ownParameters read the parameters of streamSettings. The error says what is expected.
var ownParameters = map[string]func(*streamSettings, string) (want string){
	"bare": func(s *streamSettings, given string) string {
		if s.bare = given == "true"; !s.bare && given != "false" {
			return "true or false"
		}
		return ""
	},
	"crds": func(s *streamSettings, given string) string {
		n, err := strconv.Atoi(given)
		if s.crds = n; err != nil || n < 0 {
			return "how many lines or documents at the beginning are CRDs"
		}
		return ""
	},
}

// streamParameters reads the query into the first message of a stream: stage=ADMISSION_STAGE_DECODE, options.view=OBJECT_VIEW_NONE. What no parameter can be is refused by name.
func streamParameters(first proto.Message, query string) (own streamSettings, err error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return own, refusedParameter("%v", err)
	}
	fields := url.Values{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		given, read := values[name], ownParameters[name]
		switch {
		case len(given) > 1:
			return own, refusedParameter("the query parameter %q is given %d times", name, len(given))
		case read != nil:
			if want := read(&own, given[0]); want != "" {
				return own, refusedParameter("the query parameter %q is %q: %s is expected", name, given[0], want)
			}
		case !isStreamParameter(first.ProtoReflect().Descriptor(), name):
			taken := append(streamFields(first.ProtoReflect().Descriptor(), ""), slices.Sorted(maps.Keys(ownParameters))...)
			return own, refusedParameter("unknown query parameter %q: this call takes %s", name, strings.Join(taken, ", "))
		default:
			fields[name] = given
		}
	}
	if err := (&runtime.DefaultQueryParser{}).Parse(first, fields, utilities.NewDoubleArray(nil)); err != nil {
		return own, refusedParameter("%v", err)
	}
	return own, nil
}

func refusedParameter(format string, args ...any) error {
	return failure(codes.InvalidArgument, crdevalv1.ErrorReason_ERROR_REASON_INVALID_ARGUMENT, fmt.Sprintf(format, args...), nil)
}

// isStreamParameter says whether a name, in either spelling, is that of a field that a parameter may set.
func isStreamParameter(md protoreflect.MessageDescriptor, name string) bool {
	first, rest, nested := strings.Cut(name, ".")
	fd := md.Fields().ByJSONName(first)
	if fd == nil {
		fd = md.Fields().ByTextName(first)
	}
	switch {
	case fd == nil || fd.IsList() || fd.IsMap() || fd.Name() == "catalog":
		return false
	case fd.Kind() != protoreflect.MessageKind:
		return !nested
	case fd.Message().ParentFile().Package() != ownPackage: // a duration, a time
		return !nested
	}
	return nested && isStreamParameter(fd.Message(), rest)
}

// streamFields lists what isStreamParameter lets pass.
func streamFields(md protoreflect.MessageDescriptor, before string) (all []string) {
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		switch name := before + fd.JSONName(); {
		case !isStreamParameter(md, fd.JSONName()) && (fd.IsList() || fd.IsMap() || fd.Kind() != protoreflect.MessageKind):
		case isStreamParameter(md, fd.JSONName()):
			all = append(all, name)
		default:
			all = append(all, streamFields(fd.Message(), name+".")...)
		}
	}
	return all
}
