package page

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/rules"
	"github.com/crdeval/crdeval/server/editor/diagnosis"
)

// describe fills in the CRD.
func (c *compiled) describe() {
	r := c.report
	c.crd = &CRD{
		Accepted: r.Accepted, Name: r.Name, Group: r.Group, Kind: r.Kind, Plural: r.Plural, Versions: []Version{},
		Rules:       []Rule{},
		LowestMinor: minorOf(r.LowestKubernetes), LowestMinorBecause: r.LowestKubernetesReason,
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
	found := newFindings(c.document.rangeOfFinding)
	found.add(c.document, diagnosis.OfReport(r), nil)
	found.add(c.document, diagnosis.OfManifest(c.document.Manifest), nil)
	c.crd.Violations, c.crd.Warnings = found.violations, found.warnings
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

func (c *compiled) rule(v *engine.VersionInfo, r *rules.Report) Rule {
	cost := max(r.EstimatedCost, r.MessageEstimatedCost)
	out := Rule{
		Version: v.Name, Path: diagnosis.SchemaPath(r.SchemaPointer), SchemaPointer: r.SchemaPointer, Rule: r.Text,
		Transition: r.UsesOldSelf,
		Cost:       float64(cost), Limit: float64(r.Limit), Percent: 100 * r.ShareOfLimit, Bounds: []Bound{},
		Range: c.ruleRange(v.Index, r.SchemaPointer),
	}
	for _, culprit := range r.Culprits {
		out.Bounds = append(out.Bounds, c.bound(v.Index, culprit))
	}
	return out
}

// ruleRange returns the range of the expression of a rule. pointer is that of the rule in a version's schema.
func (c *compiled) ruleRange(version int, pointer string) *Range {
	if pointer == "" || version < 0 {
		return nil
	}
	return c.document.rangeOf(c.document.SchemaPointer(version) + strings.TrimSuffix(pointer, "/rule") + "/rule")
}

func (c *compiled) bound(version int, culprit rules.Culprit) Bound {
	d := c.document
	pointer := c.document.SchemaPointer(version) + culprit.SchemaPointer
	keyword := pointer + "/" + culprit.Keyword
	out := Bound{
		Path: diagnosis.SchemaPath(culprit.SchemaPointer), Keyword: culprit.Keyword, Suggested: culprit.Suggested,
		Fixes: []Fix{},
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
		out.Fixes = d.fixes(&diagnosis.Finding{Source: &diagnosis.Cost{Version: version, Culprit: culprit}}, nil)
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
