package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/crdeval/crdeval/engine"
)

// judgedVersion is what is printed of one version of a CRD, in JSON.
type judgedVersion struct {
	Name    string `json:"name"` // in the order of priority
	Served  bool   `json:"served"`
	Storage bool   `json:"storage"`
	// DeprecationWarning is what every request is answered with; "" if the version is not deprecated.
	DeprecationWarning string       `json:"deprecationWarning,omitempty"`
	HasStatus          bool         `json:"hasStatus"`
	HasScale           bool         `json:"hasScale"`
	LowestMinor        int          `json:"lowestMinor"`
	LowestMinorBecause string       `json:"lowestMinorReason,omitempty"`
	EstimatedCost      uint64       `json:"estimatedCost"`
	CostLimit          uint64       `json:"costLimit"`
	Rules              []judgedRule `json:"rules,omitempty"`
}

// judgedRule is what is printed of a rule.
type judgedRule struct {
	SchemaPointer        string    `json:"schemaPointer"`
	Rule                 string    `json:"rule"`
	EstimatedCost        uint64    `json:"estimatedCost"`
	MessageEstimatedCost uint64    `json:"messageEstimatedCost,omitempty"`
	Cardinality          uint64    `json:"cardinality"`
	Limit                uint64    `json:"limit"`
	ShareOfLimit         float64   `json:"shareOfLimit"`
	UsesOldSelf          bool      `json:"usesOldSelf"`
	Culprits             []culprit `json:"culprits,omitempty"`
	LowestMinor          int       `json:"lowestMinor"`
	LowestMinorBecause   string    `json:"lowestMinorReason,omitempty"`
}

// culprit is a bound that makes a rule dear.
type culprit struct {
	SchemaPointer string `json:"schemaPointer"`
	Keyword       string `json:"keyword"`
	Suggested     int64  `json:"suggested"`
}

// versionsOf takes from a report what is printed of its versions.
func versionsOf(report *engine.Report) []judgedVersion {
	all := make([]judgedVersion, len(report.Versions))
	for i := range report.Versions {
		v := &report.Versions[i]
		all[i] = judgedVersion{
			Name: v.Name, Served: v.Served, Storage: v.Storage, DeprecationWarning: v.DeprecationWarning, HasStatus: v.HasStatus, HasScale: v.HasScale,
			LowestMinor: v.LowestMinor, LowestMinorBecause: v.LowestMinorBecause, EstimatedCost: v.EstimatedCost, CostLimit: v.CostLimit,
		}
		for j := range v.Rules {
			r := &v.Rules[j]
			printed := judgedRule{
				SchemaPointer: r.SchemaPointer, Rule: r.Text, EstimatedCost: r.EstimatedCost, MessageEstimatedCost: r.MessageEstimatedCost, Cardinality: r.Cardinality,
				Limit: r.Limit, ShareOfLimit: r.ShareOfLimit, UsesOldSelf: r.UsesOldSelf, LowestMinor: r.LowestMinor, LowestMinorBecause: r.LowestMinorBecause,
			}
			for _, c := range r.Culprits {
				printed.Culprits = append(printed.Culprits, culprit(c))
			}
			all[i].Rules = append(all[i].Rules, printed)
		}
	}
	return all
}

// printBounds says of each version that costs too much which bounds would make it fit, and of rules that none would.
func printBounds(w io.Writer, versions []judgedVersion) {
	for i := range versions {
		v := &versions[i]
		over := v.EstimatedCost > v.CostLimit
		for j := range v.Rules {
			over = over || v.Rules[j].ShareOfLimit > 1
		}
		if !over {
			continue
		}
		for j := range v.Rules {
			r := &v.Rules[j]
			var bounds []string
			for _, c := range r.Culprits {
				if c.Suggested > 0 {
					bounds = append(bounds, fmt.Sprintf("%s: %d at %s", c.Keyword, c.Suggested, c.SchemaPointer))
				}
			}
			switch {
			case len(bounds) > 0:
				_, _ = fmt.Fprintf(w, "  %s %s would fit with %s\n", v.Name, r.SchemaPointer, strings.Join(bounds, ", "))
			case r.ShareOfLimit > 1: // such as string(self.x) + 'y', of which the estimate knows no length
				_, _ = fmt.Fprintf(w, "  %s %s does not fit with any bound in the schema: it makes something that is too large, or of a size that cannot be estimated\n", v.Name, r.SchemaPointer)
			}
		}
	}
}
