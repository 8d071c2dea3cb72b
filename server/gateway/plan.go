package gateway

import (
	"sort"
	"strings"
	"sync"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// ownPackage is the package whose messages the walk reads and writes itself; those of others go to protojson.
const ownPackage = protoreflect.FullName("crdeval.v1")

// plan is what the walk knows about one message type, worked out once.
type plan struct {
	name   string // the message's short name, for errors
	fields []field
	byName map[string]*field // by JSON name and by proto name
	// request is set for messages that callers send: there null stands for an absent Document.
	request bool
}

// field is one field of a plan.
type field struct {
	fd   protoreflect.FieldDescriptor
	name string // the JSON name
	key  string // the JSON name quoted, with the colon
	list bool
	kind kind
	sub  *plan // for kind message
	enum protoreflect.EnumDescriptor
	one  protoreflect.OneofDescriptor // nil unless a member of a oneof
}

// kind says how one value is read and written.
type kind uint8

const (
	scalarBool kind = iota
	scalarInt32
	scalarInt64
	scalarUint32
	scalarUint64
	scalarFloat
	scalarDouble
	scalarString
	scalarBytes
	scalarEnum
	document // crdeval.v1.Document: the raw JSON value
	message  // of our own package: walked
	foreign  // of another package: protojson
)

var documentDescriptor = (*crdevalv1.Document)(nil).ProtoReflect().Descriptor()

var plans sync.Map // protoreflect.FullName -> *plan

// planOf returns the plan of a message of our own package.
func planOf(md protoreflect.MessageDescriptor) *plan {
	if p, ok := plans.Load(md.FullName()); ok {
		return p.(*plan)
	}
	p := build(md, map[protoreflect.FullName]*plan{})
	actual, _ := plans.LoadOrStore(md.FullName(), p)
	return actual.(*plan)
}

// build makes the plan of md; made has those of this build, so that messages may contain themselves.
func build(md protoreflect.MessageDescriptor, made map[protoreflect.FullName]*plan) *plan {
	if p := made[md.FullName()]; p != nil {
		return p
	}
	p := &plan{name: string(md.Name()), byName: map[string]*field{}, request: requests()[md.FullName()]}
	made[md.FullName()] = p
	fds := md.Fields()
	p.fields = make([]field, fds.Len())
	for i := range p.fields {
		fd := fds.Get(i)
		f := &p.fields[i]
		*f = field{fd: fd, name: fd.JSONName(), key: `"` + fd.JSONName() + `":`, list: fd.IsList(), one: fd.ContainingOneof(), kind: kindOf(fd)}
		switch f.kind {
		case message:
			f.sub = build(fd.Message(), made)
		case scalarEnum:
			f.enum = fd.Enum()
		}
		p.byName[fd.JSONName()] = f
		p.byName[fd.TextName()] = f
	}
	return p
}

func kindOf(fd protoreflect.FieldDescriptor) kind {
	if fd.IsMap() {
		panic("gateway: the walk knows no map fields, and " + string(fd.FullName()) + " is one")
	}
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return scalarBool
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return scalarInt32
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return scalarInt64
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return scalarUint32
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return scalarUint64
	case protoreflect.FloatKind:
		return scalarFloat
	case protoreflect.DoubleKind:
		return scalarDouble
	case protoreflect.StringKind:
		return scalarString
	case protoreflect.BytesKind:
		return scalarBytes
	case protoreflect.EnumKind:
		return scalarEnum
	}
	switch md := fd.Message(); {
	case md.FullName() == documentDescriptor.FullName():
		return document
	case md.ParentFile().Package() == ownPackage:
		return message
	}
	return foreign
}

// fieldNames lists what the message has, for errors.
func (p *plan) fieldNames() string {
	if len(p.fields) == 0 {
		return p.name + " has no fields"
	}
	names := make([]string, len(p.fields))
	for i := range p.fields {
		names[i] = p.fields[i].name
	}
	sort.Strings(names)
	return p.name + " has " + strings.Join(names, ", ")
}

// requests are the messages that the methods of our services take, with all that these contain.
var requests = sync.OnceValue(func() map[protoreflect.FullName]bool {
	found := map[protoreflect.FullName]bool{}
	var add func(protoreflect.MessageDescriptor)
	add = func(md protoreflect.MessageDescriptor) {
		if found[md.FullName()] || md.ParentFile().Package() != ownPackage {
			return
		}
		found[md.FullName()] = true
		for i := range md.Fields().Len() {
			if sub := md.Fields().Get(i).Message(); sub != nil {
				add(sub)
			}
		}
	}
	for _, sd := range services() {
		for i := range sd.Methods().Len() {
			add(sd.Methods().Get(i).Input())
		}
	}
	return found
})

// services are those of the API.
func services() []protoreflect.ServiceDescriptor {
	var all []protoreflect.ServiceDescriptor
	for _, file := range []protoreflect.FileDescriptor{
		crdevalv1.File_crdeval_v1_registry_proto,
		crdevalv1.File_crdeval_v1_evaluation_proto,
		crdevalv1.File_crdeval_v1_presentation_proto,
		crdevalv1.File_crdeval_v1_server_proto,
	} {
		for i := range file.Services().Len() {
			all = append(all, file.Services().Get(i))
		}
	}
	return all
}
