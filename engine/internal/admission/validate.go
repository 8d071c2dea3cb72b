package admission

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/rule"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/rules"
)

// validate returns the violations of the object. For an update it sets p.ratcheted, and violations about any resource
// precede those of the strategy. The error is a Fault: too many violations, or a passed deadline.
//
// Upstream: registry/customresource/validator.go, Validate; strategy.go and status_strategy.go, Validate and
// ValidateUpdate; registry/rest/update.go, ValidateUpdate.
func (p *pass) validate(v *Version) ([]violation.Violation, error) {
	d, compiled, update := p.d, v.Plan, p.old.root != 0
	budget := violation.NewBudget(p.r.Limits)
	at := plan.At{Stop: p.stop, Budget: budget, Texts: new(tree.Slab)}
	var common, own []violation.Violation // those common do not block rules
	var pair plan.Pair
	var rules plan.Update
	if update {
		p.pairs.Init(d, p.stop)
		pair = p.pairs.Root(compiled.Root, p.root, p.old.root)
		rules = plan.Update{Old: p.old.root, Pairs: &p.pairs, Ratchet: true}
		common, own = p.updateErrors(budget)
	}
	types := p.typeErrors(v)
	found := types
	if len(types) == 0 {
		if !update {
			own = p.metadataErrors(budget)
		}
		var bySchema []violation.Violation
		if p.r.Status && quirk.On(quirk.StatusUpdateChecksStatusSchema) {
			bySchema, p.ratcheted = compiled.ExplainStatus(d, pair, at)
		} else {
			bySchema, p.ratcheted = compiled.ExplainUpdate(d, p.root, pair, at)
		}
		found = append(append(make([]violation.Violation, 0, usualViolations), own...), bySchema...)
		found = append(found, v.Scale.violations(d, p.root, !p.r.Status)...)
	}
	if len(types) == 0 || quirk.On(quirk.WrongKindSkipsSchema) {
		if !p.r.Status {
			found = append(found, compiled.ExplainEmbedded(d, p.root, at)...)
		}
		found = append(found, p.listErrors(compiled, at)...)
		found = p.rules(compiled, found, rules, at)
	}
	if err := expired(p.ctx); err != nil {
		return nil, err
	}
	if err := budget.Err(); err != nil {
		return nil, exceeded(err)
	}
	if len(common) == 0 {
		return found, nil
	}
	return append(common, found...), nil
}

// usualViolations is the usual number of violations of an invalid object.
const usualViolations = 12

// typeErrors returns the violations about kind and apiVersion. Upstream compares them after parsing: "/v1" is v1 of no
// group.
func (p *pass) typeErrors(v *Version) (found []violation.Violation) {
	add := func(key, bad, want string) {
		bad = strings.Clone(bad)
		at := tree.Path{tree.Name(key)}
		f := violation.Of(violation.TypeMeta, field.Invalid(field.NewPath(key), bad, "must be "+want), at)
		f.Node, _ = p.d.Finder().Deepest(p.root, at)
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
func (p *pass) metadataErrors(budget *violation.Budget) []violation.Violation {
	if p.r.SkipMetadata {
		return nil
	}
	meta := p.d.Field(p.root, "metadata")
	if !p.r.AsGiven && p.r.Stage != StageFinish { // not coerced, so of any type
		if metadata.Plain(p.d, meta, p.metadataRules()) {
			return nil
		}
		if found, ok := metadata.Faults(p.d, meta, p.metadataRules()); ok {
			return within(found, budget)
		}
	}
	m, errs := metadata.FromTree(p.d, meta)
	if len(errs) == 0 {
		if p.replacesManagedFields(meta) {
			m.ManagedFields = nil
		}
		errs = metadata.Validate(m, p.def.Namespaced)
	}
	return p.aboutMetadata(errs, budget)
}

// replacesManagedFields reports whether the field manager of the server replaces the managed fields before validation, or
// resets those that mutating admission made invalid. It cannot reset what its accessor does not read.
//
// Upstream: endpoints/handlers/create.go; endpoints/handlers/fieldmanager/admission.go.
func (p *pass) replacesManagedFields(meta uint32) bool {
	return p.r.Handler && !p.r.AsGiven && (p.r.Stage != StageFinish || !metadata.HasUnreadableManagedFields(p.d, meta))
}

// within returns the violations that the limits allow.
func within(found []violation.Violation, budget *violation.Budget) []violation.Violation {
	for i := range found {
		if !budget.Take(violation.Size(found[i].Error), false) {
			return found[:i]
		}
	}
	return found
}

// aboutMetadata returns violations with paths for errors about the object's own metadata.
func (p *pass) aboutMetadata(errs field.ErrorList, budget *violation.Budget) []violation.Violation {
	found := make([]violation.Violation, 0, len(errs))
	positions := entries{d: p.d, finder: p.d.Finder(), root: p.root}
	for _, err := range errs {
		if !budget.Take(violation.Size(err), false) {
			break
		}
		f := violation.Of(violation.Metadata, err, nil)
		f.Path, f.Node = positions.of(err)
		found = append(found, f)
	}
	return found
}

// listErrors returns the violations about sets and map lists. They are ratcheted if the old object has any.
func (p *pass) listErrors(compiled *plan.Plan, at plan.At) []violation.Violation {
	found := compiled.ExplainLists(p.d, p.root, at)
	if len(found) == 0 || p.old.root == 0 {
		return found
	}
	budget := violation.NewBudget(p.r.Limits)
	if old := compiled.ExplainLists(p.d, p.old.root, plan.At{Stop: p.stop, Budget: budget}); len(old) == 0 &&
		budget.Err() == nil {
		return found
	}
	p.ratcheted = append(p.ratcheted, found...)
	return nil
}

// updateErrors returns the violations about the object's own metadata: those about any resource, and those of the
// strategy.
func (p *pass) updateErrors(budget *violation.Budget) (common, own []violation.Violation) {
	if p.r.SkipMetadata {
		return nil, nil
	}
	meta, before := p.d.Field(p.root, "metadata"), p.d.Field(p.old.root, "metadata")
	m, errs := metadata.FromTree(p.d, meta)
	old, oldErrs := metadata.FromTree(p.d, before)
	errs = append(errs, oldErrs...)
	seen, seenBefore := m, old
	if m != nil && p.replacesManagedFields(meta) {
		m.ManagedFields = nil
	}
	if p.r.Stage == StageFinish || len(errs) > 0 { // not coerced, so of any type
		seen, seenBefore = metadata.Accessed(p.d, meta), metadata.Accessed(p.d, before)
		if m != nil && p.r.Stage != StageFinish {
			seen.ManagedFields = m.ManagedFields
		}
	}
	whole, change := metadata.ValidateCommon(seen, seenBefore, p.def.Namespaced)
	common = append(p.aboutMetadata(whole, budget), p.aboutMetadata(change, budget)...)
	if len(errs) > 0 {
		return common, p.aboutMetadata(errs[:1], budget) // upstream stops at the first that cannot be read
	}
	return common, p.aboutMetadata(metadata.ValidateUpdate(m, old, p.def.Namespaced), budget)
}

// entries finds the paths of errors about ObjectMeta. An error about labels or annotations names only the map and shows
// the key or the value; its path leads to the entry.
type entries struct {
	d      *tree.Doc
	finder *tree.Finder
	root   uint32

	byValue map[string][]uint32 // labels in document order
	passed  map[[2]string]int   // number of errors so far, by value and detail
}

// originOfValue marks errors about a label's value. Errors about keys have another origin.
const originOfValue = "format=k8s-label-value"

// of returns the path of an error, and the node there or the deepest node above it.
func (e *entries) of(err *field.Error) (tree.Path, uint32) {
	path := violation.PathOf(err.Field)
	node, _ := e.finder.Deepest(e.root, path)
	entry := uint32(0)
	bad, isText := err.BadValue.(string)
	key := bad
	switch {
	case !isText || err.Type != field.ErrorTypeInvalid ||
		err.Field != "metadata.labels" && err.Field != "metadata.annotations":
	case err.Origin == originOfValue:
		entry = e.next(node, bad, err.Detail)
		key = strings.Clone(e.d.Key(entry))
	default:
		entry = e.finder.Field(node, bad)
	}
	if entry == 0 {
		return path, node
	}
	return append(path, tree.Entry(key)), entry
}

// next returns the label for an error about a value: labels with one value are taken in document order for each detail.
func (e *entries) next(labels uint32, bad, detail string) uint32 {
	if e.byValue == nil {
		e.byValue, e.passed = map[string][]uint32{}, map[[2]string]int{}
		for c := e.d.Nodes[labels].First; c != 0; c = e.d.Nodes[c].Next {
			if e.d.Nodes[c].Kind == tree.String {
				e.byValue[e.d.Str(c)] = append(e.byValue[e.d.Str(c)], c)
			}
		}
	}
	which := [2]string{bad, detail}
	k := e.passed[which]
	e.passed[which]++
	if list := e.byValue[bad]; k < len(list) {
		return list[k]
	}
	return 0
}

// NotChecked is upstream's note in place of rules that are not evaluated because of earlier errors.
const NotChecked = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"

// rules appends the violations of x-kubernetes-validations. If earlier violations block the rules, it appends a note
// instead. Ratcheted violations are added to p.ratcheted and become warnings.
//
// Upstream: registry/customresource/strategy.go, Validate, ValidateUpdate and hasBlockingErr.
func (p *pass) rules(compiled *plan.Plan, found []violation.Violation, u plan.Update,
	at plan.At) []violation.Violation {
	if !compiled.HasRules() {
		return found
	}
	r := p.run()
	defer r.Close()
	r.Budget, r.Trace = at.Budget, p.r.Trace
	if violation.Blocking(found) && quirk.On(quirk.BlockingErrorsSkipRules) {
		note := violation.Of(violation.RulesSkipped, field.Invalid(nil, nil, NotChecked), nil)
		note.Node = p.root
		found = append(found, note)
		if p.r.Trace != rules.TraceAll {
			return found
		}
		r.Skip = NotChecked // trace the rules as skipped
	} else if !r.NoClosures {
		compiled.FillSlots(p.d, p.root)
		compiled.FillSlots(p.d, u.Old)
	}
	compiled.Rules(r, p.root, u, at)
	p.out.Traces, p.out.OmittedTraces = r.Traces()
	for i := range r.Ratcheted {
		v := r.Ratcheted[i]
		w := violation.Warning{Type: violation.TypeRatcheted, Text: v.Error.Error(), Field: v.Field, Path: v.Path}
		if !p.old.has(v.Node) {
			w.Position = v.Locate(p.d)
		}
		p.warn(w)
	}
	p.ratcheted = append(p.ratcheted, r.Ratcheted...)
	return append(found, r.Found...)
}

// cleanRules reports whether all rules hold for an accepted object.
func (p *pass) cleanRules(compiled *plan.Plan) bool {
	if !compiled.HasRules() {
		return true
	}
	r := p.run()
	defer r.Close()
	return compiled.CleanRules(r, p.root, p.old.root, &p.pairs)
}

// run starts an evaluation of rules.
func (p *pass) run() *rule.Run {
	r := rule.Start(p.d)
	r.Context, r.Stop, r.NoClosures = p.ctx, p.stop, p.r.NoClosures
	return r
}
