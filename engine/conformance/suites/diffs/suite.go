package diffs

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/conformance/jsontree"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
	"github.com/crdeval/crdeval/engine/conformance/suites/runner"
	"github.com/crdeval/crdeval/engine/diff"
)

// Counts describe the pairs of a run.
type Counts struct {
	// Pairs are pairs that differ in form only, Alarms those of them that are not compatible in both directions.
	Pairs, Alarms int
	// Planted are pairs with an incompatibility. Breaking are reported as breaking, Shown have a counterexample that
	// upstream confirms.
	Planted, Breaking, Shown int
	// Unconfirmed are counterexamples that upstream does not confirm.
	Unconfirmed int
	// Rejected are pairs with a rejected CRD, Objects the objects that upstream evaluated with both CRDs of a pair, and
	// Unequal those for which the answers differ: the generator is wrong.
	Rejected, Objects, Unequal int
	// Kinds counts planted changes, Missed those without a confirmed counterexample, with their group.
	Kinds, Missed map[string]int
}

// Compared implements runner.Counts.
func (n Counts) Compared() int { return min(n.Pairs, n.Planted) }

// leastShown is the least share of planted incompatibilities with a confirmed counterexample, in percent.
const leastShown = 95

// String returns the summary of a run.
func (n *Counts) String() string {
	return fmt.Sprintf("conformance diff: %d pairs of the same meaning, %d not compatible; %d planted incompatibilities, %d breaking, %d with a confirmed counterexample (%.1f %%), %d unconfirmed",
		n.Pairs, n.Alarms, n.Planted, n.Breaking, n.Shown, 100*float64(n.Shown)/float64(max(1, n.Planted)), n.Unconfirmed)
}

// Detail describes the composition of the pairs.
func (n *Counts) Detail() string {
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(n.Kinds)) {
		kinds = append(kinds, fmt.Sprintf("%s %d", kind, n.Kinds[kind]))
	}
	missed := slices.Sorted(maps.Keys(n.Missed))
	return fmt.Sprintf("  %d rejected pairs; %d objects with both CRDs, %d unequal answers\n  planted: %s\n  without a confirmed counterexample: %s",
		n.Rejected, n.Objects, n.Unequal, strings.Join(kinds, ", "), strings.Join(missed[:min(len(missed), 20)], ", "))
}

// Failed reports whether the run failed.
func (n *Counts) Failed() bool {
	return n.Alarms+n.Unconfirmed+n.Unequal > 0 || n.Shown*100 < n.Planted*leastShown || n.Rejected > n.Pairs
}

// Run compares N pairs of each kind.
func Run(o runner.Options) Counts {
	r := &run{runner.New[Counts]("diff", o)}
	return r.Run(0, r.pair)
}

type run struct{ *runner.Runner[Counts] }

// pair makes a schema, rewrites it, and plants an incompatibility.
func (r *run) pair(k uint64) Counts {
	n := Counts{Kinds: map[string]int{}, Missed: map[string]int{}}
	m := &maker{generate.New("diff", r.Seed, k)}
	base := m.schema(3)
	if m.Chance(15) {
		m.addTransition(base)
	}
	old, new := clone(base), clone(base)
	m.rewrite(old)
	m.rewrite(new)
	r.sameMeaning(&n, k, m, base, crd(old), crd(new))
	changed := clone(base)
	p := m.pick(m.plants(changed))
	if p == nil {
		return n
	}
	p.apply()
	if m.Chance(70) {
		m.rewrite(changed)
	}
	r.incompatible(&n, k, p.kind, crd(old), crd(changed))
	return n
}

// sides are the two CRDs of a pair.
type sides struct {
	old, new                 *engine.Definition
	upstreamOld, upstreamNew *oracle.Definition
}

// compile returns nil if one of the CRDs is rejected.
func compile(old, new []byte) *sides {
	var s sides
	for _, c := range []struct {
		manifest []byte
		mine     **engine.Definition
		theirs   **oracle.Definition
	}{{old, &s.old, &s.upstreamOld}, {new, &s.new, &s.upstreamNew}} {
		registered, answer := oracle.Register(c.manifest, false)
		if !answer.Accepted() {
			return nil
		}
		var err error
		if *c.theirs, err = oracle.Compile(registered); err != nil {
			return nil
		}
		if *c.mine, _, err = engine.Compile(context.Background(), engine.JSON(c.manifest), engine.Options{}); err != nil || *c.mine == nil {
			return nil
		}
	}
	return &s
}

func compareBoth(old, new []byte) (*diff.Result, error) {
	return diff.Compare(context.Background(), engine.JSON(old), engine.JSON(new), engine.Options{})
}

// objectsPerPair is the number of objects that upstream evaluates with both CRDs of a pair of the same meaning.
const objectsPerPair = 4

func (r *run) sameMeaning(n *Counts, k uint64, m *maker, base object, old, new []byte) {
	s := compile(old, new)
	if s == nil {
		n.Rejected++
		return
	}
	n.Pairs++
	for _, direction := range [][2][]byte{{old, new}, {new, old}} {
		result, err := compareBoth(direction[0], direction[1])
		if err == nil && result.Class == diff.Compatible {
			continue
		}
		n.Alarms++
		r.Report(k, "not compatible "+kinds(result), fmt.Sprintf("not compatible: %v%s\n  old %s\n  new %s", err, changesText(result), direction[0], direction[1]))
		break
	}
	for range objectsPerPair {
		body := text(object{"apiVersion": apiGroup + "/v1", "kind": "Thing", "metadata": object{"name": "x"}, "spec": m.value(base, 3)})
		n.Objects++
		if a, b := accepts(s.upstreamOld, body, nil), accepts(s.upstreamNew, body, nil); a != b {
			n.Unequal++
			r.Report(k, "unequal", fmt.Sprintf("upstream accepts %s: %t, %t\n  old %s\n  new %s", body, a, b, old, new))
		}
	}
}

// accepts reports whether upstream accepts a creation, or an update of a stored object unless old is nil.
func accepts(d *oracle.Definition, body, old []byte) bool {
	r := oracle.Request{Version: "v1", Body: body, Old: old, Handler: true, FieldValidation: oracle.Strict}
	if old != nil {
		r.Op, r.Body, r.Old = oracle.Update, asStored(body), asStored(old)
	}
	a := d.Answer(r)
	return a.Accepted()
}

// asStored adds the metadata that a server sets.
func asStored(body []byte) []byte {
	o, err := jsontree.Parse(body)
	if err != nil {
		panic(err)
	}
	o.Get("metadata").Set("uid", "1").Set("resourceVersion", "1")
	return o.JSON()
}

func (r *run) incompatible(n *Counts, k uint64, kind string, old, new []byte) {
	s := compile(old, new)
	if s == nil {
		n.Rejected++
		return
	}
	n.Planted++
	n.Kinds[kind]++
	result, err := compareBoth(old, new)
	if err != nil {
		n.Missed[fmt.Sprintf("%s (group %d)", kind, k)]++
		r.Report(k, "error", fmt.Sprintf("%s: %v\n  old %s\n  new %s", kind, err, old, new))
		return
	}
	list, err := diff.Counterexamples(context.Background(), s.old, s.new, result, diff.SearchOptions{})
	if err != nil {
		r.Report(k, "error", fmt.Sprintf("%s: %v\n  old %s\n  new %s", kind, err, old, new))
	}
	shown := false
	for _, c := range list {
		if c.Found == nil {
			continue
		}
		if f := c.Found; accepts(s.upstreamOld, f.Object, f.OldObject) && !accepts(s.upstreamNew, f.Object, f.OldObject) {
			shown = true
			continue
		}
		n.Unconfirmed++
		r.Report(k, "unconfirmed "+kind, fmt.Sprintf("%s: upstream does not confirm %s, old object %s\n  old %s\n  new %s", kind, c.Found.Object, c.Found.OldObject, old, new))
	}
	if result.Class == diff.Breaking {
		n.Breaking++
	}
	if shown && result.Class == diff.Breaking {
		n.Shown++
		return
	}
	n.Missed[fmt.Sprintf("%s (group %d)", kind, k)]++
}

func kinds(d *diff.Result) (text string) {
	if d == nil {
		return ""
	}
	for i := range d.Changes {
		if d.Changes[i].Class != diff.Compatible {
			text += d.Changes[i].Kind + " "
		}
	}
	return text
}

func changesText(d *diff.Result) (text string) {
	if d == nil {
		return ""
	}
	for i := range d.Changes {
		c := &d.Changes[i]
		text += fmt.Sprintf("\n    %s %s at %s: %s", c.Class, c.Kind, c.SchemaPointer, c.Message)
	}
	return text
}
