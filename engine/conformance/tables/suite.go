package tables

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/corpus"
	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
)

// Options say what to run.
type Options struct {
	// N is the number of cases, a case being a row, a refused table, or a text.
	N    int
	Seed uint64
	// Limit ends the run after that many distinct disagreements; 0 means 20.
	Limit int
	// Workers is the number of goroutines; 0 means GOMAXPROCS.
	Workers int
	// Corpus has definitions and objects to begin with, nil for none. All of them are compared, whatever N is.
	Corpus *corpus.Corpus
	// Log receives disagreements.
	Log io.Writer
}

// Counts say what a run was made of.
type Counts struct {
	Cases, Disagreements, Unordered int
	// Definitions were asked for tables, Refused of them refused by both sides.
	Definitions, Refused int
	// Tables were answered, Declined of them with a refusal; Rows were in the others, Texts printed.
	Tables, Declined, Rows, Texts int
	// Shown cells had a value.
	Cells, Shown int
}

// String is what a run prints.
func (n *Counts) String() string {
	return fmt.Sprintf("conformance tables: %d cases, %d disagreements, %d unordered", n.Cases, n.Disagreements, n.Unordered)
}

// Detail says how the cases were made up.
func (n *Counts) Detail() string {
	return fmt.Sprintf("  %d definitions (%d refused), %d tables (%d refused), %d rows, %d cells (%d not null), %d texts",
		n.Definitions, n.Refused, n.Tables, n.Declined, n.Rows, n.Cells, n.Shown, n.Texts)
}

// mostUnordered is how many cases in a thousand may show upstream at odds with itself.
const mostUnordered = 1

// Failed reports whether the run is red.
func (n *Counts) Failed() bool {
	return n.Disagreements > 0 || n.Unordered > 3 && n.Unordered*1000 > n.Cases*mostUnordered
}

// Run compares the tables of the corpus and generated ones.
func Run(o Options) Counts {
	workers := o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	if o.Limit == 0 {
		o.Limit = 20
	}
	r := &run{Options: o, seen: map[string]int{}, now: time.Now().Truncate(time.Second)}
	var real []group
	if o.Corpus != nil {
		real = corpusGroups(o.Corpus, r.now)
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for {
				k := r.next.Add(1) - 1
				if r.over(k < uint64(len(real))) {
					return
				}
				if k < uint64(len(real)) {
					r.add(r.group(&real[k], k))
					continue
				}
				k -= uint64(len(real))
				g := makeGroup(r.Seed, k, r.now)
				r.add(r.group(&g, k))
				r.add(r.text(k))
			}
		}()
	}
	wg.Wait()
	return r.sum
}

type run struct {
	Options
	now  time.Time
	next atomic.Uint64
	mu   sync.Mutex
	sum  Counts
	seen map[string]int
}

func (r *run) over(real bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sum.Cases >= r.N && !real || len(r.seen) >= r.Limit
}

func (r *run) add(n Counts) {
	r.mu.Lock()
	defer r.mu.Unlock()
	sum, more := reflect.ValueOf(&r.sum).Elem(), reflect.ValueOf(n)
	for i := range sum.NumField() {
		sum.Field(i).SetInt(sum.Field(i).Int() + more.Field(i).Int())
	}
}

// shownPerCause is how many disagreements of what looks like one cause are printed.
const shownPerCause = 2

var literal = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\d+`)

// differs tells a disagreement.
func (r *run) differs(n *Counts, k uint64, manifest []byte, cause, what string) {
	n.Disagreements++
	r.mu.Lock()
	defer r.mu.Unlock()
	cause = literal.ReplaceAllString(cause, "_")
	if r.seen[cause]++; r.seen[cause] > shownPerCause || r.Log == nil {
		return
	}
	const most = 6000
	if len(what) > most {
		what = what[:most] + "…"
	}
	_, _ = fmt.Fprintf(r.Log, "\nDISAGREEMENT tables, seed %d, group %d: %s\n  %s\n  definition: %.3000s\n", r.Seed, k, cause, what, manifest)
}

// text compares what is printed of the k-th table without a definition.
func (r *run) text(k uint64) Counts {
	n := Counts{Cases: 1, Texts: 1}
	table, o := makeTable(r.Seed, k)
	for _, d := range compareText(table, nil, schema.GroupKind{Group: apiGroup, Kind: "CronTab"}, true, o) {
		r.differs(&n, k, nil, "text", d+"\n"+string(table))
	}
	return n
}

// group compares one definition's tables.
func (r *run) group(g *group, k uint64) (n Counts) {
	n.Definitions = 1
	registered, answer := oracle.Register(g.Manifest, false)
	definition, report, err := engine.Compile(context.Background(), engine.JSON(g.Manifest), engine.Options{})
	if err != nil || report.Accepted != answer.Accepted() {
		r.differs(&n, k, g.Manifest, "registration", fmt.Sprintf("upstream %v, ours %v (%v)", answer.Errors, report, err))
		return n
	}
	if definition == nil {
		n.Refused, n.Cases = 1, 1
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

// difference finds the first place at which two values differ.
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
