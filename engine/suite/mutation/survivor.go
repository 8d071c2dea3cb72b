package mutation

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/goal"
	"github.com/crdeval/crdeval/engine/internal/sample"
	"github.com/crdeval/crdeval/engine/internal/search"
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

// maxRecorded is the most writes of tests that are compared.
const maxRecorded = 200

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
	tries := cmp.Or(o.Tries, DefaultTries)
	write := goal.Write{Version: s.mutant.version.name, Subresource: subresource}
	for _, update := range kinds {
		found, tried, err := goal.Distinguish(ctx, compiled.Of(s.crd.definition), compiled.Of(s.changed),
			goal.Options{Write: write, Tries: tries, Seed: o.Seed, Either: true, Update: update})
		if result.Tries += tried; err != nil {
			return nil, compiled.Error(err)
		}
		if found == nil {
			continue
		}
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

// recorded compares the results of the writes of the tests, and shrinks the smallest write with a difference.
func (s *survivor) recorded(ctx context.Context, _ Options, result *Mutant) (*Example, error) {
	statuses := map[bool][]search.Pair{}
	for _, w := range s.writes() {
		statuses[w.status] = append(statuses[w.status], w.Pair)
	}
	for _, status := range []bool{false, true} {
		pairs := statuses[status]
		run := search.Search{Pairs: pairs, Tries: len(pairs), Goal: func(p search.Pair) (search.Answer, error) {
			c := comparisonOf(p, status)
			differs, err := s.differs(ctx, &c)
			return search.Answer{Reached: differs}, err
		}}
		found, err := run.Run()
		if result.Tries += found.Tries; err != nil {
			return nil, err
		}
		if found.Pair.Object != nil {
			return s.example(ctx, comparisonOf(found.Pair, status))
		}
	}
	return nil, nil
}

// comparisonOf returns the comparison for a pair.
func comparisonOf(p search.Pair, status bool) comparison {
	c := comparison{object: p.Object.JSON(), status: status}
	if p.Old != nil {
		c.old = p.Old.JSON()
	}
	return c
}

// writtenPair is a write of a test.
type writtenPair struct {
	search.Pair
	status bool
	size   int
}

// writes returns the writes of the tests that can show a difference, small ones first.
func (s *survivor) writes() (list []writtenPair) {
	for _, t := range s.tests {
		for i := range t.writes {
			w := &t.writes[i]
			if !s.isOf(w.kind, w.apiVersion) {
				continue
			}
			if pair, ok := pairOf(w); ok {
				list = append(list, pair)
			}
			if len(list) == maxRecorded {
				break
			}
		}
	}
	slices.SortStableFunc(list, func(a, b writtenPair) int { return cmp.Compare(a.size, b.size) })
	return list
}

// pairOf returns a write as a pair of objects. ok is false for a write to the subresource scale, and for a patch that
// cannot be applied.
func pairOf(w *write) (p writtenPair, ok bool) {
	object, old, subresource, err := objectsOf(w.write)
	if err != nil || subresource == "scale" {
		return p, false
	}
	p = writtenPair{status: subresource == "status", size: len(object) + len(old)}
	if p.Object, err = sample.Parse(object); err == nil && old != nil {
		p.Old, err = sample.Parse(old)
	}
	return p, err == nil
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
	var item engine.Write = engine.Create{Object: engine.JSON(c.object)}
	if c.old != nil {
		update := engine.Update{Object: engine.JSON(c.object), Old: engine.JSON(c.old)}
		if c.status {
			update.Subresource = "status"
		}
		item = update
	}
	var err error
	options := engine.AdmitOptions{FieldValidation: engine.FieldValidationIgnore, CompleteMetadata: true}
	if c.original, err = s.crd.definition.Admit(ctx, item, options); err == nil {
		c.mutant, err = s.changed.Admit(ctx, item, options)
	}
	if err != nil {
		return false, err
	}
	return c.original.Allowed != c.mutant.Allowed || !bytes.Equal(c.original.Object, c.mutant.Object), nil
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
