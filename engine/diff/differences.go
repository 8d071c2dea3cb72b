package diff

import (
	"bytes"
	"maps"
	"slices"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Bounds of the Differences of one object. The first one is listed whatever its size.
const (
	MaxDifferences     = 100       // number of them
	MaxDifferenceBytes = 256 << 10 // of their values
)

// FieldDifference is a field for which the definitions have different results.
type FieldDifference struct {
	// Outcome is PrunedOtherwise, DefaultedOtherwise or ConvertedOtherwise.
	Outcome Outcome
	// Version is the version converted to, the object's own if it differs after it was stored; "" where nothing was
	// converted.
	Version string
	// Pointer leads to the field (RFC 6901), Path spells the same for people: spec.jobs[0].extra.
	Path, Pointer string
	// Old and New are the values in the two results, as JSON; nil where the field is not there.
	Old, New []byte
}

// results compares the objects that both definitions return: at the own version, at the others that both serve, and
// after storage.
func (r *replay) results() {
	read := func(d *engine.Definition, target string) (*engine.Transformed, error) {
		return d.Read(r.ctx, r.item.Object, engine.ReadOptions{Version: r.item.Version, TargetVersion: target})
	}
	before, err := read(r.old, "")
	if err != nil {
		r.failInternal("under the old definition", err)
		return // the verdicts report that it cannot be decoded
	}
	after, err := read(r.new, "")
	if err != nil {
		r.failInternal("under the new definition", err)
		return
	}
	sent := tree.Acquire() // not released by defer: after a panic it must not return to the pool
	root, err := compiled.Document(r.item.Object).Parse(sent, "object", compiled.Of(r.old).Limits)
	if err != nil {
		return
	}
	finder := sent.Finder()
	r.differ(before.Object, after.Object, "", func(p tree.Path, both bool) Outcome {
		node := finder.Lookup(root, p)
		if node == 0 || both && sent.Nodes[node].Kind == tree.Null {
			return DefaultedOtherwise
		}
		return PrunedOtherwise
	})
	sent.Release()
	apiVersion, _, err := engine.JSON(before.Object).TypeMeta(compiled.Of(r.old).Limits)
	if err != nil {
		return
	}
	own := versionOf(apiVersion)
	for i := range r.new.Versions() {
		v := &r.new.Versions()[i]
		other := compiled.Of(r.old).Version(v.Name)
		if v.Name != own && other != nil && (v.Served || v.Storage) && (other.Served || other.Storage) {
			r.converted(v.Name, func(*engine.Definition) string { return "at " + v.Name }, func(d *engine.Definition) (*engine.Transformed, error) {
				return read(d, v.Name)
			})
		}
	}
	if r.old.StorageVersion() == own && r.new.StorageVersion() == own {
		return
	}
	r.converted(own, func(d *engine.Definition) string { return "stored at " + d.StorageVersion() }, func(d *engine.Definition) (*engine.Transformed, error) {
		if d.StorageVersion() == own {
			return read(d, "")
		}
		stored, err := read(d, d.StorageVersion())
		if err != nil {
			return nil, err
		}
		return d.Read(r.ctx, engine.JSON(stored.Object), engine.ReadOptions{TargetVersion: own})
	})
}

// converted compares what both definitions return for a version. where describes the result in an error.
func (r *replay) converted(version string, where func(*engine.Definition) string, read func(*engine.Definition) (*engine.Transformed, error)) {
	before, err := read(r.old)
	if err != nil {
		r.fail("under the old definition, "+where(r.old), err)
		return
	}
	after, err := read(r.new)
	if err != nil {
		r.fail("under the new definition, "+where(r.new), err)
		return
	}
	r.differ(before.Object, after.Object, version, func(tree.Path, bool) Outcome { return ConvertedOtherwise })
}

// differ adds the fields in which two results differ, the topmost ones, by name. Differences at another version that
// are the same as at the own version are skipped. classify returns the outcome of a difference; both says that both
// results have the field.
func (r *replay) differ(before, after []byte, version string, classify func(p tree.Path, both bool) Outcome) {
	a, b := tree.Acquire(), tree.Acquire() // not released by defer, as in results
	x, err := a.ParseJSON(before, engine.Limits{MaxBytes: max(1, len(before))})
	if err != nil {
		return
	}
	y, err := b.ParseJSON(after, engine.Limits{MaxBytes: max(1, len(after))})
	if err != nil {
		return
	}
	t := trees{a: a, b: b, report: func(p tree.Path, i, j uint32) {
		if r.ctx.Err() != nil {
			return // Replay returns an error
		}
		d := FieldDifference{Outcome: classify(p, i != 0 && j != 0), Version: version}
		if d.Outcome != ConvertedOtherwise && len(r.Differences) >= MaxDifferences {
			r.add(d.Outcome) // without the path, which may be long
			r.OmittedDifferences++
			return
		}
		d.Path, d.Pointer = p.Dotted(), p.Pointer()
		if i != 0 {
			d.Old = a.AppendJSON(nil, i)
		}
		if j != 0 {
			d.New = b.AppendJSON(nil, j)
		}
		r.difference(d)
	}}
	t.compare(nil, x, y)
	a.Release()
	b.Release()
}

func (r *replay) difference(d FieldDifference) {
	same := func(known FieldDifference) bool {
		return known.Version == "" && known.Pointer == d.Pointer &&
			(known.Old == nil) == (d.Old == nil) && bytes.Equal(known.Old, d.Old) &&
			(known.New == nil) == (d.New == nil) && bytes.Equal(known.New, d.New)
	}
	if d.Outcome == ConvertedOtherwise && slices.ContainsFunc(r.Differences, same) {
		return
	}
	r.add(d.Outcome)
	size := len(d.Old) + len(d.New)
	if n := len(r.Differences); n >= MaxDifferences || n > 0 && r.bytes+size > MaxDifferenceBytes {
		r.OmittedDifferences++
		return
	}
	r.bytes += size
	r.Differences = append(r.Differences, d)
}

// trees compares two trees.
type trees struct {
	a, b   *tree.Doc
	report func(p tree.Path, i, j uint32) // a missing node is 0
}

func (t *trees) compare(p tree.Path, i, j uint32) {
	switch m, n := t.a.Nodes[i].Kind, t.b.Nodes[j].Kind; {
	case i == 0 || j == 0:
		t.report(p, i, j)
	case m == tree.Object && n == tree.Object:
		before, after := membersOf(t.a, i), membersOf(t.b, j)
		names := maps.Clone(before)
		maps.Copy(names, after)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			t.compare(p.With(tree.Name(name)), before[name], after[name])
		}
	case m == tree.Array && n == tree.Array && t.a.Len(i) == t.b.Len(j):
		c, e := t.a.Nodes[i].First, t.b.Nodes[j].First
		for at := 0; c != 0 && e != 0; at++ {
			t.compare(p.With(tree.At(at)), c, e)
			c, e = t.a.Nodes[c].Next, t.b.Nodes[e].Next
		}
	case !tree.Equal(t.a, i, t.b, j):
		t.report(p, i, j)
	}
}

func membersOf(d *tree.Doc, object uint32) map[string]uint32 {
	members := make(map[string]uint32, d.Len(object))
	for c := d.Nodes[object].First; c != 0; c = d.Nodes[c].Next {
		members[d.Key(c)] = c
	}
	return members
}
