package mutation

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/sample"
)

// survivor is a mutant that no test has killed so far.
type survivor struct {
	variant
	changed *engine.Definition
	tests   []*test // that can be affected
}

func newSurvivor(v variant, changed *engine.Definition) *survivor {
	return &survivor{variant: v, changed: changed}
}

// maxShrinking bounds the evaluations that make an object smaller, maxRecorded the writes of tests that are compared.
const maxShrinking, maxRecorded = 2000, 200

// find looks for an object that shows a difference between the mutant and the CRD, and sets the result.
func (s *survivor) find(ctx context.Context, o Options, result *Mutant) error {
	search := []func(context.Context, Options, *Mutant) (*Example, error){s.generated, s.recorded}
	if s.mutant.keyword == "default" { // most defaults change no verdict
		slices.Reverse(search)
	}
	result.Status = Equivalent
	for _, by := range search {
		found, err := by(ctx, o, result)
		if err != nil {
			return err
		}
		if found != nil {
			found.OriginalCRD, found.MutantCRD = s.crd.definition.Manifest(), s.changed.Manifest()
			result.Status, result.Example = Survived, found
			return nil
		}
	}
	return nil
}

// generated generates creations. For rules with old values, it generates updates, and for fields of the status, writes
// of the subresource.
func (s *survivor) generated(ctx context.Context, o Options, result *Mutant) (*Example, error) {
	kinds := []bool{false}
	if strings.Contains(s.mutant.rule, oldSelf) {
		kinds = []bool{true, false}
	}
	subresource := ""
	if s.isOfStatus() {
		subresource = "status"
	}
	tries := cmp.Or(o.Tries, engine.DefaultTries)
	for _, update := range kinds {
		found, err := engine.Distinguish(ctx, s.crd.definition, s.changed, engine.DistinguishOptions{
			Version: s.mutant.version.name, Tries: tries, Seed: o.Seed, Either: true, Update: update, Subresource: subresource})
		if err != nil {
			return nil, err
		}
		if found == nil {
			result.Tries += tries
			continue
		}
		result.Tries += found.Tries
		c := comparison{object: found.Object, old: found.OldObject, status: subresource == "status"}
		if e, err := s.example(ctx, c); e != nil || err != nil {
			return e, err
		}
	}
	return nil, nil
}

// isOfStatus reports whether the mutant concerns the status, which creations drop.
func (s *survivor) isOfStatus() bool {
	return strings.HasPrefix(s.mutant.field+".", "status.") && s.mutant.version.hasStatus()
}

// recorded compares the results of the writes of the tests, and minimizes the smallest write with a difference.
func (s *survivor) recorded(ctx context.Context, _ Options, result *Mutant) (*Example, error) {
	var best *comparison
	size := func(c *comparison) int { return len(c.object) + len(c.old) }
	seen := 0
	for _, t := range s.tests {
		for i := range t.writes {
			w := &t.writes[i]
			c := comparison{object: w.item.Object.JSON, old: w.item.OldObject.JSON, status: w.item.Subresource == "status"}
			if w.item.Patch != nil {
				patched, err := applied(c.old, w.item.Patch)
				if err != nil {
					continue
				}
				c.object = patched
			}
			if w.item.Subresource == "scale" || !s.isOf(w.kind, w.apiVersion) || best != nil && size(&c) >= size(best) {
				continue
			}
			if seen++; seen > maxRecorded {
				break
			}
			result.Tries++
			if differs, err := s.differs(ctx, &c); err != nil {
				return nil, err
			} else if differs {
				best = &c
			}
		}
	}
	if best == nil {
		return nil, nil
	}
	if err := s.shrink(ctx, best); err != nil {
		return nil, err
	}
	return s.example(ctx, *best)
}

func (s *survivor) isOf(kind, apiVersion string) bool {
	d := s.crd.definition
	return kind == d.Kind() && apiVersion == d.Group()+"/"+s.mutant.version.name
}

// comparison is a write that is evaluated with the CRD and the mutant.
type comparison struct {
	object, old      []byte
	status           bool
	original, mutant *engine.Verdict
}

// differs reports whether CRD and mutant accept different writes, or store different objects.
func (s *survivor) differs(ctx context.Context, c *comparison) (bool, error) {
	item := engine.Item{Object: engine.JSON(c.object)}
	if c.old != nil {
		item.OldObject = engine.JSON(c.old)
	}
	if c.status {
		item.Subresource = "status"
	}
	var err error
	options := engine.EvaluationOptions{FieldValidation: engine.FieldValidationIgnore, CompleteMetadata: true}
	if c.original, err = s.crd.definition.Admit(ctx, item, options); err == nil {
		c.mutant, err = s.changed.Admit(ctx, item, options)
	}
	if err != nil {
		return false, err
	}
	return c.original.Allowed != c.mutant.Allowed || !bytes.Equal(c.original.Object, c.mutant.Object), nil
}

// shrink makes the objects of a comparison smaller.
func (s *survivor) shrink(ctx context.Context, c *comparison) error {
	object, err := sample.Parse(c.object)
	if err != nil {
		return err
	}
	trees := []*sample.Tree{object}
	if c.old != nil {
		old, err := sample.Parse(c.old)
		if err != nil {
			return err
		}
		trees = append(trees, old)
	}
	read := func() comparison {
		smaller := comparison{object: object.JSON(), status: c.status}
		if len(trees) > 1 {
			smaller.old = trees[1].JSON()
		}
		return smaller
	}
	sample.Shrink(func() bool {
		smaller := read()
		differs, err := s.differs(ctx, &smaller)
		return err == nil && differs
	}, maxShrinking, trees...)
	*c = read()
	return ctx.Err()
}

// example describes a comparison that differs, nil if it does not.
func (s *survivor) example(ctx context.Context, c comparison) (*Example, error) {
	differs, err := s.differs(ctx, &c)
	if err != nil || !differs {
		return nil, err
	}
	e := &Example{Object: c.object, OldObject: c.old, Status: c.status,
		Original: describe(c.original), Mutant: describe(c.mutant)}
	if c.original.Allowed && c.mutant.Allowed {
		e.Original, e.Mutant = "result "+string(c.original.Object), "result "+string(c.mutant.Object)
	}
	return e, nil
}

func describe(v *engine.Verdict) string {
	switch {
	case v.Allowed:
		return "allowed"
	case len(v.Violations) == 0:
		return "rejected: " + v.Rejection.Message
	}
	var texts []string
	for i := range v.Violations {
		if of := &v.Violations[i]; of.Detail != admission.NotChecked { // it says that there may be others
			texts = append(texts, of.Error())
		}
	}
	return "rejected: " + strings.Join(texts, "; ")
}
