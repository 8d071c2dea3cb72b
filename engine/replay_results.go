package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/internal/value"
)

// statusWrite is the write of an object's status to the object without it; false if the status is no subresource, or if there is none.
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

// inStorage is an object with what an object in storage has for sure, as far as a manifest may lack it: a name, a namespace and a
// resourceVersion. Of its other members, without is left out; had says whether it was there.
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
		return object, false // who evaluates it says what is wrong with it
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

// versionOf is the version in an apiVersion.
func versionOf(apiVersion string) string {
	for i := len(apiVersion) - 1; i >= 0; i-- {
		if apiVersion[i] == '/' {
			return apiVersion[i+1:]
		}
	}
	return apiVersion
}

func (d *Definition) version(name string) *VersionInfo {
	for i := range d.versions {
		if d.versions[i].Name == name {
			return &d.versions[i]
		}
	}
	return nil
}

func (d *Definition) hasStatus(version string) bool {
	v := d.version(version)
	return v != nil && v.HasStatus
}

// results compares what the two definitions make of the object: at its own version, at the others that both serve, and after it was stored.
func (r *replay) results() {
	item := Item{Version: r.item.Version, Object: r.item.Object}
	before, err := r.old.Read(r.ctx, item, EvaluationOptions{})
	if err != nil {
		return // it cannot be decoded, and the verdicts say so
	}
	after, err := r.new.Read(r.ctx, item, EvaluationOptions{})
	if err != nil {
		return
	}
	given := value.Acquire()
	defer given.Release()
	root, ok := parse(given, r.item.Object, r.old.limits)
	if !ok {
		return
	}
	places := given.Finder()
	r.differ(before.Object, after.Object, func(p value.Path, both bool) FieldDifference {
		there := places.Lookup(root, p)
		if there == 0 || both && given.Nodes[there].Kind == value.Null {
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

func parse(d *value.Doc, document Document, l Limits) (root uint32, ok bool) {
	var err error
	if document.YAML != nil {
		root, err = d.ParseYAML(document.YAML, value.Request, l)
	} else {
		root, err = d.ParseJSON(document.JSON, l)
	}
	return root, err == nil
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

// stored compares the object at its own version after it was stored, where that takes it through another version.
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

// storedAndRead is the object as its own version shows it after it was stored at the storage version.
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

// differ tells of the fields in which two results differ, the topmost of each, in the order of their names. What differs in the same way at the
// object's own version is not told again. what says what a difference is; both: the field is in both.
func (r *replay) differ(before, after []byte, what func(p value.Path, both bool) FieldDifference) {
	a, b := value.Acquire(), value.Acquire()
	defer a.Release()
	defer b.Release()
	// The results are the engine's own: they parse.
	x, err := a.ParseJSON(before, Limits{MaxBytes: max(1, len(before))})
	if err != nil {
		return
	}
	y, err := b.ParseJSON(after, Limits{MaxBytes: max(1, len(after))})
	if err != nil {
		return
	}
	t := trees{a: a, b: b, tell: func(p value.Path, i, j uint32) {
		if r.ctx.Err() != nil {
			return // as Replay says
		}
		d := what(p, i != 0 && j != 0)
		if d.Outcome != ConvertedOtherwise && len(r.Differences) >= MaxReplayDifferences {
			r.omit(d.Outcome) // the place, which may be long, is of no interest any more
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
		return known.Version == "" && known.Pointer == d.Pointer && (known.Old == nil) == (d.Old == nil) && (known.New == nil) == (d.New == nil) &&
			string(known.Old) == string(d.Old) && string(known.New) == string(d.New)
	}
	if d.Outcome == ConvertedOtherwise && slices.ContainsFunc(r.Differences, same) {
		return
	}
	bytes := len(d.Old) + len(d.New)
	if len(r.Differences) >= MaxReplayDifferences || len(r.Differences) > 0 && r.bytes+bytes > MaxReplayBytes {
		r.omit(d.Outcome)
		return
	}
	r.tell(d.Outcome)
	r.bytes += bytes
	r.Differences = append(r.Differences, d)
}

// omit counts a difference that is not told.
func (r *replay) omit(of ReplayOutcome) {
	r.tell(of)
	r.OmittedDifferences++
}

// tell adds an outcome in its place.
func (r *replay) tell(outcome ReplayOutcome) {
	r.add(outcome)
	slices.SortFunc(r.Outcomes, func(a, b ReplayOutcome) int { return cmp.Compare(slices.Index(outcomes, a), slices.Index(outcomes, b)) })
}

// outcomes are all in their order.
var outcomes = []ReplayOutcome{NewlyRejected, KeptByRatcheting, NewlyAccepted, PrunedOtherwise, DefaultedOtherwise, ConvertedOtherwise, Same}

// trees compares two trees.
type trees struct {
	a, b *value.Doc
	tell func(p value.Path, i, j uint32) // a node that is 0 is missing
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
		t.tell(p, i, j)
	}
}

func (t *trees) members(p value.Path, i, j uint32) {
	before, after := membersOf(t.a, i), membersOf(t.b, j)
	names := make(map[string]struct{}, len(before))
	for name := range before {
		names[name] = struct{}{}
	}
	for name := range after {
		names[name] = struct{}{}
	}
	for _, name := range schema.Names(names) {
		c, e := before[name], after[name]
		if c == 0 || e == 0 {
			t.tell(p.With(value.Name(name)), c, e)
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
