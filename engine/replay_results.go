package engine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/value"
)

// statusWrite returns the update that adds its status to an object. ok is false without a status or a status
// subresource.
func (d *Definition) statusWrite(ctx context.Context, item Item) (Item, bool) {
	apiVersion, _, err := TypeMetaOf(item.Object, d.limits)
	if err != nil || !d.hasStatus(cmp.Or(item.Version, versionOf(apiVersion))) {
		return Item{}, false
	}
	read, err := d.Read(ctx, Item{Version: item.Version, Object: item.Object}, EvaluationOptions{})
	if err != nil {
		return Item{}, false
	}
	old, had := d.inStorage(JSON(read.Object), item, "status")
	item.OldObject, item.Subresource = old, "status"
	return item, had
}

// inStorage returns an object completed as a stored one: with a name, a namespace and a resourceVersion, and without
// the member named without. had reports whether the object had that member.
func (d *Definition) inStorage(object Document, item Item, without string) (stored Document, had bool) {
	text := object.JSON
	if object.YAML != nil {
		var err error
		if text, _, err = value.YAMLToJSON(object.YAML, d.limits); err != nil {
			return object, false
		}
	}
	var root, metadata map[string]json.RawMessage
	if json.Unmarshal(text, &root) != nil || root == nil || root["metadata"] != nil && json.Unmarshal(root["metadata"], &metadata) != nil {
		return object, false // its evaluation reports the error
	}
	if metadata == nil {
		metadata = map[string]json.RawMessage{}
	}
	complete := func(name, text string) {
		if _, there := metadata[name]; !there && text != "" {
			metadata[name], _ = json.Marshal(text)
		}
	}
	complete("name", cmp.Or(item.Name, "replayed"))
	complete("resourceVersion", "1")
	if d.scope == NamespaceScoped {
		complete("namespace", cmp.Or(item.Namespace, "default"))
	}
	_, had = root[without]
	delete(root, without)
	root["metadata"], _ = json.Marshal(metadata)
	if text, err := json.Marshal(root); err == nil {
		return JSON(text), had
	}
	return object, false
}

// versionOf returns the version of an apiVersion.
func versionOf(apiVersion string) string {
	return apiVersion[strings.LastIndexByte(apiVersion, '/')+1:]
}

func (d *Definition) hasStatus(version string) bool {
	v := d.version(version)
	return v != nil && v.HasStatus
}

// results compares the objects that both definitions return: at the own version, at the others that both serve, and
// after storage.
func (r *replay) results() {
	item := Item{Version: r.item.Version, Object: r.item.Object}
	before, err := r.old.Read(r.ctx, item, EvaluationOptions{})
	if err != nil {
		return // the verdicts report that it cannot be decoded
	}
	after, err := r.new.Read(r.ctx, item, EvaluationOptions{})
	if err != nil {
		return
	}
	given := value.Acquire()
	defer given.Release()
	root, err := r.item.Object.parse(given, "object", r.old.limits)
	if err != nil {
		return
	}
	finder := given.Finder()
	r.differ(before.Object, after.Object, func(p value.Path, both bool) FieldDifference {
		node := finder.Lookup(root, p)
		if node == 0 || both && given.Nodes[node].Kind == value.Null {
			return FieldDifference{Outcome: DefaultedOtherwise}
		}
		return FieldDifference{Outcome: PrunedOtherwise}
	})
	apiVersion, _, err := TypeMetaOf(JSON(before.Object), r.old.limits)
	if err != nil {
		return
	}
	own := versionOf(apiVersion)
	for i := range r.new.versions {
		v := &r.new.versions[i]
		other := r.old.version(v.Name)
		if v.Name != own && other != nil && (v.Served || v.Storage) && (other.Served || other.Storage) {
			r.converted(item, v.Name)
		}
	}
	r.stored(item, own)
}

// converted compares the object at another version.
func (r *replay) converted(item Item, version string) {
	o := EvaluationOptions{TargetVersion: version}
	before, err := r.old.Read(r.ctx, item, o)
	if err != nil {
		r.fail("under the old definition, at "+version, err)
		return
	}
	after, err := r.new.Read(r.ctx, item, o)
	if err != nil {
		r.fail("under the new definition, at "+version, err)
		return
	}
	r.differ(before.Object, after.Object, func(value.Path, bool) FieldDifference {
		return FieldDifference{Outcome: ConvertedOtherwise, Version: version}
	})
}

// stored compares the object at its own version after storage, if it is stored at another version.
func (r *replay) stored(item Item, own string) {
	if r.old.storage == own && r.new.storage == own {
		return
	}
	before, err := r.old.storedAndRead(r.ctx, item, own)
	if err != nil {
		r.fail("under the old definition, stored at "+r.old.storage, err)
		return
	}
	after, err := r.new.storedAndRead(r.ctx, item, own)
	if err != nil {
		r.fail("under the new definition, stored at "+r.new.storage, err)
		return
	}
	r.differ(before, after, func(value.Path, bool) FieldDifference {
		return FieldDifference{Outcome: ConvertedOtherwise, Version: own}
	})
}

// storedAndRead returns the object at its own version after it was stored at the storage version.
func (d *Definition) storedAndRead(ctx context.Context, item Item, own string) ([]byte, error) {
	if d.storage == own {
		read, err := d.Read(ctx, item, EvaluationOptions{})
		if err != nil {
			return nil, err
		}
		return read.Object, nil
	}
	stored, err := d.Read(ctx, item, EvaluationOptions{TargetVersion: d.storage})
	if err != nil {
		return nil, err
	}
	read, err := d.Read(ctx, Item{Object: JSON(stored.Object)}, EvaluationOptions{TargetVersion: own})
	if err != nil {
		return nil, err
	}
	return read.Object, nil
}

// differ adds the fields in which two results differ, the topmost ones, by name. Differences at another version that
// are the same as at the own version are skipped. what classifies a difference; both says that both results have the
// field.
func (r *replay) differ(before, after []byte, what func(p value.Path, both bool) FieldDifference) {
	a, b := value.Acquire(), value.Acquire()
	defer a.Release()
	defer b.Release()
	x, err := a.ParseJSON(before, Limits{MaxBytes: max(1, len(before))})
	if err != nil {
		return
	}
	y, err := b.ParseJSON(after, Limits{MaxBytes: max(1, len(after))})
	if err != nil {
		return
	}
	t := trees{a: a, b: b, report: func(p value.Path, i, j uint32) {
		if r.ctx.Err() != nil {
			return // Replay returns an error
		}
		d := what(p, i != 0 && j != 0)
		if d.Outcome != ConvertedOtherwise && len(r.Differences) >= MaxReplayDifferences {
			r.omit(d.Outcome) // without the path, which may be long
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
	size := len(d.Old) + len(d.New)
	if n := len(r.Differences); n >= MaxReplayDifferences || n > 0 && r.bytes+size > MaxReplayBytes {
		r.omit(d.Outcome)
		return
	}
	r.addInOrder(d.Outcome)
	r.bytes += size
	r.Differences = append(r.Differences, d)
}

// omit counts a difference that is not listed.
func (r *replay) omit(of ReplayOutcome) {
	r.addInOrder(of)
	r.OmittedDifferences++
}

// addInOrder adds an outcome and sorts the outcomes.
func (r *replay) addInOrder(outcome ReplayOutcome) {
	r.add(outcome)
	slices.SortFunc(r.Outcomes, func(a, b ReplayOutcome) int {
		return cmp.Compare(slices.Index(outcomes, a), slices.Index(outcomes, b))
	})
}

// trees compares two trees.
type trees struct {
	a, b   *value.Doc
	report func(p value.Path, i, j uint32) // a missing node is 0
}

func (t *trees) compare(p value.Path, i, j uint32) {
	switch m, n := t.a.Nodes[i].Kind, t.b.Nodes[j].Kind; {
	case m == value.Object && n == value.Object:
		t.members(p, i, j)
	case m == value.Array && n == value.Array && t.a.Len(i) == t.b.Len(j):
		c, e := t.a.Nodes[i].First, t.b.Nodes[j].First
		for at := 0; c != 0 && e != 0; at++ {
			t.compare(p.With(value.At(at)), c, e)
			c, e = t.a.Nodes[c].Next, t.b.Nodes[e].Next
		}
	case !value.Equal(t.a, i, t.b, j):
		t.report(p, i, j)
	}
}

func (t *trees) members(p value.Path, i, j uint32) {
	before, after := membersOf(t.a, i), membersOf(t.b, j)
	names := maps.Clone(before)
	maps.Copy(names, after)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		c, e := before[name], after[name]
		if c == 0 || e == 0 {
			t.report(p.With(value.Name(name)), c, e)
			continue
		}
		t.compare(p.With(value.Name(name)), c, e)
	}
}

func membersOf(d *value.Doc, object uint32) map[string]uint32 {
	members := make(map[string]uint32, d.Len(object))
	for c := d.Nodes[object].First; c != 0; c = d.Nodes[c].Next {
		members[d.Key(c)] = c
	}
	return members
}
