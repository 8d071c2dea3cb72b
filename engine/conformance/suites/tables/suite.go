package tables

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/corpus"
	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
	"github.com/crdeval/crdeval/engine/conformance/suites/runner"
)

// Options of a run. A case is a row, a rejected table, or a text.
type Options struct {
	runner.Options
	// Corpus contains real CRDs and objects, or is nil. All of them are compared, whatever N is.
	Corpus *corpus.Corpus
}

// Counts describe the cases of a run.
type Counts struct {
	Cases, Disagreements, Unordered int
	// Definitions counts CRDs. Rejected of them were rejected by both sides.
	Definitions, Rejected int
	// Tables counts tables, Declined the rejected ones, Rows the rows of the others, Texts the printed texts.
	Tables, Declined, Rows, Texts int
	// Shown cells have a value.
	Cells, Shown int
}

// String returns the summary of a run.
func (n *Counts) String() string {
	return fmt.Sprintf("conformance tables: %d cases, %d disagreements, %d unordered", n.Cases, n.Disagreements, n.Unordered)
}

// Detail describes the composition of the cases.
func (n *Counts) Detail() string {
	return fmt.Sprintf("  %d definitions (%d rejected), %d tables (%d rejected), %d rows, %d cells (%d not null), %d texts",
		n.Definitions, n.Rejected, n.Tables, n.Declined, n.Rows, n.Cells, n.Shown, n.Texts)
}

// mostUnordered is the accepted number of cases per thousand in which upstream's answers vary.
const mostUnordered = 1

// Failed reports whether the run failed.
func (n *Counts) Failed() bool {
	return n.Disagreements > 0 || n.Unordered > 3 && n.Unordered*1000 > n.Cases*mostUnordered
}

// Compared implements runner.Counts.
func (n Counts) Compared() int { return n.Cases }

// Run compares tables of the corpus and of generated CRDs.
func Run(o Options) Counts {
	r := &run{Runner: runner.New[Counts]("tables", o.Options), now: time.Now().Truncate(time.Second)}
	var real []group
	if o.Corpus != nil {
		real = corpusGroups(o.Corpus, r.now)
	}
	first := uint64(len(real))
	return r.Run(first, func(k uint64) Counts {
		if k < first {
			return r.group(&real[k], k)
		}
		g := makeGroup(o.Seed, k-first, r.now)
		n := r.group(&g, k)
		r.text(&n, k)
		return n
	})
}

type run struct {
	*runner.Runner[Counts]
	now time.Time
}

// differs reports a disagreement.
func (r *run) differs(n *Counts, k uint64, manifest []byte, cause, what string) {
	n.Disagreements++
	const most = 6000
	if len(what) > most {
		what = what[:most] + "…"
	}
	r.Report(k, cause, fmt.Sprintf("%s\n  %s\n  definition: %.3000s", cause, what, manifest))
}

// text compares the printed text of the k-th table without a CRD.
func (r *run) text(n *Counts, k uint64) {
	n.Cases++
	n.Texts++
	table, o := makeTable(r.Seed, k)
	for _, d := range compareText(table, nil, schema.GroupKind{Group: apiGroup, Kind: "CronTab"}, true, o) {
		r.differs(n, k, nil, "text", d+"\n"+string(table))
	}
}

// group compares the tables of one CRD.
func (r *run) group(g *group, k uint64) (n Counts) {
	n.Definitions = 1
	registered, answer := oracle.Register(g.Manifest, false)
	definition, report, err := engine.Compile(context.Background(), engine.JSON(g.Manifest), engine.Options{})
	if err != nil || report.Accepted != answer.Accepted() {
		r.differs(&n, k, g.Manifest, "registration", fmt.Sprintf("upstream %v, ours %v (%v)", answer.Errors, report, err))
		return n
	}
	if definition == nil {
		n.Rejected, n.Cases = 1, 1
		return n
	}
	p := &pair{run: r, g: g, k: k, crd: registered.V1, ours: definition, n: &n, rand: generate.New("tables, asked", r.Seed, k)}
	for _, v := range g.Versions {
		p.tables(v)
	}
	return n
}

func decode(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

// difference finds the first path at which two values differ.
func difference(at string, a, b any) (where, ours, theirs string) {
	if x, ok := a.(map[string]any); ok {
		if y, ok := b.(map[string]any); ok {
			for k := range x {
				if _, found := y[k]; !found || !reflect.DeepEqual(x[k], y[k]) {
					return difference(at+"."+k, x[k], y[k])
				}
			}
			for k := range y {
				if _, found := x[k]; !found {
					return difference(at+"."+k, nil, y[k])
				}
			}
		}
	}
	if x, ok := a.([]any); ok {
		if y, ok := b.([]any); ok && len(x) == len(y) {
			for i := range x {
				if !reflect.DeepEqual(x[i], y[i]) {
					return difference(fmt.Sprintf("%s[%d]", at, i), x[i], y[i])
				}
			}
		}
	}
	return at, string(text(a)), string(text(b))
}
