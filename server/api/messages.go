package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/publish"
	"github.com/crdeval/crdeval/engine/rules"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/call"
	"github.com/crdeval/crdeval/server/registry"
)

// convertAll converts the elements of a list. It returns nil for an empty list.
func convertAll[E, M any](list []E, convert func(*E) *M) []*M {
	if len(list) == 0 {
		return nil
	}
	all := make([]*M, len(list))
	for i := range list {
		all[i] = convert(&list[i])
	}
	return all
}

// enumValue returns the engine's value of an enum value of a request. values are by number.
func enumValue[P ~int32, E any](field string, v P, values []E) (e E, err error) {
	if v < 0 || int(v) >= len(values) {
		return e, invalid(field, "%s: the enum has no value %d", field, v)
	}
	return values[v], nil
}

// valid returns text as UTF-8. Upstream's error texts quote bytes of callers, which may end inside a character.
func valid(text string) string { return strings.ToValidUTF8(text, "\ufffd") }

// maxQuotedValue is the longest value, in bytes, that a text of an API server quotes in a response.
const maxQuotedValue = 64 << 10

// message returns a text of an API server as UTF-8. It cuts quoted values that are longer than maxQuotedValue in the
// middle: such a text can quote a value of a few MiB many times.
func message(text string) string {
	rest := valid(text)
	if len(rest) <= maxQuotedValue {
		return rest
	}
	var b strings.Builder
	for {
		from := strings.IndexByte(rest, '"') + 1
		if from == 0 {
			b.WriteString(rest)
			return b.String()
		}
		to := from
		for ; to < len(rest) && rest[to] != '"'; to++ {
			if rest[to] == '\\' {
				to++
			}
		}
		to = min(to, len(rest))
		b.WriteString(rest[:from])
		writeCut(&b, rest[from:to])
		b.WriteString(rest[to:min(to+1, len(rest))])
		rest = rest[min(to+1, len(rest)):]
	}
}

// writeCut writes a value, or its begin and its end if it is longer than maxQuotedValue.
func writeCut(b *strings.Builder, value string) {
	if len(value) <= maxQuotedValue {
		b.WriteString(value)
		return
	}
	head, tail := maxQuotedValue/2, len(value)-maxQuotedValue/2
	for head > 0 && !utf8.RuneStart(value[head]) {
		head--
	}
	for tail < len(value) && !utf8.RuneStart(value[tail]) {
		tail++
	}
	fmt.Fprintf(b, "%s… (%d bytes left out) …%s", value[:head], tail-head, value[tail:])
}

// badValue returns the value of a violation. It cuts a string that is longer than maxQuotedValue like message.
func badValue(value []byte) *crdevalv1.Document {
	var text string
	if len(value) <= maxQuotedValue || value[0] != '"' || json.Unmarshal(value, &text) != nil {
		return JSON(value)
	}
	var b strings.Builder
	writeCut(&b, text)
	cut, err := json.Marshal(b.String())
	if err != nil {
		return JSON(value)
	}
	return JSON(cut)
}

// allValid is valid for each text. It copies the list only if it must.
func allValid(texts []string) []string {
	if !slices.ContainsFunc(texts, func(t string) bool { return !utf8.ValidString(t) }) {
		return texts
	}
	all := make([]string, len(texts))
	for i, t := range texts {
		all[i] = valid(t)
	}
	return all
}

// timestamp returns nil for the zero time.
func timestamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// given converts a Document of a request.
func given(o call.Origins, d *crdevalv1.Document) (document engine.Document, err error) {
	switch c := d.GetContent().(type) {
	case *crdevalv1.Document_Json:
		document = engine.JSON(present(c.Json))
	case *crdevalv1.Document_Yaml:
		document = engine.YAML([]byte(c.Yaml))
	case *crdevalv1.Document_RawYaml:
		document = engine.YAML(present(c.RawYaml))
	}
	if o != nil && d != nil {
		document.Origin, err = o.Origin(d)
	}
	return document, err
}

// givenManifest is given for a CRD or its conversion rules.
func givenManifest(o call.Origins, d *crdevalv1.Document) (document engine.Document, err error) {
	document, err = given(o, d)
	if e, ok := errors.AsType[*engine.Error](err); ok && e.Reason == engine.ReasonObjectUnreadable {
		of := *e
		of.Reason, err = engine.ReasonManifestUnreadable, &of
	}
	return document, err
}

// withPlace returns warnings with those about the place of a document before them.
func withPlace(o call.Origins, d *crdevalv1.Document, list []engine.Warning) []engine.Warning {
	if o == nil {
		return list
	}
	return slices.Concat(o.Warnings(d), list)
}

// present makes nil bytes empty ones: nil means absent to the engine.
func present(text []byte) []byte {
	if text == nil {
		return []byte{}
	}
	return text
}

// givenList converts a list of Documents. An empty Document is an error.
func givenList(ctx context.Context, field string, list []*crdevalv1.Document) (all []engine.Document, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	origins := call.Of(ctx).Origins
	all = make([]engine.Document, len(list))
	for i, d := range list {
		if all[i], err = given(origins, d); err != nil {
			return nil, err
		}
		if all[i].Absent() {
			return nil, invalid(field, "%s[%d] is empty: set it to JSON or YAML", field, i)
		}
	}
	return all, nil
}

// JSON returns a Document with this JSON, or nil for nil. It allocates once.
func JSON(text []byte) *crdevalv1.Document {
	if text == nil {
		return nil
	}
	both := &struct {
		document crdevalv1.Document
		json     crdevalv1.Document_Json
	}{}
	both.json.Json = text
	both.document.Content = &both.json
	return &both.document
}

func crd(c *registry.CRD, withManifest bool) *crdevalv1.Crd {
	if c == nil {
		return nil
	}
	m := &crdevalv1.Crd{
		Catalog: c.Catalog, Name: c.Name, Revision: c.Revision, Etag: c.Etag, Generation: c.Generation,
		CreateTime: timestamp(c.Created), UpdateTime: timestamp(c.Updated), Group: c.Desired.Group, Scope: c.Scope,
		Versions: convertAll(c.Versions, version), StorageVersion: c.Desired.StorageVersion,
		Names: names(&c.Desired.Names),
		Status: &crdevalv1.CrdStatus{
			Established: c.Established, Conditions: convertAll(c.Status.Conditions, condition),
			StoredVersions: c.Status.StoredVersions, AcceptedNames: names(&c.Status.AcceptedNames),
			ObservedGeneration: c.Status.ObservedGeneration,
		},
		AsStored: c.AsStored, NotOlderThan: c.NotOlderThan,
	}
	if withManifest {
		m.Manifest, m.Conversion, m.Status.Json = JSON(c.Manifest), JSON(c.Conversion), JSON(c.StatusJSON)
	}
	return m
}

func condition(c *apiextensionsv1.CustomResourceDefinitionCondition) *crdevalv1.CrdCondition {
	return &crdevalv1.CrdCondition{
		Type: string(c.Type), Status: string(c.Status), Reason: c.Reason, Message: c.Message,
		LastTransitionTime: timestamp(c.LastTransitionTime.Time), ObservedGeneration: c.ObservedGeneration,
	}
}

func names(n *apiextensionsv1.CustomResourceDefinitionNames) *crdevalv1.CrdNames {
	return &crdevalv1.CrdNames{
		Plural: n.Plural, Singular: n.Singular, ShortNames: n.ShortNames, Kind: n.Kind, ListKind: n.ListKind, Categories: n.Categories,
	}
}

func version(v *engine.VersionInfo) *crdevalv1.CrdVersion {
	m := &crdevalv1.CrdVersion{
		Name: v.Name, Served: v.Served, Storage: v.Storage, Deprecated: v.Deprecated, DeprecationWarning: v.DeprecationWarning,
		HasRules: v.HasRules,
	}
	if v.HasStatus {
		m.Subresources = append(m.Subresources, "status")
	}
	if v.HasScale {
		m.Subresources = append(m.Subresources, "scale")
	}
	return m
}

func catalog(c *registry.Catalog) *crdevalv1.Catalog {
	return &crdevalv1.Catalog{
		Name: c.Name, Kubernetes: c.Kubernetes, Etag: c.Etag, CreateTime: timestamp(c.Created), CrdCount: int32(c.CRDs),
		Usage: &crdevalv1.CatalogUsage{Revisions: int32(c.Revisions), Bytes: c.Bytes, Watches: int32(c.Watches)}, Quota: quota(c.Quota),
	}
}

// quota returns the message of a quota, nil for a quota without limits.
func quota(q registry.Quota) *crdevalv1.CatalogQuota {
	if q == (registry.Quota{}) {
		return nil
	}
	return &crdevalv1.CatalogQuota{
		Crds: int32(q.CRDs), Revisions: int32(q.Revisions), Bytes: q.Bytes, Watches: int32(q.Watches),
	}
}

func rejection(r *engine.Rejection) *crdevalv1.Rejection {
	if r == nil {
		return nil
	}
	m := &crdevalv1.Rejection{Code: r.Code, Reason: r.Reason, Message: message(r.Message)}
	if r.Cause != r.Message {
		m.Cause = message(r.Cause)
	}
	return m
}

func violation(v *engine.Violation) *crdevalv1.Violation {
	return &crdevalv1.Violation{
		Type: v.Type, Field: valid(v.Field), Message: message(v.Message), Detail: message(v.Detail), BadValue: badValue(v.BadValue),
		Pointer: valid(v.Pointer), SchemaPointer: valid(v.SchemaPointer), Rule: ruleRef(v.Rule), Step: pipelineStep(v.Step),
		Position: position(v.Position), Hint: hint(v.Hint),
	}
}

func violations(list []engine.Violation) []*crdevalv1.Violation { return convertAll(list, violation) }

func warnings(list []engine.Warning) []*crdevalv1.Warning { return convertAll(list, warning) }

func warning(w *engine.Warning) *crdevalv1.Warning {
	return &crdevalv1.Warning{
		Type: w.Type, Text: valid(w.Text), Field: valid(w.Field), Pointer: valid(w.Pointer), Position: position(w.Position),
		Hint: hint(w.Hint),
	}
}

// position returns nil for a position that does not fit: the body of a REST stream has no bound. A line or a column is
// never larger than the offset plus 1.
func position(p *engine.Position) *crdevalv1.Position {
	if p == nil || p.Offset >= math.MaxInt32 {
		return nil
	}
	return &crdevalv1.Position{Line: int32(p.Line), Column: int32(p.Column), Offset: int32(p.Offset)}
}

func ruleRef(r *rules.Ref) *crdevalv1.RuleRef {
	if r == nil {
		return nil
	}
	return &crdevalv1.RuleRef{Rule: valid(r.Text), Index: int32(r.Index), Reason: cmp.Or(r.Reason, "FieldValueInvalid")}
}

func hint(h *engine.Hint) *crdevalv1.Hint {
	if h == nil {
		return nil
	}
	return &crdevalv1.Hint{Text: valid(h.Text), Pointer: valid(h.Pointer), Replacement: JSON(h.Replacement)}
}

func pipelineStep(s engine.Step) crdevalv1.PipelineStep {
	return crdevalv1.PipelineStep(crdevalv1.PipelineStep_value["PIPELINE_STEP_"+string(s)])
}

// changes returns nil if nothing was changed.
func changes(pruned, defaulted []engine.FieldChange, omitted int) *crdevalv1.ObjectChanges {
	if len(pruned)+len(defaulted)+omitted == 0 {
		return nil
	}
	return &crdevalv1.ObjectChanges{Pruned: fieldChanges(pruned), Defaulted: fieldChanges(defaulted), Omitted: int32(omitted)}
}

// fieldChanges allocates all messages of a list at once: an object may have many defaults.
func fieldChanges(list []engine.FieldChange) []*crdevalv1.FieldChange {
	if len(list) == 0 {
		return nil
	}
	type change struct {
		crdevalv1.FieldChange
		value crdevalv1.Document
		json  crdevalv1.Document_Json
	}
	made := make([]change, len(list))
	all := make([]*crdevalv1.FieldChange, len(list))
	for i := range list {
		m, c := &made[i], &list[i]
		m.Path, m.Pointer = valid(c.Path), valid(c.Pointer)
		m.Hint, m.Position = hint(c.Hint), position(c.Position)
		if c.Value != nil {
			m.json.Json = c.Value
			m.value.Content = &m.json
			m.Value = &m.value
		}
		all[i] = &m.FieldChange
	}
	return all
}

func presentation(p *engine.Presentation) *crdevalv1.ObjectPresentation {
	if p == nil {
		return nil
	}
	return &crdevalv1.ObjectPresentation{
		SelectableFields: selectableFields(p.SelectableFields), TableRow: JSON(p.TableRow), Scale: JSON(p.Scale),
	}
}

func selectableFields(list []publish.SelectableField) []*crdevalv1.SelectableField {
	return convertAll(list, func(f *publish.SelectableField) *crdevalv1.SelectableField {
		return &crdevalv1.SelectableField{Field: valid(f.Field), Value: valid(f.Value)}
	})
}

// ruleTraces returns nil if there are no traces.
func ruleTraces(list []rules.Trace, omitted int) *crdevalv1.RuleTraces {
	if len(list) == 0 {
		return nil
	}
	return &crdevalv1.RuleTraces{Traces: convertAll(list, ruleTrace), Omitted: int32(omitted)}
}

// ruleTrace relies on the outcomes having the same numbers in the engine and in the API.
func ruleTrace(t *rules.Trace) *crdevalv1.RuleTrace {
	return &crdevalv1.RuleTrace{
		Pointer: valid(t.Pointer), SchemaPointer: valid(t.SchemaPointer), Rule: ruleRef(t.Rule), Outcome: crdevalv1.RuleOutcome(t.Outcome),
		Skipped: valid(t.Skipped), Cost: t.Cost, Message: valid(t.Message), Steps: convertAll(t.Steps, traceStep),
		OmittedSteps: int32(t.OmittedSteps),
	}
}

func traceStep(s *rules.Step) *crdevalv1.TraceStep {
	m := &crdevalv1.TraceStep{Expression: valid(s.Expression), Offset: int32(s.Offset), Decisive: s.Decisive}
	switch {
	case s.Error != "":
		m.Result = &crdevalv1.TraceStep_Error{Error: valid(s.Error)}
	case s.Value != nil:
		m.Result = &crdevalv1.TraceStep_Value{Value: JSON(s.Value)}
	}
	return m
}

func report(r *registry.Report) *crdevalv1.CrdReport {
	return &crdevalv1.CrdReport{
		KubernetesWarnings: allValid(r.KubernetesWarnings),
		Violations:         violations(r.Violations), Warnings: warnings(r.Warnings), Rejection: rejection(r.Rejection), Update: r.Update,
		LowestKubernetes: r.LowestKubernetes, LowestKubernetesReason: valid(r.LowestKubernetesReason),
		Versions: convertAll(r.Versions, versionReport), Conversion: conversionReport(r.Conversion),
	}
}

func versionReport(v *engine.VersionInfo) *crdevalv1.VersionReport {
	return &crdevalv1.VersionReport{
		Version: version(v), LowestKubernetes: v.LowestKubernetes, LowestKubernetesReason: valid(v.LowestKubernetesReason),
		EstimatedCost: v.EstimatedCost, CostLimit: v.CostLimit, Rules: convertAll(v.Rules, ruleReport),
	}
}

func ruleReport(r *rules.Report) *crdevalv1.RuleReport {
	m := &crdevalv1.RuleReport{
		SchemaPointer: valid(r.SchemaPointer), Rule: ruleRef(&rules.Ref{Index: r.Index, Text: r.Text, Reason: r.Reason}),
		EstimatedCost: r.EstimatedCost, Cardinality: r.Cardinality, CostLimit: r.Limit, ShareOfLimit: r.ShareOfLimit,
		MessageEstimatedCost: r.MessageEstimatedCost, UsesOldSelf: r.UsesOldSelf,
		LowestKubernetes: r.LowestKubernetes, LowestKubernetesReason: valid(r.LowestKubernetesReason),
	}
	for _, c := range r.Culprits {
		m.Culprits = append(m.Culprits, &crdevalv1.CostCulprit{
			SchemaPointer: valid(c.SchemaPointer), Keyword: c.Keyword, Suggested: c.Suggested,
		})
	}
	return m
}

// maxExcerptBytes bounds a report in the details of an error: gRPC sends them in headers; some clients accept 8 KiB.
const maxExcerptBytes = maxErrorBytes / 2

// reportExcerpt returns the part of a report that fits in an error, and the number of violations that it leaves out.
func reportExcerpt(r *registry.Report) (m *crdevalv1.CrdReport, omitted int) {
	m = &crdevalv1.CrdReport{Rejection: rejection(r.Rejection), Update: r.Update}
	if m.Rejection != nil {
		m.Rejection.Message = bounded(m.Rejection.GetMessage(), maxExcerptBytes/4)
	}
	size := proto.Size(m)
	for i := range r.Violations {
		v := violation(&r.Violations[i])
		v.BadValue = nil
		if size += proto.Size(v) + 4; size > maxExcerptBytes {
			return m, len(r.Violations) - i
		}
		m.Violations = append(m.Violations, v)
	}
	return m, 0
}
