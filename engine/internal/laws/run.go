package laws

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/lens"
	"github.com/crdeval/crdeval/engine/internal/sample"
	"github.com/crdeval/crdeval/engine/internal/search"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// tester tests the conversions from one version to another.
type tester struct {
	ctx       context.Context
	converter Converter
	from, to  *Version
	via       string          // the version through which the conversions go, or ""
	enlarged  map[string]bool // the paths of strings that were long
}

// trial is an object with the data that the checks of the laws need. Shrinking changes it.
type trial struct {
	tree     *sample.Tree
	change   *sample.Change // for the law edit, nil without a valid change
	part     *sample.Tree   // for the law locality
	managers uint64         // the seed of the managers of its fields

	object    []byte // with defaults
	converted []byte
	failed    error  // of the conversion
	first     *trial // the first valid object that was generated for the trial and not converted, or nil
	back      []byte
	returned  error // of the conversion back
}

const (
	// mostShrinks bounds the checks that shrink one counterexample.
	mostShrinks = 2000
	// mostLarge bounds the large objects for the law size.
	mostLarge = 64
	// largeText is the length of a string in a large object: more than the annotations of an object can have.
	largeText = maxAnnotations + 1<<10
)

// Test tests all laws on n objects, or on fewer if too few generated objects are valid. via is the version that the
// conversions go through, or "". The error is that of the context.
func Test(ctx context.Context, c Converter, from, to *Version, via string, n int, seed uint64) ([]Result, error) {
	t := &tester{ctx: ctx, converter: c, from: from, to: to, via: via, enlarged: map[string]bool{}}
	laws := all()
	results := make([]Result, len(laws))
	for i, l := range laws {
		results[i] = Result{Law: l.name, From: from.Name, To: to.Name}
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(from.Name + "\x00" + to.Name))
	unconverted, converted, valid := 0, 0, &results[validityLaw]
	var example *trial
	var objects [][]byte // that are converted
	failing := failures{}
	for k := range n {
		r := sample.NewRandom(seed^h.Sum64(), uint64(k))
		tr, err := t.generate(r)
		if err != nil {
			return nil, err
		}
		if tr == nil {
			continue
		}
		valid.Generated++
		if tr.first != nil {
			if valid.Unconverted++; valid.Failure == "" {
				valid.Failure = tr.first.failed.Error()
			}
			failing.add(tr.first)
		}
		if tr.failed != nil {
			unconverted, example = unconverted+1, tr
			continue
		}
		converted++
		objects = append(objects, tr.object)
		t.run(r, tr, laws, results)
		t.runLarge(tr, laws[sizeLaw], &results[sizeLaw])
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	if unconverted > converted && valid.Counterexample == nil {
		valid.Counterexample = t.unconverted(example, unconverted, converted)
	}
	if valid.Counterexample == nil {
		valid.Counterexample = t.neverConverted(failing, objects)
	}
	return results, ctx.Err()
}

// generate returns a valid object and its conversion, or nil if it finds no valid object. If the conversion of an
// object fails, it tries other values. It returns an object whose conversion fails only if it finds no other.
func (t *tester) generate(r sample.Random) (*trial, error) {
	var last, first *trial
	valid := search.Valid(t.from.Generator, r.Uint64(), func(o *sample.Tree) ([]sample.Fault, error) {
		if err := t.ctx.Err(); err != nil {
			return nil, err
		}
		tr := &trial{}
		faults := t.judge(tr, o.JSON())
		if len(faults) > 0 {
			return faults, nil
		}
		if last = tr; first == nil && tr.failed != nil {
			first = tr
		}
		var failed *lens.Error
		switch {
		case tr.failed == nil:
			return nil, nil
		case errors.As(tr.failed, &failed):
			return []sample.Fault{{Path: failed.Path}}, nil
		}
		return []sample.Fault{{}}, nil
	})
	if _, err := valid.Run(); err != nil || last == nil {
		return nil, err
	}
	last.first = first
	var err error
	last.tree, err = sample.Parse(last.object)
	return last, err
}

// judge validates an object, and converts it there and back. It returns the faults of the object.
func (t *tester) judge(tr *trial, object []byte) []sample.Fault {
	v, err := t.from.Judge(t.ctx, object)
	if err != nil {
		return []sample.Fault{{}}
	}
	if len(v.Faults) > 0 {
		return v.Faults
	}
	*tr = trial{tree: tr.tree, change: tr.change, part: tr.part, managers: tr.managers, object: withMetadata(v.Object, object)}
	if tr.converted, tr.failed = t.convert(tr.object, t.from, t.to); tr.failed == nil {
		tr.back, tr.returned = t.convert(tr.converted, t.to, t.from)
	}
	return nil
}

// withMetadata returns an object with the metadata of another one. Validation removes empty parts of metadata.
func withMetadata(object, from []byte) []byte {
	o, f := parse(object), parse(from)
	defer o.Release()
	defer f.Release()
	i, text := o.Field(o.root, "metadata"), f.AppendJSON(nil, f.Field(f.root, "metadata"))
	if i == 0 || bytes.Equal(o.Raw(i), text) {
		return object
	}
	metadata, err := o.Parse(text, tree.Arena, tree.Limits{MaxBytes: max(len(text), 1)})
	if err != nil {
		return object
	}
	o.Replace(i, metadata)
	o.MarkDirty(o.root)
	return o.AppendJSON(nil, o.root)
}

// convert converts a whole object and returns it as JSON.
func (t *tester) convert(object []byte, from, to *Version) ([]byte, error) {
	return t.convertPart(object, from, to, true)
}

// convertPart converts an object, which can be partial, and returns it as JSON.
func (t *tester) convertPart(object []byte, from, to *Version, whole bool) ([]byte, error) {
	return t.transform(object, func(d *tree.Doc, root uint32) error {
		return t.converter.Convert(t.ctx, d, root, from.Name, to.Name, whole)
	})
}

// transform changes the tree of an object and returns it as JSON. It keeps floats such as 1.0, as webhooks do.
func (t *tester) transform(object []byte, do func(d *tree.Doc, root uint32) error) ([]byte, error) {
	d := tree.Acquire() // not released by defer: after a panic it must not return to the pool
	root, err := d.ParseJSON(object, tree.Limits{})
	var out []byte
	if err == nil {
		if err = do(d, root); err == nil {
			out = d.AppendDecoded(nil, root)
		}
	}
	d.Release()
	return out, err
}

// run checks all laws that have no counterexample yet.
func (t *tester) run(r sample.Random, tr *trial, laws []law, results []Result) {
	tr.managers = r.Uint64()
	tr.part = t.from.Generator.Partial(r.Uint64(), tr.tree)
	if results[editLaw].Counterexample == nil {
		tr.change = t.validChange(r, tr)
	}
	for i, l := range laws {
		if results[i].Counterexample == nil && t.ctx.Err() == nil {
			t.apply(l, &results[i], tr)
		}
	}
}

// apply checks a law, and records and shrinks a counterexample.
func (t *tester) apply(l law, result *Result, tr *trial) {
	applies, c := l.check(t, tr)
	if t.ctx.Err() != nil {
		return
	}
	if applies {
		result.Objects++
	}
	if c != nil {
		result.Counterexample = t.shrink(l.check, tr, c)
	}
}

// shrink returns a small counterexample. c is the counterexample of the trial.
func (t *tester) shrink(check check, tr *trial, c *Counterexample) *Counterexample {
	small := *tr
	small.tree = tr.tree.Clone()
	values := []*sample.Tree{small.tree}
	if tr.part != nil {
		small.part = tr.part.Clone()
		values = append([]*sample.Tree{small.part}, values...)
	}
	if tr.change != nil && tr.change.Value != nil {
		small.change = &sample.Change{Path: tr.change.Path, Value: tr.change.Value.Clone()}
		values = append(values, small.change.Value)
	}
	search.Shrink(func() bool {
		if t.ctx.Err() != nil || len(t.judge(&small, small.tree.JSON())) > 0 {
			return false
		}
		_, found := check(t, &small)
		if found == nil || t.ctx.Err() != nil {
			return false
		}
		c = found
		return true
	}, mostShrinks, values...)
	return c
}

// runLarge checks the law size on objects with one long string, once for each string field that the object has.
func (t *tester) runLarge(tr *trial, l law, result *Result) {
	var visit func(v *sample.Tree, path string)
	visit = func(v *sample.Tree, path string) {
		if v.Kind == tree.Object || v.Kind == tree.Array {
			for _, m := range v.Items {
				visit(m, path+"."+m.Key)
			}
		}
		if v.Kind != tree.String || t.enlarged[path] || len(t.enlarged) >= mostLarge || result.Counterexample != nil {
			return
		}
		t.enlarged[path] = true
		before := v.Text
		v.Text = `"` + strings.Repeat("x", largeText) + `"`
		if big := (&trial{tree: tr.tree}); len(t.judge(big, big.tree.JSON())) == 0 && big.failed == nil {
			t.apply(l, result, big)
		}
		v.Text = before
	}
	for _, m := range tr.tree.Items {
		if m.Key != "apiVersion" && m.Key != "kind" && m.Key != "metadata" && t.ctx.Err() == nil {
			visit(m, m.Key)
		}
	}
}

// unconverted returns a counterexample if the conversion fails for most objects.
func (t *tester) unconverted(tr *trial, failed, converted int) *Counterexample {
	text := func(tr *trial) *Counterexample {
		return &Counterexample{Object: tr.object, Text: fmt.Sprintf(
			"Of %d valid objects of %s, %d are not converted to %s. The conversion of this one fails: %v.",
			failed+converted, t.from.Name, failed, t.to.Name, tr.failed)}
	}
	return t.shrink(func(_ *tester, tr *trial) (bool, *Counterexample) {
		if tr.failed == nil {
			return true, nil
		}
		return true, text(tr)
	}, tr, text(tr))
}
