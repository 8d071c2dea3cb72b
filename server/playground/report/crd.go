package report

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/server/diagnosis"
)

// describe fills in the CRD.
func (c *compiled) describe() {
	r := c.report
	c.crd = &CRD{
		Accepted: r.Accepted, Name: r.Name, Group: r.Group, Kind: r.Kind, Plural: r.Plural, Versions: []Version{},
		Violations: []Violation{}, Rules: []Rule{},
		LowestMinor: r.LowestMinor, LowestMinorBecause: r.LowestMinorBecause,
	}
	if r.Rejection != nil {
		c.crd.Message = r.Rejection.Message
	}
	for i := range r.Versions {
		v := &r.Versions[i]
		c.crd.Versions = append(c.crd.Versions, describeVersion(v))
		for k := range v.Rules {
			c.crd.Rules = append(c.crd.Rules, c.rule(v, &v.Rules[k]))
		}
	}
	for i := range r.Violations {
		c.crd.Violations = append(c.crd.Violations, c.violation(&r.Violations[i]))
	}
	c.crd.Warnings = c.warnings()
}

func describeVersion(v *engine.VersionInfo) Version {
	out := Version{
		Name: v.Name, Served: v.Served, Storage: v.Storage, Cost: float64(v.EstimatedCost), Limit: float64(v.CostLimit),
		Subresources: []string{},
	}
	if v.CostLimit > 0 {
		out.Percent = 100 * out.Cost / out.Limit
	}
	if v.HasStatus {
		out.Subresources = append(out.Subresources, "status")
	}
	if v.HasScale {
		out.Subresources = append(out.Subresources, "scale")
	}
	return out
}

func (c *compiled) violation(v *engine.Violation) Violation {
	out := newViolation(c.document, v)
	if v.Rule != nil {
		out.Rule = v.Rule.Text
		out.RuleRange = out.Range
	}
	return out
}

// newViolation returns a violation of a document, without rule and fixes.
func newViolation(d *document, v *engine.Violation) Violation {
	out := Violation{
		Document: d.name, Type: v.Type, Field: v.Field, Message: v.Message, Pointer: v.Pointer, BadValue: validJSON(v.BadValue),
		Range: d.rangeAt(v.Position, v.Pointer), Fixes: []Fix{},
	}
	if v.Hint != nil {
		out.Hint = v.Hint.Text
	}
	return out
}

func (c *compiled) rule(v *engine.VersionInfo, r *engine.RuleReport) Rule {
	cost := max(r.EstimatedCost, r.MessageEstimatedCost)
	out := Rule{
		Version: v.Name, Path: diagnosis.SchemaPath(r.SchemaPointer), SchemaPointer: r.SchemaPointer, Rule: r.Text, Transition: r.UsesOldSelf,
		Cost: float64(cost), Limit: float64(r.Limit), Percent: 100 * r.ShareOfLimit, Bounds: []Bound{},
		Range: c.ruleRange(v.Index, r.SchemaPointer),
	}
	for _, culprit := range r.Culprits {
		out.Bounds = append(out.Bounds, c.bound(v.Index, culprit))
	}
	return out
}

// ruleRange returns the range of the expression of a rule. pointer is that of the rule in a version's schema.
func (c *compiled) ruleRange(version int, pointer string) *Range {
	if pointer == "" {
		return nil
	}
	return c.document.rangeOf(c.document.SchemaPointer(version) + strings.TrimSuffix(pointer, "/rule") + "/rule")
}

func (c *compiled) bound(version int, culprit engine.CostCulprit) Bound {
	d := c.document
	pointer := c.document.SchemaPointer(version) + culprit.SchemaPointer
	keyword := pointer + "/" + culprit.Keyword
	out := Bound{
		Path: diagnosis.SchemaPath(culprit.SchemaPointer), Keyword: culprit.Keyword, Suggested: culprit.Suggested, Fixes: []Fix{},
		Range: d.keyRange(pointer),
	}
	field := out.Path
	if field == "" {
		field = "the root"
	}
	if _, bounded := d.Find(keyword); bounded {
		out.Range = d.keyRange(keyword)
		out.Hint = fmt.Sprintf("%s of %s is too high", out.Keyword, field)
	} else {
		out.Hint = fmt.Sprintf("%s has no %s", field, out.Keyword)
	}
	if out.Suggested > 0 {
		out.Hint += fmt.Sprintf(": set it to at most %d", out.Suggested)
		out.Fixes = d.fixes(d.SetBound(version, culprit))
	}
	return out
}

// validJSON returns a text, or nil if it is not JSON.
func validJSON(text []byte) json.RawMessage {
	if !json.Valid(text) {
		return nil
	}
	return text
}
