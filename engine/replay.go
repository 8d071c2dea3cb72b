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

// ReplayOutcome is a difference between the results for an object under two revisions of its CRD.
type ReplayOutcome string

// The outcomes. An object can have several, except Same.
const (
	// NewlyRejected: the old definition accepts a write of the object, the new one rejects it.
	NewlyRejected ReplayOutcome = "NewlyRejected"
	// KeptByRatcheting, always with NewlyRejected: the new definition accepts an update of the stored object that does
	// not change the invalid values. Without it the object has to be fixed with the next write.
	KeptByRatcheting ReplayOutcome = "KeptByRatcheting"
	// NewlyAccepted: the old definition rejects it, the new one accepts it.
	NewlyAccepted ReplayOutcome = "NewlyAccepted"
	// PrunedOtherwise: one definition drops fields or nulls that the other keeps.
	PrunedOtherwise ReplayOutcome = "PrunedOtherwise"
	// DefaultedOtherwise: the definitions fill in different values.
	DefaultedOtherwise ReplayOutcome = "DefaultedOtherwise"
	// ConvertedOtherwise: the object differs at another version, or at its own version after it was stored at another one.
	ConvertedOtherwise ReplayOutcome = "ConvertedOtherwise"
	// Same: none of these.
	Same ReplayOutcome = "Same"
)

// outcomes are all outcomes in order.
var outcomes = []ReplayOutcome{
	NewlyRejected, KeptByRatcheting, NewlyAccepted, PrunedOtherwise, DefaultedOtherwise, ConvertedOtherwise, Same,
}

// ReplayResult is the result for one object.
type ReplayResult struct {
	// Outcomes are in the order of the constants. They are empty if Err prevented the replay.
	Outcomes []ReplayOutcome
	// OldAllowed and NewAllowed report whether the definitions accept the object.
	OldAllowed, NewAllowed bool
	// OldViolations and NewViolations are the violations of the two definitions, with positions in the object.
	OldViolations, NewViolations []Violation
	// NewRejection is the new definition's answer to a newly rejected object. It is nil if it lacks the object's version.
	NewRejection *Rejection
	// Differences are the fields that are pruned, defaulted or converted otherwise, within MaxReplayDifferences and
	// MaxReplayBytes. OmittedDifferences counts the others.
	Differences        []FieldDifference
	OmittedDifferences int
	// Err is the *Error because of which the object could not be replayed, or only in part.
	Err error
}

// Bounds of the Differences of one object. The first one is listed whatever its size.
const (
	MaxReplayDifferences = 100       // number of them
	MaxReplayBytes       = 256 << 10 // of their values
)

// FieldDifference is a field for which the definitions have different results.
type FieldDifference struct {
	// Outcome is PrunedOtherwise, DefaultedOtherwise or ConvertedOtherwise.
	Outcome ReplayOutcome
	// Version is the version converted to, the object's own if it differs after it was stored; "" where nothing was
	// converted.
	Version string
	// Pointer leads to the field (RFC 6901), Path spells the same for people: spec.jobs[0].extra.
	Path, Pointer string
	// Old and New are the values in the two results, as JSON; nil where the field is not there.
	Old, New []byte
}

// Replay evaluates objects under two revisions of a CRD and returns the differences, one ReplayResult for each item. An
// item is an object as storage has it, as a client reads it or as a manifest has it. It is evaluated as if it were
// written anew, including its status. An item with an OldObject or a Subresource is that update.
//
// Metadata is completed as with EvaluationOptions.CompleteMetadata. Of the options only FieldValidation is used. The
// error is that of a context that ended; errors of one item are in its result.
func Replay(ctx context.Context, old, new *Definition, items []Item, o EvaluationOptions) (_ []ReplayResult, err error) {
	defer Recover(&err)
	if old == nil || new == nil {
		return nil, invalid("a definition is missing: replay takes an old and a new one")
	}
	all := make([]ReplayResult, len(items))
	o = EvaluationOptions{FieldValidation: o.FieldValidation, CompleteMetadata: true}
	for i := range items {
		r := replay{ctx: ctx, old: old, new: new, item: items[i], options: o}
		r.run()
		if err := ctx.Err(); err != nil {
			return nil, failed(ReasonItemDeadline, "the call ended before all items were replayed", err)
		}
		slices.SortFunc(r.Outcomes, func(a, b ReplayOutcome) int {
			return cmp.Compare(slices.Index(outcomes, a), slices.Index(outcomes, b))
		})
		all[i] = r.ReplayResult
	}
	return all, nil
}

// replay is the replay of one item.
type replay struct {
	ReplayResult
	ctx      context.Context
	old, new *Definition
	item     Item
	options  EvaluationOptions
	bytes    int // of the values in Differences
}

func (r *replay) run() {
	before, err := r.evaluate("under the old definition", r.old)
	if before == nil {
		return
	}
	after, err2 := r.evaluate("under the new definition", r.new)
	if after == nil {
		return
	}
	r.OldAllowed, r.OldViolations = before.Allowed, before.Violations
	r.NewAllowed, r.NewViolations = after.Allowed, after.Violations
	switch {
	case r.OldAllowed && !r.NewAllowed:
		r.NewRejection = after.Rejection
		r.add(NewlyRejected)
		if err2 == nil && r.isAcceptedUnchanged() {
			r.add(KeptByRatcheting)
		}
	case !r.OldAllowed && r.NewAllowed:
		r.add(NewlyAccepted)
	}
	if err == nil && err2 == nil {
		r.results()
	}
	if len(r.Outcomes) == 0 && r.Err == nil {
		r.add(Same)
	}
}

func (r *replay) add(outcome ReplayOutcome) {
	if !slices.Contains(r.Outcomes, outcome) {
		r.Outcomes = append(r.Outcomes, outcome)
	}
}

// fail records the first error.
func (r *replay) fail(where string, err error) {
	if r.Err == nil {
		r.Err = within(where, err)
	}
}

// failInternal records an internal error, such as that of a hook. All other errors are also those of the verdicts.
func (r *replay) failInternal(where string, err error) {
	if ReasonOf(err) == ReasonInternal {
		r.fail(where, err)
	}
}

// isAcceptedUnchanged reports whether the new definition accepts an update of the stored object that changes nothing.
func (r *replay) isAcceptedUnchanged() bool {
	again := r.item
	if !again.OldObject.Absent() {
		again.Object = again.OldObject
	}
	again.OldObject, _ = r.new.inStorage(again.Object, again, "")
	v, err := r.new.Validate(r.ctx, again, r.options)
	r.failInternal("under the new definition, unchanged", err)
	return err == nil && v.Allowed
}

// evaluate validates the object as a creation and, because a creation drops the status subresource, its status as an
// update. An object whose version the definition does not have or serve counts as rejected: there is an error and a
// Verdict. For other errors the Verdict is nil.
func (r *replay) evaluate(where string, d *Definition) (*Verdict, error) {
	v, err := d.Validate(r.ctx, r.item, r.options)
	if write, ok := r.statusWrite(where, d); err == nil && ok {
		var status *Verdict
		if status, err = d.Validate(r.ctx, write, r.options); err == nil && !status.Allowed {
			if v.Allowed {
				v.Allowed, v.Rejection = false, status.Rejection
			}
			v.Violations = union(v.Violations, status.Violations)
		}
	}
	if err == nil {
		return v, nil
	}
	r.fail(where, err)
	if reason := ReasonOf(err); reason == ReasonVersionNotFound || reason == ReasonVersionNotServed {
		return &Verdict{}, err
	}
	return nil, err
}

// union appends the violations that list does not have.
func union(list, more []Violation) []Violation {
	type key struct{ kind, field, message, pointer, schema string }
	keyOf := func(v *Violation) key { return key{v.Type, v.Field, v.Message, v.Pointer, v.SchemaPointer} }
	known := make(map[key]bool, len(list))
	for i := range list {
		known[keyOf(&list[i])] = true
	}
	list = slices.Clip(list)
	for i := range more {
		if !known[keyOf(&more[i])] {
			list = append(list, more[i])
		}
	}
	return list
}

// statusWrite returns the update that adds its status to an object. ok is false for an item that is an update, and
// without a status or a status subresource.
func (r *replay) statusWrite(where string, d *Definition) (Item, bool) {
	item := r.item
	apiVersion, _, err := TypeMetaOf(item.Object, d.compiled.Limits)
	if err != nil || !item.OldObject.Absent() {
		return Item{}, false
	}
	if v := d.compiled.Version(cmp.Or(item.Version, versionOf(apiVersion))); v == nil || !v.HasStatus {
		return Item{}, false
	}
	read, err := d.Read(r.ctx, Item{Version: item.Version, Object: item.Object}, EvaluationOptions{})
	if err != nil {
		r.failInternal(where, err)
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
		if text, _, err = value.YAMLToJSON(object.YAML, d.compiled.Limits); err != nil {
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
		if _, known := metadata[name]; !known {
			metadata[name], _ = json.Marshal(text)
		}
	}
	complete("name", cmp.Or(item.Name, "replayed"))
	complete("resourceVersion", "1")
	if d.compiled.Scope == NamespaceScoped {
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

// results compares the objects that both definitions return: at the own version, at the others that both serve, and
// after storage.
func (r *replay) results() {
	item := Item{Version: r.item.Version, Object: r.item.Object}
	before, err := r.old.Read(r.ctx, item, EvaluationOptions{})
	if err != nil {
		r.failInternal("under the old definition", err)
		return // the verdicts report that it cannot be decoded
	}
	after, err := r.new.Read(r.ctx, item, EvaluationOptions{})
	if err != nil {
		r.failInternal("under the new definition", err)
		return
	}
	sent := value.Acquire() // not released by defer: after a panic it must not return to the pool
	root, err := r.item.Object.parse(sent, "object", r.old.compiled.Limits)
	if err != nil {
		return
	}
	finder := sent.Finder()
	r.differ(before.Object, after.Object, "", func(p value.Path, both bool) ReplayOutcome {
		node := finder.Lookup(root, p)
		if node == 0 || both && sent.Nodes[node].Kind == value.Null {
			return DefaultedOtherwise
		}
		return PrunedOtherwise
	})
	sent.Release()
	apiVersion, _, err := TypeMetaOf(JSON(before.Object), r.old.compiled.Limits)
	if err != nil {
		return
	}
	own := versionOf(apiVersion)
	for i := range r.new.compiled.Versions {
		v := &r.new.compiled.Versions[i]
		other := r.old.compiled.Version(v.Name)
		if v.Name != own && other != nil && (v.Served || v.Storage) && (other.Served || other.Storage) {
			r.converted(v.Name, func(*Definition) string { return "at " + v.Name }, func(d *Definition) (*Transformed, error) {
				return d.Read(r.ctx, item, EvaluationOptions{TargetVersion: v.Name})
			})
		}
	}
	if r.old.StorageVersion() == own && r.new.StorageVersion() == own {
		return
	}
	r.converted(own, func(d *Definition) string { return "stored at " + d.StorageVersion() }, func(d *Definition) (*Transformed, error) {
		if d.StorageVersion() == own {
			return d.Read(r.ctx, item, EvaluationOptions{})
		}
		stored, err := d.Read(r.ctx, item, EvaluationOptions{TargetVersion: d.StorageVersion()})
		if err != nil {
			return nil, err
		}
		return d.Read(r.ctx, Item{Object: JSON(stored.Object)}, EvaluationOptions{TargetVersion: own})
	})
}

// converted compares what both definitions return for a version. where describes the result in an error.
func (r *replay) converted(version string, where func(*Definition) string, read func(*Definition) (*Transformed, error)) {
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
	r.differ(before.Object, after.Object, version, func(value.Path, bool) ReplayOutcome { return ConvertedOtherwise })
}

// differ adds the fields in which two results differ, the topmost ones, by name. Differences at another version that
// are the same as at the own version are skipped. classify returns the outcome of a difference; both says that both
// results have the field.
func (r *replay) differ(before, after []byte, version string, classify func(p value.Path, both bool) ReplayOutcome) {
	a, b := value.Acquire(), value.Acquire() // not released by defer, as in results
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
		d := FieldDifference{Outcome: classify(p, i != 0 && j != 0), Version: version}
		if d.Outcome != ConvertedOtherwise && len(r.Differences) >= MaxReplayDifferences {
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
	if n := len(r.Differences); n >= MaxReplayDifferences || n > 0 && r.bytes+size > MaxReplayBytes {
		r.OmittedDifferences++
		return
	}
	r.bytes += size
	r.Differences = append(r.Differences, d)
}

// trees compares two trees.
type trees struct {
	a, b   *value.Doc
	report func(p value.Path, i, j uint32) // a missing node is 0
}

func (t *trees) compare(p value.Path, i, j uint32) {
	switch m, n := t.a.Nodes[i].Kind, t.b.Nodes[j].Kind; {
	case i == 0 || j == 0:
		t.report(p, i, j)
	case m == value.Object && n == value.Object:
		before, after := membersOf(t.a, i), membersOf(t.b, j)
		names := maps.Clone(before)
		maps.Copy(names, after)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			t.compare(p.With(value.Name(name)), before[name], after[name])
		}
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

func membersOf(d *value.Doc, object uint32) map[string]uint32 {
	members := make(map[string]uint32, d.Len(object))
	for c := d.Nodes[object].First; c != 0; c = d.Nodes[c].Next {
		members[d.Key(c)] = c
	}
	return members
}
