package api

import (
	"cmp"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/registry"
)

// crd spells a CRD; nil for none.
func crd(c *registry.CRD, withManifest bool) *crdevalv1.Crd {
	if c == nil {
		return nil
	}
	m := &crdevalv1.Crd{
		Catalog: c.Catalog, Name: c.Name, Revision: c.Revision, Etag: c.Etag, Generation: c.Generation,
		CreateTime: timestamp(c.Created), UpdateTime: timestamp(c.Updated),
		Group: c.Group, Scope: c.Scope, Versions: make([]*crdevalv1.CrdVersion, len(c.Versions)), StorageVersion: c.StorageVersion,
		Names: &crdevalv1.CrdNames{
			Plural: c.Plural, Singular: c.Singular, ShortNames: c.ShortNames, Kind: c.Kind, ListKind: c.ListKind, Categories: c.Categories,
		},
		Status: &crdevalv1.CrdStatus{
			Established: c.Established, Conditions: make([]*crdevalv1.CrdCondition, len(c.Conditions)), StoredVersions: c.StoredVersions,
			AcceptedNames: names(&c.AcceptedNames), ObservedGeneration: c.ObservedGeneration,
		},
	}
	for i, v := range c.Versions {
		m.Versions[i] = version(v)
	}
	for i, condition := range c.Conditions {
		m.Status.Conditions[i] = &crdevalv1.CrdCondition{
			Type: condition.Type, Status: condition.Status, Reason: condition.Reason, Message: condition.Message,
			LastTransitionTime: timestamp(condition.LastTransitionTime), ObservedGeneration: condition.ObservedGeneration,
		}
	}
	if withManifest {
		m.Manifest, m.Status.Json = json(c.Manifest), json(c.Status)
	}
	return m
}

func names(n *engine.Names) *crdevalv1.CrdNames {
	return &crdevalv1.CrdNames{
		Plural: n.Plural, Singular: n.Singular, ShortNames: n.ShortNames, Kind: n.Kind, ListKind: n.ListKind, Categories: n.Categories,
	}
}

func version(v engine.VersionInfo) *crdevalv1.CrdVersion {
	m := &crdevalv1.CrdVersion{
		Name: v.Name, Served: v.Served, Storage: v.Storage, Deprecated: v.Deprecated, DeprecationWarning: v.DeprecationWarning, HasRules: v.HasRules,
	}
	if v.HasStatus {
		m.Subresources = append(m.Subresources, "status")
	}
	if v.HasScale {
		m.Subresources = append(m.Subresources, "scale")
	}
	return m
}

func refusal(r *engine.Rejection) *crdevalv1.Rejection {
	if r == nil {
		return nil
	}
	return &crdevalv1.Rejection{Code: r.Code, Reason: r.Reason, Message: valid(r.Message)}
}

func violations(list []engine.Violation) []*crdevalv1.Violation {
	if len(list) == 0 {
		return nil
	}
	all := make([]*crdevalv1.Violation, len(list))
	for i := range list {
		v := &list[i]
		all[i] = &crdevalv1.Violation{
			Type: v.Type, Field: valid(v.Field), Message: valid(v.Message), Detail: valid(v.Detail), BadValue: json(v.BadValue), Pointer: valid(v.Pointer),
			SchemaPointer: valid(v.SchemaPointer), Rule: ruleRef(v.Rule), Step: steps[v.Step], Position: position(v.Position),
			Hint: hint(v.Hint),
		}
	}
	return all
}

// position spells where something stands; nil for nowhere.
func position(p *engine.Position) *crdevalv1.Position {
	if p == nil {
		return nil
	}
	return &crdevalv1.Position{Line: int32(p.Line), Column: int32(p.Column), Offset: int64(p.Offset)}
}

// ruleRef spells which rule it was; nil for none.
func ruleRef(r *engine.RuleRef) *crdevalv1.RuleRef {
	if r == nil {
		return nil
	}
	return &crdevalv1.RuleRef{Rule: valid(r.Text), Index: int32(r.Index), Reason: cmp.Or(r.Reason, "FieldValueInvalid")}
}

var steps = map[engine.Step]crdevalv1.PipelineStep{
	engine.StepDecode:   crdevalv1.PipelineStep_PIPELINE_STEP_DECODE,
	engine.StepRequest:  crdevalv1.PipelineStep_PIPELINE_STEP_REQUEST,
	engine.StepTypeMeta: crdevalv1.PipelineStep_PIPELINE_STEP_TYPE_META,
	engine.StepMetadata: crdevalv1.PipelineStep_PIPELINE_STEP_METADATA,
	engine.StepSchema:   crdevalv1.PipelineStep_PIPELINE_STEP_SCHEMA,
	engine.StepScale:    crdevalv1.PipelineStep_PIPELINE_STEP_SCALE,
	engine.StepEmbedded: crdevalv1.PipelineStep_PIPELINE_STEP_EMBEDDED,
	engine.StepList:     crdevalv1.PipelineStep_PIPELINE_STEP_LIST,
	engine.StepRule:     crdevalv1.PipelineStep_PIPELINE_STEP_RULE,
	engine.StepCRD:      crdevalv1.PipelineStep_PIPELINE_STEP_CRD,
}

// changes returns nil if nothing was changed.
func changes(pruned, defaulted []engine.FieldChange) *crdevalv1.ObjectChanges {
	if len(pruned) == 0 && len(defaulted) == 0 {
		return nil
	}
	return &crdevalv1.ObjectChanges{Pruned: fieldChanges(pruned), Defaulted: fieldChanges(defaulted)}
}

func fieldChanges(list []engine.FieldChange) []*crdevalv1.FieldChange {
	if len(list) == 0 {
		return nil
	}
	all := make([]*crdevalv1.FieldChange, len(list))
	made := make([]change, len(list))
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

// change is a FieldChange with its parts, so that a list is made at once: an object can have many.
type change struct {
	crdevalv1.FieldChange
	value crdevalv1.Document
	json  crdevalv1.Document_Json
}
