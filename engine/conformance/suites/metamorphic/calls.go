package metamorphic

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/crdeval/crdeval/engine/conformance/jsontree"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// client calls the API in the form of a configuration.
type client struct {
	registry   crdevalv1.RegistryServiceClient
	evaluation crdevalv1.EvaluationServiceClient
	yaml       bool // send documents as YAML if that does not change them
}

func newClient(conn grpc.ClientConnInterface, c configuration) *client {
	return &client{
		registry: crdevalv1.NewRegistryServiceClient(conn), evaluation: crdevalv1.NewEvaluationServiceClient(conn),
		yaml: c.YAML && c.Transport != transportREST, // REST encodes whole bodies
	}
}

func (c *client) document(n *jsontree.Node) *crdevalv1.Document {
	switch {
	case n == nil:
		return nil
	case c.yaml && text(n, "kind") != "" && text(n, "apiVersion") != "" && sameInYAML(n): // errors quote other bodies
		return &crdevalv1.Document{Content: &crdevalv1.Document_Yaml{Yaml: string(toYAML(n))}}
	}
	return &crdevalv1.Document{Content: &crdevalv1.Document_Json{Json: n.JSON()}}
}

func (c *client) createCatalog(ctx context.Context, name string) error {
	_, err := c.registry.CreateCatalog(ctx, &crdevalv1.CreateCatalogRequest{Catalog: name})
	return err
}

// registered is what later operations need of a registration.
type registered struct {
	name, revision, token string
	accepted              bool
}

func (c *client) register(ctx context.Context, manifest *jsontree.Node) (proto.Message, registered, error) {
	m, err := c.registry.RegisterCrd(ctx, &crdevalv1.RegisterCrdRequest{Catalog: catalog, Manifest: c.document(manifest)})
	return m, registered{m.GetCrd().GetName(), m.GetCrd().GetRevision(), m.GetToken(), m.GetAccepted()}, err
}

func (c *client) registerAll(ctx context.Context, manifests []*jsontree.Node) (proto.Message, []registered, error) {
	r := &crdevalv1.RegisterCrdsRequest{Catalog: catalog}
	for _, m := range manifests {
		r.Entries = append(r.Entries, &crdevalv1.RegisterCrdsEntry{Manifest: c.document(m)})
	}
	m, err := c.registry.RegisterCrds(ctx, r)
	var all []registered
	for _, result := range m.GetResults() {
		one := result.GetRegistration()
		all = append(all, registered{one.GetCrd().GetName(), one.GetCrd().GetRevision(), m.GetToken(), one.GetAccepted()})
	}
	return m, all, err
}

// isNew reports whether the bare catalog accepts a manifest, and with which revision.
func (c *client) isNew(ctx context.Context, manifest *jsontree.Node) (revision string, err error) {
	m, err := c.registry.CheckCrd(ctx, &crdevalv1.CheckCrdRequest{Catalog: bareCatalog, Manifest: c.document(manifest)})
	return m.GetCrd().GetRevision(), err
}

func (c *client) delete(ctx context.Context, crd string) (proto.Message, string, error) {
	m, err := c.registry.DeleteCrd(ctx, &crdevalv1.DeleteCrdRequest{Catalog: catalog, Crd: crd})
	return m, m.GetToken(), err
}

func (c *client) setStoredVersions(ctx context.Context, crd string, versions []string) (proto.Message, string, error) {
	m, err := c.registry.SetStoredVersions(ctx, &crdevalv1.SetStoredVersionsRequest{
		Catalog: catalog, Crd: crd, StoredVersions: versions,
	})
	return m, m.GetToken(), err
}

func (c *client) get(ctx context.Context, crd, revision, atLeast string) (proto.Message, error) {
	return c.registry.GetCrd(ctx, &crdevalv1.GetCrdRequest{
		Catalog: catalog, Crd: crd, Revision: revision, AtLeast: atLeast,
	})
}

// list lists the CRDs, and reports whether all of them have their names.
func (c *client) list(ctx context.Context, atLeast string) (m *crdevalv1.ListCrdsResponse, undisputed bool, err error) {
	m, err = c.registry.ListCrds(ctx, &crdevalv1.ListCrdsRequest{Catalog: catalog, AtLeast: atLeast})
	undisputed = err == nil
	for _, crd := range m.GetCrds() {
		for _, condition := range crd.GetStatus().GetConditions() {
			named := condition.GetType() == "NamesAccepted" || condition.GetType() == "Established"
			undisputed = undisputed && (condition.GetStatus() == "True" || !named)
		}
	}
	return m, undisputed, err
}

// watchStream receives the events of a watch.
type watchStream struct {
	grpc.ServerStreamingClient[crdevalv1.WatchCrdsResponse]
}

func (c *client) watch(ctx context.Context, from string) (watchStream, error) {
	s, err := c.registry.WatchCrds(ctx, &crdevalv1.WatchCrdsRequest{Catalog: catalog, FromToken: from})
	return watchStream{s}, err
}

// next returns the next event, its token if it is SYNCED, and the name of its CRD.
func (s watchStream) next() (event proto.Message, synced bool, token, crd string, err error) {
	m, err := s.Recv()
	return m, m.GetType() == crdevalv1.WatchEventType_WATCH_EVENT_TYPE_SYNCED, m.GetToken(), m.GetCrd().GetName(), err
}

// evaluation is a call of the evaluation service.
type evaluation struct {
	call, validation, target, atLeast string
	items                             []evaluated
	catalog                           string
	inline                            []*jsontree.Node
	stream                            bool
}

// evaluated is an item with the revision that evaluates it.
type evaluated struct {
	*item
	revision string
}

// evaluate returns a result for each item.
func (c *client) evaluate(ctx context.Context, e *evaluation) (results []proto.Message, err error) {
	about := &crdevalv1.EvaluationContext{
		Catalog: e.catalog, AtLeast: e.atLeast,
		Options: &crdevalv1.EvaluationOptions{FieldValidation: validations[e.validation], WithStatus: true},
	}
	for _, m := range e.inline {
		about.Crds = append(about.Crds, c.document(m))
	}
	var writes []*crdevalv1.WriteItem
	var objects []*crdevalv1.ObjectItem
	for _, it := range e.items {
		writes, objects = append(writes, c.write(it)), append(objects, c.object(it))
	}
	switch {
	case e.stream && e.call == callAdmit:
		return c.admitStream(ctx, &crdevalv1.AdmitStreamRequest{Context: about}, writes)
	case e.stream && e.call == callRead:
		return c.readStream(ctx, &crdevalv1.ReadStreamRequest{Context: about, TargetVersion: e.target}, objects)
	}
	switch e.call {
	case callValidate:
		m, err := c.evaluation.Validate(ctx, &crdevalv1.ValidateRequest{Context: about, Items: writes})
		return messages(m.GetResults()), err
	case callAdmit:
		m, err := c.evaluation.Admit(ctx, &crdevalv1.AdmitRequest{Context: about, Items: writes})
		return messages(m.GetResults()), err
	case callPrune:
		m, err := c.evaluation.Prune(ctx, &crdevalv1.PruneRequest{Context: about, Items: objects})
		return messages(m.GetResults()), err
	case callDefault:
		m, err := c.evaluation.Default(ctx, &crdevalv1.DefaultRequest{Context: about, Items: objects})
		return messages(m.GetResults()), err
	case callRead:
		m, err := c.evaluation.Read(ctx, &crdevalv1.ReadRequest{Context: about, Items: objects, TargetVersion: e.target})
		return messages(m.GetResults()), err
	case callConvert:
		m, err := c.evaluation.Convert(ctx, &crdevalv1.ConvertRequest{Context: about, Items: objects, TargetVersion: e.target})
		return messages(m.GetResults()), err
	}
	return nil, fmt.Errorf("no call %q", e.call)
}

// The calls of the evaluation service.
const (
	callValidate = "validate"
	callAdmit    = "admit"
	callPrune    = "prune"
	callDefault  = "default"
	callRead     = "read"
	callConvert  = "convert"
)

var validations = map[string]crdevalv1.FieldValidation{
	"Ignore": crdevalv1.FieldValidation_FIELD_VALIDATION_IGNORE, "Warn": crdevalv1.FieldValidation_FIELD_VALIDATION_WARN,
	"Strict": crdevalv1.FieldValidation_FIELD_VALIDATION_STRICT,
}

// object returns the message of an item of a call that transforms objects.
func (c *client) object(it evaluated) *crdevalv1.ObjectItem {
	return &crdevalv1.ObjectItem{Crd: it.CRD, Version: it.Version, Revision: it.revision, Object: c.document(it.Object)}
}

var patchTypes = map[string]crdevalv1.PatchType{
	patchMerge: crdevalv1.PatchType_PATCH_TYPE_MERGE, patchJSON: crdevalv1.PatchType_PATCH_TYPE_JSON,
}

// write returns the message of an item of a call that evaluates writes.
func (c *client) write(it evaluated) *crdevalv1.WriteItem {
	m := &crdevalv1.WriteItem{Crd: it.CRD, Version: it.Version, Revision: it.revision, Name: it.Name, Namespace: it.Namespace}
	switch body := c.document(it.Object); {
	case it.Patch != "":
		m.Write = &crdevalv1.WriteItem_Patch{Patch: &crdevalv1.Patch{
			Type: patchTypes[it.Patch], Patch: body, OldObject: c.document(it.Old), Subresource: it.Subresource,
		}}
	case it.Old != nil || it.Subresource != "":
		m.Write = &crdevalv1.WriteItem_Update{Update: &crdevalv1.Update{
			Object: body, OldObject: c.document(it.Old), Subresource: it.Subresource,
		}}
	default:
		m.Write = &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: body}}
	}
	return m
}

const (
	patchMerge = "merge"
	patchJSON  = "json"
)

// maxStreamItems is the number of items of a message of a stream: ServerLimits.max_stream_items.
const maxStreamItems = 100

func (c *client) admitStream(
	ctx context.Context, first *crdevalv1.AdmitStreamRequest, items []*crdevalv1.WriteItem,
) ([]proto.Message, error) {
	s, err := c.evaluation.AdmitStream(ctx)
	if err != nil {
		return nil, err
	}
	return exchange(s, items, func(part []*crdevalv1.WriteItem) *crdevalv1.AdmitStreamRequest {
		m := first
		first = &crdevalv1.AdmitStreamRequest{}
		m.Items = part
		return m
	}, func(m *crdevalv1.AdmitStreamResponse) []proto.Message { return messages(m.GetResults()) })
}

func (c *client) readStream(
	ctx context.Context, first *crdevalv1.ReadStreamRequest, items []*crdevalv1.ObjectItem,
) ([]proto.Message, error) {
	s, err := c.evaluation.ReadStream(ctx)
	if err != nil {
		return nil, err
	}
	return exchange(s, items, func(part []*crdevalv1.ObjectItem) *crdevalv1.ReadStreamRequest {
		m := first
		first = &crdevalv1.ReadStreamRequest{}
		m.Items = part
		return m
	}, func(m *crdevalv1.ReadStreamResponse) []proto.Message { return messages(m.GetResults()) })
}

// exchange sends the items in several messages and receives their results. The first message has one item, so that a
// stream has a second message with the second item.
func exchange[I, Req, Res any](
	s grpc.BidiStreamingClient[Req, Res], items []I,
	request func([]I) *Req, resultsOf func(*Res) []proto.Message,
) (results []proto.Message, err error) {
	sent := make(chan error, 1)
	go func() {
		sent <- func() error {
			for n := 1; len(items) > 0; n = maxStreamItems {
				n = min(n, len(items))
				if err := s.Send(request(items[:n])); err != nil {
					return err
				}
				items = items[n:]
			}
			return s.CloseSend()
		}()
	}()
	for {
		m, err := s.Recv()
		if err != nil {
			if sending := <-sent; errors.Is(err, io.EOF) && !errors.Is(sending, io.EOF) {
				err = sending // nil after the last result
			}
			return results, err
		}
		results = append(results, resultsOf(m)...)
	}
}

// withoutRatcheted removes the ratcheted violations of a verdict. For a write to the status, only the exact path
// reports lists outside of the status.
func withoutRatcheted(result proto.Message) proto.Message {
	result = proto.Clone(result)
	if r, ok := result.(*crdevalv1.VerdictResult); ok && r.GetVerdict() != nil {
		r.GetVerdict().Ratcheted = nil
	}
	return result
}

// messages returns a list as messages.
func messages[M proto.Message](list []M) []proto.Message {
	all := make([]proto.Message, len(list))
	for i := range list {
		all[i] = list[i]
	}
	return all
}
