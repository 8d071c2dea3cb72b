package crdeval

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// Rejected is the error for a request that an API server would reject. It has the code, the reason and the text of the
// Status.
type Rejected struct {
	*crdevalv1.Rejection
	// Violations are the reasons, with their fields.
	Violations []*crdevalv1.Violation
	// Warnings are details that the Status lacks: why a Scale cannot be decoded.
	Warnings []*crdevalv1.Warning
}

// Error returns the text of the Status, followed by the texts of the warnings.
func (r *Rejected) Error() string {
	texts := []string{r.GetMessage()}
	for _, w := range r.Warnings {
		texts = append(texts, w.GetText())
	}
	return strings.Join(texts, ": ")
}

// Document wraps the bytes of one object or manifest without copying them. As in kubectl, text is JSON if its first
// character is a brace or a bracket, otherwise YAML. For nil it returns nil, which is an absent document.
func Document(text []byte) *crdevalv1.Document {
	if text == nil {
		return nil
	}
	head := bytes.TrimLeft(text, " \t\r\n")
	if len(head) > 0 && (head[0] == '{' || head[0] == '[') {
		return &crdevalv1.Document{Content: &crdevalv1.Document_Json{Json: text}}
	}
	return &crdevalv1.Document{Content: &crdevalv1.Document_RawYaml{RawYaml: text}}
}

// documents wraps the bytes of each object.
func documents(objects [][]byte) []*crdevalv1.Document { return mapped(objects, Document) }

// itemsOf returns an item for each object.
func itemsOf(objects [][]byte) []*crdevalv1.ObjectItem {
	return mapped(objects, func(o []byte) *crdevalv1.ObjectItem { return &crdevalv1.ObjectItem{Object: Document(o)} })
}

// contextOf returns the context of a request with these options. complete adds the other fields.
func contextOf(o *crdevalv1.EvaluationOptions) *crdevalv1.EvaluationContext {
	return &crdevalv1.EvaluationContext{Options: o}
}

func mapped[A, B any](list []A, f func(A) B) []B {
	all := make([]B, len(list))
	for i, a := range list {
		all[i] = f(a)
	}
	return all
}

// method is a unary method of a stub.
type method[Q, P any] func(context.Context, Q, ...grpc.CallOption) (P, error)

// call sends a request and keeps the token of a write. about is the name of the call for error texts. The error is a
// *Rejected if the response is a rejection.
func call[Q, P proto.Message](ctx context.Context, c *Client, about string, m method[Q, P], request Q) (P, error) {
	c.complete(request)
	r, err := m(ctx, request)
	if err != nil {
		var none P
		return none, fmt.Errorf("crdeval: %s: %w", about, err)
	}
	if w, ok := any(r).(interface{ GetToken() string }); ok && w.GetToken() != "" {
		c.AtLeast(w.GetToken())
	}
	if j, ok := any(r).(interface{ GetRejection() *crdevalv1.Rejection }); ok && j.GetRejection() != nil {
		rejected := &Rejected{Rejection: j.GetRejection()}
		if v, ok := any(r).(interface {
			GetViolations() []*crdevalv1.Violation
		}); ok {
			rejected.Violations = v.GetViolations()
		}
		if w, ok := any(r).(interface{ GetWarnings() []*crdevalv1.Warning }); ok {
			rejected.Warnings = w.GetWarnings()
		}
		return r, rejected
	}
	return r, nil
}

// complete sets the catalog, the token and the inline CRDs in a request, if its message has these fields.
func (c *Client) complete(request proto.Message) {
	m := request.ProtoReflect()
	if f := m.Descriptor().Fields().ByName("context"); f != nil {
		m = m.Mutable(f).Message()
	}
	fields := m.Descriptor().Fields()
	if f := fields.ByName("catalog"); f != nil {
		m.Set(f, protoreflect.ValueOfString(c.catalog))
	}
	if f, token := fields.ByName("at_least"), c.token.Load(); f != nil && token != nil {
		m.Set(f, protoreflect.ValueOfString(*token))
	}
	if len(c.overlay) > 0 && fields.ByName("crds") != nil {
		setList(m, "crds", c.overlay)
	}
}

// setList sets a field of a message to a list.
func setList[E proto.Message](m protoreflect.Message, field protoreflect.Name, list []E) {
	f := m.Descriptor().Fields().ByName(field)
	m.Clear(f)
	for _, e := range list {
		m.Mutable(f).List().Append(protoreflect.ValueOfMessage(e.ProtoReflect()))
	}
}

// response is a message with results of type A.
type response[A any] interface {
	proto.Message
	GetResults() []A
}

// inBatches sends elements in as many calls as needed, one after the other, in a field of the request. It converts the
// results, one for each element. After an error, it returns the results of the earlier calls.
func inBatches[Q, E proto.Message, P response[A], A, R any](
	ctx context.Context, c *Client, about string, m method[Q, P], request Q, field protoreflect.Name, elements []E,
	convert func(A) R,
) ([]R, error) {
	most, capacity := 1, int64(0)
	if len(elements) > 1 {
		limits, err := c.Limits(ctx)
		if err != nil {
			return nil, err
		}
		most = int(limits.GetMaxBatchItems())
		if field == "entries" {
			most = entriesAtOnce
			if limit := int(limits.GetMaxRegisterCrds()); limit > 0 {
				most = min(most, limit)
			}
		}
		capacity = int64(limits.GetMaxMessageBytes()) / 2 // of a message; the answer may be larger than the request
		for _, crd := range c.overlay {
			capacity -= int64(proto.Size(crd))
		}
	}
	all := make([]R, 0, len(elements))
	// Without objects, SelectFields still checks the selector.
	for first := true; len(elements) > 0 || first && field == "objects"; first = false {
		n := fitting(elements, most, capacity)
		part := request
		if n < len(elements) {
			part = proto.CloneOf(request)
		}
		setList(part.ProtoReflect(), field, elements[:n])
		r, err := call(ctx, c, about, m, part)
		if err != nil {
			return all, err
		}
		if got := len(r.GetResults()); got != n {
			return all, fmt.Errorf("crdeval: %s: %d results for %d %s", about, got, n, field)
		}
		all, elements = append(all, mapped(r.GetResults(), convert)...), elements[n:]
	}
	return all, nil
}

// fitting returns the number of elements for the next call: at least one if there are any, at most most. Otherwise
// their size in bytes is at most capacity.
func fitting[M proto.Message](elements []M, most int, capacity int64) int {
	n := 0
	for _, e := range elements {
		capacity -= int64(proto.Size(e))
		if n > 0 && (n >= most || capacity < 0) {
			break
		}
		n++
	}
	return n
}

// Limits returns the limits of the server. The client requests them once.
func (c *Client) Limits(ctx context.Context) (*crdevalv1.ServerLimits, error) {
	if l := c.limits.Load(); l != nil {
		return l, nil
	}
	info, err := c.Server().GetServerInfo(ctx, &crdevalv1.GetServerInfoRequest{})
	if err != nil {
		return nil, fmt.Errorf("crdeval: server info: %w", err)
	}
	c.limits.Store(info.GetLimits())
	return info.GetLimits(), nil
}
