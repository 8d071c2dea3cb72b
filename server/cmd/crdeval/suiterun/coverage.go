package suiterun

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/rules"
	"github.com/crdeval/crdeval/engine/suite/mutation"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/cmd/crdeval/output"
)

// Coverage counts the outcomes of the rules of all CRDs of a run, and the uses of their schemas. A nil Coverage counts
// nothing.
type Coverage struct {
	rules   map[ruleKey]*ruleCount
	Schemas mutation.Coverage // the uses of their defaults, enum values and branches
	omitted int               // traces
}

// NewCoverage returns a Coverage without rules.
func NewCoverage() *Coverage { return &Coverage{rules: map[ruleKey]*ruleCount{}} }

// ruleKey identifies a rule. Variants of a CRD share it, and so do CRDs in which the rule has another index.
type ruleKey struct{ crd, version, list, rule string }

// ruleCount has the numbers of values for which a rule was evaluated, was true, and was false or an error.
type ruleCount struct {
	SchemaPointer string `json:"schemaPointer"`
	Rule          string `json:"rule"`
	Evaluated     int    `json:"evaluated"`
	Passed        int    `json:"passed"`
	Failed        int    `json:"failed"`
}

func newRuleKey(crd, version, pointer, rule string) ruleKey {
	return ruleKey{crd, version, pointer[:strings.LastIndex(pointer, "/")+1], rule}
}

// Register adds the rules of a CRD.
func (c *Coverage) Register(crd string, r *crdevalv1.CrdReport) {
	if c == nil {
		return
	}
	for _, v := range r.GetVersions() {
		for _, rule := range v.GetRules() {
			c.count(crd, v.GetVersion().GetName(), rule.GetSchemaPointer(), rule.GetRule().GetRule())
		}
	}
}

// count returns the count of a rule.
func (c *Coverage) count(crd, version, pointer, rule string) *ruleCount {
	key := newRuleKey(crd, version, pointer, rule)
	if c.rules[key] == nil {
		c.rules[key] = &ruleCount{SchemaPointer: pointer, Rule: rule}
	}
	return c.rules[key]
}

// Add counts the outcomes of the rules of a write.
func (c *Coverage) Add(crd, version string, traces []rules.Trace, omitted int) {
	c.omitted += omitted
	for i := range traces {
		t := &traces[i]
		n := c.count(crd, version, t.SchemaPointer, t.Rule.Text)
		switch t.Outcome {
		case rules.Passed:
			n.Evaluated++
			n.Passed++
		case rules.Failed, rules.Errored, rules.Ratcheted:
			n.Evaluated++
			n.Failed++
		}
	}
}

// versionCoverage is the coverage of a version of a CRD.
type versionCoverage struct {
	CRD     string       `json:"crd"`
	Version string       `json:"version"`
	Rules   []*ruleCount `json:"rules"`
	// Schema are the defaults, enum values and branches of anyOf and oneOf.
	Schema []*mutation.Use `json:"schema"`
}

// versions returns the coverage of each version with rules, defaults, enum values or branches.
func (c *Coverage) versions() (all []*versionCoverage) {
	keys := slices.SortedFunc(maps.Keys(c.rules), func(a, b ruleKey) int {
		return cmp.Or(cmp.Compare(a.crd, b.crd), cmp.Compare(a.version, b.version),
			cmp.Compare(c.rules[a].SchemaPointer, c.rules[b].SchemaPointer), cmp.Compare(a.rule, b.rule))
	})
	for _, key := range keys {
		last := len(all) - 1
		if last < 0 || all[last].CRD != key.crd || all[last].Version != key.version {
			all = append(all, &versionCoverage{CRD: key.crd, Version: key.version})
			last++
		}
		all[last].Rules = append(all[last].Rules, c.rules[key])
	}
	for _, of := range c.Schemas.Versions {
		at := slices.IndexFunc(all, func(v *versionCoverage) bool { return v.CRD == of.CRD && v.Version == of.Version })
		if at < 0 {
			at = len(all)
			all = append(all, &versionCoverage{CRD: of.CRD, Version: of.Version, Rules: []*ruleCount{}})
		}
		all[at].Schema = of.Uses
	}
	slices.SortStableFunc(all, func(a, b *versionCoverage) int {
		return cmp.Or(cmp.Compare(a.CRD, b.CRD), cmp.Compare(a.Version, b.Version))
	})
	return all
}

// missing returns the outcome that the rule never had, or "" if it had both.
func (n *ruleCount) missing() string {
	switch {
	case n.Evaluated == 0:
		return "never evaluated"
	case n.Failed == 0:
		return "never failed"
	case n.Passed == 0:
		return "never passed"
	}
	return ""
}

// schemaLines returns a line with the uses of a schema, and a line for each part that was never used.
func schemaLines(v *versionCoverage) (lines []string) {
	total, used := map[string]int{}, map[string]int{}
	for _, u := range v.Schema {
		kind := u.Kind
		if kind == "anyOf" || kind == "oneOf" {
			kind = "branch"
		}
		if total[kind]++; u.Count > 0 {
			used[kind]++
			continue
		}
		line := fmt.Sprintf("  %s: %s", u.SchemaPointer, u.Missing())
		if u.Value != "" {
			line += ": " + u.Value
		}
		lines = append(lines, line)
	}
	head := fmt.Sprintf("coverage of %s %s: %d of %d defaults applied, %d of %d enum values used, "+
		"%d of %d branches of anyOf and oneOf reached",
		v.CRD, v.Version, used["default"], total["default"], used["enum"], total["enum"], used["branch"], total["branch"])
	return append([]string{head}, lines...)
}

// text returns a line for each version, and a line for each rule that lacks an outcome.
func (c *Coverage) text() string {
	var lines []string
	for _, v := range c.versions() {
		counts := map[string]int{}
		var rules []string
		for _, n := range v.Rules {
			missing := n.missing()
			if counts[missing]++; missing != "" {
				rule := strings.Join(strings.Fields(n.Rule), " ")
				rules = append(rules, fmt.Sprintf("  %s: %s: %s", n.SchemaPointer, missing, rule))
			}
		}
		if len(v.Rules) > 0 {
			lines = append(lines,
				fmt.Sprintf("coverage of %s %s: %s: %d covered, %d never evaluated, %d never failed, %d never passed",
					v.CRD, v.Version, output.Counted(len(v.Rules), "rule"), counts[""], counts["never evaluated"],
					counts["never failed"], counts["never passed"]))
		}
		lines = append(lines, rules...)
		if len(v.Schema) > 0 {
			lines = append(lines, schemaLines(v)...)
		}
	}
	if c.omitted > 0 {
		lines = append(lines, fmt.Sprintf("coverage: %s of rules were not counted: too many values in an object",
			output.Counted(c.omitted, "evaluation")))
	}
	return strings.Join(lines, "\n")
}
