package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/crdeval/crdeval/internal/value"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// decode gives the body to v. A YAML body that is a document as a whole stays YAML; any other is turned into JSON first.
func (b *body) decode(v any) error {
	if r, ok := v.(*crdevalv1.RegisterCrdsRequest); ok {
		if taken, err := b.takeManifests(r); taken {
			return err
		}
	}
	if !b.yaml {
		return unmarshal(b.data, v, b.lists)
	}
	if len(bytes.TrimSpace(b.data)) == 0 {
		return errEmptyBody
	}
	if v, ok := v.(**crdevalv1.Document); ok {
		*v = &crdevalv1.Document{Content: &crdevalv1.Document_Yaml{Yaml: b.data}}
		return nil
	}
	if err := b.boundYAML(); err != nil {
		return err
	}
	converted, source, err := value.YAMLToJSON(b.data, b.limits)
	if fault := faultOf(source, err); fault != nil {
		request, many := v.(batch)
		if _, limit := errors.AsType[*value.LimitError](err); limit || !many {
			return fault
		}
		return b.decodeAround(request, v, fault)
	}
	b.source = source
	return unmarshal(converted, v, b.lists)
}

// contradicted is the error of a message that has another value for a field than the path.
func (b *body) contradicted(v any) error {
	m, ok := v.(proto.Message)
	if !ok || b.route == nil {
		return nil
	}
	r := m.ProtoReflect()
	for i, name := range b.route.params {
		fd := r.Descriptor().Fields().ByName(protoreflect.Name(name))
		if fd == nil || !r.Has(fd) || fd.Kind() != protoreflect.StringKind {
			continue
		}
		segments, _ := split(b.url)
		if given, other := segments[i], r.Get(fd).String(); other != given {
			return failure(codes.InvalidArgument, crdevalv1.ErrorReason_ERROR_REASON_INVALID_ARGUMENT,
				fmt.Sprintf("%s is %q in the path and %q in the body: leave it out of the body", fd.JSONName(), given, other), map[string]string{"field": name})
		}
	}
	return nil
}

// batch is a request with items.
type batch interface {
	GetItems() []*crdevalv1.EvaluationItem
}

// decodeAround is decode for a body that cannot be read as a whole, or has keys twice, because of objects in it: these are their items' matter, and go
// on as the YAML that they are. Whatever else is wrong with the body is the fault.
func (b *body) decodeAround(request batch, v any, fault error) error {
	rest, apart, err := b.setApart()
	if err != nil {
		return err
	}
	if len(apart) == 0 {
		return fault
	}
	converted, source, err := value.YAMLToJSON(rest, b.limits)
	if err := faultOf(source, err); err != nil {
		return err
	}
	b.source = source
	if err := unmarshal(converted, v, b.lists); err != nil {
		return err
	}
	b.apart = make(map[int]int, len(apart))
	padding := 0
	for _, o := range apart {
		if o.item >= len(request.GetItems()) {
			return fault
		}
		if padding += o.padding(); padding > len(b.data)+b.limits.MaxBytes/2 {
			return fault
		}
		request.GetItems()[o.item].Object = &crdevalv1.Document{Content: &crdevalv1.Document_Yaml{Yaml: o.document()}}
		b.apart[o.item] = o.offset - o.padding()
	}
	return nil
}

// faultOf is what is wrong with a YAML body as a whole, from what YAMLToJSON returned, in words for who wrote the body.
func faultOf(source *value.YAMLSource, err error) error {
	if syntax, ok := errors.AsType[*value.SyntaxError](err); ok && strings.Contains(syntax.Text, "unsupported map key of type: %!s(<nil>)") {
		return &value.SyntaxError{Offset: -1, Line: syntax.Line, Column: syntax.Column, Text: "yaml: a key is null: keys are texts, so quote it", Cause: err}
	}
	if err != nil {
		return err
	}
	if strict := source.StrictError(); strict != nil {
		// The JSON no longer has the duplicates, so nobody behind could report them as the request asks for.
		return fmt.Errorf("the body gives keys twice: %s", strings.ReplaceAll(strings.TrimPrefix(strict.Error(), "yaml: unmarshal errors:\n  "), "\n  ", "; "))
	}
	return nil
}
