// Package runner runs the suites tables, selectors, scale and openapi. It distributes groups of cases to goroutines,
// adds their counts, and reports disagreements.
package runner

import (
	"fmt"
	"io"
	"reflect"
	"regexp"
	"runtime"
	"sync"
)

// Options of a run.
type Options struct {
	// N is the number of cases. Each suite defines what a case is.
	N    int
	Seed uint64
	// Limit ends the run after that many distinct disagreements. 0 means 20.
	Limit int
	// Workers is the number of goroutines. 0 means GOMAXPROCS.
	Workers int
	// Log receives the disagreements.
	Log io.Writer
}

// Counts are a suite's counters: a struct of ints and of maps to ints.
type Counts interface{ Compared() (cases int) }

// Runner is a run.
type Runner[C Counts] struct {
	Options
	name string
	mu   sync.Mutex
	next uint64
	sum  C
	seen map[string]int
}

// New returns a run of the named suite.
func New[C Counts](name string, o Options) *Runner[C] {
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.Limit == 0 {
		o.Limit = 20
	}
	return &Runner[C]{Options: o, name: name, seen: map[string]int{}}
}

// Run compares the groups 0, 1, 2, … in parallel. It ends when there are N cases and the first groups are done, or when
// there are too many distinct disagreements.
func (r *Runner[C]) Run(first uint64, compare func(k uint64) C) (sum C) {
	var workers sync.WaitGroup
	for range r.Workers {
		workers.Go(func() {
			for k, more := r.take(first); more; k, more = r.take(first) {
				r.add(compare(k))
			}
		})
	}
	workers.Wait()
	return r.sum
}

func (r *Runner[C]) take(first uint64) (k uint64, more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k, r.next = r.next, r.next+1
	return k, (k < first || r.sum.Compared() < r.N) && len(r.seen) < r.Limit
}

func (r *Runner[C]) add(one C) {
	r.mu.Lock()
	defer r.mu.Unlock()
	sum, more := reflect.ValueOf(&r.sum).Elem(), reflect.ValueOf(one)
	for i := range sum.NumField() {
		into, from := sum.Field(i), more.Field(i)
		if from.Kind() != reflect.Map {
			into.SetInt(into.Int() + from.Int())
			continue
		}
		if into.IsNil() {
			into.Set(reflect.MakeMap(into.Type()))
		}
		for key, n := range from.Seq2() {
			total := reflect.New(n.Type()).Elem()
			if before := into.MapIndex(key); before.IsValid() {
				total.SetInt(before.Int())
			}
			total.SetInt(total.Int() + n.Int())
			into.SetMapIndex(key, total)
		}
	}
}

// shownPerCause is the number of disagreements that are printed per cause.
const shownPerCause = 2

// varying matches what differs between disagreements with the same cause.
var varying = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\{.*\}|\d+`)

// Report reports a disagreement in group k. Disagreements whose causes differ only in numbers, quoted strings and
// objects count as one.
func (r *Runner[C]) Report(k uint64, cause, what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	cause = varying.ReplaceAllString(cause, "_")
	if r.seen[cause]++; r.seen[cause] > shownPerCause || r.Log == nil {
		return
	}
	_, _ = fmt.Fprintf(r.Log, "\nDISAGREEMENT %s, seed %d, group %d: %s\n", r.name, r.Seed, k, what)
}
