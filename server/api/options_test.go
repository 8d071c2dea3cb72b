package api_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// TestUnknownOptions checks that each call with an EvaluationContext rejects unknown values of all enums of its options.
func TestUnknownOptions(t *testing.T) {
	w := start(t, nil).withCronTab()
	var enums []protoreflect.FieldDescriptor
	fields := (&crdevalv1.EvaluationOptions{}).ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		if fields.Get(i).Kind() == protoreflect.EnumKind {
			enums = append(enums, fields.Get(i))
		}
	}
	services := map[string]int{}
	protoregistry.GlobalFiles.RangeFilesByPackage("crdeval.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				method := service.Methods().Get(j)
				if method.Input().Fields().ByName("context") == nil {
					continue
				}
				services[string(service.Name())]++
				for _, enum := range enums {
					w.rejects(t, method, enum)
				}
			}
		}
		return true
	})
	if len(enums) != 3 || services["EvaluationService"] != 8 || services["ApiServerService"] != 4 || services["PresentationService"] != 4 || len(services) != 3 {
		t.Errorf("%d enums, calls with a context: %v", len(enums), services)
	}
}

// rejects checks that a call accepts a valid request, and rejects it with an unknown value of an enum of its options.
func (w *wire) rejects(t *testing.T, method protoreflect.MethodDescriptor, enum protoreflect.FieldDescriptor) {
	t.Helper()
	for value, want := range map[protoreflect.EnumNumber]codes.Code{0: codes.OK, 99: codes.InvalidArgument, -1: codes.InvalidArgument} {
		options := &crdevalv1.EvaluationOptions{}
		options.ProtoReflect().Set(enum, protoreflect.ValueOfEnum(value))
		err := w.invoke(t, method, options)
		text := fmt.Sprintf("context.options.%s: the enum has no value %d", enum.Name(), value)
		if st := status.Convert(err); st.Code() != want || want != codes.OK && st.Message() != text {
			t.Errorf("%s with %s=%d: %v", method.FullName(), enum.Name(), value, err)
		}
	}
}

// invoke calls a method with these options and a valid object. Of a stream, it sends one message.
func (w *wire) invoke(t *testing.T, method protoreflect.MethodDescriptor, options *crdevalv1.EvaluationOptions) error {
	t.Helper()
	request, response := newMessage(t, method.Input()), newMessage(t, method.Output())
	object := jsonDocument(cronTab(`{}`))
	values := map[protoreflect.Name]protoreflect.Value{
		"context":        protoreflect.ValueOf((&crdevalv1.EvaluationContext{Catalog: "default", Options: options}).ProtoReflect()),
		"crd":            protoreflect.ValueOfString("crontabs.stable.example.com"),
		"target_version": protoreflect.ValueOfString("v1"),
		"object":         protoreflect.ValueOf(object.ProtoReflect()),
		"scale":          protoreflect.ValueOf(jsonDocument(`{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"x","namespace":"default"}}`).ProtoReflect()),
	}
	for name, value := range values {
		if field := method.Input().Fields().ByName(name); field != nil {
			request.ProtoReflect().Set(field, value)
		}
	}
	path := fmt.Sprintf("/%s/%s", method.Parent().FullName(), method.Name())
	if !method.IsStreamingClient() {
		return w.conn.Invoke(t.Context(), path, request, response)
	}
	stream, err := w.conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, path)
	if err == nil {
		err = stream.SendMsg(request)
	}
	if err == nil {
		err = stream.CloseSend()
	}
	if err != nil {
		return err
	}
	if err = stream.RecvMsg(response); errors.Is(err, io.EOF) {
		return nil // a message without items has no results
	}
	return err
}

// newMessage returns an empty message of a type.
func newMessage(t *testing.T, d protoreflect.MessageDescriptor) proto.Message {
	t.Helper()
	m, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		t.Fatal(err)
	}
	return m.New().Interface()
}
