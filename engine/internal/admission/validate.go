package admission

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/value"
)

// validate returns the violations of a creation. The error is a Fault: too many violations, or a passed deadline.
//
// Upstream: registry/customresource/validator.go, Validate; strategy.go, Validate.
func (p *pass) validate(v *Version) ([]violation.Violation, error) {
	d, compiled := p.d, v.Plan
	found := p.typeErrors(v)
	room := violation.NewRoom(p.r.Limits)
	at := plan.At{Stop: p.stop, Room: room, Texts: new(value.Slab)}
	if len(found) == 0 {
		found = make([]violation.Violation, 0, usualFindings)
		if !p.r.SkipMetadata {
			found = append(found, p.metadataErrors(room)...)
		}
		found = append(found, compiled.Explain(d, p.root, at)...)
		found = append(found, scaleViolations(d, p.root, v.Scale, true)...)
	}
	if len(found) == 0 || quirk.On(quirk.WrongKindSkipsSchema) {
		found = append(found, compiled.ExplainEmbedded(d, p.root, at)...)
		found = append(found, compiled.ExplainLists(d, p.root, at)...)
		found = p.rules(compiled, found, plan.Update{}, at)
	}
	if err := expired(p.ctx); err != nil {
		return nil, err
	}
	if err := room.Err(); err != nil {
		return nil, exceeded(err)
	}
	return found, nil
}

// usualFindings is the usual number of violations of an invalid object.
const usualFindings = 12

// typeErrors returns the violations about kind and apiVersion. Upstream compares them after parsing: "/v1" is v1 of no
// group.
func (p *pass) typeErrors(v *Version) (found []violation.Violation) {
	add := func(key, bad, want string) {
		bad = strings.Clone(bad)
		at := value.Path{value.Name(key)}
		f := violation.Of(violation.TypeMeta, field.Invalid(field.NewPath(key), bad, "must be "+want), at)
		f.Node = p.d.Finder().Deepest(p.root, at)
		found = append(found, f)
	}
	kind, _ := nestedString(p.d, p.root, "kind")
	apiVersion, _ := nestedString(p.d, p.root, "apiVersion")
	if apiVersion != v.APIVersion {
		of, err := schema.ParseGroupVersion(apiVersion)
		if apiVersion = of.String(); err != nil {
			kind = "" // an unreadable apiVersion also hides the kind
		}
	}
	if kind != p.def.Kind {
		add("kind", kind, p.def.Kind)
	}
	if apiVersion != v.APIVersion {
		add("apiVersion", apiVersion, v.APIVersion)
	}
	return found
}

// metadataErrors returns the violations about the metadata of a creation.
func (p *pass) metadataErrors(room *violation.Room) []violation.Violation {
	meta := p.d.Field(p.root, "metadata")
	if !p.r.AsGiven && p.r.Stage != StageFinish { // not coerced, so of any type
		if metadata.Plain(p.d, meta, p.metadataRules()) {
			return nil
		}
		if found, ok := metadata.Faults(p.d, meta, p.metadataRules()); ok {
			return within(found, room)
		}
	}
	m, errs := &metav1.ObjectMeta{}, field.ErrorList(nil)
	if meta != 0 {
		m, errs = metadata.FromTree(p.d, meta)
	}
	if len(errs) == 0 {
		if p.r.Handler && !p.r.AsGiven {
			// The field manager replaces them before validation (endpoints/handlers/create.go).
			m.ManagedFields = nil
		}
		errs = metadata.Validate(m, p.def.Namespaced)
	}
	return p.aboutMetadata(errs, room)
}

// within returns the violations that the limits allow.
func within(found []violation.Violation, room *violation.Room) []violation.Violation {
	for i := range found {
		if !room.Take(violation.Size(found[i].Error), false) {
			return found[:i]
		}
	}
	return found
}

// aboutMetadata returns violations with paths for errors about the object's own metadata.
func (p *pass) aboutMetadata(errs field.ErrorList, room *violation.Room) []violation.Violation {
	found := make([]violation.Violation, 0, len(errs))
	places := entries{d: p.d, finder: p.d.Finder(), root: p.root}
	for _, err := range errs {
		if !room.Take(violation.Size(err), false) {
			break
		}
		f := violation.Of(violation.Metadata, err, nil)
		f.Path, f.Node = places.of(err)
		found = append(found, f)
	}
	return found
}
