package scale

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/crdeval/crdeval/engine/publish"

	kjson "sigs.k8s.io/json"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
	"github.com/crdeval/crdeval/engine/conformance/ours"
	"github.com/crdeval/crdeval/engine/conformance/served"
	"github.com/crdeval/crdeval/engine/conformance/suites/runner"
	"github.com/crdeval/crdeval/engine/conformance/suites/writes"
)

// Counts describe the cases of a run.
type Counts struct {
	Cases, Disagreements, Unordered int
	Definitions                     int
	// Asked counts cases by call, Accepted those that upstream carried out, Codes the codes of its rejections.
	Asked, Accepted map[how]int
	Codes           map[int32]int
}

// Compared implements runner.Counts.
func (n Counts) Compared() int { return n.Cases }

// String returns the summary of a run.
func (n *Counts) String() string {
	return fmt.Sprintf("conformance scale: %d cases, %d disagreements, %d unordered", n.Cases, n.Disagreements, n.Unordered)
}

// Detail describes the composition of the cases.
func (n *Counts) Detail() string {
	return fmt.Sprintf("  %d definitions; asked %v, of these carried out %v, rejected by code %v", n.Definitions, n.Asked, n.Accepted, n.Codes)
}

// Failed reports whether the run failed.
func (n *Counts) Failed() bool { return n.Disagreements > 0 }

// Run compares generated requests. Each is a case.
func Run(o runner.Options) Counts {
	r := &run{runner.New[Counts]("scale", o)}
	return r.Run(0, r.group)
}

type run struct{ *runner.Runner[Counts] }

// group compares all requests of one CRD.
func (r *run) group(k uint64) Counts {
	n := Counts{Definitions: 1, Asked: map[how]int{}, Accepted: map[how]int{}, Codes: map[int32]int{}}
	g := makeGroup(r.Seed, k)
	upstream, a := writes.Upstream{}.Register(g.Manifest)
	theirs, _, err := compile(g.Manifest)
	mine, b := ours.Engine{}.Register(g.Manifest)
	if upstream == nil || mine == nil || err != nil {
		n.Cases, n.Disagreements = 1, 1
		r.Report(k, "registration", fmt.Sprintf("the definition is rejected: upstream %+v %v, ours %+v\n  definition %s", a, err, b, g.Manifest))
		return n
	}
	facade, _, err := engine.Compile(context.Background(), engine.JSON(g.Manifest), engine.Options{})
	if err != nil {
		panic(err) // it was compiled before
	}
	for i, q := range g.Requests {
		c := comparison{definition: theirs, mine: mine, facade: facade, ask: q}
		up, diffs := c.run()
		unordered := false
		for again := 0; len(diffs) > 0 && again < mostReruns; again++ { // upstream's order of field errors is that of Go maps; so is whether a patch causes a panic
			if _, now := c.run(); len(now) == 0 {
				diffs, unordered = nil, true
			}
		}
		n.count(q, up, unordered)
		if len(diffs) > 0 {
			n.Disagreements++
			r.Report(k, diffs[0], fmt.Sprintf("request %d, %s\n  definition %s\n  old  %s\n  body %s\n  %s", i, q, g.Manifest, q.Old, q.Body, strings.Join(diffs, "\n  ")))
		}
	}
	return n
}

const mostReruns = 64

func compile(manifest []byte) (*oracle.Definition, oracle.Answer, error) {
	registered, a := oracle.Register(manifest, false)
	if registered == nil {
		return nil, a, nil
	}
	d, err := oracle.Compile(registered)
	return d, a, err
}

func (n *Counts) count(q ask, up oracle.Answer, unordered bool) {
	n.Cases++
	n.Asked[q.how]++
	if unordered {
		n.Unordered++
	}
	if up.Rejection == nil {
		n.Accepted[q.how]++
	} else {
		n.Codes[up.Rejection.Code]++
	}
}

// comparison is one request on both sides.
type comparison struct {
	definition *oracle.Definition
	mine       writes.Definition
	facade     *engine.Definition
	ask        ask
}

// run evaluates the request on both sides. It returns upstream's answer for the counts.
func (c comparison) run() (upstream oracle.Answer, diffs []string) {
	if c.ask.how == get {
		return c.get()
	}
	upstream = c.served()
	mine := c.mine.Answer(c.ask.Request)
	if upstream.Rejection != nil && upstream.Rejection.Code == 500 && upstream.Status == nil {
		mine.Status = nil // a panic has no status
	}
	mine.Decoded, mine.OldDecoded = printed(mine.Decoded), printed(mine.OldDecoded)
	diffs = oracle.CompareWhole(upstream, mine, true)
	if checked, ok := c.mine.(writes.Checked); ok && len(diffs) == 0 {
		diffs = checked.Check(c.ask.Request)
	}
	if c.ask.how == put && len(diffs) == 0 {
		diffs = c.set(upstream)
	}
	return upstream, diffs
}

// printed returns an object as upstream prints it: stage DECODE keeps 1.0, so that stage FINISH knows that it is a
// float.
func printed(text []byte) []byte {
	if text == nil {
		return nil
	}
	var o any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(text, &o); err != nil {
		return text
	}
	made, err := json.Marshal(o)
	if err != nil {
		return text
	}
	return made
}

// served returns the answer of the API server's handlers.
func (c comparison) served() (a oracle.Answer) {
	defer func() {
		if recover() != nil {
			a = oracle.Answer{Rejection: &oracle.Rejection{Code: 500, Message: served.Panicked}}
		}
	}()
	return c.definition.Answer(c.ask.Request)
}

// get compares GetScale for the object read at the request's version.
func (c comparison) get() (upstream oracle.Answer, diffs []string) {
	upstream = c.definition.GetScale(c.ask.Request)
	ctx := context.Background()
	read, err := c.facade.Read(ctx, engine.JSON(c.ask.Old), engine.ReadOptions{TargetVersion: c.ask.Version})
	if err != nil {
		if upstream.Rejection == nil {
			return upstream, []string{"ours cannot read the object: " + err.Error()}
		}
		return upstream, nil // the text depends on the storage
	}
	text, err := publish.GetScale(ctx, c.facade, c.ask.Version, engine.JSON(read.Object))
	mine := oracle.Answer{Object: text}
	if err != nil {
		var e *engine.Error
		if !errors.As(err, &e) || e.Rejection == nil {
			return upstream, []string{"ours: " + err.Error()}
		}
		mine.Rejection = &oracle.Rejection{Code: e.Rejection.Code, Reason: e.Rejection.Reason, Message: e.Rejection.Message}
		if e.Rejection.Code == 404 && upstream.Rejection != nil {
			mine.Rejection.Message, mine.Rejection.Reason = upstream.Rejection.Message, upstream.Rejection.Reason // which contains the object's name
		}
	}
	upstream.Status = nil
	if diffs = oracle.CompareWhole(upstream, mine, true); len(diffs) == 0 && upstream.Rejection == nil {
		diffs = c.table()
	}
	return upstream, diffs
}

// table compares ScaleTable for an object with a Scale.
func (c comparison) table() []string {
	made, err := publish.ScaleTable(context.Background(), c.facade, c.ask.Version, engine.JSON(c.ask.Old), publish.TableOptions{})
	if err != nil {
		return []string{"ScaleTable: " + err.Error()}
	}
	upstream := c.definition.GetScaleTable(c.ask.Request)
	if want, got := withoutRevisions(upstream.Object), withoutRevisions(made.JSON()); want != got {
		return []string{fmt.Sprintf("table: %s, ours %s", want, got)}
	}
	return nil
}

// resourceVersions matches the resourceVersions in a document. That of upstream is that of its storage.
var resourceVersions = regexp.MustCompile(`"resourceVersion":"[^"]*",?`)

func withoutRevisions(text []byte) string {
	return strings.ReplaceAll(string(resourceVersions.ReplaceAll(text, nil)), ",}", "}")
}

// set compares SetScale with the stored object, for CRDs with one version. With several versions the write has more
// effects.
func (c comparison) set(upstream oracle.Answer) []string {
	if upstream.Rejection != nil || upstream.Stored == nil || len(c.definition.Versions()) > 1 || c.ask.YAML {
		return nil
	}
	ctx := context.Background()
	read, err := c.facade.Read(ctx, engine.JSON(c.ask.Old), engine.ReadOptions{TargetVersion: c.ask.Version})
	if err != nil {
		return []string{"ours cannot read the object: " + err.Error()}
	}
	made, err := publish.SetScale(ctx, c.facade, c.ask.Version, engine.JSON(read.Object), engine.JSON(c.ask.Body))
	if err != nil {
		return []string{"SetScale rejects what was accepted: " + err.Error()}
	}
	want, got := unstamped(upstream.Stored), unstamped(made)
	if want != got {
		return []string{fmt.Sprintf("SetScale: stored %s, ours %s", want, got)}
	}
	return nil
}

// unstamped removes what the strategy and the server change besides the replicas.
func unstamped(text []byte) string {
	var o map[string]any
	if err := json.Unmarshal(text, &o); err != nil {
		return err.Error()
	}
	if meta, ok := o["metadata"].(map[string]any); ok {
		delete(meta, "generation")
		delete(meta, "managedFields")
		delete(meta, "resourceVersion") // SetScale keeps it for the server
	}
	made, err := json.Marshal(o)
	if err != nil {
		return err.Error()
	}
	return string(made)
}
