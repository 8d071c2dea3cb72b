package goal

import (
	"context"
	"slices"

	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/compare"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/format"
	"github.com/crdeval/crdeval/engine/internal/sample"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/search"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// aimsAt returns aims at the pointers. Without pointers, it returns aims at the differences of the subjects.
func aimsAt(ctx context.Context, a, b *Subject, o *Options) (aims []search.Aim, err error) {
	pointers := o.Pointers
	if len(pointers) == 0 {
		nowhere := func(tree.Path) *tree.Position { return nil }
		found, err := compare.CRDs(ctx, a.crd, b.crd, compare.Options{Minor: format.LatestMinor, Most: mostChanges,
			OldPosition: nowhere, NewPosition: nowhere})
		if err != nil {
			return nil, compiled.Failed(admission.Deadline, "the call ended before the CRDs were compared", err)
		}
		for i := range found.Changes {
			if c := &found.Changes[i]; c.Version == o.Version && c.SchemaPointer != "" && c.Kind != "DocumentationChanged" {
				pointers = append(pointers, c.SchemaPointer)
			}
		}
	}
	for _, pointer := range pointers {
		aims = append(aims, newAims(a.Schema, b.Schema, pointer)...)
	}
	if witness, err := sample.Parse(o.Witness); o.Witness != nil && err == nil {
		for i := range aims {
			aims[i].Values = append(aims[i].Values, witness)
		}
	}
	return aims, nil
}

// newAims returns the aim at a pointer that is in one or both of two schemas. For a rule, all rules of its node in both
// schemas are read.
func newAims(a, b *schema.Props, pointer string) []search.Aim {
	var aim search.Aim
	if a == nil && b == nil && pointer == "" {
		a = &schema.Props{Type: "object"}
	}
	for _, s := range []*schema.Props{b, a} {
		if s == nil {
			continue
		}
		p := sample.PlaceAt(s, pointer)
		if p == nil {
			continue
		}
		if aim.Place == nil {
			aim.Place = p
		}
		aim.Also = append(aim.Also, p.Schema)
		if rule := p.Rule(); rule != "" && !slices.Contains(aim.Rules, rule) {
			aim.Rules = append(aim.Rules, rule)
		}
	}
	if aim.Place == nil {
		return nil
	}
	return []search.Aim{aim}
}
