package codec

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// OwnPackage is the package whose messages the codec reads and writes itself. protojson does so for other packages.
const OwnPackage = protoreflect.FullName("crdeval.v1")

// messageType is what the codec knows about one message type. The codec reads and writes the fields of the generated
// structs, because protoreflect takes several times as long.
type messageType struct {
	goType reflect.Type // the generated struct
	name   string       // the short name, for errors
	fields []field
	byName map[string]*field // by JSON name and by proto name
}

// field is one field of a messageType.
type field struct {
	protoreflect.FieldDescriptor
	name string // the JSON name
	key  string // the JSON name quoted, with the colon
	list bool
	// omitted is set for fields that are left out if they are absent. Others are written with their default.
	omitted bool
	class   class
	sub     *messageType // of class message
	index   int          // of the Go field
	wrapper reflect.Type // of a member of a oneof: the struct around the value, which the Go field refers to
}

// in returns the value of the field in a struct, and whether it is present. Empty scalars and lists are absent.
func (f *field) in(m reflect.Value) (v reflect.Value, present bool) {
	v = m.Field(f.index)
	switch {
	case v.IsZero():
		return v, false
	case f.wrapper != nil:
		member := v.Elem().Elem()
		return member.Field(0), member.Type() == f.wrapper
	case f.class == scalar && v.Kind() == reflect.Pointer:
		return v.Elem(), true
	}
	return v, true
}

// class says how a value is read and written.
type class uint8

const (
	scalar  class = iota
	inline        // a Document: the raw JSON value
	message       // of our own package
	foreign       // a message of another package
)

// DocumentName is the name of the message Document, which is a JSON value.
var DocumentName = (*crdevalv1.Document)(nil).ProtoReflect().Descriptor().FullName()

var messageTypes sync.Map // reflect.Type -> *messageType

// typeOf returns the messageType of a generated struct of our own package.
func typeOf(goType reflect.Type) *messageType {
	if t, ok := messageTypes.Load(goType); ok {
		return t.(*messageType)
	}
	t, _ := messageTypes.LoadOrStore(goType, newMessageType(goType, map[reflect.Type]*messageType{}))
	return t.(*messageType)
}

// newMessageType builds the messageType of a struct. made has those being built: messages may contain themselves.
func newMessageType(goType reflect.Type, made map[reflect.Type]*messageType) *messageType {
	if t := made[goType]; t != nil {
		return t
	}
	empty := reflect.New(goType)
	m := empty.Interface().(proto.Message).ProtoReflect()
	md := m.Descriptor()
	t := &messageType{goType: goType, name: string(md.Name()), fields: make([]field, md.Fields().Len()), byName: map[string]*field{}}
	made[goType] = t
	if len(t.fields) > 64 {
		panic("codec: the codec supports at most 64 fields, and " + t.name + " has more")
	}
	goFields := map[string]int{} // by the number of the field, or the name of the oneof
	for i := range goType.NumField() {
		if parts := strings.Split(goType.Field(i).Tag.Get("protobuf"), ","); len(parts) > 1 {
			goFields[parts[1]] = i
		}
		goFields[goType.Field(i).Tag.Get("protobuf_oneof")] = i
	}
	for i := range t.fields {
		fd := md.Fields().Get(i)
		f := &t.fields[i]
		*f = field{FieldDescriptor: fd, name: fd.JSONName(), key: `"` + fd.JSONName() + `":`, list: fd.IsList()}
		f.index = goFields[strconv.Itoa(int(fd.Number()))]
		if one := fd.ContainingOneof(); one != nil && !one.IsSynthetic() {
			f.index = goFields[string(one.Name())]
			m.Set(fd, m.NewField(fd))
			f.wrapper = empty.Elem().Field(f.index).Elem().Type().Elem()
		}
		switch sub := fd.Message(); {
		case fd.IsMap() || fd.Kind() == protoreflect.BytesKind:
			panic("codec: the codec supports neither maps nor bytes, which " + string(fd.FullName()) + " is")
		case sub == nil:
		case sub.FullName() == DocumentName:
			f.class = inline
		case sub.ParentFile().Package() == OwnPackage:
			of := goType.Field(f.index).Type
			if f.wrapper != nil {
				of = f.wrapper.Field(0).Type
			} else if f.list {
				of = of.Elem()
			}
			f.class, f.sub = message, newMessageType(of.Elem(), made)
		default:
			f.class = foreign
		}
		f.omitted = f.class != scalar || fd.HasPresence()
		t.byName[fd.JSONName()] = f
		t.byName[fd.TextName()] = f
	}
	return t
}

// fieldNames lists the fields, for errors.
func (t *messageType) fieldNames() string {
	if len(t.fields) == 0 {
		return t.name + " has no fields"
	}
	var names []string
	for i := range t.fields {
		names = append(names, t.fields[i].name)
	}
	slices.Sort(names)
	return t.name + " has " + strings.Join(names, ", ")
}
