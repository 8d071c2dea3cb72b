package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	crdeval "github.com/crdeval/crdeval/clients/go"
	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// remote has a service judge.
type remote struct {
	command *admitCommand
	client  *crdeval.Client
	overlay []*crdevalv1.Document
	limits  *crdevalv1.ServerLimits
}

// callItems bounds the items of one call: progress is told between calls.
const callItems = 200

// dial connects to the service. The CRDs that are given are brought along with each call.
func (c *admitCommand) dial(ctx context.Context, in *inputs) (admitter, func(), error) {
	client, err := dial(c.Server, c.Catalog, c.Token, &c.tlsFlags)
	if err != nil {
		return nil, nil, err
	}
	end := func() { _ = client.Close() }
	info, err := client.Server().GetServerInfo(ctx, &crdevalv1.GetServerInfoRequest{})
	if err != nil {
		end()
		return nil, nil, told(c.Server, "", err)
	}
	r := &remote{command: c, client: client, limits: info.GetLimits()}
	if most := int(r.limits.GetMaxInlineCrds()); len(in.crds) > most {
		end()
		return nil, nil, fmt.Errorf("%s: %d CRDs are given, and a call can bring %d along: register them there, or leave --server out", c.Server, len(in.crds), most)
	}
	return r, end, nil
}

// register has a CRD judged, and brings it along from then on.
func (r *remote) register(ctx context.Context, crd *source) (judgement, error) {
	j := judgement{File: crd.file, Document: crd.document, Item: crd.item, Violations: []violation{}, Warnings: []string{}, where: crd.where()}
	answer, err := r.client.Registry().CheckCrd(ctx, &crdevalv1.CheckCrdRequest{Catalog: r.command.Catalog, Manifest: sent(crd.Document)})
	if err != nil {
		j.Error, j.Line, _ = crd.InFile(errorAt(r.command.Server, err))
		return j, nil
	}
	j.report(crd, reportAt(answer, crd.identity().Metadata.Name))
	j.Names = namesAt(answer.GetCrd())
	if j.Accepted {
		r.overlay = append(r.overlay, sent(crd.Document))
	}
	return j, nil
}

var sentFieldValidations = map[string]crdevalv1.FieldValidation{
	"strict": crdevalv1.FieldValidation_FIELD_VALIDATION_STRICT,
	"warn":   crdevalv1.FieldValidation_FIELD_VALIDATION_WARN,
	"ignore": crdevalv1.FieldValidation_FIELD_VALIDATION_IGNORE,
}

// admit sends the objects in as many calls as it takes.
func (r *remote) admit(ctx context.Context, writes []write, tell func(*outcome) error) error {
	options := &crdevalv1.EvaluationOptions{
		FieldValidation: sentFieldValidations[r.command.FieldValidation], CompleteMetadata: true, ItemTimeout: durationpb.New(r.command.ItemTimeout),
	}
	if r.command.Explain {
		options.Trace = crdevalv1.TraceMode_TRACE_MODE_FAILED
	}
	for len(writes) > 0 {
		items := r.part(writes)
		answer, err := r.client.Evaluation().Admit(ctx, &crdevalv1.AdmitRequest{Catalog: r.command.Catalog, Items: items, Options: options, Crds: r.overlay})
		if err != nil {
			return told(r.command.Server, "", err)
		}
		if got := len(answer.GetResults()); got != len(items) {
			return fmt.Errorf("%s: %d answers to %d objects", r.command.Server, got, len(items))
		}
		for i, result := range answer.GetResults() {
			o := newOutcome(&writes[i])
			if e := result.GetError(); e != nil {
				o.fail(errorOf(&writes[i], e))
			} else {
				o.take(verdictAt(result.GetVerdict()))
			}
			if err := tell(o); err != nil {
				return err
			}
		}
		writes = writes[len(items):]
	}
	return nil
}

// errorOf words the error of an item.
func errorOf(w *write, e *statuspb.Status) error {
	err := told("", "", status.ErrorProto(e))
	for _, d := range status.FromProto(e).Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok && info.GetReason() == "CRD_NOT_FOUND" {
			return otherKindError(err.Error())
		}
	}
	if other := otherKindError(""); errors.As(w.untyped(), &other) {
		return otherKindError(err.Error())
	}
	return err
}

// part is as many items as go into the next call: half of a message is theirs and the CRDs', since answers may be longer than questions.
func (r *remote) part(writes []write) (items []*crdevalv1.EvaluationItem) {
	room := int(r.limits.GetMaxMessageBytes() / 2)
	for _, crd := range r.overlay {
		room -= proto.Size(crd)
	}
	for i := range writes {
		w := &writes[i]
		item := &crdevalv1.EvaluationItem{Object: sent(w.Document), Subresource: r.command.Subresource, Namespace: r.command.key(&w.id).namespace}
		if w.old != nil {
			item.OldObject = sent(w.old.Document)
		}
		if w.patch != nil {
			item.Object, item.Patch = nil, &crdevalv1.ObjectPatch{Type: crdevalv1.PatchType_PATCH_TYPE_MERGE, Patch: sent(w.patch.Document)}
			if w.patch.Type == engine.JSONPatch {
				item.Patch.Type = crdevalv1.PatchType_PATCH_TYPE_JSON
			}
		}
		if room -= proto.Size(item); i > 0 && (room < 0 || i == min(callItems, int(r.limits.GetMaxBatchItems()))) {
			break
		}
		items = append(items, item)
	}
	return items
}

// table asks for the rows in as many calls as it takes, and prints them as one table.
func (r *remote) table(ctx context.Context, of tableKey, objects []*outcome, o tableOptions) (string, error) {
	var whole map[string]json.RawMessage
	var rows []json.RawMessage
	for len(objects) > 0 {
		request := &crdevalv1.TableRequest{
			Catalog: r.command.Catalog, Crd: of.crd, Crds: r.overlay, Now: timestamppb.New(o.now), RowObject: crdevalv1.RowObject_ROW_OBJECT_METADATA,
		}
		_, request.Version, _ = cutAPIVersion(of.apiVersion)
		part := r.shown(objects)
		for _, object := range part {
			request.Objects = append(request.Objects, sent(engine.JSON(created(object.Object, o.now))))
		}
		answer, err := r.client.Presentation().Table(ctx, request)
		if err != nil {
			return "", told(r.command.Server, "table", err)
		}
		var some struct {
			Rows []json.RawMessage `json:"rows"`
		}
		if err := errors.Join(json.Unmarshal(answer.GetTable().GetJson(), &some), json.Unmarshal(answer.GetTable().GetJson(), &whole)); err != nil {
			return "", fmt.Errorf("%s: table: %w", r.command.Server, err)
		}
		rows, objects = append(rows, some.Rows...), objects[len(part):]
	}
	all, err := json.Marshal(rows)
	if err != nil {
		return "", err
	}
	whole["rows"] = all
	table, err := json.Marshal(whole)
	if err != nil {
		return "", err
	}
	group, _, _ := cutAPIVersion(of.apiVersion)
	text, err := engine.TableText(ctx, table, of.kind+"."+group, engine.TextOptions{Wide: o.wide, NoHeaders: o.noHeaders, Namespaces: o.namespaces, ShowKind: o.kinds})
	return string(text), err
}

func (r *remote) selects(ctx context.Context, objects []*outcome, selector string) (selected []*outcome, err error) {
	for len(objects) > 0 {
		part := r.shown(objects)
		for i, o := range part { // of one kind and version a call
			if o.Kind != part[0].Kind || o.apiVersion != part[0].apiVersion {
				part = part[:i]
				break
			}
		}
		request := &crdevalv1.SelectFieldsRequest{Catalog: r.command.Catalog, Crd: part[0].crd, Crds: r.overlay, Selector: selector}
		_, request.Version, _ = cutAPIVersion(part[0].apiVersion)
		for _, o := range part {
			request.Objects = append(request.Objects, sent(engine.JSON(o.Object)))
		}
		answer, err := r.client.Presentation().SelectFields(ctx, request)
		if err != nil {
			return nil, told(r.command.Server, "field selector", err)
		}
		if refused := answer.GetRejection(); refused != nil {
			return nil, fmt.Errorf("%s: --field-selector: %s", part[0].source.where(), refused.GetMessage())
		}
		if got := len(answer.GetResults()); got != len(part) {
			return nil, fmt.Errorf("%s: %d answers to a field selector about %d objects", r.command.Server, got, len(part))
		}
		for i, result := range answer.GetResults() {
			if e := result.GetError(); e != nil {
				return nil, fmt.Errorf("%s: %w", part[i].source.where(), told("", "", status.ErrorProto(e)))
			}
			if result.GetSelected().GetMatches() {
				selected = append(selected, part[i])
			}
		}
		objects = objects[len(part):]
	}
	return selected, nil
}

// shown is as many objects as go into one call about how they are shown.
func (r *remote) shown(objects []*outcome) []*outcome {
	room := r.limits.GetMaxMessageBytes() / 4 // what is answered has cells beside metadata, and must fit as well
	for i, o := range objects {
		if room -= int64(len(o.Object)); i > 0 && (room < 0 || i == min(callItems, int(r.limits.GetMaxBatchItems()))) {
			return objects[:i]
		}
	}
	return objects
}

// verdictAt is a verdict on its way back.
func verdictAt(v *crdevalv1.Verdict) *engine.Verdict {
	out := &engine.Verdict{
		Allowed: v.GetAllowed(), Deletes: v.GetDeletes(), Refusal: refusalAt(v.GetRejection()), Warnings: v.GetWarnings(),
		Violations: violationsAt(v.GetViolations()), Forgiven: violationsAt(v.GetRatcheted()), Pruned: changesAt(v.GetChanges().GetPruned()), Defaulted: changesAt(v.GetChanges().GetDefaulted()),
		Object: received(v.GetObject()), StoredObject: received(v.GetStoredObject()), Revision: v.GetRevision(),
	}
	for i, f := range v.GetViolations() {
		out.Violations[i].Hint = hintAt(f.GetHint())
	}
	for _, t := range v.GetRuleTraces().GetTraces() {
		trace := engine.RuleTrace{Rule: &engine.RuleRef{Text: t.GetRule().GetRule()}, OmittedSteps: int(t.GetOmittedSteps())}
		for _, s := range t.GetSteps() {
			trace.Steps = append(trace.Steps, engine.TraceStep{Expression: s.GetExpression(), Value: received(s.GetValue()), Error: s.GetError()})
		}
		out.Traces = append(out.Traces, trace)
	}
	return out
}

func changesAt(list []*crdevalv1.FieldChange) []engine.FieldChange {
	var all []engine.FieldChange
	for _, c := range list {
		all = append(all, engine.FieldChange{
			Path: c.GetPath(), Pointer: c.GetPointer(), Value: received(c.GetValue()), Position: positionAt(c.GetPosition()), Hint: hintAt(c.GetHint()),
		})
	}
	return all
}

func hintAt(h *crdevalv1.Hint) *engine.Hint {
	if h == nil {
		return nil
	}
	return &engine.Hint{Text: h.GetText(), Pointer: h.GetPointer(), Replacement: received(h.GetReplacement())}
}
